"""The deviators of all players, and what a joint plan means to them.

Incentives of player i are an index of what a deviator may know and do: the rechistory tree of an
equilibrium notion, whose cells at SWAP nodes are (rechistory b, recommendation r, action a).

A *plan* is a pure policy: one action per infoset. A joint plan c is one *column* of the program.
It has the players' expected losses and, per player, the immediate counterfactual losses met in each
cell, U_c[b, r, a] = S_b(c) [c recommends r] l(x, a; c), which is a sparse vector: at each infoset a
pure plan is consistent with one rechistory (and, for an AFCCE, with those of players who left
blindly and happened to do what they would have been told).

In this package the loss of a play is (worst - payoff) / unit, where the *unit* of a player is the
most that the player can expect above their worst payoff, whatever everybody does. So every expected
loss is in [-1, 0], and 0 is the worst that can happen to a deviator. Payoffs of plays that chance
hardly ever allows are not small in these units, and what all payoffs have in common is gone.

A player who *commits* (Bayesian persuasion, Stackelberg leaders, mechanisms) follows the
recommendations whether or not that is best for them, so nothing that they could gain counts. Their
deviator hears nothing and is *allowed* any gain: in these units, none is larger than 1.

Plans are *reduced*: the first action stands wherever neither an obedient player nor any deviator
can ever hear the recommendation. Reduced plans that differ are different columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from accord._arrays import Floats, Ints
from accord._jit import jit
from accord.deviations.notions import NFCCE, Notion, NotionLike, as_notion
from accord.deviations.rechistory import OBEDIENT, RechistoryArrays, RechistoryTree
from accord.equilibrium.evaluation import obedient_nodes
from accord.equilibrium.gap import add_deviation_loss
from accord.equilibrium.rounding import count_roundings
from accord.optimal.free_play import most_above_worst
from accord.treeplex.form import SequenceForm
from accord.treeplex.leaves import LeafArrays
from accord.treeplex.strategy import draw_sequence, pure_behavior
from accord.treeplex.treeplex import TreeplexArrays
from accord.treeplex.values import compute_cf_loss, compute_loss, joint_reach

ANY_GAIN = 2.0
"""More than any deviation gains, in losses."""


class Column(NamedTuple):
    """A joint plan as the program sees it."""

    loss: Floats  # [n_players] expected losses when everybody obeys
    cells: tuple[Ints, ...]  # per player: the cells in which a loss is met
    values: tuple[Floats, ...]  # per player: those losses
    told: tuple[Ints, ...]  # per player: the sequences that an obedient player is told
    obeying: tuple[Floats, ...]  # per player: the losses from there on of obeying


@dataclass(frozen=True, eq=False, repr=False)
class Incentives:
    """The deviator's tree of each player. Use :meth:`build` to make one."""

    form: SequenceForm
    notion: Notion
    trees: tuple[RechistoryTree, ...]
    commits: tuple[int, ...] = ()  # the players who commit

    @classmethod
    def build(
        cls,
        form: SequenceForm,
        k: NotionLike,
        budget: int | None = None,
        commits: tuple[int, ...] = (),
    ) -> Incentives:
        """The incentives of a K-EFCE, or of another notion, of all players who do not commit.

        Raises:
            ArgumentError: If ``k`` is neither a K nor a notion with such trees.
            BudgetError: If the rechistories do not fit into memory.
        """
        notion = as_notion(k)
        trees = tuple(
            RechistoryTree.build(plex, NFCCE if i in commits else notion, budget)
            for i, plex in enumerate(form.plexes)
        )
        return cls(form, notion, trees, commits)

    def allowed(self, epsilon: float) -> Floats:
        """``[n_players]`` the gains that count as none, in losses: ``epsilon``, in payoff units, or
        whatever a player who commits could gain."""
        gains = np.where(self.form.leaves.payoff_range > 0, epsilon / self.unit, 0.0)
        gains[list(self.commits)] = ANY_GAIN
        return gains

    @cached_property
    def obedient(self) -> tuple[Ints, ...]:
        """Per player, ``[n_infosets]`` the rechistory of an obedient player."""
        return tuple(obedient_nodes(tree) for tree in self.trees)

    @cached_property
    def unit(self) -> Floats:
        """``[n_players]`` what a loss of 1 is worth in payoffs; 1 if the payoff is constant."""
        most = most_above_worst(self.form, np.eye(self.form.n_players))
        return np.where(self.form.leaves.payoff_range > 0, most, 1.0)

    @cached_property
    def losses(self) -> Floats:
        """``[n_leaves, n_players]`` losses times chance probability, at most 0."""
        leaves = self.form.leaves
        above = (leaves.likeliest - leaves.worst) * leaves.prob[:, None]
        if leaves.rest is not None:
            above = np.maximum(above + leaves.rest, 0.0)  # removes negative rounding errors
        return np.asarray(-above / self.unit)

    @cached_property
    def leaves(self) -> tuple[LeafArrays, ...]:
        """The leaf table once per player, with these losses."""
        table = self.form.leaves
        return tuple(
            own._replace(loss=np.ascontiguousarray(self.losses[table.order(i), i]))
            for i, own in enumerate(table.arrays)
        )

    @cached_property
    def roundings(self) -> int:
        """The most roundings of a term in a sum of losses over one joint plan, by any kernel."""
        form = self.form
        count = max(2 * count_roundings(form, i, 1) for i in range(form.n_players)) + 16
        # A sum over the plays of one row is at most 2 + 2 n times as small as its terms.
        return count if form.leaves.spread is None else 2 * count * (1 + form.leaves.roundings)

    def above_worst(self, losses: Floats) -> Floats:
        """``[n_players]`` expected payoffs minus the worst, from expected losses."""
        return np.asarray(-self.unit * losses)

    def payoffs(self, losses: Floats) -> Floats:
        """``[n_players]`` expected payoffs, from expected losses."""
        return np.asarray(self.form.leaves.worst + self.above_worst(losses))

    @cached_property
    def first_action(self) -> Ints:
        """``[n_players + 1]`` where each player's actions start in a joint plan."""
        sizes = [plex.n_infosets for plex in self.form.plexes]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)

    def split_plan(self, plan: Ints) -> tuple[Ints, ...]:
        """Each player's part of a joint plan, as views."""
        starts = self.first_action
        return tuple(plan[starts[i] : starts[i + 1]] for i in range(self.form.n_players))

    def behaviors(self, plan: Ints) -> tuple[Floats, ...]:
        """The joint plan as pure behaviors."""
        return tuple(map(pure_behavior, self.form.plexes, self.split_plan(plan)))

    def reduced(self, plan: Ints) -> Ints:
        """The plan with the first action wherever nobody can hear the recommendation."""
        plan = np.array(plan, np.int32)
        for tree, actions in zip(self.trees, self.split_plan(plan), strict=True):
            heard = np.zeros(tree.n_nodes, np.bool_)
            reached = np.zeros(tree.plex.n_sequences, np.bool_)
            reduce_plan(
                tree.plex.arrays, tree.plex.seq_infoset, tree.arrays, heard, reached, actions
            )
        return plan

    def sampled(self, joint: Floats, rng: np.random.Generator) -> Ints:
        """A reduced joint plan drawn from a joint behavior."""
        parts = []
        for plex, behavior in zip(self.form.plexes, self.form.split(joint), strict=True):
            actions = np.zeros(plex.n_infosets, np.int32)
            if plex.n_infosets:
                draw_actions(plex.arrays, behavior, rng.random(plex.n_infosets), actions)
            parts.append(actions)
        return self.reduced(np.concatenate(parts))

    def column(self, plan: Ints) -> Column:
        """The column of a joint plan."""
        form, behaviors = self.form, self.behaviors(plan)
        reach = joint_reach(form.plexes, behaviors)
        reaches = form.split(reach)
        losses = np.zeros(form.n_players)
        cells, values, told, obeying = [], [], [], []
        for i, tree in enumerate(self.trees):
            loss, cf_loss = (np.empty(tree.plex.n_sequences) for _ in range(2))
            compute_loss(self.leaves[i], reach, loss)
            compute_cf_loss(tree.plex.arrays, behaviors[i], loss, cf_loss)
            losses[i] = cf_loss[0]
            cf_loss *= reaches[i]
            heard = np.flatnonzero(cf_loss).astype(np.int32)
            told.append(heard)
            obeying.append(cf_loss[heard])
            total, room = np.zeros(tree.n_cells), np.empty(tree.n_nodes)
            add_deviation_loss(
                tree.plex.arrays, tree.arrays, behaviors[i][np.newaxis], loss[np.newaxis],
                np.ones(1), room, total,
            )  # fmt: skip
            found = np.flatnonzero(total).astype(np.int32)
            cells.append(found)
            values.append(total[found])
        return Column(losses, tuple(cells), tuple(values), tuple(told), tuple(obeying))


