"""``accord play``: in the terminal, through a pipe, and simulated."""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import accord
from accord.cli import play as module
from accord.errors import BudgetError
from accord.treeplex.strategy import uniform_behavior
from tests.support.command import process, run
from tests.support.mediation import crossed, overtaken

SEPARATION = ("play", "separation:k=1", "device", "--as", "1")


def told(text: str) -> list[str]:
    """What the mediator said."""
    return re.findall(r"^The mediator says: (.*)$", text, re.M)


# Playing


def test_following_to_the_end() -> None:
    text = run(*SEPARATION, "--seed", 3, typed="\n\n").stdout
    assert text.startswith("separation:k=1: you are player 1. Everybody else follows")
    assert "until you have disobeyed once" in text
    assert len(told(text)) == 2
    assert "silent" not in text
    assert "you earned 0.5." in text
    assert "Following the mediator earns 0.5 on average." in text
    assert "The best deviation (K = 1) earns 0.5 on average." in text
    assert "you were told" not in text


@pytest.mark.parametrize("seed", range(4))
def test_disobeying(seed: int) -> None:
    """Against the separation, the second deviation pays; with K = 1 it is not advised."""
    first = told(run(*SEPARATION, "--seed", seed, "-k", 2).stdout)[0]
    wrong = {"1": "2", "2": "1"}[first]
    text = run(*SEPARATION, "--seed", seed, typed=f"{wrong}\n1\n").stdout
    assert told(text) == [first]
    assert text.count("The mediator is silent.") == 1
    (words,) = re.findall(rf"^At 'start' you were told {first} and played {wrong}: .*", text, re.M)
    assert "worth 0.5 on average, your move at best 0.5." in words
    text = run(*SEPARATION, "--seed", seed, "-k", 2, typed=f"{wrong}\n\n").stdout
    assert len(told(text)) == 2
    assert "worth 0.5 on average, your move at best 1." in text
    second = {"1": "2", "2": "1"}[told(text)[1]]
    text = run(*SEPARATION, "--seed", seed, "-k", 2, typed=f"{wrong}\n{second}\n").stdout
    assert "you earned 1." in text or "you earned 0." in text
    assert text.count("you were told") == 2
    assert "The best deviation (K = 2) earns 1 on average." in text


def test_k_infinity() -> None:
    text = run(*SEPARATION, "-k", "inf", typed="1\n1\n").stdout
    assert "however often you disobey" in text
    assert "until you have disobeyed 2 times" in run(*SEPARATION, "-k", 2, typed="1\n1\n").stdout


def test_k_0_is_decided_beforehand() -> None:
    text = run(*SEPARATION, "-k", 0, "--seed", 1, typed="maybe\ny\n").stdout
    assert "Please type y or n" in text
    assert len(re.findall(r"^The mediator plays \d for you\.$", text, re.M)) == 2
    assert "you earned 0.5." in text
    text = run(*SEPARATION, "-k", 0, "--seed", 1, typed="n\n2\n1\n").stdout
    assert told(text) == []
    assert text.count("The mediator is silent.") == 2
    exact = accord.certify(*separation_device(), 0)
    best = exact.values[0] + exact[0].player_gaps[0]
    assert f"The best way to play on your own earns {best:.4g} on average." in text


def separation_device() -> tuple[accord.Game, accord.CorrelatedPolicy]:
    from accord.game.library import library_device

    game = accord.load_game("separation:k=1")
    return game, accord.CorrelatedPolicy.from_device(game, library_device("separation:k=1"))


def test_answers() -> None:
    """By number or label where labels are words, by label where they are numbers."""
    chicken = ("play", "chicken", "device", "--as", "1", "--seed", 0)
    text = run(*chicken, typed="\n").stdout
    actions = re.findall(r"^Your actions: 1 (\w+), 2 (\w+); Enter follows$", text, re.M)[0]
    chosen = {}
    for n, label in enumerate(actions, 1):
        by_number, by_label = (run(*chicken, typed=f" {t} \n").stdout for t in (n, label))
        assert by_number.replace(f"move: {n}\n", f"move: {label}\n") == by_label
        chosen[label] = re.search(r"you earned (\S+)\.$", by_label, re.M)[1]
    assert len(set(chosen.values())) == 2
    text = run(*chicken, typed="0\n3\nfly\n\n").stdout
    assert text.count("Please type a number from 1 to 2 or one of: ") == 3
    text = run(*SEPARATION, "--seed", 0, typed="0\n3\n1\n1\n").stdout
    assert "Your actions: 1, 2; Enter follows" in text
    assert text.count("Please type one of: 1, 2") == 2


def test_enter_follows_nobody_when_there_is_silence() -> None:
    text = run(*SEPARATION, "-k", 0, typed="n\n\n1\n1\n").stdout
    assert text.count("Please type one of: 1, 2") == 1


