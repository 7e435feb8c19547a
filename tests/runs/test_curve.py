"""Best equilibria against a parameter of the game."""

from __future__ import annotations

import pytest

import accord
from accord.errors import ArgumentError, MismatchError, SweepError
from accord.runs.optimize import optimize


def persuasion(x: float) -> accord.Game:
    return accord.load_game(f"persuasion:prior={x}")


PRIORS = [0.1, 0.3, 0.45, 0.6]
ASKED = {"objective": {"prosecutor": 1}, "commits": "prosecutor", "parameter": "prior"}


def test_the_prosecutor_gets_twice_the_prior_up_to_a_half():
    found = accord.curve(persuasion, PRIORS, **ASKED)
    (series,) = found.series
    assert (series.notion, series.objective) == ("EFCE", "player=prosecutor")
    values = [point.value for point in series.points]
    assert values == pytest.approx([min(1.0, 2 * x) for x in PRIORS])
    assert all(point.optimal for point in series.points)
    assert found.players == ("prosecutor", "judge")
    assert found.to_json()["series"][0]["points"][1]["values"] == pytest.approx([0.6, 0.7])
    assert found.plot().axes[0].get_xlabel() == "prior"


def test_every_point_has_its_device():
    found = accord.curve(persuasion, PRIORS, **ASKED)
    for point in found.series[0].points:
        game = persuasion(point.x)
        convicted = 0.0  # the prosecutor earns 1 if the judge convicts
        for plan in point.device:
            said, judged = plan["told"]
            for state, chance in (("guilty", point.x), ("innocent", 1 - point.x)):
                assert said[state] in game.action_labels[0][0]
                convicted += plan["probability"] * chance * (judged[said[state]] == "convict")
        assert convicted == pytest.approx(point.value)
    assert found.to_json()["series"][0]["points"][3]["device"] == list(point.device)
    assert 'data-kind="curve"' in found._repr_html_()


def test_points_are_those_of_optimize_whatever_they_start_from():
    games = [accord.load_game(f"random:seed={seed},depth=3") for seed in range(4)]
    found = accord.curve(lambda x: games[int(x)], range(4), [0, 1], ["welfare", "egalitarian"])
    assert [(one.notion, one.objective) for one in found.series] == [
        ("NFCCE", "welfare"), ("NFCCE", "egalitarian"), ("EFCE", "welfare"), ("EFCE", "egalitarian")
    ]  # fmt: skip
    for one in found.series:
        for point in one.points:
            alone = optimize(games[int(point.x)], one.notion, one.objective)
            assert point.value == pytest.approx(alone.value, rel=0, abs=1e-9)


def test_a_stopped_curve_continues(tmp_path):
    made = []

    def make(x: float) -> accord.Game:
        made.append(x)
        return persuasion(x)

    accord.curve(make, PRIORS[:2], folder=tmp_path / "curve", **ASKED)
    made.clear()
    found = accord.curve(make, PRIORS, folder=tmp_path / "curve", **ASKED)
    assert made == [0.1, 0.45, 0.6]  # the first for the names of players, then what is missing
    assert [point.value for point in found.series[0].points] == pytest.approx([0.2, 0.6, 0.9, 1])
    with pytest.raises(MismatchError):
        accord.curve(make, PRIORS, folder=tmp_path / "curve", parameter="prior")


def test_bad_arguments_are_refused():
    for at in ([], [0.1, 0.1], [float("nan")], ["a"]):
        with pytest.raises(ArgumentError):
            accord.curve(persuasion, at)
    with pytest.raises(SweepError, match="at least"):
        accord.curve(persuasion, [0.3], at_least={"judge": 0.9})
