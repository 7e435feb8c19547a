"""Learning from whole plays in self-play on a compiled simulator.

In each iteration everybody first plays the shared episodes, by pi^t, and learns from them; then
every player in turn explores in one episode, or in those of the paper's sampling policies, while
the others play pi^t (``learning/whole_plays.py``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord._arrays import CHANCE, TERMINAL, Floats, Ints
from accord._jit import jit
from accord.learning.averaging import add_iterate, is_sampled, write_average
from accord.learning.whole_plays import SamplingPolicies, draw_sampled, observe_play
from accord.play.simulator import SimulatorArrays, draw_outcome
from accord.regret.sampled import SampledArrays, recommend_at, sample, update_reach

EVERYBODY = -1
"""Stands for the player who learns from an episode, if all do."""


@jit
def play_whole(
    schedule: Any,
    game: SimulatorArrays,
    joint: SampledArrays,
    policies: SamplingPolicies,
    first_policy: NDArray[np.int64],
    shared: int,
    baseline_rate: float,
    trace: float,
    path: Ints,
    lengths: NDArray[np.int64],
    own_reach: Floats,
    first_infoset: NDArray[np.int64],
    parent_seq: Ints,
    rng: np.random.Generator,
    done: int,
    iterations: int,
    everywhere: bool,
    averages: int,
    reach: Floats,
    total: Floats,
    kept: Floats,
    stride: int,
) -> int:
    """Run ``iterations``; returns how many rows of ``kept`` it wrote.

    An episode does what :class:`WholePlayKEFR`'s ``act`` and ``end_episode`` do, move by move. It
    is written out because calls between kernels, each with many arrays, would take half the time.

    Args:
        schedule: The minimizers' parameters.
        game: The simulator.
        joint: The learners, one player after the other.
        policies: Their sampling policies.
        first_policy: ``[n_players + 1]`` where those of each player start.
        shared: How many episodes are shared; they follow the player's first policy.
        baseline_rate: As in :class:`accord.regret.sampled.Sampling`.
        trace: As there.
        path: ``[n_players, 2, horizon]`` working memory.
        lengths: ``[n_players]`` the same.
        own_reach: ``[horizon + 1]`` the same.
        first_infoset: ``[n_players + 1]`` where the infosets of each player start.
        parent_seq: ``[n_infosets]`` the sequence that leads to each infoset.
        rng: The source of all randomness.
        done: How many iterations have been run before.
        iterations: How many to run.
        everywhere: As in :func:`accord.learning.averaging.add_iterate`.
        averages: How many iterates of a stretch are averaged.
        reach: ``[n_sequences]`` working memory, 1 at the empty sequences.
        total: ``[n_sequences]`` the sum of the iterates of this stretch so far.
        kept: The next row takes the average of a stretch when it ends.
        stride: The length of a stretch.
    """
    infosets, nodes, behavior, regret = joint.infosets, joint.nodes, joint.behavior, joint.regret
    sequences, scratch = joint.sequences, joint.scratch
    episodes, explores, follow = policies.episodes, policies.explores, policies.follow
    column, base = policies.column, policies.base
    tree, outcomes, losses = game.nodes, game.outcomes, game.loss
    n_players = len(first_infoset) - 1
    rows = 0
    for t in range(done + 1, done + iterations + 1):
        if is_sampled(t, stride, averages):
            for i in range(n_players):
                add_iterate(
                    schedule, i, first_infoset[i], first_infoset[i + 1], t, everywhere, parent_seq,
                    infosets, nodes, behavior, regret, scratch, reach, total,
                )  # fmt: skip
            if t % stride == 0:
                write_average(infosets, total, kept[rows])
                rows += 1
        for active in range(EVERYBODY, n_players):
            if active == EVERYBODY:
                first, end = 0, 1
            else:
                first, end = first_policy[active], first_policy[active + 1]
                if shared > 0:
                    first += 1
            for policy in range(first, end):
                for _ in range(shared if active == EVERYBODY else episodes[policy]):
                    for i in range(n_players):
                        lengths[i] = 0
                    node = tree[0]
                    while node.player != TERMINAL:
                        draw = rng.random()
                        mover = np.int64(node.player)  # one type of integer: kernels compile once
                        if mover == CHANCE:
                            a = draw_outcome(draw, node.place, node.n_children, outcomes)
                        else:
                            x = first_infoset[mover] + node.place
                            if infosets[x].stamp != t and update_reach(
                                x, t, infosets, nodes, behavior
                            ):
                                recommend_at(
                                    schedule, mover, x, infosets, nodes, behavior, regret, scratch
                                )
                            if mover == active:
                                a = draw_sampled(
                                    x, draw, explores[policy, lengths[mover]], follow[policy],
                                    column[policy], base, infosets, behavior,
                                )  # fmt: skip
                            else:
                                a = sample(x, draw, infosets, behavior)
                            path[mover, 0, lengths[mover]] = x
                            path[mover, 1, lengths[mover]] = a
                            lengths[mover] += 1
                        node = tree[node.first_child + a]
                    for i in range(n_players):
                        if active == i or active == EVERYBODY:  # noqa: PLR1714, SIM109
                            observe_play(
                                schedule, baseline_rate, trace, first_policy[i],
                                first_policy[i + 1], episodes, explores, follow, column, base,
                                path[i], lengths[i], losses[node.place, i], own_reach,
                                infosets, nodes, behavior, regret, sequences, scratch,
                            )  # fmt: skip
    return rows