def test_who_you_are() -> None:
    by_label = run("play", "signalling", "device", "--as", "professor", "--seed", 2, typed="1\n1\n")
    by_number = run("play", "signalling", "device", "--as", "2", "--seed", 2, typed="1\n1\n")
    assert by_label.stdout == by_number.stdout
    assert "you are player professor" in by_label.stdout


def test_seeds() -> None:
    texts = {run(*SEPARATION, "--seed", seed, typed="\n\n").stdout for seed in (1, 1, 2, 3, 4)}
    assert 1 < len(texts) < 5
    assert len({run(*SEPARATION, typed="\n\n").stdout for _ in range(12)}) > 1


def single_file(folder: Path) -> Path:
    """A game with an infoset of one action, a board for a label, and chance."""
    b = accord.GameBuilder("board", players=["me", "you"])
    b.chance(outcomes={"heads": 0.5, "tails": 0.5})
    b.move("heads", "tails", player="me", infoset="x.o\n...\n", actions="go stay")
    for coin in ("heads", "tails"):
        b.move(f"{coin} go", player="me", infoset=f"only {coin}", actions="on")
        b.payoff(f"{coin} go on", 3, 0)
        b.payoff(f"{coin} stay", 1, 0)
    game = b.build()
    accord.interop.write_efg(game, folder / "board.efg")
    game = accord.load_game(folder / "board.efg")
    form = accord.treeplex.sequence_form(game)
    behaviors = [np.ones(plex.n_sequences) for plex in form.plexes]
    behaviors[0][1:3] = 0.5
    policy = accord.CorrelatedPolicy.product(game, behaviors)
    accord.save_policy(policy, folder / "policy.json")
    return folder / "board.efg"


def test_boards_and_single_actions(tmp_path: Path) -> None:
    game = single_file(tmp_path)
    text = run("play", game, tmp_path / "policy.json", "--as", "me", typed="go\n").stdout
    assert "You are at\n    x.o\n    ...\nThe mediator says" in text
    assert "Your only action is on." in text
    assert "you earned 3." in text
    assert "Following the mediator earns 2 on average." in text
    assert "The best deviation (K = 1) earns 3 on average." in text
    text = run("play", game, tmp_path / "policy.json", "--as", "you").stdout  # never decides
    assert "you earned 0." in text


def test_too_large_to_look_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise BudgetError("far too many", 2, 1)

    monkeypatch.setattr("accord.mediator.hindsight.Hindsight", refuse)
    text = run(*SEPARATION, typed="\n\n").stdout
    assert "Following the mediator earns 0.5 on average." in text
    assert "The best deviation is not computed: far too many" in text


# Several people


BOTH = ("play", "chicken", "device", "--as", "row", "--as", "col")


def test_several_people_take_turns() -> None:
    text = run(*BOTH, "--seed", 3, typed="\n\n\n\n").stdout
    assert text.startswith(
        "chicken: player row and player col play at this terminal.\nThe mediator advises"
    )
    first, second, rest = text.split(module.HIDDEN)
    for part, own, other in ((first, "row", "col"), (second, "col", "row")):
        assert f"Next is player {own}. Everybody else, please look away." in part
        assert f"player {own}, press Enter: " in part
        assert f"You are at '{own}'." in part
        assert f"You are at '{other}'." not in part
        assert len(told(part)) == 1
    assert told(rest) == []
    assert "The play is over." in rest
    assert "Player row earned " in rest
    assert "Following the mediator earns 5.25 on average." in rest
    one_by_one = [
        told(run("play", "chicken", "device", "--as", i, "--seed", 3, typed="\n").stdout)
        for i in ("row", "col")
    ]
    assert one_by_one == [told(first), told(second)]  # the same play, whoever is a person


def test_what_was_said_can_be_repeated() -> None:
    text = run(*SEPARATION, "--seed", 3, typed="?\n?\n\n\n").stdout
    said = told(text)
    assert len(said) == 4
    assert len(set(said[:3])) == 1
    assert told(run(*SEPARATION, "--seed", 3, typed="\n\n").stdout) == said[2:]


def test_several_people_at_k_0() -> None:
    text = run(*BOTH, "-k", 0, "--seed", 3, typed="\ny\n\nn\n\ndare\n").stdout
    assert text.count("let the mediator move for you") == 2
    assert text.count("You are at 'col'.") == 1
    assert "You are at 'row'." not in text
    assert "Player col earned " in text


