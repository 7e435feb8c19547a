"""The two games of Song, Mei, Bai 2022 that tell equilibrium notions apart.

*Separation* (proof of Proposition 4, Appendix C.2). Two players choose 1 or 2 at the same time, H =
K + 1 times, and see everything that happened before. At the end the first player gets 1 if the two
choices differed at every step, 1/2 if they agreed at every step, and 0 otherwise; the second player
always gets 0. The device recommends the same fair coin to both at every infoset. Disobeying pays
only if it happens at every step, and each time the deviator needs the recommendation to know the
other's choice. With K + 1 deviations the first player gains 1/2; with K, at least one step is a
guess, and the gain is 0. So the K-EFCE gap is 0 and the (K+1)-EFCE gap is 1/2.

This fails for the paper's game with K = 0: with one step, a constant action differs half the time
and agrees half the time, and earns 3/4. Here the game for K = 0 has three choices. It pays 1 if the
first player's choice is one more than the other's (modulo 3), 1/2 if they agree, and 0 otherwise,
so a guess is worth 1/2.

The paper's device draws a coin for every infoset, a mixture of 2^X pure policies. One coin per
step, shared by all infosets of that step, has the same law on every play and only 2^(K+1)
components.

*Foresight* (the example in Appendix C.3). Two players choose at the same time, twice.
The first player gets 1/2 for choosing a1 at the start, and 1 if they chose a2 and the second player
then chooses b1. The device recommends (a1, b1) or (a2, b2) by a fair coin at each of the five
infosets. A first player who sees only the recommendations at infosets they reach learns nothing
about the second player's next coin, and is indifferent. One who sees all recommendations in advance
knows when a2 pays 1 for sure. So the device is a BCE (K = infinity), but in normal form it has a
gap of 1/4 (the paper proves 1/16, which suffices).
"""

from __future__ import annotations

from itertools import product

from accord.errors import ArgumentError
from accord.game.library.entries import Draws, named
from accord.game.pomg import POMG, JointAction
from accord.game.tree import Game

MAX_K = 9  # each step multiplies the states by four; K = 9 has a million nodes

JointActions = tuple[JointAction, ...]  # the joint actions so far: the state


@named("separation")
def separation(k: int = 1) -> Game:
    """The game with a K-EFCE that is not a (K+1)-EFCE, for ``k`` = K.

    An infoset is everything played so far: ``"12 22"`` is 1 against 2, then 2 against 2.
    """
    choices = _choices(k)

    def reward(h: int, played: JointActions, joint: JointAction) -> tuple[float, float]:
        pairs = (*played, joint)
        if h <= k:
            return 0.0, 0.0
        if all(a == b for a, b in pairs):
            return 0.5, 0.0
        wins = all(a == b % len(choices) + 1 for a, b in pairs)  # with two choices: they differ
        return float(wins), 0.0

    return POMG(
        actions=[choices, choices],
        horizon=k + 1,
        initial={(): 1.0},
        transition=lambda h, played, joint: {(*played, joint): 1.0},
        reward=reward,
        emission=lambda i, played: _written(played),
        tree=True,
    ).game()


def separation_device(k: int = 1) -> Draws:
    """One coin per step, the same for both players; for ``k`` = 0 one of three choices."""
    choices = _choices(k)
    pairs = list(product(choices, choices))
    draws = list(product(choices, repeat=k + 1))
    device = []
    for coins in draws:
        policy = {
            _written(played): str(coins[h])
            for h in range(k + 1)
            for played in product(pairs, repeat=h)
        }
        device.append((1 / len(draws), (policy, policy)))
    return tuple(device)


def _choices(k: int) -> tuple[int, ...]:
    if not 0 <= k <= MAX_K:
        raise ArgumentError(f"separation(): k must be between 0 and {MAX_K}; got {k}")
    return (1, 2, 3) if k == 0 else (1, 2)


def _written(played: JointActions) -> str:
    return " ".join(f"{a}{b}" for a, b in played) or "start"


@named("foresight")
def foresight() -> Game:
    """The game with a BCE (K = infinity) that is not a normal-form correlated equilibrium."""

    def reward(h: int, state: str, joint: JointAction) -> tuple[float, float]:
        a, b = joint
        if state == "start":
            return (0.5 if a == "a1" else 0.0), 0.0
        return (1.0 if state.startswith("a2") and b == "b1" else 0.0), 0.0

    return POMG(
        actions=[("a1", "a2"), ("b1", "b2")],
        horizon=2,
        initial={"start": 1.0},
        transition=lambda h, state, joint: {"".join(joint): 1.0},
        reward=reward,
        emission=lambda i, state: state,
        tree=True,
    ).game()


def foresight_device() -> Draws:
    """All 32 policies that recommend (a1, b1) or (a2, b2) at each infoset, equally likely."""
    states = ("start", "a1b1", "a1b2", "a2b1", "a2b2")
    return tuple(
        (
            1 / 32,
            tuple(
                {state: f"{letter}{n}" for state, n in zip(states, draw, strict=True)}
                for letter in "ab"
            ),
        )
        for draw in product("12", repeat=5)
    )
