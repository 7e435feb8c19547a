"""The command ``accord``, as a person and as a program would use it."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import accord
from accord import _format
from accord.cli import progress, terminal
from accord.cli.main import COMMANDS
from accord.equilibrium import plans
from accord.equilibrium.policy_files import save_policy
from accord.game.library import LIBRARY, library_device
from accord.regret.methods import METHODS
from accord.runs.checkpoint import Checkpoint
from tests.support.command import process, refused, run, run_json
from tests.support.server import threatened_entry

EXAMPLES_NEED = {
    "certify": ["learn env.py:make_env --episodes 300 --out runs/env"],
    "report": ["learn kuhn_poker --episodes 300 --out runs/learned"],
    "reduce": ["solve kuhn_poker --iterations 50 --out runs/kuhn3"],
}
"""What must be run before the examples of a command."""

SOLVE_KEYS = [
    "game",
    "k",
    "method",
    "iterations",
    "gap",
    "players",
    "error",
    "average_gap",
    "average_error",
    "components",
    "values",
    "value_error",
    "seconds",
]


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of Kuhn poker."""
    folder = tmp_path_factory.mktemp("runs") / "kuhn"
    run("solve", "kuhn", "-k", 1, "--iterations", 300, "--components", 50, "--out", folder)
    return folder


# Help


def test_help_lists_the_commands() -> None:
    for arguments in ([], ["--help"], ["-h"]):
        text = run(*arguments).stdout
        listed = text[text.index("\nCommands:\n") :]
        assert re.findall(r"^  (\w+) ", listed, re.M) == list(COMMANDS)
        assert "--install-completion" in text


def test_a_run_without_a_folder_says_that_nothing_was_kept(tmp_path: Path) -> None:
    said = run("solve", "chicken", "--iterations", 5).stderr
    assert "Nothing was kept. With --out DIR" in said
    assert "Nothing" not in run("solve", "chicken", "--iterations", 5, "--json").stderr
    kept = run("solve", "chicken", "--iterations", 5, "--out", tmp_path / "run")
    assert "Nothing" not in kept.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(command: str) -> None:
    text = run(command, "--help").stdout
    assert re.search(rf"Examples?:\n +accord {command}", text)
    usage = text.split("\n")[0].removeprefix(f"Usage: accord {command} [OPTIONS]")
    assert re.fullmatch(r"( [A-Z]+(\.\.\.)?| \[[A-Z]+\])*", usage)  # names as people write them
    for name in re.findall(r"[A-Z.]+", usage):
        assert re.search(rf"Arguments:\n(.*\n)*  {re.escape(name)}  +[A-Z]", text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    sorted({*COMMANDS} - {"mcp", "play", "serve", "watch"}),  # these wait; tested elsewhere
)
def test_examples_in_help_are_good_use(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "env.py").write_text(
        "import accord\n\n\ndef make_env():\n    return accord.OpenSpielEnvironment('kuhn_poker')\n"
    )
    run("solve", "kuhn_poker", "--iterations", 10, "--out", "runs/kuhn")
    shutil.copy("runs/kuhn/policy.npz", "policy.npz")
    for needed in EXAMPLES_NEED.get(command, []):
        run(*needed.split())
    examples = re.findall(rf"^ +accord ({command}.*)$", run(command, "-h").stdout, re.M)
    assert examples
    for example in examples:
        run(*shlex.split(example))


def test_version() -> None:
    assert run("--version").stdout == f"accord {accord.__version__}\n"


def test_help_loads_nothing_heavy() -> None:
    """What makes it quick: no compiler, no arrays, no games before a command runs."""
    code = (
        "import sys; from accord.cli.main import main; sys.argv = ['accord', '--help']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numba', 'numpy', 'scipy', 'pyspiel', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "solve" in done.stdout


@pytest.mark.slow
def test_completion_knows_commands_and_games() -> None:
    def complete(words: str) -> str:
        number = words.count(" ")
        environment = {
            **os.environ,
            "_ACCORD_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(number),
        }
        code = "from accord.cli.main import main; main()"
        return subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        ).stdout

    assert complete("accord so").split() == ["solve"]
    assert complete("accord solve leduc").split() == ["leduc_poker"]
    assert complete("accord solve separa").split() == ["separation"]


# games


def test_games() -> None:
    text = run("games").stdout
    assert all(name in text for name in LIBRARY)
    assert "leduc_poker" in text
    assert "Song, Mei, Bai 2022" in text


