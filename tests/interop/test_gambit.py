"""Games from and to pygambit, and what they pass between each other."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

import pytest

import accord
from accord.game.library import chicken, kuhn
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
    assert accord.from_gambit(Gambit(chicken(), is_tree=is_tree)).digest == chicken().digest


def test_other_things_are_refused() -> None:
    with pytest.raises(accord.ArgumentError, match=r"needs a pygambit\.Game"):
        accord.from_gambit(chicken())


def test_without_pygambit_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygambit", None)
    with pytest.raises(accord.MissingDependencyError, match="pip install pygambit"):
        accord.to_gambit(chicken())


if find_spec("pygambit"):  # it is compiled from source, so it is not among the tests' dependencies

    def test_pygambit_itself() -> None:
        import pygambit

        theirs: Any = accord.to_gambit(kuhn())
        assert isinstance(theirs, pygambit.Game)
        assert accord.from_gambit(theirs).digest == kuhn().digest
        table = pygambit.Game.from_arrays([[0, 7], [2, 6]], [[0, 2], [7, 6]], title="chicken")
        assert accord.from_gambit(table).n_terminals == 4
