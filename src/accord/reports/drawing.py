"""The tree of a small game as a drawing of its own, for ``Game.plot`` and ``Game.to_tikz``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from accord._files import write_whole
from accord.certifying.exact import judged_equilibrium
from accord.certifying.inspection import inspect
from accord.deviations.notions import EFCE, NotionLike, as_notion
from accord.equilibrium.policy import CorrelatedPolicy, Solved, checked_policy
from accord.errors import ArgumentError
from accord.game.tree import Game
from accord.reports.page import tree_svg
from accord.reports.tikz import tree_tikz
from accord.reports.tree import LARGEST_TREE, TreeView, tree_view

ENDINGS = (".svg", ".tex")


@dataclass(frozen=True, eq=False, repr=False)
class Drawing:
    """A drawn tree, which notebooks show."""

    tree: TreeView

    @property
    def svg(self) -> str:
        """The drawing as an SVG file."""
        return tree_svg(self.tree)

    @property
    def tikz(self) -> str:
        r"""The drawing as a ``tikzpicture`` for ``\input``."""
        return tree_tikz(self.tree)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the drawing to an ``.svg`` or ``.tex`` file.

        Raises:
            ArgumentError: If the name ends otherwise, or the file cannot be written.
        """
        target = Path(path)
        if target.suffix.lower() not in ENDINGS:
            raise ArgumentError(f"a drawing must end in {' or '.join(ENDINGS)}; got {str(path)!r}")
        text = self.svg if target.suffix.lower() == ".svg" else self.tikz
        data = text.encode("utf-8", errors="backslashreplace")
        write_whole(target, data)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Drawing({self.tree.game!r}, nodes={len(self.tree.edges) + 1})"


def game_drawing(
    game: Game, policy: CorrelatedPolicy | Solved | None = None, k: NotionLike = EFCE
) -> Drawing:
    """The drawing of a game, with what a policy recommends and its threats if one is given.

    Raises:
        ArgumentError: If its tree is too large to be drawn.
        MismatchError: If the policy is for another game.
    """
    view = None
    if game.n_nodes <= LARGEST_TREE:
        view = tree_view(game) if policy is None else _advised(checked_policy(game, policy), k)
    if view is None:
        raise ArgumentError(
            f"a tree must have at most {LARGEST_TREE} nodes to be drawn; {game.name} has "
            f"{game.n_nodes:,}"
        )
    return Drawing(view)


def _advised(policy: CorrelatedPolicy, k: NotionLike) -> TreeView | None:
    """The tree with what a policy recommends, and with the threats in it."""
    judged = judged_equilibrium(policy, as_notion(k))
    return tree_view(policy.form.game, inspect(policy, []).recommended, judged=judged)