def test_games_json() -> None:
    content = run_json("games")
    assert [game["name"] for game in content["library"]] == list(LIBRARY)
    kuhn = next(game for game in content["library"] if game["name"] == "kuhn")
    assert kuhn["infosets"] == [6, 6]
    assert kuhn["parameters"] == {"players": 2}
    assert {"name": "kuhn_poker", "infosets": [6, 6], "terminals": 30} in content["openspiel"]


# info


def test_info() -> None:
    text = run("info", "kuhn").stdout
    assert "58 nodes, 30 terminals" in text
    assert "-2 to 2" in text
    assert re.search(r"^inf +1 +9 +0 +36 +864 B$", text, re.M)
    assert "uaranteed" not in text


def test_info_json() -> None:
    content = run_json("info", "kuhn")
    game = accord.load_game("kuhn")
    assert content["digest"] == game.digest
    assert (content["nodes"], content["terminals"], content["leaves"]) == (58, 30, 30)
    first, second = content["players"]
    assert first["horizon"] == 2
    assert second["horizon"] == 1
    assert first["payoffs"] == [-2.0, 2.0]
    assert [row["k"] for row in first["rechistories"]] == [0, 1, 2, "inf"]
    assert first["rechistories"][1] == {
        "k": 1,
        "swap": 6,
        "external": 3,
        "cells": 30,
        "bytes": 768,
    }
    assert "plan" not in content


def test_info_epsilon() -> None:
    planned = accord.plan(accord.load_game("kuhn"), 1, 0.1)
    (row,) = run_json("info", "kuhn", "-k", 1, "--target-gap", 0.1)["plan"]
    assert row["iterations"] == planned.iterations
    assert row["episodes"] == planned.episodes
    assert f"{planned.iterations:,}" in run("info", "kuhn", "-k", 1, "--target-gap", 0.1).stdout


def test_info_of_a_player_who_never_decides(tmp_path: Path) -> None:
    b = accord.GameBuilder("idle", players=2)
    b.move(player=1, actions="a b")
    b.payoff("a", 1, 0)
    b.payoff("b", 0, 0)
    accord.interop.write_efg(b.build(), tmp_path / "idle.efg")
    idle = run_json("info", tmp_path / "idle.efg", "--target-gap", 0.1)["players"][1]
    assert (idle["infosets"], idle["horizon"], idle["actions"]) == (0, 0, 0)
    assert "idle: 3 nodes" in run("info", tmp_path / "idle.efg", "--target-gap", 0.1).stdout


# solve


def test_solve() -> None:
    result = run("solve", "kuhn", "-k", 1, "--iterations", 300)
    assert "kuhn: EFCE by prm+, 300 iterations in" in result.stdout
    assert re.search(r"^1 +\d\S+ +\d\S+ +-0\.05", result.stdout, re.M)
    assert "best deviation from it: player" in result.stdout
    assert "\x1b" not in result.stdout + result.stderr


def test_solve_json_is_the_solution() -> None:
    content = run_json("solve", "kuhn", "-k", "inf", "--iterations", 200, "--components", 20)
    assert list(content) == SOLVE_KEYS
    solution = accord.solve(
        accord.load_game("kuhn"), k=math.inf, iterations=200, components=20
    ).to_json()
    del content["seconds"], solution["seconds"]
    assert content == solution


@pytest.mark.parametrize("method", METHODS)
def test_solve_methods(method: str) -> None:
    content = run_json("solve", "chicken", "--method", method, "--iterations", 50)
    solution = accord.solve(accord.load_game("chicken"), method=method, iterations=50)
    assert (content["method"], content["gap"]) == (method, solution.gap)


def test_methods_of_the_command_are_those_of_the_library() -> None:
    text = run("solve", "--help").stdout
    assert f"[{'|'.join(METHODS)}]" in "".join(text.split())


def test_learning_rate() -> None:
    options = ("--method", "wrhedge", "--iterations", 50)
    gaps = [
        run_json("solve", "kuhn", *options, "--learning-rate", rate)["gap"] for rate in (0.1, 10)
    ]
    assert gaps[0] != gaps[1]


def test_target() -> None:
    reached = run("solve", "kuhn", "--target-gap", 0.1)
    assert "not reached" not in reached.stderr
    missed = run("solve", "kuhn", "--target-gap", 1e-12, "--iterations", 20, code=1)
    assert "target gap 1e-12 not reached: the gap of the average is" in missed.stderr
    assert "kuhn: EFCE" in missed.stdout
    content = run_json("solve", "kuhn", "--target-gap", 1e-12, "--iterations", 20, code=1)
    assert content["iterations"] == 20


