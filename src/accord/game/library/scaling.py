"""Two families of games of any size, built as arrays, with no Python object per node.

*Balanced.* X grows while H and A stay fixed. Chance deals each of two players a private type. Then
both choose at the same time, ``horizon`` times, and see each other's choices. An infoset is the
player's own type and all choices so far, so a player has ``c = 1 + A^2 + ... + A^(2H-2)`` infosets
per type. Each type may meet several types of the other player; the more it meets, the more leaves
there are per infoset. All deals are equally likely, and payoffs are independent and uniform in
[0, 1).

*Unbalanced.* H grows while X stays linear in it. The first player, the walker, picks one of A
corridors and walks down. At each of the H - 1 doors of a corridor one action continues and the
others leave for a sure 1/4. At the last door the right action pays 1: to the second player, the
guard, if they chose this corridor to guard beforehand, and to the walker otherwise. There are X_1 =
1 + A(H-1) infosets, A of them in each layer h >= 2, and only one action in A keeps a play alive. So
for the walker

    uniform play reaches a given (x, a) of layer h with probability A^-h,
    the balanced exploration policy of that layer with probability 1 / (X_{1,h} A) = A^-2,

the extremes of Lemma B.5 of Song, Mei, Bai 2022 and the remark after it. Learning the payoffs of
the last layer takes about A^2 episodes of balanced exploration, but A^H of uniform play.
"""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from accord._arrays import CHANCE, NO_INFOSET, NO_NODE, TERMINAL
from accord._check import MAX_SEED, checked_whole
from accord.errors import ArgumentError
from accord.game.library.entries import named
from accord.game.tree import Game
from accord.game.validate import MOST_NODES

WALKER, GUARD = 0, 1

MAX_HORIZON = 64
"""Of a balanced game: with two actions a horizon of 16 has too many nodes already."""

EARLY_PAYOFF = 0.25
"""The payoff of both players if the walker leaves a corridor early."""


