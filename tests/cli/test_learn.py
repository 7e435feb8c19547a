"""``accord learn``, as a person and as a program would use it."""

from __future__ import annotations

import json
import math
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import accord
from accord.certifying.exact import certify
from accord.cli.main import app
from accord.game.library import kuhn
from accord.learning.exploration import EXPLORATIONS
from accord.regret.methods import SAMPLED_METHODS
from accord.runs.learn import learn
from tests.support.command import refused, run, run_json

KEYS = [
    "game",
    "k",
    "method",
    "episodes",
    "iterations",
    "episodes_per_iteration",
    "gap",
    "players",
    "error",
    "components",
    "values",
    "value_error",
    "advice",
    "seconds",
]


def without_seconds(content: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in content.items() if key != "seconds"}


def test_json_is_what_python_says() -> None:
    content = run_json(
        "learn", "kuhn", "-k", 1, "--episodes", 10_001, "--seed", 3, "--components", 40
    )
    assert list(content) == KEYS
    wanted = learn(kuhn(), 1, episodes=10_001, seed=3, components=40).to_json()
    assert without_seconds(content) == without_seconds(wanted)
    assert (content["method"], content["episodes"]) == ("prm", 9_999)
    assert content["seconds"] > 0


def test_every_option_arrives() -> None:
    hedged = ("--method", "swrhedge", "--learning-rate-scale", 9)
    fast = run_json("learn", "kuhn", "--episodes", 4000, *hedged, "-k", "inf")
    wanted = learn(
        kuhn(), math.inf, episodes=4000, method="swrhedge", learning_rate_scale=9.0
    ).to_json()
    assert without_seconds(fast) == without_seconds(wanted)
    assert fast["k"] == "inf"
    matched = run_json("learn", "kuhn", "--episodes", 4000, "--method", "rm")
    wanted = learn(kuhn(), 1, episodes=4000, method="rm").to_json()
    assert without_seconds(matched) == without_seconds(wanted)


@pytest.mark.parametrize("exploration", EXPLORATIONS)
def test_exploration_arrives(exploration: str) -> None:
    arguments = ("learn", "kuhn", "--episodes", 400, "--exploration", exploration)
    wanted = learn(kuhn(), 1, episodes=400, exploration=exploration).to_json()
    assert without_seconds(run_json(*arguments)) == without_seconds(wanted)
    hedged = (*arguments, "--method", "swrhedge")
    if exploration == "spread":
        message = "exploration must be one of balanced, uniform; got 'spread'"
        assert message in refused(*hedged)
    else:
        wanted = learn(
            kuhn(), 1, episodes=400, method="swrhedge", exploration=exploration
        ).to_json()
        assert without_seconds(run_json(*hedged)) == without_seconds(wanted)


def test_methods_are_those_of_learn() -> None:
    text = "".join(run("learn", "--help").stdout.split())
    assert f"[{'|'.join(SAMPLED_METHODS)}]" in text
    assert f"[{'|'.join(EXPLORATIONS)}]" in text


def test_people_read_the_same() -> None:
    text = run("learn", "kuhn", "--episodes", 4500, "--seed", 2, "--components", 30).stdout
    wanted = learn(kuhn(), 1, episodes=4500, seed=2, components=30)
    assert text.startswith("kuhn: EFCE learned by prm from 4,500 episodes, 1,500 iterations")
    assert f"gap {wanted.gap:.4g}, {wanted.gap / 4:.4g} of the payoff range" in text
    assert "mixture of 30 policies" in text
    assert "best deviation from it: " in text
    row = re.search(r"^1 +(\S+) +(\S+) +(\S+)$", text, re.M)
    assert row is not None
    assert [float(cell) for cell in row.groups()] == pytest.approx(
        [wanted.player_gaps[0], wanted.player_gaps[0] / 4, wanted.values[0]], rel=1e-3
    )