def test_seconds() -> None:
    """They end a run that has no other limit, long before an hour that they replace."""
    brief, longer = (run_json("solve", "kuhn", "--seconds", limit) for limit in (0.2, 1.0))
    assert brief["iterations"] < longer["iterations"]
    assert 0.5 < longer["seconds"] < 60.0  # a busy machine needs longer than the limit for its end


def test_a_run_is_a_folder(solved: Path) -> None:
    names = ["certificate.json", "checkpoint.npz", "policy.npz", "progress.jsonl", "run.json"]
    assert sorted(path.name for path in solved.iterdir()) == names
    asked = json.loads((solved / "run.json").read_text())
    game = accord.load_game(asked["asked"]["game"])
    assert asked["digest"] == game.digest
    assert asked["asked"]["iterations"] == 300
    assert asked["versions"]["accord"] == accord.__version__
    assert list(asked["result"]) == SOLVE_KEYS

    policy = accord.load_policy(solved / "policy.npz", game)
    assert policy.n_components == asked["result"]["components"] == 50
    certificate = json.loads((solved / "certificate.json").read_text())
    assert certificate["gaps"][0]["gap"] == asked["result"]["gap"]
    assert accord.certify(game, policy, 1)[1].gap == pytest.approx(certificate["gaps"][0]["gap"])

    lines = [json.loads(line) for line in (solved / "progress.jsonl").read_text().splitlines()]
    assert lines[-1]["iteration"] == 300
    assert lines[-1]["gap"] == asked["result"]["average_gap"]
    assert [line["iteration"] for line in lines] == sorted({line["iteration"] for line in lines})


def test_the_policy_opens_without_accord(solved: Path) -> None:
    with np.load(solved / "policy.npz") as file:
        assert file["weights"].sum() == pytest.approx(1.0)
        assert file["probabilities_1"].shape[0] == 50


def test_nothing_is_overwritten(solved: Path, tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in solved.iterdir()}
    message = refused("solve", "kuhn", "--out", solved)
    assert "must be a new or empty folder" in message
    assert {path.name: path.read_bytes() for path in solved.iterdir()} == before
    (tmp_path / "file").touch()
    assert "must be a writable folder" in refused("solve", "kuhn", "--out", tmp_path / "file")
    assert "must be a writable folder" in refused("solve", "kuhn", "--out", tmp_path / "file" / "x")


def test_an_empty_folder_will_do(tmp_path: Path) -> None:
    run("solve", "chicken", "--iterations", 5, "--out", tmp_path)
    assert (tmp_path / "policy.npz").exists()


# certify


def test_certify(solved: Path) -> None:
    policy = solved / "policy.npz"
    text = run("certify", "kuhn", policy, "-k", 0, "-k", 1, "-k", "inf").stdout
    assert "50 components" in text
    assert re.search(r"^notion +K +gap +relative +sum +player 1 +player 2$", text, re.M)
    for name, k in (("NFCCE", "0"), ("EFCE", "1"), ("BCE", "inf")):
        assert re.search(rf"^{name} +{k} +\S+ +\S+ +\S+ +\S+ +\S+$", text, re.M)
        assert re.search(rf"^(.*, )?{name}(, .*)?: player", text, re.M)
    assert "in every game NFCCE <= EFCE <= BCE\n" in text
    assert "trigger gap" in text
    assert "NFCE gap" in text


def test_certify_prints_the_ladder_of_a_small_game() -> None:
    text = run("certify", "greenwald_sarfati_1", "device").stdout
    rows = re.findall(r"^(\S+) +(0|1|2|inf)? +(0|1) +\S+ +\S+ +\S+ +\S+$", text, re.M)
    assert rows == [
        ("NFCCE", "0", "1"),
        ("EFCCE", "", "1"),
        ("EFCE", "1", "1"),
        ("AFCCE", "", "0"),
        ("AFCE", "", "0"),
        ("2-EFCE", "2", "1"),
        ("BCE", "inf", "1"),
        ("LCE", "", "1"),
        ("NFCE", "", "1"),
    ]
    assert "in every game NFCCE <= EFCCE <= EFCE <= 2-EFCE <= BCE <= NFCE\n" in text
    assert "in every game EFCE <= LCE <= NFCE\n" in text
    assert "in every game AFCCE <= AFCE <= 2-EFCE\n" in text
    assert "AFCCE, AFCE: no player can gain by deviating\n" in text
    assert "EFCCE: player 1 at 'first' plays 'R' before being told anything: gains 1" in text
    assert "NFCE gap" not in text  # it has a row