@jit
def reduce_plan(
    plex: TreeplexArrays,
    seq_infoset: Ints,
    tree: RechistoryArrays,
    heard: np.typing.NDArray[np.bool_],
    reached: np.typing.NDArray[np.bool_],
    actions: Ints,
) -> None:
    """Overwrite ``actions`` by 0 where they are never heard; overwrite the flags of nodes that hear
    a recommendation and of sequences that an obedient player reaches."""
    reached[:] = False
    reached[0] = heard[0] = True
    agent = tree.kinds[1] == OBEDIENT
    for x in range(len(plex.parent_seq)):
        above = plex.parent_seq[x]
        audible = reached[above]
        end = tree.first_node[x + 1] if agent else tree.first_external[x]
        for node in range(tree.first_node[x], end):
            seq = tree.rec_seq[node]
            heard[node] = heard[tree.parent[node]]
            if seq != 0:
                y = seq_infoset[seq]
                heard[node] = heard[node] and plex.first_seq[y] + actions[y] == seq
            audible = audible or heard[node]
        if not audible:
            actions[x] = 0
        reached[plex.first_seq[x] + actions[x]] = reached[above]


@jit
def draw_actions(plex: TreeplexArrays, behavior: Floats, uniform: Floats, actions: Ints) -> None:
    """Overwrite ``actions`` with one action per infoset drawn from ``behavior``."""
    for x in range(len(plex.parent_seq)):
        first, end = plex.first_seq[x], plex.first_seq[x + 1]
        actions[x] = draw_sequence(behavior, first, end, uniform[x]) - first
