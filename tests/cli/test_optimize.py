"""``accord optimize`` and ``accord reduce``: output, exit codes, folders and refusals."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.command import refused, run, run_json

KEYS = [
    "game", "notion", "k", "objective", "commits", "at_least", "value", "bound", "optimal",
    "credible", "gap", "players", "error", "components", "values", "value_error", "unique",
    "binding", "iterations", "columns", "seconds", "exact",
]  # fmt: skip


def test_the_table():
    shown = run("optimize", "chicken").stdout
    assert "chicken: EFCE, welfare 10.5, proved optimal; 1 round, 4 joint plans in" in shown
    assert "mixture of 3 components" in shown
    assert "bound 10.5, from correlation plans over relevant tuples" in shown


def test_a_small_device_is_printed(tmp_path, monkeypatch):
    shown, _, rest = run("optimize", "chicken").stdout.partition("\ngap")
    assert "player row at 'row' told 'yield', would play 'dare': binding, price 0.75" in rest
    assert {line.split()[0] for line in shown.splitlines() if "yield" in line} == {"0.5", "0.25"}
    monkeypatch.setattr("accord.cli.optimize.MOST_LINES", 4)
    assert "yield" not in run("optimize", "chicken").stdout.partition("\ngap")[0]
    kept = run("optimize", "chicken", "--out", tmp_path / "run").stdout
    assert f"components; accord device {tmp_path / 'run'} lists its plans" in kept


@pytest.mark.slow
def test_rounding_is_shown_as_zero():
    shown = run("optimize", "kuhn_poker(players=3)").stdout
    assert "welfare 0, proved optimal" in shown
    assert re.search(r"^gap 0 to within \de-1\d|^gap 0 to within \d\.\de-1\d", shown, re.M)
    assert ", 0 of the payoff range" in shown
    assert "no player can gain by deviating from it" in shown
    assert len(re.findall("e-1", shown)) == 1


@pytest.mark.slow
def test_json():
    content = run_json("optimize", "signalling", "-k", "inf", "--objective", "player=professor")
    assert list(content) == KEYS
    assert (content["notion"], content["k"]) == ("BCE", "inf")
    assert content["objective"] == "player=professor"
    assert content["optimal"] is True
    mixed = run_json("optimize", "chicken", "--objective", "weights= 1/2,1e0 ")
    assert mixed["objective"] == "weights=0.5,1"
    assert mixed["value"] == pytest.approx(0.5 * mixed["values"][0] + mixed["values"][1])
    least = run_json("optimize", "chicken", "--minimize", "--target-gap", "1/2")
    assert least["objective"] == "minimize welfare"
    assert least["value"] < 7.2
    assert least["gap"] == pytest.approx(0.5)


@pytest.mark.slow
def test_a_limit_that_comes_first(tmp_path):
    game, folder = "kuhn:players=3", tmp_path / "run"
    words = ["optimize", game, "--objective", "weights=1,0,0", "--seconds", "0"]
    result = run(*words, "--out", folder, code=1)
    assert "not proved optimal" in result.stderr
    assert json.loads((folder / "run.json").read_text())["result"]["optimal"] is False
    content = run_json("optimize", "--resume", folder, "--seconds", "100")
    assert content["optimal"] is True
    assert content["value"] == pytest.approx(-1 / 48)
    assert "Written to" in run("optimize", "--resume", folder, "--seconds", 100).stdout


@pytest.mark.slow
def test_a_report_names_the_objective_and_the_proof(tmp_path):
    run("optimize", "chicken", "--out", tmp_path / "run")
    run("report", tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text()
    assert "is proved to be the best" in page
    assert "correlation plans over relevant tuples" in page
    assert "Convergence" not in page
    run("solve", "chicken", "--out", tmp_path / "solved", "--iterations", 10)
    run("report", tmp_path / "run", tmp_path / "solved", "--out", tmp_path / "both.html")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["efcce", "afce", "afcce"])
def test_other_notions(tmp_path, name):
    game, folder = "greenwald_sarfati_1", tmp_path / "run"
    shown = run("optimize", game, "--notion", name, "--out", folder).stdout
    assert f"{game}: {name.upper()}, welfare" in shown
    content = run_json("optimize", "--resume", folder)
    assert (content["notion"], content["k"]) == (name.upper(), None)
    assert content == {**run_json("optimize", game, "-k", name), "seconds": content["seconds"]}
    small = run_json("reduce", folder)
    assert small["notion"] == name.upper()
    assert small["values"] == pytest.approx(content["values"])
    run("report", folder)
    page = (folder / "report.html").read_text()
    assert f"{name.upper()}, the highest welfare" in page
    how = {
        "efcce": "deviating once, before seeing the recommendation",
        "afce": "deviating once, and obeying again afterwards",
        "afcce": "deviating once, before seeing the recommendation, and obeying again afterwards",
    }
    assert f"no player gains by {how[name]}." in " ".join(page.split()).replace(" .", ".")
    run("solve", game, "--iterations", 10, "--out", tmp_path / "solved")
    run("report", folder, tmp_path / "solved", "--out", tmp_path / "both.html")
    assert name.upper() in (tmp_path / "both.html").read_text()


@pytest.mark.slow
def test_a_saved_mixture_becomes_small(tmp_path):
    run("solve", "chicken", "-k", 1, "--iterations", 2000, "--out", tmp_path / "run")
    small = run_json("reduce", tmp_path / "run", "--out", tmp_path / "small")
    assert (small["objective"], small["k"], small["optimal"]) == ("keep", 1, True)
    assert small["components"] <= 4
    assert small["gap"] <= 1e-9
    saved = json.loads((tmp_path / "run" / "certificate.json").read_text())
    assert small["value"] == pytest.approx(0.0, abs=1e-3)
    assert small["values"] == pytest.approx(saved["values"], abs=1e-2)
    again = run_json("optimize", "--from", tmp_path / "run", "--objective", "keep")
    assert again["values"] == small["values"]
    other = run_json("optimize", "chicken", "--from", tmp_path / "run")
    assert other["value"] == pytest.approx(10.5)


def test_refusals(tmp_path):
    assert "give a GAME" in refused("optimize")
    for objective, message in (
        ("player=x", "no player 'x'"),
        ("best", "--objective must be welfare, egalitarian, player=NAME, weights=1,0,-1/2"),
        ("welfare=1", "got 'welfare=1'"),
        ("player", "got 'player'"),
        ("weights=1", "weights must be 2 finite numbers, one per player; got 1"),
        ("weights=1,x", "a weight must be a number"),
        ("weights=1,inf", "a weight must be a number"),
    ):
        assert message in refused("optimize", "chicken", "--objective", objective)
    assert "name its run with --from RUN" in refused("optimize", "chicken", "--objective", "keep")
    assert "no LCE is better" in refused("optimize", "chicken", "-k", "lce")
    assert "or one of nfcce, efcce" in refused("optimize", "chicken", "--notion", "cce")
    assert "must be a number" in refused("optimize", "chicken", "--target-gap", "much")
    assert "it has no run.json" in refused("optimize", "--resume", tmp_path)
    assert "it has no run.json" in refused("reduce", tmp_path)
    run("optimize", "chicken", "--out", tmp_path / "run")
    message = refused("optimize", "--resume", tmp_path / "run", "-k", "0")
    assert "-k cannot change when a run is resumed" in message
    assert "not of 'solve'" in refused("solve", "--resume", tmp_path / "run")


def test_floors_points_and_players_who_commit():
    shown = run("optimize", "chicken", "--objective", "player=row", "--at-least", "col=4").stdout
    assert "EFCE with player col at least 4, player=row 77/13 = 5.92307692" in shown
    assert "player col gets at least 4: binding, price 7/13" in shown
    assert run_json("optimize", "chicken", "--payoffs", "5,5")["values"] == pytest.approx([5, 5])
    assert "wanted payoffs" not in run("optimize", "chicken", "--payoffs", "5,5").stdout
    said = run("optimize", "chicken", "-k", 0, "--payoffs", "6,6").stdout
    assert "wanted payoffs 6, 6; the nearest of an equilibrium are 0.214285714 away" in said
    held = run_json("optimize", "chicken", "--commits", "row", "--commits", "col")
    assert (held["commits"], held["value"]) == (["row", "col"], 12)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--at-least", "4"], "--at-least must be PLAYER=VALUE"),
        (["--at-least", "row=1", "--at-least", "row=2"], "once for each player"),
        (["--at-least", "x=1"], "there is no player 'x'; the players are 'row', 'col'"),
        (["--at-least", "row=a"], "must be a number"),
        (["--at-least", "row=9"], "no equilibrium pays everybody"),
        (["--payoffs", "1"], "payoffs must be 2 finite numbers"),
        (["--payoffs", "1,b"], "must be a number"),
        (["--payoffs", "1,2", "--objective", "egalitarian"], "not both"),
        (["--commits", "x"], "there is no player 'x'"),
    ],
)
def test_bad_conditions_are_refused(words, message):
    refused = run("optimize", "chicken", *words, code=2)
    assert message in " ".join(refused.stderr.split())


def test_normal_form_equilibria_are_shown_with_their_plans_in_words():
    shown = run("optimize", "signalling", "-k", "nfce").stdout
    assert "signalling: NFCE, welfare 6, proved optimal to 1e-9" in shown
    assert "no player can gain by deviating from it" in shown
    assert "told 'X at good, Y at bad', would play 'X at good, X at bad': binding" in shown


def test_values_of_zero_sum_games_are_fractions():
    shown = run("optimize", "kuhn", "--objective", "player=1").stdout
    assert "player=1 -1/18 = -0.0555555556, proved optimal;" in shown
    assert "bound -1/18, from the sequence form of the zero-sum game, in rational" in shown
