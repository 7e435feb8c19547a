"""Games by name: their origin, and the messages about unknown names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyspiel
import pytest

import accord
from accord.errors import ArgumentError
from accord.game.library import LIBRARY, LibraryGame, kuhn
from accord.interop.catalog import OPENSPIEL_GAMES, KnownGame
from accord.interop.load import game_names, load_game, load_python_game


@pytest.mark.parametrize("name", LIBRARY)
def test_library_names(name: str) -> None:
    game = load_game(name)
    assert game.name == name
    assert game.digest == LIBRARY[name].build().digest


def test_library_parameters() -> None:
    assert load_game("kuhn:players=3").n_infosets == (16, 16, 16)
    assert load_game("  kuhn:players=3 ").name == "kuhn:players=3"


def test_openspiel_names() -> None:
    assert load_game("kuhn_poker").n_infosets == (6, 6)
    assert load_game("kuhn_poker(players=3)").n_infosets == (16, 16, 16)
    assert load_game("python_kuhn_poker").n_infosets == (6, 6)


@pytest.mark.slow
@pytest.mark.parametrize("known", OPENSPIEL_GAMES, ids=lambda known: known.name)
def test_the_catalog_is_true(known: KnownGame) -> None:
    game = load_game(known.name)
    assert (game.n_infosets, game.n_terminals) == (known.infosets, known.terminals)


@pytest.mark.parametrize("file", ["Kuhn.EFG", "kuhn.efg", "kuhn.nfg", "kuhn.py"])
def test_saved_games_are_loaded(tmp_path: Path, file: str) -> None:
    path = tmp_path / file
    accord.save_game(kuhn(), path)
    game = load_python_game(f"{path}:game") if path.suffix == ".py" else load_game(path)
    if path.suffix == ".nfg":
        assert game.n_infosets == (1, 1)  # the strategic form
    else:
        assert game.digest == kuhn().digest


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"must end in .efg, .nfg, .py; got '.*kuhn.json'"):
        accord.save_game(kuhn(), tmp_path / "kuhn.json")
    assert list(tmp_path.iterdir()) == []


def test_the_library_takes_precedence_and_brackets_mean_openspiel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not {known.name for known in OPENSPIEL_GAMES} & set(LIBRARY)
    entry = LibraryGame("leduc_poker", kuhn, "not Leduc", "this test")
    monkeypatch.setitem(LIBRARY, "leduc_poker", entry)
    assert load_game("leduc_poker").n_infosets == (6, 6)
    assert load_game("leduc_poker:players=3").n_infosets == (16, 16, 16)
    assert load_game("leduc_poker()").n_infosets == (468, 468)
    assert game_names().count("leduc_poker") == 1


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("khun_poker", "did you mean kuhn_poker or"),
        ("Kuhn", "did you mean kuhn"),
        ("seperation:k=1", "did you mean separation?"),
        ("leduc", "did you mean leduc_poker?"),
        ("kuhn()", "kuhn is a library game, whose parameters follow a colon; try kuhn$"),
        ("kuhn(players=3)", "try kuhn:players=3$"),
        ("kuhn_poker:players=3", r"try kuhn_poker\(players=3\)$"),
        (
            "",
            "game ''; a game is a library name .*, an OpenSpiel name .* or the path of an .efg",
        ),
        ("a game of thrones", "a library name"),
        (":", "a library name"),
        ("(", "a library name"),
    ],
)
def test_unknown_names(name: str, advice: str) -> None:
    with pytest.raises(accord.errors.ArgumentError, match="there is no .*" + advice):
        load_game(name)


def test_a_game_that_exists_with_other_parameters() -> None:
    with pytest.raises(accord.errors.ArgumentError, match="kuhn has no parameter 'cards'"):
        load_game("kuhn:cards=4")
    with pytest.raises(accord.errors.ArgumentError, match="kuhn_poker takes players=2"):
        load_game("kuhn_poker(cards=4)")
    with pytest.raises(accord.errors.GameError, match="no information state string"):
        load_game("backgammon")


def test_files_that_are_not_games(tmp_path: Path) -> None:
    with pytest.raises(accord.errors.ParseError, match=r"nowhere.efg: .*No such file"):
        load_game(tmp_path / "nowhere.efg")
    text = tmp_path / "game.txt"
    text.write_text("EFG 2 R")
    with pytest.raises(accord.errors.ArgumentError, match=r"a file with a game must end in .efg"):
        load_game(text)
    code = tmp_path / "env.py"
    code.write_text("")
    with pytest.raises(accord.errors.ArgumentError, match=r"env.py names Python code"):
        accord.load_game(str(code))


@pytest.mark.slow
def test_openspiel_is_imported_only_when_needed() -> None:
    code = "import accord, sys; accord.load_game('kuhn'); print('pyspiel' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


def test_games_of_other_packages() -> None:
    theirs = accord.interop.to_gambit(load_game("signalling"))
    assert load_game(theirs).digest == load_game("signalling").digest
    spiel = pyspiel.load_game("kuhn_poker")
    assert load_game(spiel).digest == load_game("kuhn_poker").digest
    with pytest.raises(accord.errors.BudgetError, match="at most 10 nodes"):
        load_game(spiel, max_nodes=10)
    ours = load_game("chicken")
    assert load_game(ours) is ours
    for game in (theirs, spiel):
        with pytest.raises(accord.errors.ArgumentError, match=r"try accord\.load_game"):
            accord.solve(game, k=1)
    with pytest.raises(accord.errors.ArgumentError, match=r"a path, or a game of .*; got 3"):
        load_game(3)
