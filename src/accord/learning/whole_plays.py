"""Learning from whole plays: an unbiased loss estimate at every decision of an episode.

In an iteration player i plays episodes with known policies q^1, ..., q^m, while the others play
pi^t. Along the path (x_1, a_1), ..., (x_l, a_l) of an episode let

    Q_j = sum over e of q^e_{1:j}(x_j, a_j),    Q_0 = m,

the expected number of episodes of the iteration in which i's own moves lead there. With baselines
beta that were fixed before the episode and v_{l+1} the loss of the play, for j = l, ..., 1:

    u_j(a) = beta(x_j, a) + [a = a_j] (v_{j+1} - beta(x_j, a)) Q_{j-1} / Q_j
    v_j    = sum over a of pi^t(a | x_j) u_j(a)
    L^(x_j, a) = u_j(a) / Q_{j-1},

and L^ is zero at infosets that were not visited. Summed over the episodes of the iteration, L^ has
mean L(x, a), the counterfactual loss, at every (x, a): by induction from the end, the measure
sum_e q^e_{1:j} gives u_j(a) the mean of "a, then pi^t", and cancels Q_{j-1} at x_j
(``docs/theory/bandit.md``). So every rechistory b at every visited infoset takes M_b L^(x, .).

By default m - 1 of the policies are pi^t itself. In those episodes nobody explores, so all players
learn from the same ones: :attr:`EpisodeLearner.n_shared`. In the last one the player explores, by a
mixture of pi^t and a policy that spreads over the treeplex. With ``balanced`` exploration the
policies are those of Balanced K-EFR (``learning/estimators.py``). For each rechistory b they
contain the policy that the paper uses for b, so that without baselines w_b M_b L^ is at most what
it is in the paper, which is at most 1 in each episode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Floats, Ints
from accord._jit import jit
from accord.deviations.notions import checked_k
from accord.deviations.rechistory import RechistoryTree
from accord.learning.episode_learner import EpisodeLearner
from accord.learning.estimators import SamplingPlan, sampling_plan
from accord.learning.exploration import balanced_behavior, checked_exploration
from accord.regret.methods import SAMPLED_DEFAULT, SAMPLED_METHODS, configured
from accord.regret.sampled import (
    Infosets,
    Nodes,
    SampledMinimizer,
    Sequences,
    footprint,
    new_sampled,
    observe_at,
    recommend_at,
)
from accord.treeplex.strategy import spread_behavior, uniform_behavior
from accord.treeplex.treeplex import Treeplex


class SamplingPolicies(NamedTuple):
    """The policies q^e of one player, or of several players one after the other.

    Where policy e explores, it plays ``follow[e] pi^t + (1 - follow[e]) base[:, column[e]]``, and
    elsewhere pi^t.
    """

    episodes: Ints  # [n_policies] how many of an iteration it plays
    explores: NDArray[np.bool_]  # [n_policies, horizon] whether it explores at each layer
    follow: Floats  # [n_policies]
    column: Ints  # [n_policies]
    base: Floats  # [n_sequences, n_columns]


class WholePlayKEFR(EpisodeLearner):
    """One player's K-EFR learner, fed with estimates from whole plays.

    Args:
        plex: The player's treeplex.
        k: How many recommendations a deviator may disobey.
        method: A name as in :func:`accord.learn`, or a configured minimizer such as
            :class:`SampledRegretMatching`.
        iterations: The paper's T, for its learning rate if the method has one.
        exploration: ``"spread"``, ``"uniform"`` or ``"balanced"``; by default the method's.
        budget: Bytes that the learner may use; by default the free memory.
        schedule: The minimizer's schedule for all players; by default for this player alone.
        player: The index of this player in ``schedule``.

    Raises:
        ArgumentError: If an argument is out of range.
        BudgetError: If the rechistories do not fit into memory.
    """

    def __init__(
        self,
        plex: Treeplex,
        k: SupportsIndex | float,
        method: str | SampledMinimizer = SAMPLED_DEFAULT,
        *,
        iterations: int | None = None,
        exploration: str | None = None,
        budget: int | None = None,
        schedule: Any | None = None,
        player: int = 0,
    ) -> None:
        minimizer = configured(SAMPLED_METHODS, method)
        exploration = checked_exploration(minimizer.explorations, exploration)
        tree = RechistoryTree.build(plex, checked_k(k), budget, footprint(minimizer))
        if schedule is None:
            schedule = minimizer.schedule((plex,), tree.k, iterations)
        for kernel in (recommend_at, observe_at):
            kernel.check(schedule)
        self.sampling = minimizer.sampling
        if exploration == "balanced":
            plan = sampling_plan(tree)
            self.policies = planned_policies(plex, plan)
            state = new_sampled(tree, minimizer, weight=plan.node_weight)
        else:
            state = new_sampled(tree, minimizer)
            base = spread_behavior(plex) if exploration == "spread" else uniform_behavior(plex)
            self.policies = mixed_policies(plex, base, self.sampling.shared, self.sampling.follow)
            self.n_shared = self.sampling.shared
        self._policy_of = np.repeat(np.arange(len(self.policies.episodes)), self.policies.episodes)
        self.n_episodes = len(self._policy_of)
        super().__init__(tree, schedule, player, state)
        self._reach = np.zeros(plex.horizon + 1)

    def _explore(self, x: int, draw: float) -> int:
        own, policies = self.state, self.policies
        policy = self._policy_of[self._episode]
        return int(
            draw_sampled(
                x, draw, policies.explores[policy, self._layer], policies.follow[policy],
                policies.column[policy], policies.base, own.infosets, own.behavior,
            )
        )  # fmt: skip

    def _observe(self, loss: float) -> None:
        own, sampling = self.state, self.sampling
        observe_play(
            self.schedule, sampling.baseline_rate, sampling.trace, 0, len(self.policies.episodes),
            *self.policies, self._path, self._layer, loss, self._reach, own.infosets, own.nodes,
            own.behavior, own.regret, own.sequences, own.scratch,
        )  # fmt: skip


def mixed_policies(plex: Treeplex, base: Floats, shared: int, follow: float) -> SamplingPolicies:
    """``shared`` episodes that play pi^t, and one that mixes it with ``base`` at every layer."""
    own = int(plex.n_infosets > 0)
    episodes = [shared, own] if shared else [own]
    explores = np.zeros((len(episodes), plex.horizon), np.bool_)
    explores[-1] = True
    return SamplingPolicies(
        episodes=np.array(episodes, np.int32),
        explores=explores,
        follow=np.full(len(episodes), follow),
        column=np.zeros(len(episodes), np.int32),
        base=base[:, np.newaxis],
    )


def planned_policies(plex: Treeplex, plan: SamplingPlan) -> SamplingPolicies:
    """The sampling policies of Balanced K-EFR, one episode each."""
    columns = [balanced_behavior(plex, layer) for layer in range(1, plex.horizon + 1)]
    return SamplingPolicies(
        episodes=np.ones(plan.n_episodes, np.int32),
        explores=plan.explores,
        follow=np.zeros(plan.n_episodes),
        column=plan.layer,
        base=np.stack(columns, axis=1) if columns else np.ones((plex.n_sequences, 0)),
    )


def join_policies(parts: Sequence[SamplingPolicies]) -> SamplingPolicies:
    """The policies of several players in one set of arrays, padded to the largest size."""

    def joined(arrays: list[Any], width: int) -> Any:
        return np.concatenate([np.pad(a, ((0, 0), (0, width - a.shape[1]))) for a in arrays])

    return SamplingPolicies(
        episodes=np.concatenate([part.episodes for part in parts]),
        explores=joined(
            [part.explores for part in parts], max(part.explores.shape[1] for part in parts)
        ),
        follow=np.concatenate([part.follow for part in parts]),
        column=np.concatenate([part.column for part in parts]),
        base=joined([part.base for part in parts], max(part.base.shape[1] for part in parts)),
    )


@jit
def draw_sampled(
    x: int,
    draw: float,
    explores: bool,
    follow: float,
    column: int,
    base: Floats,
    infosets: Infosets,
    behavior: Floats,
) -> int:
    """Draw an action at ``x`` from a sampling policy, by inverse CDF."""
    if not explores:
        follow = 1.0
    first = infosets[x].first_seq
    last = first
    for seq in range(first, first + infosets[x].n_actions):
        share = follow * behavior[seq]
        if explores:
            share += (1.0 - follow) * base[seq, column]
        draw -= share
        if share > 0.0:
            last = seq
            if draw < 0.0:
                break
    return last - first  # type: ignore[no-any-return]


@jit
def observe_play(
    schedule: Any,
    baseline_rate: float,
    trace: float,
    first_policy: int,
    end_policy: int,
    episodes: Ints,
    explores: NDArray[np.bool_],
    follow: Floats,
    column: Ints,
    base: Floats,
    path: Ints,
    length: int,
    loss: float,
    reach: Floats,
    infosets: Infosets,
    nodes: Nodes,
    behavior: Floats,
    regret: Floats,
    sequences: Sequences,
    scratch: Floats,
) -> None:
    """Feed one episode to the minimizers at all of the player's decisions in it.

    Args:
        schedule: The minimizer's parameters.
        baseline_rate: As in :class:`accord.regret.sampled.Sampling`.
        trace: As there.
        first_policy: The player's policies are this one and those up to ``end_policy - 1``.
        end_policy: See above.
        episodes: This and the next four are the fields of :class:`SamplingPolicies`.
        path: ``[2, horizon]`` infoset and action at each layer.
        length: The number of the player's decisions.
        loss: The loss of the play, in [0, 1].
        reach: ``[horizon + 1]`` working memory, for Q.
        infosets: This and the arguments below are the fields of
            :class:`accord.regret.sampled.SampledArrays`.
    """
    for j in range(length + 1):
        reach[j] = 0.0
    for policy in range(first_policy, end_policy):
        now = float(episodes[policy])
        for j in range(length):
            reach[j] += now
            seq = infosets[path[0, j]].first_seq + path[1, j]
            if explores[policy, j]:
                share = follow[policy]
                now *= share * behavior[seq] + (1.0 - share) * base[seq, column[policy]]
            else:
                now *= behavior[seq]
        reach[length] += now
    value = later = loss
    for j in range(length - 1, -1, -1):
        x, a = path[0, j], path[1, j]
        first, n = infosets[x].first_seq, infosets[x].n_actions
        visits, predicted = 1.0, 0.0
        for r in range(n):
            scratch[r] = sequences[first + r].baseline
            visits += sequences[first + r].plays
            predicted += behavior[first + r] * scratch[r]
        surprise = value - scratch[a]
        correction = surprise * reach[j] / reach[j + 1]
        if baseline_rate > 0.0:
            plays = sequences[first + a].plays + 1.0
            rate = max(baseline_rate, 1.0 / plays)
            missed = trace * surprise + (1.0 - trace) * (later - scratch[a])
            sequences[first + a].plays = plays
            sequences[first + a].baseline = min(max(scratch[a] + rate * missed, 0.0), 1.0)
        scratch[a] += correction
        if n > 1:
            observe_at(
                schedule, x, visits, 1.0 / reach[j],
                infosets, nodes, behavior, regret, scratch,
            )  # fmt: skip
        value, later = predicted + behavior[first + a] * correction, predicted
