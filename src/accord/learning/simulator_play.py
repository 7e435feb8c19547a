"""Learning from episodes on a compiled simulator, for a game that is known.

All players learn in self-play, each from their own infosets, actions and losses alone. The learners
are those of ``learning/whole_plays.py`` or ``learning/balanced_kefr.py``. Their tables are joined,
one player after the other, and a kernel does what they do, move by move.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from accord._arrays import CHANCE, TERMINAL, Floats, Ints
from accord._jit import jit, part
from accord.deviations.notions import NotionLike, as_notion
from accord.learning.averaging import (
    Averaging,
    add_iterates,
    is_heard_everywhere,
    is_sampled,
    write_average,
)
from accord.learning.episode_learner import observe_play
from accord.learning.episode_play import (
    EVERYBODY,
    count_episodes,
    episodes_of,
    learners_for,
)
from accord.learning.exploration import (
    SamplingPolicies,
    checked_exploration,
    draw_action,
    join_policies,
)
from accord.learning.tables import joined
from accord.learning.warm_start import WarmStart, start_tables
from accord.play.simulator import SimulatorArrays, draw_outcome, simulator
from accord.regret.methods import SAMPLED_DEFAULT, SAMPLED_METHODS, configured
from accord.regret.sampled import (
    Notes,
    SampledArrays,
    SampledMinimizer,
    recommend_at,
    settle_baselines,
    update_reach,
)
from accord.treeplex.form import SequenceForm


class Round(NamedTuple):
    """The episodes of an iteration, in order, and working memory for one of them."""

    active: NDArray[np.int64]  # [n_episodes] the player who samples it, or EVERYBODY
    policy: NDArray[np.int64]  # [n_episodes] the sampling policy of that player
    first_policy: NDArray[np.int64]  # [n_players + 1] where the policies of each player start
    first_infoset: NDArray[np.int64]  # [n_players + 1] where the infosets of each player start
    path: Ints  # [n_players, 2, horizon]
    lengths: NDArray[np.int64]  # [n_players]
    reach: Floats  # [horizon + 1]
    notes: Notes  # with room for all decisions of an iteration


class Keeping(NamedTuple):
    """Which iterates are kept: a row is the average of some in each stretch of iterations."""

    kept: Floats  # [n_rows, n_sequences]
    stride: int  # the length of a stretch
    averages: int  # iterates of a stretch that are averaged
    single: bool  # whether to keep the last of a stretch as it is


class SimulatorPlay:
    """All players of a known game learning from episodes that they play with each other.

    Args:
        form: The game.
        k: How many recommendations a deviator may disobey, or the name of another notion.
        episodes: How many will be played, for the paper's learning rate.
        rng: The source of all randomness.
        method: A name as in :func:`accord.learn`, or a configured minimizer.
        exploration: How episodes explore; by default the method's.
        budget: Bytes that the tables of each learner may take; by default the free memory.
        start: A policy of the game to start from.

    Attributes:
        form: The game.
        iteration: How many iterations have been run.
        schedule: The minimizers' schedule for all players.
        joint: The state of all learners, one player after the other.
        episodes_per_iteration: The number of episodes that all players together play in one.
        averages: How many iterates each row of :meth:`advance` averages.
        visits: How often plays came to each node of the simulator; empty if nobody counts.
    """

    grows = False  # all infosets are known from the start

    def __init__(
        self,
        form: SequenceForm,
        k: NotionLike,
        episodes: int,
        rng: np.random.Generator,
        *,
        method: str | SampledMinimizer = SAMPLED_DEFAULT,
        exploration: str | None = None,
        budget: int | None = None,
        start: WarmStart | None = None,
    ) -> None:
        self.form, self.rng, self.iteration = form, rng, 0
        minimizer, plexes = configured(SAMPLED_METHODS, method), form.plexes
        exploration = checked_exploration(minimizer.explorations, exploration)
        shared, own = count_episodes(plexes, k, minimizer, exploration)
        self.episodes_per_iteration = shared + sum(own)
        iterations = max(1, episodes // max(1, self.episodes_per_iteration))
        self.averages = minimizer.sampling.averages
        self._everywhere = is_heard_everywhere(as_notion(k))
        self._simulator = simulator(form.game, form.leaves.best, form.leaves.loss_scale)
        learners = learners_for(plexes, k, minimizer, exploration, iterations, budget=budget)
        if start is not None:
            for learner, behavior in zip(learners, start.behaviors, strict=True):
                start_tables(learner.tables, behavior)
        self.schedule = learners[0].schedule
        self._estimator, self._single = learners[0].estimator, not learners[0].averages_iterates
        self.joint = joined([learner.tables for learner in learners], own)
        self._policies = join_policies([learner.policies for learner in learners])
        first_policy = np.cumsum([0, *(len(learner.policies.episodes) for learner in learners)])
        horizon = max([1, *(plex.horizon for plex in plexes)])
        order = episodes_of(learners)
        room = 0
        if minimizer.sampling.baseline_rate > 0.0:
            decisions = [plex.horizon for plex in plexes]
            room = sum(sum(decisions) if i == EVERYBODY else decisions[i] for i, _ in order)
        self._round = Round(
            active=np.array([active for active, _ in order], np.int64),
            policy=np.array([first_policy[max(i, 0)] + policy for i, policy in order], np.int64),
            first_policy=first_policy,
            first_infoset=np.cumsum([0, *(plex.n_infosets for plex in plexes)]),
            path=np.zeros((len(plexes), 2, horizon), np.int32),
            lengths=np.zeros(len(plexes), np.int64),
            reach=np.zeros(horizon + 1),
            notes=Notes.of(room),
        )
        starts = np.cumsum([0, *(plex.n_sequences for plex in plexes)])
        self._parent_seq = np.concatenate(
            [plex.parent_seq + start for plex, start in zip(plexes, starts, strict=False)]
        ).astype(np.int32)
        self._reach = np.ones(form.n_sequences)
        self.visits = np.zeros(0, np.int64)
        self.total = np.zeros(form.n_sequences)

    @property
    def sizes(self) -> list[int]:
        """The number of sequences of each player."""
        return [plex.n_sequences for plex in self.form.plexes]

    def state(self) -> dict[str, Any]:
        """Everything needed to continue, by name; arrays are views."""
        return {
            "iteration": np.array(self.iteration),
            "rng": np.array(json.dumps(self.rng.bit_generator.state)),
            **self._changing(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved :meth:`state`, array by array, each of which is then gone."""
        self.iteration = int(state["iteration"])
        self.rng.bit_generator.state = json.loads(str(state["rng"]))
        for name, array in self._changing().items():
            array[:] = state.pop(name)

    def _changing(self) -> dict[str, Any]:
        """The arrays that episodes change, however they are laid out."""
        joint = self.joint
        fields = joint.nodes.dtype.names or ()
        return {
            "stamp": joint.infosets["stamp"],
            "behavior": joint.behavior,
            "regret": joint.regret,
            "baseline": joint.sequences["baseline"],
            "plays": joint.sequences["plays"],
            "total": self.total,
            **{name: joint.nodes[name] for name in ("rec_reach", "credit") if name in fields},
        }

    def advance(self, iterations: int, kept: Floats | None = None, stride: int = 1) -> int:
        """Run ``iterations``; at every multiple of ``stride`` write the next row of ``kept``.

        Returns how many rows were written.
        """
        if kept is None:
            kept = np.empty((0, self.form.n_sequences))
            stride = (self.averages + 1) * (self.iteration + iterations + 1)  # beyond any sample
        averaging = Averaging(
            self._parent_seq, self._reach, self.total, self._everywhere or self._single
        )
        rows = play_iterations(
            self._estimator, self.schedule, self._simulator, self.joint, self._policies,
            self._round, averaging, self.rng, self.iteration, iterations,
            Keeping(kept, stride, self.averages, self._single), self.visits,
        )  # fmt: skip
        self.iteration += iterations
        return int(rows)


