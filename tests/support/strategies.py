"""Hypothesis strategies: small random games of every shape; and how many are tried."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from accord.game.library import random_game
from accord.game.tree import Game


def examples(count: int, parent: settings | None = None) -> settings:
    """Try ``count`` examples, or a share of them: the profile's ``max_examples`` in a hundred."""
    return settings(parent, max_examples=max(1, count * settings().max_examples // 100))


@st.composite
def games(
    draw: st.DrawFn,
    *,
    players: int | None = None,
    max_players: int = 3,
    max_depth: int = 4,
    max_actions: int = 3,
    rewards: bool = True,
) -> Game:
    """A random game; ``players`` fixes their number, ``rewards`` allows some at inner nodes."""
    return random_game(
        seed=draw(st.integers(0, 2**32 - 1)),
        players=draw(st.integers(1, max_players)) if players is None else players,
        depth=draw(st.integers(1, max_depth)),
        actions=draw(st.integers(1, max_actions)),
        observe=draw(st.sampled_from([0.0, 0.3, 0.7, 1.0])),
        chance=draw(st.sampled_from([0.0, 0.2, 0.5])),
        stop=draw(st.sampled_from([0.0, 0.2])),
        rewards=draw(st.sampled_from([0.0, 0.5])) if rewards else 0.0,
        levels=draw(st.sampled_from([1, 2, 3, 9, 1001])),
    )


def random_pomg(seed: int, *, players: int = 2, states: int = 3, horizon: int = 3) -> dict:
    """Tables of a POMG that is no tree: states recur, and players see only parts of them."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, players).tolist()
    transition = rng.dirichlet(np.ones(states), (horizon, states, *sizes))
    transition[rng.random(transition.shape) < 0.3] = 0.0
    transition[..., 0] += transition.sum(axis=-1) == 0
    transition /= transition.sum(axis=-1, keepdims=True)
    return {
        "initial": rng.dirichlet(np.ones(states)),
        "transition": transition,
        "reward": rng.normal(size=(players, horizon, states, *sizes)),
        "emission": rng.integers(0, 2, (players, states)),
    }
