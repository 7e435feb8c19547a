"""Results as pandas data frames."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

import accord
from accord._format import percent, pretty
from accord.exports.latex import certificate_latex
from tests.support.environments import Hidden, NoisyChicken


@pytest.fixture(scope="module")
def game() -> accord.Game:
    return accord.load_game("signalling")


@pytest.fixture(scope="module")
def solution(game: accord.Game) -> accord.runs.Solution:
    return accord.solve(game, k=1, iterations=30, components=5)


def test_a_policy_can_be_rebuilt_from_its_frame(solution: accord.runs.Solution) -> None:
    frame = solution.policy.to_frame()
    assert list(frame) == ["component", "weight", "player", "infoset", "action", "probability"]
    sums = frame.groupby(["component", "player", "infoset"])["probability"].sum()
    assert np.allclose(sums, 1.0)
    plexes = accord.treeplex.sequence_form(solution.game).plexes
    components = []
    for _, rows in frame.groupby("component"):
        behaviors = []
        for player, plex in zip(solution.game.player_labels, plexes, strict=True):
            own = rows[rows["player"] == player].set_index(["infoset", "action"])["probability"]
            keys = [
                (label, action)
                for label, actions in zip(plex.infoset_labels, plex.action_labels, strict=True)
                for action in actions
            ]
            behaviors.append([1.0, *(own[key] for key in keys)])
        components.append((rows["weight"].iloc[0], behaviors))
    again = accord.CorrelatedPolicy.from_components(solution.game, components)
    assert np.array_equal(again.behavior, solution.policy.behavior)
    assert np.array_equal(again.weights, solution.policy.weights)


def test_a_device_has_one_row_per_plan(game: accord.Game) -> None:
    policy = accord.CorrelatedPolicy.from_device(game, accord.library_device("signalling"))
    frame = policy.device().to_frame()
    assert list(frame.columns) == [
        ("probability", ""), ("student", "good"), ("student", "bad"),
        ("professor", "X"), ("professor", "Y"),
    ]  # fmt: skip
    assert frame["probability"].to_numpy().sum() == pytest.approx(1.0)
    assert frame.loc[1, ("student", "good")] in ("X", "Y")
    missing = policy.device(plans=1).to_frame()
    assert missing.index.tolist() == [1, "other"]


def test_a_certificate_has_one_row_per_notion_and_player(
    game: accord.Game, solution: accord.runs.Solution
) -> None:
    certificate = accord.certify(game, solution)
    frame = certificate.to_frame()
    assert len(frame) == 2 * (len(certificate.gaps) + 1)
    efce = frame[(frame["notion"] == "EFCE") & (frame["player"] == "professor")].iloc[0]
    assert efce["gap"] == certificate[1].player_gaps[1]
    assert efce["value"] == certificate.values[1]
    assert efce["deviation"] == str(certificate[1].witnesses[1])
    assert frame["k"].max() == math.inf
    assert frame[frame["notion"] == "NFCE"]["k"].isna().all()
    alone = accord.certify(game, solution, "nfce")  # has no deviations that name the players
    assert alone.to_frame()["player"].tolist() == ["student", "professor"]
    assert "professor" in alone._repr_html_()


def test_a_certificate_from_plays_has_bounds(
    game: accord.Game, solution: accord.runs.Solution
) -> None:
    certificate = accord.certify_by_play(Hidden(game), solution, 1, plays=200)
    frame, gap = certificate.to_frame(), certificate[1]
    assert frame["gap"].isna().all()
    assert tuple(frame["lower"]) == gap.player_lower
    assert tuple(frame["upper"]) == gap.player_upper
    assert tuple(frame["value"]) == certificate.values
    ranges = [
        " to ".join(map(pretty, ends))
        for ends in zip(gap.player_lower, gap.player_upper, strict=True)
    ]
    assert all(text in certificate._repr_html_() for text in ranges)
    assert f"with {percent(0.95)} confidence" in certificate._repr_html_()
    assert "nan" not in certificate_latex(certificate)


def test_a_history_has_one_row_per_checkpoint(solution: accord.runs.Solution) -> None:
    frame = solution.to_frame()
    assert frame["iteration"].tolist() == [point.iteration for point in solution.history]
    assert frame["gap"].iloc[-1] == solution.average_gap
    assert frame["gap of professor"].iloc[-1] == solution.average_player_gaps[1]
    assert frame["value of student"].iloc[-1] == solution.average_values[0]


def test_a_comparison_puts_histories_together(solution: accord.runs.Solution) -> None:
    frame = accord.exports.comparison_frame({"a": solution, "b": solution})
    assert frame.groupby("run").size().tolist() == [len(solution.history)] * 2
    with pytest.raises(accord.errors.ArgumentError, match="at least one result"):
        accord.exports.comparison_frame({})
    with pytest.raises(accord.errors.ArgumentError, match="needs the results by name"):
        accord.exports.comparison_frame([solution])  # type: ignore[arg-type]


def test_a_region_has_one_row_per_vertex() -> None:
    found = accord.region(accord.load_game("chicken"), k=(1, "efcce"))
    frame = found.to_frame()
    vertices = [vertex for polygon in found.polygons for vertex in polygon.vertices]
    assert list(zip(frame["value of row"], frame["value of col"], strict=True)) == [
        vertex.payoffs for vertex in vertices
    ]
    assert frame["components"].tolist() == [vertex.policy.n_components for vertex in vertices]
    assert set(frame["notion"]) == {"EFCE", "EFCCE"}
    assert frame.loc[frame["notion"] == "EFCE", "k"].tolist() == [1.0] * len(found[1].vertices)


def test_without_pandas_the_error_says_what_to_install(
    solution: accord.runs.Solution, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(accord.errors.MissingDependencyError, match=r"pip install .*pandas"):
        solution.to_frame()


def test_what_was_learned_in_an_environment_has_frames() -> None:
    learned = accord.learn(NoisyChicken(), 1, episodes=300)
    policy, history = learned.policy.to_frame(), learned.to_frame()
    assert list(policy) == ["component", "weight", "player", "infoset", "action", "probability"]
    assert set(policy["player"]) == set(learned.policy.player_labels)
    sums = policy.groupby(["component", "player", "infoset"])["probability"].sum()
    assert np.allclose(sums, 1.0)
    assert len(history) == len(learned.history)
    assert history["value of ann"].tolist() == [point.values[0] for point in learned.history]
    assert history["infosets"].iloc[-1] == 2
    assert "gap" not in history  # it is not known
    both = accord.exports.comparison_frame({"one": learned, "two": learned})
    assert both["run"].value_counts().to_dict() == {"one": len(history), "two": len(history)}


def test_a_comparison_takes_results_only() -> None:
    with pytest.raises(accord.errors.ArgumentError, match="got 3 for 'rm'"):
        accord.exports.comparison_frame({"rm": 3})  # type: ignore[dict-item]