@pytest.mark.parametrize(
    ("chosen", "method", "exploration", "each"),
    [((), "prm", "spread", 3), (("--method", "swrhedge"), "swrhedge", "balanced", 4)],
)
def test_a_run_is_a_folder(
    tmp_path: Path, chosen: tuple[str, ...], method: str, exploration: str, each: int
) -> None:
    folder = tmp_path / "runs" / "learned"
    arguments = ("learn", "kuhn", "--episodes", 8000, "--components", 25, *chosen, "--out", folder)
    text = run(*arguments).stdout
    names = {"certificate.json", "checkpoint.npz", "policy.npz", "progress.jsonl", "run.json"}
    assert {path.name for path in folder.iterdir()} == names
    assert f"Written to {folder}: " in text
    record = json.loads((folder / "run.json").read_text())
    assert record["command"] == "learn"
    assert record["asked"] == {
        "game": "kuhn",
        "k": 1,
        "episodes": 8000,
        "batch": 1,
        "feedback": "own",
        "known": None,
        "environment": None,
        "memory": None,
        "method": method,
        "learning_rate_scale": 1.0,
        "exploration": exploration,
        "options": None,
        "seed": 0,
        "seconds": None,
        "components": 25,
        "bounds": None,
        "estimated": False,
        "start": None,
    }
    assert list(record["result"]) == KEYS
    game = kuhn()
    policy = accord.load_policy(folder / "policy.npz", game)
    assert policy.n_components == 25
    assert record["result"]["gap"] == pytest.approx(certify(game, policy, 1)[1].gap, rel=1e-12)
    lines = (folder / "progress.jsonl").read_text().splitlines()
    played = [json.loads(line) for line in lines]
    assert list(played[0]) == [
        "iteration", "gap", "players", "error", "values", "value_error", "seconds", "episodes",
    ]  # fmt: skip
    assert all(line["episodes"] == each * line["iteration"] for line in played)
    assert played[-1]["gap"] == record["result"]["gap"]
    assert refused("learn", "kuhn", "--episodes", 8000, "--out", folder).startswith(str(folder))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("kuhn",), "give --episodes N, the number of episodes to play"),
        (("kuhn", "--episodes", "many"), "must be a whole number; got 'many'"),
        (("kuhn", "--episodes", 0), "episodes must be a whole number, 1 or more; got 0"),
        (("kuhn", "--episodes", 2), "episodes must be at least 3, enough for one iteration"),
        (
            ("kuhn", "--episodes", 3, "--method", "swrhedge"),
            "episodes must be at least 4, enough for one iteration",
        ),
        (("kuhn", "--episodes", 99, "-k", "-1"), "must be a whole number of deviations"),
        (
            ("kuhn", "--episodes", 99, "--method", "wrhedge"),
            "one of prm, rm, swrhedge; got 'wrhedge'",
        ),
        (("kuhn", "--episodes", 99, "--learning-rate-scale", 0), "learning_rate_scale must be"),
        (("kuhn", "--episodes", 99, "--learning-rate-scale", "inf"), "must be a number"),
        (
            ("kuhn", "--episodes", 99, "--method", "rm", "--learning-rate-scale", 2),
            "needs a named method with a learning rate",
        ),
        (("kuhn", "--episodes", 99, "--learning-rate-scale", 2), "got 2.0 for prm"),
        (
            ("kuhn", "--episodes", 99, "--exploration", "wild"),
            "must be one of spread, balanced, uniform; got 'wild'",
        ),
        (("kuhn", "--episodes", 99, "--seed", -3), "seed must be a whole number"),
        (("kuhn", "--episodes", 99, "--components", 0), "components must be"),
        (("no_such_game", "--episodes", 99), "no_such_game"),
    ],
)
def test_mistakes(arguments: tuple[object, ...], message: str) -> None:
    assert message in refused("learn", *arguments)


@pytest.mark.slow
def test_help_shows_examples_that_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = "from tests.support.environments import NoisyChicken as make_env\n"
    (tmp_path / "env.py").write_text(made)
    text = run("learn", "--help").stdout
    examples = re.findall(r"^ +accord learn (.*)$", text, re.M)
    assert len(examples) == 5
    for example in examples:
        run("learn", *shlex.split(example))
    assert (tmp_path / "runs" / "learned" / "policy.npz").is_file()


def test_progress_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accord.cli.progress.SECONDS_PER_LINE", 0.0)
    result = run("learn", "kuhn", "--episodes", 3000, "--components", 100, "--json")
    said = [line for line in result.stderr.splitlines() if "episodes" in line]
    assert said
    gap = f"{json.loads(result.stdout)['gap']:.3g}"
    assert re.fullmatch(rf"3,000 episodes, [\d,]+ per second, gap {gap}, 0 s left", said[-1])


def test_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    result = run("learn", "kuhn", "--episodes", 3000, "--json")
    assert "3,000 episodes" in result.stderr
    assert list(json.loads(result.stdout)) == KEYS


def test_a_run_is_resumed_with_its_own_command(tmp_path: Path) -> None:
    learned, solved = tmp_path / "learned", tmp_path / "solved"
    run("learn", "kuhn", "--episodes", 400, "--out", learned)
    accord.solve(kuhn(), 1, iterations=3, folder=solved)
    assert f"resume it with accord solve --resume {solved}" in refused("learn", "--resume", solved)
    result = CliRunner().invoke(app, ["solve", "--resume", str(learned)])
    assert result.exit_code == 2
    assert f"resume it with accord learn --resume {learned}" in result.stderr


def test_a_game_that_has_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is found from anywhere, and once it has moved it can be given again."""
    monkeypatch.chdir(tmp_path)
    accord.interop.write_efg(kuhn(), "game.efg")
    run("learn", "game.efg", "--episodes", 400, "--out", "run")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    run("learn", "--resume", "../run", "--episodes", 800)
    (tmp_path / "game.efg").rename(tmp_path / "moved.efg")
    assert "game.efg" in refused("learn", "--resume", "../run", "--episodes", 1200)
    assert (
        "1,200 episodes"
        in run("learn", "../moved.efg", "--resume", "../run", "--episodes", 1200).stdout
    )