def test_certify_notions_by_name() -> None:
    command = ("certify", "greenwald_sarfati_1", "device")
    content = run_json(*command, "--notion", "efcce", "-k", "AFCE", "-k", 1, "--notion", "efce")
    assert [(gap["notion"], gap["k"], gap["gap"]) for gap in content["gaps"]] == [
        ("EFCCE", None, 1.0),
        ("AFCE", None, 0.0),
        ("EFCE", 1, 1.0),
    ]
    text = run(*command, "--notion", "nfce").stdout
    assert re.search(r"^NFCE +1 ", text, re.M)
    assert "EFCE " not in text.replace("NFCE", "")
    message = refused(*command, "--notion", "nash")
    assert "or one of nfcce, efcce, efce, afcce, afce, bce, lce, nfce; got 'nash'" in message


def test_certify_json_is_the_certificate(solved: Path) -> None:
    game = accord.load_game("kuhn")
    policy = accord.load_policy(solved / "policy.npz", game)
    content = run_json("certify", "kuhn", solved / "policy.npz")
    assert content == json.loads(json.dumps(accord.certify(game, policy).to_json()))
    assert [gap["k"] for gap in content["gaps"]] == [0, None, 1, None, None, 2, "inf", None]


def test_certify_the_device_of_a_library_game() -> None:
    content = run_json("certify", "separation:k=1", "device", "-k", 1, "-k", 2)
    assert content["gaps"][0]["gap"] == pytest.approx(0.0, abs=1e-12)
    assert content["gaps"][1]["gap"] == pytest.approx(0.5)
    refusal = refused("certify", "kuhn", "device")
    assert refusal.startswith("the library has no device for kuhn; it has devices for ")
    assert refusal.endswith("for other games give the policy that solve or optimize finds")
    message = refused("certify", "kuhn_poker", "device")
    assert "no device for kuhn_poker; it has devices for separation, fore" in message


def test_certify_prints_rounding_as_zero() -> None:
    """The terminal and JSON agree."""
    content = run_json("certify", "chicken", "device", "-k", 0)
    (gap,) = content["gaps"]
    assert gap["gap"] == gap["witness"][0]["gain"] == 0.0
    assert 0.0 < gap["error"] < 1e-12
    text = run("certify", "chicken", "device", "-k", 0).stdout
    assert re.search(r"^NFCCE( +0){6}$", text, re.M)
    assert "NFCCE: no player can gain by deviating\n" in text
    assert f"exact to within {gap['error']:.2g}\n" in text


def test_certify_prints_gaps_above_rounding(tmp_path: Path) -> None:
    """What is small but more than rounding is shown, however large payoffs of other plays are."""
    game = tmp_path / "game.efg"
    policy = tmp_path / "policy.json"
    deviates = "told 'a' plays 'b' instead"
    for payoff, said in ((1 + 1e-11, deviates), (1 + 1e-15, deviates), (1, "no player can gain")):
        b = accord.GameBuilder("small", players=["Player 1"])
        b.move(player="Player 1", infoset="root", actions="a b c")
        for action, paid in zip("abc", (1, payoff, -1e9), strict=True):
            b.payoff(action, paid)
        accord.interop.write_efg(b.build(), game)
        loaded = accord.load_game(game)
        save_policy(accord.CorrelatedPolicy.product(loaded, [[1, 1, 0, 0]]), policy)
        text = run("certify", game, policy, "-k", 1).stdout
        assert re.search(r"^notion +K +gap +relative +sum +Player 1$", text, re.M)
        assert re.search(rf"^EFCE: .*{said}", text, re.M)


@pytest.mark.parametrize("k", ["99999999999999999999", "9" * 5000, "infinity", "∞"])
def test_k_may_be_above_any_horizon(k: str) -> None:
    (gap,) = run_json("certify", "separation:k=1", "device", "-k", k)["gaps"]
    assert gap["gap"] == pytest.approx(0.5)
    assert gap["k"] == (int(k) if len(k) == 20 else "inf")
    solution = run_json("solve", "kuhn", "-k", k, "--iterations", 3)
    assert solution["k"] == gap["k"]


def test_a_k_given_twice_is_one_row() -> None:
    content = run_json("certify", "chicken", "device", "-k", 1, "-k", 1)
    assert [gap["k"] for gap in content["gaps"]] == [1]


