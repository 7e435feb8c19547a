"""Balanced K-EFR in self-play on a compiled simulator: the paper's round-robin protocol.

In each iteration every player in turn plays the episodes of their sampling plan, while the others
play pi^t (``learning/balanced_kefr.py``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord._arrays import CHANCE, TERMINAL, Floats, Ints
from accord._jit import jit
from accord.learning.balanced_kefr import explore
from accord.learning.estimators import PlanArrays
from accord.play.simulator import SimulatorArrays, draw_outcome
from accord.regret.sampled import (
    SampledArrays,
    observe_episode,
    recommend_at,
    refresh_all,
    sample,
    update_reach,
)


@jit
def play_balanced(
    schedule: Any,
    game: SimulatorArrays,
    joint: SampledArrays,
    plan: PlanArrays,
    path: Ints,
    first_infoset: NDArray[np.int64],
    first_episode: NDArray[np.int64],
    rng: np.random.Generator,
    done: int,
    iterations: int,
    kept: Floats,
    stride: int,
) -> int:
    """The round-robin protocol; returns how many rows of ``kept`` it wrote.

    An episode does what :class:`BalancedKEFR`'s ``act`` and ``end_episode`` do, move by move. It is
    written out because calls between kernels, each with many arrays, would take half the time.
    """
    infosets, nodes, behavior, regret = joint.infosets, joint.nodes, joint.behavior, joint.regret
    scratch, descendants = joint.scratch, plan.descendants
    tree, outcomes, losses = game.nodes, game.outcomes, game.loss
    rows = 0
    for t in range(done + 1, done + iterations + 1):
        if t % stride == 0:
            for i in range(len(first_infoset) - 1):
                refresh_all(
                    schedule, i, first_infoset[i], first_infoset[i + 1], t,
                    infosets, nodes, behavior, regret, scratch,
                )  # fmt: skip
            for seq in range(len(behavior)):
                kept[rows, seq] = behavior[seq]
            rows += 1
        for active in range(len(first_infoset) - 1):
            for episode in range(first_episode[active], first_episode[active + 1]):
                target, explores = plan.layer[episode], plan.explores[episode]
                node, length, followed = tree[0], 0, 1.0
                while node.player != TERMINAL:
                    draw = rng.random()
                    mover = np.int64(node.player)  # one type of integer: kernels compile once
                    if mover == CHANCE:
                        a = draw_outcome(draw, node.place, node.n_children, outcomes)
                    else:
                        x = first_infoset[mover] + node.place
                        if infosets[x].stamp != t and update_reach(x, t, infosets, nodes, behavior):
                            recommend_at(
                                schedule, mover, x, infosets, nodes, behavior, regret, scratch
                            )
                        if mover == active:
                            a, factor = explore(
                                x, length, draw, target, explores, descendants, infosets, behavior
                            )
                            followed *= factor
                            path[0, length] = x
                            path[1, length] = a
                            length += 1
                        else:
                            a = sample(x, draw, infosets, behavior)
                    node = tree[node.first_child + a]
                if length > target:  # else the play ended before it reached that layer
                    observe_episode(
                        schedule, episode, target, length, losses[node.place, active], followed,
                        path, infosets, nodes, behavior, regret, scratch,
                    )  # fmt: skip
    return rows
