"""Games from and to pygambit, and what they pass between each other."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pygambit
import pytest

import accord
from accord.game.library import chicken, kuhn
from accord.game.tree import total_rewards
from accord.interop.efg import format_efg
from accord.interop.nfg import format_nfg


class Gambit:
    """What Accord uses of a ``pygambit.Game``."""

    title = "a title"

    def __init__(self, game: accord.Game, *, is_tree: bool) -> None:
        self.game, self.is_tree = game, is_tree

    def to_efg(self) -> str:
        return format_efg(self.game)

    def to_nfg(self) -> str:
        return format_nfg(self.game)


@pytest.mark.parametrize("is_tree", [True, False])
def test_games_in_both_forms(is_tree: bool) -> None:
    assert accord.interop.from_gambit(Gambit(chicken(), is_tree=is_tree)).digest == chicken().digest


def test_other_things_are_refused() -> None:
    with pytest.raises(accord.errors.ArgumentError, match=r"needs a pygambit\.Game"):
        accord.interop.from_gambit(chicken())


def test_without_pygambit_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygambit", None)
    with pytest.raises(accord.errors.MissingDependencyError, match=r"pip install .pygambit"):
        accord.interop.to_gambit(chicken())


def test_pygambit_itself() -> None:
    theirs: Any = accord.interop.to_gambit(kuhn())
    assert isinstance(theirs, pygambit.Game)
    names = [getattr(player, "label", player) for player in theirs.players]  # texts since 17
    assert names == list(kuhn().player_labels)
    assert accord.interop.from_gambit(theirs).digest == kuhn().digest


def test_labels_that_pygambit_does_not_accept_are_refused() -> None:
    lines = chicken().replace(player_labels=["one\nof two", "the other"])
    with pytest.raises(
        accord.errors.ArgumentError, match="must accept the labels of the game 'chicken'"
    ):
        accord.interop.to_gambit(lines)


def test_a_table_of_pygambit() -> None:
    kind = getattr(pygambit, "StrategicGame", pygambit.Game)  # its own class since version 17
    table = kind.from_arrays([[0, 7], [2, 6]], [[0, 2], [7, 6]], title="chicken")
    game = accord.interop.from_gambit(table)
    assert (game.name, game.n_terminals) == ("chicken", 4)
    assert accord.optimize(game, 1).value == pytest.approx(10.5)


def _payoffs(game: accord.Game) -> Any:
    return total_rewards(game, np.flatnonzero(game.player == accord.TERMINAL))


CATALOG = sorted(Path(str(pygambit.__file__)).parent.glob("catalog_data/**/*.[en]fg"))


@pytest.mark.parametrize("path", CATALOG, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_pygambits_own_games(path: Path) -> None:
    """What pygambit read and writes again is the game of the file; ours, read by it, comes back."""
    theirs: Any = (pygambit.read_efg if path.suffix == ".efg" else pygambit.read_nfg)(str(path))
    if not theirs.is_perfect_recall:
        with pytest.raises(accord.errors.ImperfectRecallError):
            accord.interop.from_gambit(theirs)
        return
    ours, read = accord.interop.from_gambit(theirs), accord.load_game(path)
    assert np.array_equal(ours.player, read.player)  # the numbers of infosets may differ
    assert np.array_equal(_payoffs(ours), _payoffs(read))
    assert accord.interop.from_gambit(accord.interop.to_gambit(ours)).digest == ours.digest