# convert


def test_convert_games(tmp_path: Path) -> None:
    first, second = tmp_path / "first.efg", tmp_path / "second.efg"
    assert "kuhn_poker, 58 nodes" in run("convert", "kuhn_poker", first).stdout
    run("convert", first, second)
    assert second.read_bytes() == first.read_bytes()
    assert accord.load_game(second).digest == accord.load_game(first).digest


@pytest.mark.slow
def test_a_run_of_a_game_is_a_run_of_its_file(tmp_path: Path) -> None:
    """Of a library game by the file it was converted to, of a built one by the file written."""
    file, folder = tmp_path / "signalling.efg", tmp_path / "signalling"
    run("solve", "signalling", "-k", 1, "--iterations", 50, "--out", folder)
    run("convert", "signalling", file)
    by_name, by_file = (
        run_json("certify", game, folder / "policy.npz", "-k", 1) for game in ("signalling", file)
    )
    assert by_file["gaps"] == by_name["gaps"]

    b = accord.GameBuilder("built", players=["a", "b"])
    b.move(player="a", actions="l r")
    b.chance({"x": 0.3, "y": 0.7}, "l")
    b.move("r", "l x", "l y", player="b", infoset="b", actions="l r")
    b.reward("l", 1, 0)
    for end in ("r l", "r r", "l x l", "l x r", "l y l", "l y r"):
        b.payoff(end, len(end), end.count("l"))
    game = b.build()
    accord.solve(game, k=1, iterations=50, folder=tmp_path / "built")
    accord.interop.write_efg(game, tmp_path / "built.efg")
    run("report", tmp_path / "built", "--game", tmp_path / "built.efg")
    assert (tmp_path / "built" / "report.html").exists()


def test_convert_policies(solved: Path, tmp_path: Path) -> None:
    as_json, as_npz = tmp_path / "policy.json", tmp_path / "policy.npz"
    run("convert", solved / "policy.npz", as_json, "--game", "kuhn")
    assert json.loads(as_json.read_text())["format"] == "accord-policy"
    run("convert", as_json, as_npz, "--game", "kuhn")
    game = accord.load_game("kuhn")
    before, after = (accord.load_policy(path, game) for path in (solved / "policy.npz", as_npz))
    np.testing.assert_allclose(after.behavior, before.behavior, rtol=0, atol=1e-15)


def test_convert_a_device(tmp_path: Path) -> None:
    run("convert", "device", tmp_path / "chicken.json", "--game", "chicken")
    game = accord.load_game("chicken")
    policy = accord.load_policy(tmp_path / "chicken.json", game)
    assert policy.n_components == len(library_device("chicken"))


def test_convert_replaces_only_if_told(tmp_path: Path) -> None:
    target = tmp_path / "chicken.efg"
    target.write_text("mine")
    assert "exists; give --force to replace it" in refused("convert", "chicken", target)
    assert target.read_text() == "mine"
    run("convert", "chicken", target, "--force")
    assert accord.load_game(target).n_players == 2


# device


def test_device_prints_the_plans_of_a_policy() -> None:
    lines = run("device", "device", "--game", "signalling").stdout.splitlines()
    assert lines == [
        "signalling: device, 4 components, 4 plans",
        "",
        "             student    professor",
        "probability  good  bad  X       Y",
        "0.25         X     X    accept",
        "0.25         X     Y    accept  refuse",
        "0.25         Y     X    refuse  accept",
        "0.25         Y     Y            accept",
        "",
        "credible: following advice that is given only after a slip of others (probability 0.01) "
        "is a best reply",
    ]
    text = run("device", "device", "--game", "signalling", "--off-path").stdout
    assert "0.25         X     X    accept    (refuse)\n" in text
    assert "\nIn parentheses: told only after another player has deviated.\n" in text


def test_device_says_whether_it_is_credible(tmp_path: Path) -> None:
    policy = threatened_entry()
    accord.save_game(policy.form.game, tmp_path / "entry.efg")
    accord.save_policy(policy, tmp_path / "entry.json")
    text = run("device", tmp_path / "entry.json", "--game", tmp_path / "entry.efg").stdout
    assert "\nnot credible: after a slip of somebody else, this advice would be disobeyed\n" in text
    assert "at 'entered' told 'fight' plays 'yield' instead: gains 2" in text
    assert "\ncredible: " in run("device", "device", "--game", "chicken").stdout


