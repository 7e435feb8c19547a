"""The game that an environment plays, by walking through all of its moves.

An environment can be walked through if it leaves all chance to its caller: then a state is
determined by the moves that led to it. It is copied by ``clone()`` or, if there is none, reached by
playing the moves again, which takes longer. The generator that ``reset`` gets refuses to draw, so
an environment with hidden chance is noticed and not mistaken for another game.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from accord._arrays import CHANCE, NO_INFOSET, NO_NODE, TERMINAL
from accord.errors import BudgetError, GameError
from accord.game.tree import Game
from accord.play.bounds import noting
from accord.play.environment import chance_law, check_environment, whose_turn
from accord.play.losses import Losses
from accord.play.own_tree import OwnTree
from accord.treeplex.treeplex import EMPTY_SEQUENCE

MAX_WALKED = 2_000_000
"""Nodes beyond which a game is refused, by default."""


class _NoChance:
    """A generator that refuses to draw."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, method: str) -> NoReturn:
        raise GameError(
            f"{self._name}: an environment can only be walked through if it leaves all chance to "
            f"its caller (turn() is CHANCE and probabilities() tells the law), but it used "
            f"rng.{method}; learn in it instead"
        )


def walked_game(env: Any, max_nodes: int | None = None) -> Game:
    """The game of ``env``, with the labels of its infosets and actions.

    Args:
        env: The environment; its current play is lost.
        max_nodes: Games with more nodes are refused; by default two million.

    Raises:
        ArgumentError: If ``env`` is not an environment.
        GameError: If it draws chance itself, has imperfect recall, or pays outside its bounds.
        BudgetError: If the game has more than ``max_nodes`` nodes.
    """
    check_environment(env)
    limit = MAX_WALKED if max_nodes is None else max_nodes
    losses, walk = Losses(noting(env)), _Walk(env)
    trees = [OwnTree(name) for name in losses.players]
    player, parent, action, infoset = array("b"), array("i"), array("i"), array("i")
    prob, reward_node, reward = array("d"), array("i"), array("d")
    chance_rows: dict[tuple[str, ...], int] = {}
    # a place to go to; the node above it, the move and its probability; the players' last moves
    rest: list[tuple[Any, int, int, float, tuple[int, ...]]]
    rest = [(walk.start(), NO_NODE, 0, 1.0, (EMPTY_SEQUENCE,) * len(trees))]
    while rest:
        place, above, move, share, last = rest.pop()
        state = walk.at(place, None if above == NO_NODE else move)
        node, i = len(player), whose_turn(state)
        if node >= limit:
            raise BudgetError(
                f"{losses.name} must have at most {limit:,} nodes, but it has more; learn in it "
                "instead, or give a larger max_nodes",
                limit + 1,
                limit,
            )
        parent.append(above)
        action.append(move)
        prob.append(share)
        player.append(i)
        if i == TERMINAL:
            infoset.append(NO_INFOSET)
            payoffs = state.payoffs()
            losses.of(payoffs)  # refuses payoffs that are outside of their bounds
            reward_node.append(node)
            reward.extend(map(float, payoffs))
            continue
        labels = tuple(state.actions())
        law: Sequence[float] = [1.0] * len(labels)
        if i == CHANCE:
            law = chance_law(state)
            infoset.append(chance_rows.setdefault(tuple(map(str, labels)), len(chance_rows)))
        else:
            x, _ = trees[i].see(state.infoset(), labels, last[i])
            infoset.append(x)
        here = walk.here(place, None if above == NO_NODE else move, state)
        for a in range(len(labels) - 1, -1, -1):
            own = last
            if i != CHANCE:
                own = (*last[:i], trees[i].first_seq[x] + a, *last[i + 1 :])
            rest.append((here, node, a, law[a], own))
    return Game.from_arrays(
        name=losses.name,
        n_players=len(trees),
        player=player,
        parent=parent,
        action=action,
        infoset=infoset,
        chance_prob=prob,
        reward_node=reward_node,
        reward=np.asarray(reward).reshape(-1, len(trees)),
        player_labels=list(losses.players),
        infoset_labels=[tree.labels for tree in trees],
        action_labels=[tree.actions for tree in trees],
        chance_labels=list(chance_rows),
    )


class _Walk:
    """States of an environment, as copies or as the moves that lead to them."""

    def __init__(self, env: Any) -> None:
        self._env, self._clones = env, getattr(env, "clone", None) is not None
        self._rng = _NoChance(str(env.name))

    def start(self) -> Any:
        """The place where plays begin."""
        self._env.reset(self._rng)
        return self._env.clone() if self._clones else ()

    def at(self, place: Any, move: int | None) -> Any:
        """The state after a move at a place; at the place itself without one."""
        if self._clones:
            state = place.clone()
        else:
            state = self._env
            state.reset(self._rng)
            for before in place:
                state.step(before)
        if move is not None:
            state.step(move)
        return state

    def here(self, place: Any, move: int | None, state: Any) -> Any:
        """The place of a state that :meth:`at` returned."""
        if self._clones:
            return state
        return place if move is None else (*place, move)