@named("balanced")
def balanced(
    infosets: int = 1000, horizon: int = 2, actions: int = 2, ratio: float = 10.0, seed: int = 0
) -> Game:
    """Private types and public choices.

    Args:
        infosets: Infosets of each player, X; rounded up to a whole number of types.
        horizon: Choices of each player in a play, H.
        actions: Actions at each infoset, A.
        ratio: Leaves per infoset of one player, approximately. Every type is dealt and all deals
            differ, so it is at least ``A^(2H) / c``, and at most that times the number of types.
        seed: Seed of the payoffs and of the deals.
    """
    for what, value in (("infosets", infosets), ("horizon", horizon), ("actions", actions)):
        if value < 1:
            raise ArgumentError(f"balanced(): {what} must be at least 1; got {value}")
        if value > MOST_NODES:
            raise ArgumentError(
                f"balanced(): {what} must be at most {MOST_NODES}; got a larger one"
            )
    if horizon > MAX_HORIZON:
        raise ArgumentError(f"balanced(): horizon must be at most {MAX_HORIZON}; got {horizon}")
    if not 0 < ratio <= MOST_NODES:
        raise ArgumentError(
            f"balanced(): ratio must be positive and at most {MOST_NODES}; got {ratio}"
        )
    rng = np.random.default_rng(checked_whole("balanced(): seed", seed, 0, MAX_SEED))
    levels = 2 * horizon  # moves in a play after the deal
    if actions**levels > MOST_NODES:
        raise ArgumentError(
            f"balanced(): a game must have at most {MOST_NODES} nodes; horizon {horizon} and "
            f"actions {actions} give more"
        )
    stage_start = list(accumulate((actions ** (2 * h) for h in range(horizon)), initial=0))
    per_type = stage_start[-1]
    types = -(-infosets // per_type)
    deals = round(types * per_type * ratio / actions**levels)
    deals = min(max(deals, types), types**2)
    # Node 0 deals. The others follow level by level, and within a level deal by deal.
    first = list(accumulate((deals * actions**level for level in range(levels + 1)), initial=1))
    size = first[-1]
    if size > MOST_NODES:
        raise ArgumentError(
            f"balanced(): a game must have at most {MOST_NODES} nodes; this one has {size}"
        )
    deal = np.arange(deals)
    shifts = rng.choice(types, size=-(-deals // types), replace=False)
    dealt = (deal % types, (deal % types + shifts[deal // types]) % types)
    player = np.full(size, CHANCE, np.int8)
    parent = np.full(size, NO_NODE, np.int32)
    action = np.zeros(size, np.int32)
    infoset = np.full(size, NO_INFOSET, np.int32)
    chance_prob = np.ones(size)
    parent[1 : first[1]] = 0
    action[1 : first[1]] = deal
    chance_prob[1 : first[1]] = 1 / deals
    for level in range(levels + 1):
        here = slice(first[level], first[level + 1])
        if level > 0:
            above = np.arange(first[level - 1], first[level], dtype=np.int32)
            parent[here] = np.repeat(above, actions)
            action[here] = np.tile(np.arange(actions, dtype=np.int32), len(above))
        if level == levels:
            player[here] = TERMINAL
            break
        stage, i = divmod(level, 2)
        player[here] = i
        public = np.repeat(np.arange(actions ** (2 * stage)), actions**i) + stage_start[stage]
        infoset[here] = (dealt[i][:, None] * per_type + public).reshape(-1)
    ends = np.arange(first[-2], first[-1], dtype=np.int32)
    return Game.from_arrays(
        n_players=2,
        player=player,
        parent=parent,
        action=action,
        infoset=infoset,
        chance_prob=chance_prob,
        reward_node=ends,
        reward=rng.random((len(ends), 2)),
    )


@named("unbalanced")
def unbalanced(horizon: int = 10, actions: int = 2, seed: int = 0) -> Game:
    """Corridors with one way through.

    Args:
        horizon: The walker's decisions on the path to the end of a corridor, H; at least 2.
        actions: Actions at each infoset of both players, A; at least 2.
        seed: Seed of the action that continues at each door.
    """
    if horizon < 2 or actions < 2:
        raise ArgumentError(
            "unbalanced(): horizon and actions must be at least 2; "
            f"got horizon {horizon} and actions {actions}"
        )
    size = 1 + actions + actions**2 + (horizon - 1) * actions**3
    if size > MOST_NODES:
        raise ArgumentError(
            f"unbalanced(): a game must have at most {MOST_NODES} nodes; horizon {horizon} and "
            f"actions {actions} give more"
        )
    rng = np.random.default_rng(checked_whole("unbalanced(): seed", seed, 0, MAX_SEED))
    doors = horizon - 1  # in each corridor
    right = rng.integers(actions, size=(actions, doors))  # [corridor, door]
    walks = np.arange(actions**2)  # a guarded corridor and, varying faster, a walked one
    guarded, walked = divmod(walks, actions)

    # Node 0 is the guard's. Then come the walker's first nodes, then door 0 of each walk, then,
    # door by door, the child of each action at that door of each walk.
    fan = actions**3
    first = 1 + actions + actions**2
    below = first + np.arange(doors * fan).reshape(doors, actions**2, actions)
    at_door = np.empty((doors, actions**2), np.int64)  # [door, walk] its node
    at_door[0] = 1 + actions + walks
    way = right[walked].T  # [door, walk] the action that continues
    goes_on = np.take_along_axis(below, way[:, :, None], axis=2)[:, :, 0]
    at_door[1:] = goes_on[:-1]

    player = np.full(size, TERMINAL, np.int8)
    parent = np.full(size, NO_NODE)
    action = np.zeros(size, np.int64)
    infoset = np.full(size, NO_INFOSET)
    reward = np.full((size, 2), EARLY_PAYOFF)
    player[0], infoset[0] = GUARD, 0
    first_moves = np.arange(1, 1 + actions)
    player[first_moves], infoset[first_moves] = WALKER, 0
    parent[first_moves], action[first_moves] = 0, np.arange(actions)
    parent[at_door[0]], action[at_door[0]] = 1 + guarded, walked
    player[at_door] = WALKER
    infoset[at_door] = 1 + walked * doors + np.arange(doors)[:, None]
    parent[below], action[below] = at_door[:, :, None], np.arange(actions)
    reward[goes_on[-1], WALKER] = guarded != walked
    reward[goes_on[-1], GUARD] = guarded == walked
    ends = np.flatnonzero(player == TERMINAL)
    return Game.from_arrays(
        n_players=2,
        player=player,
        parent=parent,
        action=action,
        infoset=infoset,
        chance_prob=np.ones(size),
        reward_node=ends,
        reward=reward[ends],
        player_labels=("walker", "guard"),
    )