def test_device_of_a_run_is_that_of_its_policy(solved: Path) -> None:
    found = run_json("device", solved)
    game = accord.load_game("kuhn")
    policy = accord.load_policy(solved / "policy.npz", game)
    assert found == policy.device().to_json()
    assert run_json("device", solved / "policy.npz", "--game", "kuhn") == found
    total = sum(plan["probability"] for plan in found["plans"]) + found["rest"]
    assert total == pytest.approx(1.0)
    text = run("device", solved, "--plans", 3).stdout
    assert "50 components, the 3 likeliest plans, with a probability of 0." in text
    assert "other plans, each at most 0." in text
    assert len(run_json("device", solved, "--plans", 3)["plans"]) == 3


def test_device_files(solved: Path, tmp_path: Path) -> None:
    device = accord.load_policy(solved / "policy.npz", accord.load_game("kuhn")).device()
    for name, content in (
        ("device.csv", device.to_csv()),
        ("device.tex", device.to_latex()),
        ("device.json", json.dumps(device.to_json())),
    ):
        said = run("device", solved, "--out", tmp_path / name).stdout
        assert said == f"{tmp_path / name}: {len(device.plans)} plans\n"
        assert (tmp_path / name).read_text() == content
        assert "exists; give --force" in refused("device", solved, "--out", tmp_path / name)
    run("device", solved, "--out", tmp_path / "device.csv", "--plans", 1, "--force")
    assert (tmp_path / "device.csv").read_text().count("\n") == 3


def test_device_of_a_policy_with_too_many_plans(
    solved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "SEARCH_STEPS", 10)
    text = run("device", solved).stdout
    assert "50 components, too many plans to list" in text
    assert "mixes at too many infosets" in text