def written(game: accord.Game, folder: Path) -> tuple[Path, Path]:
    """Files of a game and of the policy that plays everything equally often."""
    accord.interop.write_efg(game, folder / "game.efg")
    game = accord.load_game(folder / "game.efg")
    uniform = list(map(uniform_behavior, accord.treeplex.sequence_form(game).plexes))
    accord.save_policy(accord.CorrelatedPolicy.product(game, uniform), folder / "policy.json")
    return folder / "game.efg", folder / "policy.json"


def test_clocks_that_tell(tmp_path: Path) -> None:
    arguments = ("play", *written(crossed(stop=True), tmp_path), "--as", "Ann")
    result = run(*arguments, "--as", "Bob", typed="\n" * 9)
    assert "warning: this game has no timing" in result.stderr
    assert "warning" not in run(*arguments, typed="\n" * 9).stderr


def test_calls_that_tell(tmp_path: Path) -> None:
    arguments = ("play", *written(overtaken(), tmp_path), "--as", "Bob", "--as", "Ann")
    result = run(*arguments, typed="\n" * 9)
    assert "warning: at 'again' of player Bob, who was called to this terminal" in result.stderr
    assert "warning" not in run(*BOTH, typed="\n" * 9).stderr


def test_an_only_action_is_shown_until_its_player_has_seen_it(tmp_path: Path) -> None:
    arguments = ("play", *written(overtaken(), tmp_path), "--as", "Bob", "--as", "Ann")
    text = run(*arguments, typed="\n").stdout
    assert text.endswith(f"Your only action is on.\npress Enter: \n{module.HIDDEN}\n")
    assert text.count("press Enter: ") == 2


# Leaving


def test_end_of_input() -> None:
    result = run(*SEPARATION, typed="\n")
    assert result.stdout.endswith(f"\n{module.PROMPT}\n")
    assert result.stderr.splitlines()[-1] == "the input ended before the play did"


