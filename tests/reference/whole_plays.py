"""Estimates from whole plays: the twin of ``accord.learning.whole_plays``.

Everything is written for one play and one player, from the definitions, with policies as lists over
sequences; nothing is shared with the learner.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.reference.game import (
    actions,
    infosets,
    n_sequences,
    normalized_loss,
    pair,
    path,
    sequence,
)
from tests.reference.policies import prob, reach
from tests.reference.types import Behavior, Terminal


def spread_behavior(game: Any, i: int) -> Behavior:
    """Each action in proportion to 1 + the infosets below it that nothing of the player follows."""
    above = {x: path(game, i, x) for x in infosets(game, i)}
    followed = {x for steps in above.values() for x, _ in steps}
    last = [x for x in above if x not in followed]
    behavior = [1.0] * n_sequences(game, i)
    for x in above:
        weights = [1 + sum((x, a) in above[y] for y in last) for a in actions(game, i, x)]
        for a, weight in enumerate(weights):
            behavior[sequence(game, i, x, a)] = weight / sum(weights)
    return behavior


def mixed_behavior(behavior: Behavior, base: Behavior, follow: float) -> Behavior:
    """The policy that at every infoset plays ``behavior`` with probability ``follow``."""
    return [follow * p + (1 - follow) * q for p, q in zip(behavior, base, strict=True)]


def whole_play_estimate(
    game: Any,
    i: int,
    behavior: Behavior,
    policies: Sequence[tuple[int, Behavior]],
    baseline: Sequence[float],
    play: Terminal,
) -> dict[tuple[int, int], float]:
    """L^(x, a) at every infoset that the player visited.

    ``policies`` are the player's policies of an iteration, with the number of episodes of each.
    """
    own: list[tuple[int, int]] = []
    if play.seqs[i] != 0:
        last = pair(game, i, play.seqs[i])
        own = [*path(game, i, last[0]), last]
    Q = [float(sum(count for count, _ in policies))]
    for x, a in own:
        s = sequence(game, i, x, a)
        Q.append(sum(count * reach(game, i, q, s) for count, q in policies))
    value = normalized_loss(game, i, play.payoffs[i])
    estimate = {}
    for j in range(len(own), 0, -1):
        x, played = own[j - 1]
        u = [baseline[sequence(game, i, x, a)] for a in actions(game, i, x)]
        u[played] += (value - u[played]) * Q[j - 1] / Q[j]
        for a in actions(game, i, x):
            estimate[x, a] = u[a] / Q[j - 1]
        value = sum(prob(game, i, behavior, x, a) * u[a] for a in actions(game, i, x))
    return estimate