# Bad use and bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("solve", "give a GAME to solve, or --resume DIR"),
        ("solve kuhn --resume here", "here: must be the folder of a run, but there is no such"),
        ("solve --resume here -k 2", "-k cannot change when a run is resumed"),
        ("solve --resume here", "here: must be the folder of a run, but there is no such"),
        ("solvee kuhn", "No such command 'solvee'. Did you mean 'solve'?"),
        ("--nonsense", "No such option"),
        ("solve kuhn --nonsense", "No such option"),
        ("solve kuhn --k 1", "there is no option --k; did you mean -k?"),
        (
            "learn chicken --play --episodes 9",
            "Or take the game of Accord's library: load_game",
        ),
        ("solve kuhn --max-nodes 9", "must come before the command: accord --max-nodes N solve"),
        ("solve kuhn -k 1 -k 2", "'-k' / '--notion': must be given once, but was given 2 times"),
        ("learn kuhn --episodes 9 -k 1 -k 1 -k 2", "must be given once, but was given 3"),
        ("optimize chicken -k 1 --notion afce", "'--notion': must be given once"),
        ("play chicken device --obey -k 1 -k 2", "'-k': must be given once"),
        ("solve kuhn --iterations 1 --iterations 2", "'--iterations': must be given once"),
        ("--max-nodes 9 --max-nodes 99 info kuhn", "'--max-nodes': must be given once"),
        ("learn kuhn --play --episodes 9", "did you mean kuhn_poker or"),
        ("solve kuhn extra", "unexpected extra argument"),
        ("solve khun", "did you mean kuhn"),
        ("solve nowhere.efg", "nowhere.efg"),
        ("solve kuhn -k 1.5", "afcce, afce, bce, lce, nfce; got '1.5'"),
        ("solve kuhn -k -1", "got '-1'"),
        ("solve kuhn -k abc", "got 'abc'"),
        ("solve kuhn -k nan", "got 'nan'"),
        ("solve kuhn -k ²", "got '²'"),
        ("info kuhn -k 1.5", "got '1.5'"),
        ("certify kuhn device -k -1", "got '-1'"),
        ("solve kuhn --method cfr", "wrhedge"),
        ("solve kuhn --iterations 0", "iterations must be"),
        ("solve kuhn --iterations 1.5", "must be a whole number; got '1.5'"),
        ("solve kuhn --components 0", "components must be"),
        ("solve kuhn --seconds -1", "seconds must be non-negative"),
        ("solve kuhn --seconds nan", "must be a number; got 'nan'"),
        ("solve kuhn --target-gap inf", "must be a number; got 'inf'"),
        ("solve kuhn --target-gap -1", "target_gap must be non-negative"),
        ("solve kuhn --learning-rate 1", "prm+ has no learning rate"),
        ("solve kuhn --method wrhedge --learning-rate 0", "learning_rate must be positive"),
        ("info kuhn --target-gap 0", "target_gap must be positive"),
        ("info kuhn --target-gap x", "must be a number; got 'x'"),
        ("certify", "Missing argument 'GAME'"),
        ("certify kuhn", "POLICY is missing; give GAME and POLICY"),
        ("certify runs/nothing", "or the folder of a run alone, which 'runs/nothing' is not"),
        ("certify kuhn nowhere.npz", "nowhere.npz: cannot be read"),
        ("certify kuhn nowhere.txt", "a policy must be the folder of a run, a .json or .npz"),
        ("convert kuhn", "Missing argument 'TARGET'"),
        ("convert kuhn kuhn.txt", "must end in .efg, .nfg, .py (a game)"),
        ("convert kuhn kuhn.json", "the TARGET of a game must end in .efg, .nfg or .py"),
        ("convert a.json b.efg", "a.json is a policy"),
        ("convert a.json b.npz", "give --game GAME"),
        ("convert a.json b.npz --game kuhn", "a.json: cannot be read"),
        ("convert a.json b.csv --game kuhn", "; accord export writes tables"),
        ("device", "Missing argument 'SOURCE'"),
        (
            "device kuhn",
            "a policy must be the folder of a run, a .json or .npz policy, or `device`",
        ),
        ("device a.json", "give --game GAME"),
        ("device a.json --game kuhn", "a.json: cannot be read"),
        ("device device --game kuhn", "the library has no device for kuhn"),
        ("device .", ".: must be the folder of a run, but it has no run.json"),
        ("device device --game chicken --plans 0", "plans must be a whole number, 1 or more"),
        ("device device --game chicken --plans x", "must be a whole number; got 'x'"),
        ("device device --game chicken --out d.txt", "FILE must end in .csv, .tex or .json"),
        ("device device --game chicken --out no/d.csv", "there is no folder no"),
        ("convert kuhn nowhere/kuhn.efg", "there is no folder nowhere"),
    ],
)
def test_bad_use(
    arguments: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in refused(*arguments.split())
    assert not list(tmp_path.iterdir())


def test_bad_files(tmp_path: Path, solved: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    assert "broken.json:1:2: must be a policy as JSON" in refused("certify", "kuhn", broken)
    game = tmp_path / "broken.efg"
    game.write_text("EFG 2 R")
    assert "broken.efg:1:8" in refused("info", game)
    message = refused("certify", "kuhn", shutil.copy(solved / "certificate.json", tmp_path))
    assert message.endswith('and "version": 1; this file has neither')
    message = refused("certify", "kuhn:players=3", solved / "policy.npz")
    assert "is for 2 players" in message
    message = refused("certify", "kuhn_poker", solved / "policy.npz")
    assert "was made for the game 'kuhn'" in message


def test_too_large_is_refused_before_allocating() -> None:
    message = refused("solve", "leduc_poker", "--components", 10**7)
    assert "of memory" in message
    assert "try a smaller k or fewer components" in message


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    tmp_path.chmod(0o500)
    assert "must be a writable folder" in refused("solve", "kuhn", "--out", tmp_path / "run")


def test_json_with_a_bad_game_prints_no_json() -> None:
    assert "did you mean" in refused("info", "khun", "--json")


# Progress and interruptions


def checkpoint(iteration: int, seconds: float) -> Checkpoint:
    return Checkpoint(iteration, 0.25, (0.25, 0.1), (0.0, 0.0), seconds)


def test_progress_without_a_terminal_is_a_few_plain_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress.shown_progress(1000, None) as show:
        for iteration in range(1, 1001):
            show(checkpoint(iteration, 20.0 + 0.02 * iteration))
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert len(lines) == 3  # 20 s, one line every 5
    assert lines[0] == "252 iterations, 50 per second, gap 0.25, 15 s left"
    assert "\x1b" not in captured.err


def test_short_runs_say_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.shown_progress(None, None) as show:
        show(checkpoint(1, 30.0))  # compiling took long, and is not the run's fault
        show(checkpoint(5, 31.0))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("iterations", "seconds", "left"),
    [(None, None, math.inf), (1000, None, 9.0), (None, 15.0, 4.0), (1000, 15.0, 4.0)],
)
def test_time_left(
    iterations: int | None, seconds: float | None, left: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress.time, "perf_counter", lambda: 11.0)
    pace = progress._Pace(iterations, seconds)
    pace.seconds_left(checkpoint(0, 10.0))
    assert pace.seconds_left(checkpoint(100, 11.0)) == pytest.approx(left)


@pytest.mark.slow
def test_progress_on_a_terminal() -> None:
    pty = pytest.importorskip("pty")
    run("solve", "kuhn", "--iterations", 3)  # compiles what would else be compiled below
    mine, theirs = pty.openpty()
    started = subprocess.Popen(
        [sys.executable, "-m", "accord.cli.main", "solve", "kuhn", "--iterations", "40000"],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # how a terminal ends
        while piece := os.read(mine, 65536):
            shown += piece
    os.close(mine)
    output = started.communicate(timeout=60)[0]
    text = shown.decode()
    assert "per second, gap" in text
    assert "left" in text
    assert b"\x1b" not in output
    assert b": EFCE by" in output


@pytest.mark.slow
def test_compiling_is_announced_once(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    said = []
    for _ in range(2):
        command = ("solve", "kuhn_poker", "--iterations", 5, "--json")  # info compiles nothing
        with process(*command, env=environment) as started:
            output, errors = started.communicate(timeout=120)
        assert json.loads(output)["game"] == "kuhn_poker"
        said.append(errors)
    assert said == ["compiling kernels (first time only) ...\n", ""]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send")
def test_interruption() -> None:
    code = "from accord.cli import main, progress\nprogress.SECONDS_PER_LINE = 0.1\nmain.main()"
    started = subprocess.Popen(
        [sys.executable, "-c", code, "solve", "kuhn", "--seconds", "60"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stderr is not None
    while "iterations" not in started.stderr.readline():
        pass
    started.send_signal(signal.SIGINT)
    output, errors = started.communicate(timeout=60)
    assert started.returncode == 130
    assert ": EFCE by prm+" in output
    said = [line for line in errors.splitlines() if not line.startswith("compiling")]
    assert said[-1] == "interrupted"
    assert "Traceback" not in errors


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send")
def test_interruption_while_compiling(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    started = process("solve", "kuhn", env=environment)
    assert started.stderr is not None
    assert started.stderr.readline().startswith("compiling")
    started.send_signal(signal.SIGINT)
    errors = started.communicate(timeout=60)[1]
    assert (started.returncode, errors) == (130, "interrupted\n")


@pytest.mark.slow
def test_labels_beyond_the_terminals_letters(tmp_path: Path) -> None:
    b = accord.GameBuilder("Ω", players=["naïve", "rusé"])
    b.move(player="naïve", actions="↑ ↓")
    b.payoff("↑", 1, 0)
    b.payoff("↓", 0, 1)
    accord.interop.write_efg(b.build(), tmp_path / "omega.efg")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    with process("info", tmp_path / "omega.efg", env=environment) as started:
        output, errors = started.communicate(timeout=60)
    assert started.returncode == 0, errors
    assert r"na\xefve" in output


# What tables are made of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (12345.0, "12,345"),
        (10**9, "1.00e+9"),
        (3 * 10**400, "3.00e+400"),
        (1e300, "1.00e+300"),
    ],
)
def test_counts(value: float, text: str) -> None:
    assert _format.count(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 B"), (1500, "1.5 kB"), (2e9, "2 GB"), (math.inf, "inf TB")]
)
def test_memory(value: float, text: str) -> None:
    assert _format.memory(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.4, "0 s"), (75, "1 min 15 s"), (7260, "2 h 01 min")]
)
def test_durations(value: float, text: str) -> None:
    assert progress._time_left(value) == f"{text} left"


def test_tables(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.print_table(("name", "n", "[bold]"), [("a[b]", 1, "x"), ("b", 20, ":smile:")])
    assert capsys.readouterr().out.splitlines() == [
        "name   n  [bold]",
        "a[b]   1  x",
        "b     20  :smile:",
    ]


@pytest.mark.parametrize("players", [8, 40])
def test_a_table_that_is_too_wide_loses_nothing(
    players: int, capsys: pytest.CaptureFixture[str]
) -> None:
    header = ("notion", "K", *[f"player Incumbent{i}" for i in range(players)])
    gaps = [f"{1 + i / 8:.3f}" for i in range(players)]
    terminal.print_table(header, [("2-EFCE", "2", *gaps)], left=2)
    above, titles, numbers = capsys.readouterr().out.splitlines()
    assert above.split() == ["player"] * players
    assert titles.split() == ["notion", "K", *[f"Incumbent{i}" for i in range(players)]]
    assert numbers.split() == ["2-EFCE", "2", *gaps]