_is_sampled = part(is_sampled)


@jit
def play_iterations(
    estimator: Any,
    schedule: Any,
    game: SimulatorArrays,
    joint: SampledArrays,
    policies: SamplingPolicies,
    order: Round,
    averaging: Averaging,
    rng: np.random.Generator,
    done: int,
    iterations: int,
    keeping: Keeping,
    visits: NDArray[np.int64],
) -> int:
    """Run ``iterations`` after the ``done`` ones; returns how many rows of ``kept`` it wrote.

    Plays are added to the ``visits`` of each node, unless these are empty.
    """
    rows = 0
    kept, stride = keeping.kept, keeping.stride
    infosets, nodes, behavior, regret = joint.infosets, joint.nodes, joint.behavior, joint.regret
    scratch, tree, outcomes, losses = joint.scratch, game.nodes, game.outcomes, game.loss
    explores, follow, column, base = (
        policies.explores, policies.follow, policies.column, policies.base,
    )  # fmt: skip
    first_infoset, first_policy = order.first_infoset, order.first_policy
    path, lengths, reach, notes = order.path, order.lengths, order.reach, order.notes
    actives, followed = order.active, order.policy
    counted = len(visits) > 0
    if counted:
        visits[0] += iterations * len(actives)
    for t in range(done + 1, done + iterations + 1):
        if _is_sampled(t, stride, keeping.averages):
            add_iterates(schedule, 0, first_infoset, t, averaging, joint)
            if t % stride == 0:
                write_average(infosets, averaging.total, kept[rows])
                if keeping.single:
                    for seq in range(len(behavior)):
                        kept[rows, seq] = behavior[seq]
                rows += 1
        for episode in range(len(actives)):
            active, policy = actives[episode], followed[episode]
            for i in range(len(lengths)):
                lengths[i] = 0
            node = tree[0]
            while node.player != TERMINAL:
                draw = rng.random()
                mover = np.int64(node.player)  # one type of integer: kernels compile once
                if mover == CHANCE:
                    a = draw_outcome(draw, node.place, node.n_children, outcomes)
                else:
                    x, layer = first_infoset[mover] + node.place, lengths[mover]
                    # `refresh`, written out: as a part it would count references to its arrays
                    if infosets[x].stamp != t and update_reach(x, t, infosets, nodes, behavior):
                        recommend_at(schedule, mover, x, infosets, nodes, behavior, regret, scratch)
                    share, row = 1.0, 0
                    if mover == active and explores[policy, layer]:
                        share, row = follow[policy], column[policy]
                    a = draw_action(x, draw, share, row, base, infosets, behavior)
                    path[mover, 0, layer] = x
                    path[mover, 1, layer] = a
                    lengths[mover] = layer + 1
                at = node.first_child + a
                if counted:
                    visits[at] += 1
                node = tree[at]
            for i in range(len(lengths)):
                if active == i or active == EVERYBODY:  # noqa: PLR1714, SIM109
                    observe_play(
                        estimator, schedule, policies, first_policy[i], first_policy[i + 1], policy,
                        path[i], lengths[i], losses[node.place, i], reach, notes, joint,
                    )  # fmt: skip
        settle_baselines(notes, joint.sequences)
    return rows
