"""Where games and policies come from: folders of runs, and Python code."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import accord
from tests.support.command import refused, run, run_json

BEER = '''
"""A firm enters a market, and its rival fights or yields."""

from pathlib import Path

import accord

Path(__file__ + ".ran").touch()


def game(prize: int = 2, share: float = 1.0, friendly: bool = False) -> accord.Game:
    b = accord.GameBuilder("entry", players=["firm", "rival"])
    b.move(player="firm", infoset="market", actions="enter stay")
    b.move("enter", player="rival", infoset="entered", actions="fight yield")
    b.payoff("stay", 0, 3)
    b.payoff("enter fight", 0 if friendly else -1, -1)
    b.payoff("enter yield", prize, share)
    return b.build()


made = game(prize=5)
number = 7


def needs(prize):
    return game(prize)


def broken():
    raise KeyError("a bug")


def unfinished():
    return accord.GameBuilder("nothing").build()


def make_env():
    return accord.OpenSpielEnvironment("kuhn_poker")
'''


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of Kuhn poker at K = 0."""
    folder = tmp_path_factory.mktemp("runs") / "kuhn"
    run("solve", "kuhn", "-k", "nfcce", "--iterations", 50, "--out", folder)
    return folder


@pytest.fixture
def beer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with Python code, which is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "beer", raising=False)
    (tmp_path / "beer.py").write_text(BEER)
    return tmp_path


# Folders of runs


def test_a_run_is_a_policy_with_its_game(solved: Path, tmp_path: Path) -> None:
    """Every command that takes a policy takes the folder of a run, and needs no GAME."""
    file = solved / "policy.npz"
    alone = run_json("certify", solved, "-k", 1)
    assert alone == run_json("certify", "kuhn", solved, "-k", 1)
    assert alone == run_json("certify", "kuhn", file, "-k", 1)
    assert run_json("device", solved) == run_json("device", file, "--game", "kuhn")
    obedient = ("--obey", "--plays", 100, "--seed", 1)
    played, by_file = run_json("play", solved, *obedient), run_json("play", "kuhn", file, *obedient)
    assert played["players"] == by_file["players"]
    run("convert", solved, tmp_path / "policy.json")
    run("convert", file, tmp_path / "same.json", "--game", "kuhn")
    assert (tmp_path / "policy.json").read_bytes() == (tmp_path / "same.json").read_bytes()
    for name in ("device.csv", "tree.svg", "certificate.json"):
        run("export", solved, tmp_path / name)


def test_the_mediator_has_the_k_of_the_run(solved: Path) -> None:
    text = run("play", solved, "--as", "1", typed="n\nbet\nbet\n").stdout
    assert "The mediator recommends nothing (K = 0)" in text
    text = run("play", solved, "--as", "1", "-k", "bce", typed="bet\nbet\n").stdout
    assert "however often you disobey" in text
    text = run("play", "kuhn", solved / "policy.npz", "--as", "1", typed="bet\nbet\n").stdout
    assert "until you have disobeyed once" in text


def test_the_mediator_of_another_notion_needs_a_k(tmp_path: Path) -> None:
    run("optimize", "chicken", "-k", "efcce", "--out", tmp_path / "run")
    message = refused("play", tmp_path / "run", "--as", "row")
    assert "is a run for EFCCE: players could gain by disobeying; certify it at some K" in message
    text = run("play", tmp_path / "run", "--as", "row", "-k", 1, typed="\n").stdout
    assert "until you have disobeyed once" in text


def test_a_folder_without_a_run(tmp_path: Path) -> None:
    for command in ("certify", "device", "play", "convert"):
        rest = {"play": ["--obey"], "convert": [tmp_path / "p.json"]}.get(command, [])
        assert "must be the folder of a run, but it has no run.json" in refused(
            command, tmp_path, *rest
        )


# Python code


@pytest.mark.parametrize(
    ("name", "welfare"),
    [
        ("beer.py:game", 3),
        ("beer.py", 3),
        ("beer.py:game:prize=4", 5),
        ("beer.py:game:prize=3,share=1/3,friendly=true", 10 / 3),
        ("beer.py:made", 6),
        ("beer:made", 6),
    ],
)
def test_a_python_file_makes_a_game(beer: Path, name: str, welfare: float) -> None:
    assert run_json("optimize", name)["value"] == pytest.approx(welfare)


def test_every_command_takes_code(beer: Path) -> None:
    game = "beer.py:game:prize=4"
    assert run_json("info", game)["nodes"] == 5
    assert run_json("solve", game, "--iterations", 20)["game"] == "entry"
    assert run_json("learn", game, "--episodes", 100)["game"] == "entry"
    assert run_json("region", game, "-k", 1)["game"] == "entry"
    run("sweep", game, "--iterations", 5, "--out", "swept")
    run("convert", game, "entry.efg")
    assert accord.load_game("entry.efg").digest == run_json("info", game)["digest"]
    run("export", game, "tree.svg")


