"""Games in normal form: all players move once, at the same time.

In the tree the players move one after another without seeing each other, so each has one infoset,
labeled with the player's name. With one decision per player, a K-EFCE is a coarse correlated
equilibrium for K = 0 and a correlated equilibrium for every K >= 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from accord._arrays import NO_INFOSET, NO_NODE, TERMINAL, Floats
from accord._check import as_number
from accord.errors import GameError
from accord.game.library.entries import Draws, named
from accord.game.rationals import remember
from accord.game.tree import Game


def matrix_game(
    payoffs: ArrayLike | Sequence[Any],
    *,
    actions: Sequence[Sequence[str]] | None = None,
    players: Sequence[str] | None = None,
    name: str = "matrix game",
) -> Game:
    """The game with these payoffs, such as ``matrix_game([[(6, 6), (2, 7)], [(7, 2), (0, 0)]])``.

    Args:
        payoffs: One tuple of payoffs per joint action, in lists of shape ``[A_1, ..., A_n]``; or
            one table of payoffs per player, ``[n_players, A_1, ..., A_n]``. A payoff is a number or
            a fraction such as ``"1/3"``.
        actions: Labels of each player's actions; by default ``"0"``, ``"1"``, ...
        players: Their names; by default ``"1"``, ``"2"``, ...
        name: Name of the game.

    Raises:
        GameError: If the payoffs have neither form, or could have both.
    """
    rationals: dict[float, Fraction] = {}
    table = _by_player(payoffs, rationals)
    n, sizes = table.shape[0], table.shape[1:]
    labels = tuple(players or map(str, range(1, n + 1)))
    levels = list(accumulate(sizes, mul, initial=1))  # nodes of each player, then the terminals
    first = list(accumulate(levels, initial=0))
    mover = np.repeat([*range(n), TERMINAL], levels)
    parent, action = np.full(len(mover), NO_NODE), np.zeros(len(mover), np.int64)
    for i in range(n):
        below = slice(first[i + 1], first[i + 2])
        parent[below] = np.repeat(np.arange(first[i], first[i + 1]), sizes[i])
        action[below] = np.tile(np.arange(sizes[i]), levels[i])
    return Game.from_arrays(
        n_players=n,
        player=mover,
        parent=parent,
        action=action,
        infoset=np.where(mover == TERMINAL, NO_INFOSET, 0),
        chance_prob=np.ones(len(mover)),
        reward_node=np.arange(first[n], first[n + 1]),
        reward=table.reshape(n, -1).T,
        name=name,
        player_labels=labels,
        infoset_labels=[[label] for label in labels],
        action_labels=None if actions is None else [[tuple(row)] for row in actions],
        rationals=rationals,
    )


def _by_player(payoffs: Any, rationals: dict[float, Fraction]) -> Floats:
    """``[n_players, A_1, ..., A_n]``, whichever of its two forms ``payoffs`` has; what was given
    exactly is added to ``rationals``."""
    table = _numbers(payoffs)
    if getattr(payoffs, "dtype", None) is None or payoffs.dtype == object:
        remember(rationals, table.flat, np.asarray(payoffs, dtype=object).flat)
    n = table.ndim - 1
    if n < 1 or n not in (table.shape[0], table.shape[-1]) or 0 in table.shape:
        raise GameError(
            "payoffs must have shape [A_1, ..., A_n, n_players], one tuple per joint action, or "
            "[n_players, A_1, ..., A_n], one table per player with one axis per player and no "
            f"empty axis; got {table.shape}"
        )
    tuples = _has_tuples(payoffs, table.shape)
    if table.shape[-1] == n and (tuples or table.shape[0] != n):
        return np.moveaxis(table, -1, 0)
    if tuples:
        raise GameError(
            f"each tuple must have the payoffs of all {n} players, who have one axis of actions "
            f"each; got {table.shape[-1]} payoffs; for one table per player write lists or arrays"
        )
    if tuples is None and table.shape[-1] == n:
        raise GameError(
            f"payoffs of shape {table.shape} could be one tuple of payoffs per joint action or one "
            "table per player; write [[(a, b), ...], ...] with tuples in lists for the first, and "
            "lists or arrays only for the second"
        )
    return table


def _numbers(payoffs: Any) -> Floats:
    try:
        return np.asarray(payoffs, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    try:  # with fractions written as text
        cells = np.asarray(payoffs, dtype=object)
        return np.array([as_number("a payoff", cell) for cell in cells.flat]).reshape(cells.shape)
    except (TypeError, ValueError):
        raise GameError(
            "payoffs must be one tuple of numbers per joint action, or one table of numbers per "
            "player, all of the same shape"
        ) from None


def _has_tuples(payoffs: Any, shape: tuple[int, ...]) -> bool | None:
    """Whether ``payoffs`` has one tuple per joint action, in lists, or else lists and arrays; None
    if it mixes them in another way."""
    around: list[Any] = []
    rows = [payoffs]
    for _ in shape[1:]:
        around += rows
        rows = [part for row in rows if isinstance(row, list | tuple) for part in row]
    if not any(isinstance(row, tuple) for row in rows):
        return False
    in_lists = all(isinstance(one, list) for one in around)
    return True if in_lists and all(isinstance(row, tuple) for row in rows) else None


@named("chicken")
def chicken() -> Game:
    """Chicken, after R. Aumann, *Subjectivity and correlation in randomized strategies*, 1974."""
    row = [[0, 7], [2, 6]]
    return _symmetric(row, "dare yield")


def chicken_device() -> Draws:
    """A correlated equilibrium in which the players never both dare; worth 5.25 each."""
    return _device("row col", {"yield yield": 1 / 2, "dare yield": 1 / 4, "yield dare": 1 / 4})


@named("shapley")
def shapley() -> Game:
    """Shapley's game: rock, paper, scissors in which a tie pays nobody.

    L. S. Shapley, *Some topics in two-person games*, 1964; payoffs as in Figure 7.6 of Y. Shoham
    and K. Leyton-Brown, *Multiagent Systems*, 2009. Its only Nash equilibrium is uniform and pays
    1/3.
    """
    return _symmetric([[0, 0, 1], [1, 0, 0], [0, 1, 0]], "rock paper scissors")


def shapley_device() -> Draws:
    """A correlated equilibrium that never ties; worth 1/2 each."""
    moves = ("rock", "paper", "scissors")
    return _device("row col", {f"{a} {b}": 1 / 6 for a in moves for b in moves if a != b})


@named("battle_of_the_sexes")
def battle_of_the_sexes() -> Game:
    """Battle of the sexes: R. D. Luce and H. Raiffa, *Games and Decisions*, 1957, Section 5.3."""
    return matrix_game(
        [[[2, 0], [0, 1]], [[1, 0], [0, 2]]],
        actions=[("fight", "ballet")] * 2,
        players=("row", "col"),
    )


def battle_of_the_sexes_device() -> Draws:
    """Toss a coin for both; worth 3/2 each."""
    return _device("row col", {"fight fight": 1 / 2, "ballet ballet": 1 / 2})


@named("matching_pennies")
def matching_pennies() -> Game:
    """Matching pennies: row wins if the pennies match. Zero-sum, worth 0."""
    return matrix_game(
        [[[1, -1], [-1, 1]], [[-1, 1], [1, -1]]],
        actions=[("heads", "tails")] * 2,
        players=("row", "col"),
    )


def matching_pennies_device() -> Draws:
    """Two independent coins: the only Nash equilibrium and the only correlated equilibrium."""
    sides = ("heads", "tails")
    return _device("row col", {f"{a} {b}": 1 / 4 for a in sides for b in sides})


@named("prisoners_dilemma")
def prisoners_dilemma() -> Game:
    """The prisoner's dilemma; R. D. Luce and H. Raiffa, *Games and Decisions*, 1957, 5.4."""
    return _symmetric([[3, 0], [5, 1]], "cooperate defect")


def prisoners_dilemma_device() -> Draws:
    """Defection dominates, so this is the only correlated equilibrium; worth 1 each."""
    return _device("row col", {"defect defect": 1.0})


def _symmetric(row: Sequence[Sequence[float]], actions: str) -> Game:
    """A symmetric game of two players; ``row`` has the payoffs of the first."""
    table = np.asarray(row, float)
    return matrix_game(
        [table, table.T], actions=[tuple(actions.split())] * 2, players=("row", "col")
    )


def _device(players: str, draws: dict[str, float]) -> Draws:
    return tuple(
        (
            weight,
            tuple({i: a} for i, a in zip(players.split(), actions.split(), strict=True)),
        )
        for actions, weight in draws.items()
    )