@pytest.mark.slow
def test_through_a_pipe() -> None:
    with process(
        *SEPARATION, "--seed", 3, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as started:
        output, _ = started.communicate("\n\n", timeout=60)
    assert started.returncode == 0
    assert output == run(*SEPARATION, "--seed", 3, typed="\n\n").stdout
    assert "\x1b" not in output


@pytest.mark.slow
def test_in_a_terminal() -> None:
    pty = pytest.importorskip("pty")
    mine, theirs = pty.openpty()
    with process(
        *SEPARATION, "--seed", 3, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL
    ) as started:
        os.close(theirs)
        seen = read_until(mine, module.PROMPT)
        os.write(mine, b"\n")
        seen += read_until(mine, module.PROMPT)
        os.write(mine, b"\x04")  # Ctrl-D
        seen += read_until(mine, None)
        assert started.wait(timeout=60) == 0
    os.close(mine)
    assert len(told(seen.replace("\r", ""))) == 2


@pytest.mark.slow
def test_the_screen_is_cleared_between_turns() -> None:
    pty = pytest.importorskip("pty")
    mine, theirs = pty.openpty()
    with process(
        *BOTH, "--seed", 3, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL
    ) as started:
        os.close(theirs)
        seen = []
        for _ in range(2):
            text = read_until(mine, "press Enter: ")
            os.write(mine, b"\n")
            text += read_until(mine, module.PROMPT)
            os.write(mine, b"\n")
            seen.append(text)
        seen.append(read_until(mine, None))
        assert started.wait(timeout=60) == 0
    os.close(mine)
    assert module.CLEAR not in seen[0]
    for text in seen[1:]:  # cleared before anything else is shown
        assert not told(text.replace("\r", "").split(module.CLEAR)[0])
        assert module.CLEAR in text
    assert len(told(seen[1].replace("\r", ""))) == 1


def test_who_leaves_leaves_nothing_to_see() -> None:
    text = run(*BOTH, typed="\n").stdout
    assert len(told(text)) == 1
    assert text.endswith(f"{module.PROMPT}\n{module.HIDDEN}\n")


@pytest.mark.slow
def test_ctrl_c() -> None:
    pty = pytest.importorskip("pty")
    mine, theirs = pty.openpty()
    with process(*SEPARATION, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE) as started:
        os.close(theirs)
        try:
            read_until(mine, module.PROMPT)
            for _ in range(10):  # one that comes just before the terminal is read goes unnoticed
                started.send_signal(signal.SIGINT)
                if select.select([mine], [], [], 5)[0]:
                    break
            read_until(mine, None)
            errors = started.communicate(timeout=60)[1]
        finally:
            started.kill()  # or a failure here would wait for it forever
    os.close(mine)
    assert started.returncode == 130
    assert errors.splitlines()[-1] == "interrupted"
    assert "Traceback" not in errors


def read_until(descriptor: int, text: str | None) -> str:
    """What comes out of a terminal until ``text``, or the end."""
    seen = b""
    while text is None or text.encode() not in seen:
        assert select.select([descriptor], [], [], 60)[0], f"nothing more after {seen!r}"
        try:
            piece = os.read(descriptor, 1024)
        except OSError:  # closed at the other side
            piece = b""
        if not piece:
            assert text is None, seen
            break
        seen += piece
    return seen.decode()


# Simulating


def simulated(*arguments: object) -> dict[str, Any]:
    content = json.loads(run(*arguments, "--obey", "--json").stdout, parse_constant=pytest.fail)
    assert isinstance(content, dict)
    return content


def test_obey() -> None:
    text = run("play", "chicken", "device", "--obey", "--plays", 5000, "--seed", 1).stdout
    assert text.startswith("chicken: device, 5,000 plays, everybody follows\n")
    assert re.search(r"^player +mean +95% from +to +exact$", text, re.M)
    content = simulated("play", "chicken", "device", "--plays", 5000, "--seed", 1)
    assert list(content) == [
        "game", "policy", "components", "plays", "seed", "confidence", "players",
    ]  # fmt: skip
    assert (content["game"], content["plays"], content["seed"]) == ("chicken", 5000, 1)
    for row in content["players"]:
        shown = " +".join(re.escape(f"{value:.4g}") for value in list(row.values())[1:])
        assert re.search(rf"^{row['player']} +{shown}$", text, re.M)
        assert row["low"] < row["mean"] < row["high"]
        assert (row["mean"] - row["low"]) == pytest.approx(row["high"] - row["mean"])


def test_the_interval_covers_the_exact_value() -> None:
    """About 95 times in a hundred: 85 to 99 of 100 seeds, of one player."""
    covered = 0
    game = accord.load_game("chicken")
    from accord.game.library import library_device
    from accord.play.obedient_plays import obedient_plays

    policy = accord.CorrelatedPolicy.from_device(game, library_device("chicken"))
    exact = policy.values()[0]
    for seed in range(100):
        rollout = obedient_plays(policy, 300, seed)
        covered += bool(abs(rollout.mean[0] - exact) <= rollout.margin[0])
    assert 85 <= covered <= 99


def test_obey_by_default_and_once() -> None:
    assert simulated("play", "chicken", "device")["plays"] == module.DEFAULT_PLAYS
    content = simulated("play", "chicken", "device", "--plays", 1)
    assert [row["low"] for row in content["players"]] == [None, None]
    text = run("play", "chicken", "device", "--obey", "--plays", 1).stdout
    assert "nan" not in text


def test_the_seed_of_a_simulation() -> None:
    once, again, other = (
        simulated("play", "chicken", "device", "--seed", seed)["players"] for seed in (1, 1, 2)
    )
    assert once == again != other


# Bad use


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("kuhn --obey", "POLICY is missing"),
        (
            "chicken device",
            "give either --as PLAYER, to play yourself, or --obey, to let everybody follow",
        ),
        (
            "chicken device --as 1 --obey",
            "or --obey, to let everybody follow; not both",
        ),
        ("chicken device --as row --as 1", "--as names the same player twice"),
        ("chicken device --as 3", "--as must be one of the players, row, col; got '3'"),
        ("chicken device --as 0", "got '0'"),
        ("signalling device --as 3", "one of the players, student, professor; got '3'"),
        ("signalling device --as 0", "got '0'"),
        ("chicken device --as 1 --plays 3", "--plays and --json need --obey"),
        ("chicken device --as 1 --json", "--plays and --json need --obey"),
        ("chicken device --obey --plays 0", "plays must be a whole number, 1 or more; got 0"),
        ("chicken device --obey --plays x", "must be a whole number; got 'x'"),
        ("chicken device --obey --seed -1", "seed must be a whole number, 0 or more; got -1"),
        ("chicken device --as 1 --seed -1", "seed must be a whole number, 0 or more; got -1"),
        ("chicken device --as 1 -k 1.5", "got '1.5'"),
        ("kuhn device --as 1", "the library has no device for kuhn"),
        ("chicken nowhere.npz --as 1", "nowhere.npz: cannot be read"),
        ("chiken device --as 1", "did you mean chicken"),
    ],
)
def test_bad_use(arguments: str, message: str) -> None:
    result = run("play", *arguments.split(), code=2)
    assert result.stdout == ""
    said = [line for line in result.stderr.splitlines() if not line.startswith("compiling")]
    assert len(said) == 1
    assert said[0].startswith("error: ")
    assert message in said[0]


def test_help_shows_examples_that_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("solve", "kuhn_poker", "--iterations", 10, "--out", "runs/kuhn")
    examples = re.findall(r"^ +accord (play.*)$", run("play", "--help").stdout, re.M)
    assert len(examples) == 3
    for example in examples:
        run(*shlex.split(example), typed="\n\n\n\n")