def test_code_that_convert_wrote_makes_the_same_game(beer: Path) -> None:
    for source in ("kuhn", "beer.py:game:prize=4", "y.py"):
        target = beer / ("z.py" if source == "y.py" else "y.py")
        run("convert", source, target, "--force")
        assert run_json("info", target)["digest"] == run_json("info", source)["digest"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent.py:game", "absent.py must be a Python file, but there is none"),
        ("beer.py:absent", "beer.py has no 'absent'; name what makes the game: beer.py:NAME"),
        ("beer.py:number", "beer.py:number must be a game or a function that returns one; got 7"),
        ("beer.py:make_env", "beer.py:make_env is an environment, which can only be played"),
        ("beer.py:needs", "'needs' in beer.py must have a default for every parameter: missing"),
        ("beer.py:broken", "beer.py:broken raised KeyError: 'a bug'"),
        ("beer.py:unfinished", "every history must continue with a move or end with a payoff"),
        ("beer.py:game:price=3", "game has no parameter 'price'; did you mean prize?"),
        ("beer.py:game:prize=much", "prize of game must be an integer; got 'much'"),
        ("beer.py:game:friendly=1", "friendly of game must be true or false; got '1'"),
        ("beer.py:made:prize=3", "'made' in beer.py is not a function and takes no parameters"),
        ("absent:game", "there is no module 'absent'"),
    ],
)
def test_code_that_makes_no_game(beer: Path, name: str, message: str) -> None:
    assert message in refused("solve", name)


def test_a_run_of_code_needs_the_code_named_again(beer: Path) -> None:
    """A folder may come from anywhere, so what it names is not run."""
    game, folder = "beer.py:game:prize=4", beer / "run"
    run("solve", game, "--iterations", 20, "--out", folder)
    recorded = json.loads((folder / "run.json").read_text())["asked"]["game"]
    assert recorded == f"{beer}/{game}"
    (beer / "beer.py.ran").unlink()
    for command in (
        ["certify", folder],
        ["play", folder, "--obey"],
        ["serve", folder],
        ["device", folder],
        ["reduce", folder],
        ["report", folder],
        ["watch", folder],
        ["export", folder, "device.csv"],
        ["convert", folder, "policy.json"],
        ["solve", "--resume", folder],
        ["optimize", "--from", folder],
    ):
        message = refused(*command)
        assert f"is a run of {recorded}, which is Python code" in message
        assert f"as GAME or with --game: {recorded}" in message
    with pytest.raises(
        accord.errors.ArgumentError, match="names Python code, which is run only if"
    ):
        accord.load_game(recorded)
    assert not (beer / "beer.py.ran").exists()

    assert run_json("certify", game, folder)["game"] == "entry"
    assert run_json("device", folder, "--game", game)["game"] == "entry"
    run("report", folder, "--game", game)
    run("reduce", folder, "--game", game)
    assert run_json("solve", game, "--resume", folder, "--iterations", 30)["iterations"] == 30
    message = refused("certify", "beer.py:game", folder)
    assert "digest" in message


@pytest.mark.slow
def test_an_environment_of_code_needs_the_code_named_again(beer: Path) -> None:
    folder = beer / "run"
    run("learn", "beer.py:make_env", "--episodes", 100, "--out", folder)
    (beer / "beer.py.ran").unlink()
    for command in (["certify", folder], ["learn", "--resume", folder, "--episodes", 200]):
        assert "which is Python code" in refused(*command)
    assert not (beer / "beer.py.ran").exists()
    certified = run_json("certify", "beer.py:make_env", folder, "--plays", 100)
    assert certified["gaps"][0]["k"] == 1
    resumed = run_json("learn", "beer.py:make_env", "--resume", folder, "--episodes", 200)
    assert resumed["episodes"] > 100
    run("learn", "kuhn_poker", "--play", "--episodes", 100, "--out", beer / "played")
    assert run_json("certify", beer / "played", "--plays", 100)["gaps"]
    resumed = run_json("learn", "--resume", beer / "played", "--episodes", 200)
    assert resumed["episodes"] > 100


RECORDS = (
    {"x": 1}, {"source": 5}, {"source": "a.py:b"}, {"source": "a.py:b", "play": 3},
    {"source": "kuhn_poker", "play": True, "payoff_bounds": [1]},
    {"source": "kuhn_poker", "play": True, "payoff_bounds": ["x", "y"]},
    {"source": "kuhn_poker", "play": True, "payoff_bounds": [0, 10**400]},
    {"source": "kuhn_poker", "play": True, "more": None},
)  # fmt: skip


def test_a_malformed_environment_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "played"
    run("learn", "kuhn_poker", "--play", "--episodes", 50, "--out", folder)
    content = json.loads((folder / "run.json").read_text())
    for record in RECORDS:
        asked = {**content["asked"], "environment": record}
        (folder / "run.json").write_text(json.dumps({**content, "asked": asked}))
        for command in (["learn", "--resume", folder, "--episodes", 99], ["certify", folder]):
            assert "run.json" in refused(*command), record


def test_a_game_whose_labels_forget_is_played_by_histories(tmp_path: Path) -> None:
    """The option is kept in the folder, so that resuming and certifying need it no more."""
    game, folder = "dark_hex_ir(board_size=2)", tmp_path / "run"
    said = refused("learn", game, "--play", "--episodes", 600, "--plays", 0)
    assert "forgets at infoset" in said and "on the command line --history" in said
    run("learn", game, "--play", "--history", "--episodes", 300, "--plays", 60, "--out", folder)
    again = run_json("learn", "--resume", folder, "--episodes", 600, "--plays", 60)
    assert again["episodes"] == 600
    assert run_json("certify", folder, "--plays", 60, "--memory", "1GB")["gaps"]
    assert "give --play, too" in refused("learn", "kuhn_poker", "--history", "--episodes", 9)
    assert "memory" in refused("certify", "chicken", "device", "--memory", "1GB")
