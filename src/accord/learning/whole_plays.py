"""Learning from whole plays: an unbiased loss estimate at every decision of an episode.

In an iteration player i plays episodes with known policies q^1, ..., q^m, while the others play
pi^t. Along the path (x_1, a_1), ..., (x_l, a_l) of an episode let

    Q_j = sum over e of q^e_{1:j}(x_j, a_j),    Q_0 = m,

the expected number of episodes of the iteration in which i's own moves lead there. With baselines
beta that were fixed before the iteration and v_{l+1} the loss of the play, for j = l, ..., 1:

    u_j(a) = beta(x_j, a) + [a = a_j] (v_{j+1} - beta(x_j, a)) Q_{j-1} / Q_j
    v_j    = sum over a of pi^t(a | x_j) u_j(a)
    L^(x_j, a) = u_j(a) / Q_{j-1},

and L^ is zero at infosets that were not visited. Summed over the episodes of the iteration, L^ has
mean L(x, a), the counterfactual loss, at every (x, a): by induction from the end, the measure
sum_e q^e_{1:j} gives u_j(a) the mean of "a, then pi^t", and cancels Q_{j-1} at x_j
(``docs/theory/bandit.md``). So every rechistory b at every visited infoset takes M_b L^(x, .).
Baselines must not move between the episodes of an iteration, because (x, a) is estimated from all
of them, and the later ones would have baselines that depend on what the earlier ones visited. So an
episode only notes where they should move, and they do when the iteration has ended.

By default m - 1 of the policies are pi^t itself. In those episodes nobody explores, so all players
learn from the same ones: :attr:`EpisodeLearner.n_shared`. In the last one the player explores, by a
mixture of pi^t and a policy that spreads over the treeplex. With ``balanced`` exploration the
policies are those of Balanced K-EFR (``learning/estimators.py``). For each rechistory b they
contain the policy that the paper uses for b, so that without baselines w_b M_b L^ is at most what
it is in the paper, which is at most 1 in each episode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from accord._arrays import Floats, Ints
from accord.deviations.notions import NotionLike, as_notion
from accord.errors import ArgumentError
from accord.learning.episode_learner import EpisodeLearner, observe_play
from accord.learning.estimators import planned_tables
from accord.learning.exploration import (
    OWN_EXPLORATIONS,
    Explore,
    SamplingPolicies,
    check_learnable,
    checked_exploration,
    mixed_policies,
    own_law,
    planned_policies,
)
from accord.learning.tables import Tables
from accord.regret.methods import SAMPLED_DEFAULT, SAMPLED_METHODS, configured
from accord.regret.sampled import (
    Notes,
    SampledArrays,
    SampledMinimizer,
    observe_at,
    recommend_at,
    refresh_all,
)
from accord.treeplex.treeplex import Treeplex


class WholePlayKEFR(EpisodeLearner):
    """One player's K-EFR learner, fed with estimates from whole plays.

    Args:
        plex: The player's treeplex; ``None`` if it is not known, to begin without infosets and
            :meth:`add` them.
        k: How many recommendations a deviator may disobey, or ``"efcce"``, ``"afce"`` or
            ``"afcce"``, for which exploration cannot be balanced.
        method: A name as in :func:`accord.learn`, or a configured minimizer such as
            :class:`SampledRegretMatching`.
        iterations: The paper's T, for its learning rate if the method has one.
        exploration: ``"spread"``, ``"uniform"`` or ``"balanced"``; by default the method's. The
            last of them needs a treeplex. Or a function ``explore(player, infoset, actions)`` that
            returns a positive weight for each action.
        budget: Bytes that the learner may use; by default the free memory.
        schedule: The minimizer's schedule for all players; by default for this player alone.
        player: The index of this player in ``schedule``.
        batch: How many times each episode of an iteration is played.

    Attributes:
        law: The probabilities of exploring at an infoset, by its number, if exploration is the
            caller's own. A caller who adds infosets sets it, since labels are the caller's.

    Raises:
        ArgumentError: If an argument is out of range.
        BudgetError: If the rechistories do not fit into memory.
    """

    def __init__(
        self,
        plex: Treeplex | None,
        k: NotionLike,
        method: str | SampledMinimizer = SAMPLED_DEFAULT,
        *,
        iterations: int | None = None,
        exploration: str | Explore | None = None,
        budget: int | None = None,
        schedule: Any | None = None,
        player: int = 0,
        batch: int = 1,
    ) -> None:
        minimizer, k = configured(SAMPLED_METHODS, method), as_notion(k)
        exploration = checked_exploration(minimizer.explorations, exploration)
        check_learnable(k, minimizer, exploration)
        if schedule is None:
            known = () if plex is None else (plex,)
            schedule = minimizer.schedule(known, k, iterations)
        for kernel in (recommend_at, observe_at):
            kernel.check(schedule)
        sampling = minimizer.sampling
        self.grows, self._spreads = exploration != "balanced", exploration == "spread"
        if self.grows:
            if plex is None:
                tables, own, horizon = Tables(k, minimizer), 1, 1
            else:
                tables = Tables.of(plex, k, minimizer, budget)
                own, horizon = int(plex.n_infosets > 0), max(1, plex.horizon)
            if self._spreads:
                tables.spread_out()
            self.law: Callable[[int], Floats] | None = None
            if plex is not None and exploration in OWN_EXPLORATIONS:
                labels, actions = plex.infoset_labels, plex.action_labels
                tables.explore_by(lambda x: own_law(exploration, player, labels[x], actions[x]))
            policies = mixed_policies(tables.spread, sampling.shared, own, sampling.follow, horizon)
            self.n_shared = sampling.shared * batch
        else:
            if plex is None:
                raise ArgumentError(
                    "balanced exploration needs a treeplex, because it counts the infosets below "
                    "every move; give plex, or explore in another way"
                )
            plan, tables = planned_tables(plex, k.deviations, minimizer, exploration, budget)
            policies = planned_policies(plex, plan.layer, plan.explores)
        policies = policies._replace(episodes=policies.episodes * np.int32(batch))
        estimator = WholePlays(sampling.baseline_rate, sampling.trace)
        super().__init__(tables, policies, estimator, schedule, player)

    def begin_iteration(self) -> None:
        super().begin_iteration()
        if self._spreads:
            self.tables.spread_out()
        elif self.grows and self.law is not None:
            self.tables.explore_by(self.law)

    def add(self, parent_seq: int, n_actions: int) -> int:
        """Add an infoset that a play has shown after the player's sequence ``parent_seq``.

        Returns its number. What comes before it must have been chosen at in this iteration.
        """
        x = self.tables.add(parent_seq, n_actions)
        self.policies = self.policies._replace(base=self.tables.spread[np.newaxis])
        own = self.state
        refresh_all(
            self.schedule, self.player, x, x + 1, self.iteration, own.infosets, own.nodes,
            own.behavior, own.regret, own.scratch,
        )  # fmt: skip
        return x


class WholePlays(NamedTuple):
    """How losses are estimated at every decision of an episode."""

    baseline_rate: float  # how fast baselines follow the losses, at least; 0: never
    trace: float  # the weight of the play, not of later baselines, in that


@observe_play.kernel_for(WholePlays)
def observe_decisions(
    estimator: WholePlays,
    schedule: Any,
    policies: SamplingPolicies,
    first: int,
    end: int,
    policy: int,
    path: Ints,
    length: int,
    loss: float,
    reach: Floats,
    notes: Notes,
    state: SampledArrays,
) -> None:
    """Feed an episode to the minimizers at all of the player's decisions; ``reach`` is Q."""
    infosets, nodes, behavior, regret = state.infosets, state.nodes, state.behavior, state.regret
    sequences, scratch = state.sequences, state.scratch
    episodes, explores, follow = policies.episodes, policies.explores, policies.follow
    column, base = policies.column, policies.base
    baseline_rate, trace = estimator.baseline_rate, estimator.trace
    for j in range(length + 1):
        reach[j] = 0.0
    for one in range(first, end):
        now = float(episodes[one])
        for j in range(length):
            reach[j] += now
            seq = infosets[path[0, j]].first_seq + path[1, j]
            if explores[one, j]:
                share = follow[one]
                now *= share * behavior[seq] + (1.0 - share) * base[column[one], seq]
            else:
                now *= behavior[seq]
        reach[length] += now
    value = later = loss
    noted = notes.size[0]
    for j in range(length - 1, -1, -1):
        x, a = path[0, j], path[1, j]
        seq, n = infosets[x].first_seq, infosets[x].n_actions
        visits, predicted = 1.0, 0.0
        for r in range(n):
            scratch[r] = sequences[seq + r].baseline
            visits += sequences[seq + r].plays
            predicted += behavior[seq + r] * scratch[r]
        correction = (value - scratch[a]) * reach[j] / reach[j + 1]
        plays = sequences[seq + a].plays + 1.0
        sequences[seq + a].plays = plays
        if baseline_rate > 0.0:
            notes.seq[noted] = seq + a
            notes.rate[noted] = max(baseline_rate, 1.0 / plays)
            notes.target[noted] = trace * value + (1.0 - trace) * later
            noted += 1
        scratch[a] += correction
        if n > 1:
            observe_at(
                schedule, x, visits, 1.0 / reach[j],
                infosets, nodes, behavior, regret, scratch,
            )  # fmt: skip
        value, later = predicted + behavior[seq + a] * correction, predicted
    notes.size[0] = noted
