"""An upper bound on the gain of every deviation, from joint plays.

The plays follow policies that were fixed before the first of them; they may explore. A *point* is a
place of the tree of joint histories where chance decides: an edge, after which it decides about the
next node and, if the play is over, about the losses. At point p with n(p) plays the shares of
the outcomes are independent draws from the true law, whichever policies have played. Let phi be the
true best deviation of player i, which does not depend on the plays, and V its true losses from each
node on, in [0, 1]. With the model's reach rho of p under phi, the model's loss exceeds the true one
by at most

    M = sum over points of  rho(p) * (mean of V over the n(p) outcomes - true mean of V),

where what no play has shown costs the deviator nothing. Reveal the outcomes point by point, from
the first moves to the last: rho(p) and n(p) are known before those at p are, so M is a sum of
martingale differences. For each point there are two ways to bound the exponential moments of its
part of theta * M, with y = theta rho / n:

    random   n y^2 / 8                           (Hoeffding), for every outcome;
    steady   y^2 / 8 + psi(y) * spread           (Fan, Grama, Liu), for the first and the others,

with psi(y) = -log(1 - y) - y, and the *spread*, the sum of (V - V of the first outcome)^2 over the
other outcomes. It is at most the number of those that differ from the first one, so a point at
which nothing ever differs costs as much as one play. Which way counts is fixed before the outcomes
at p are revealed. If C is the sum over all points, then with probability 1 - delta

    M <= (log(1 / delta) + C) / theta.

Both ways are convex in rho, and 0 at 0. So with r(p) >= rho(p), the probability that chance and the
others lead to p, they are at most rho / r times as large as for r. That is linear in phi: a *bonus*
at every point. So the best deviation in the model with bonuses bounds the gain of all. For the loss
of obeying the same holds, with the policy itself in place of phi.

Other plays, the *pilot*, choose theta and the random points: those with a spread above n / 4 there.
``docs/theory/joint-plays.md`` has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from accord._arrays import CHANCE, TERMINAL, Floats, Ints
from accord._jit import jit
from accord.deviations.notions import NotionLike
from accord.equilibrium.gap import RegretMeter
from accord.equilibrium.policy import CorrelatedPolicy
from accord.play.episodes import Episode
from accord.play.joint_paths import Places, record_episodes, walk_down
from accord.play.joint_tree import (
    FIRST,
    OFF,
    SQUARES,
    START,
    UNKNOWN,
    JointArrays,
    JointTree,
    find_node,
)
from accord.play.own_tree import OwnTree, filled
from accord.treeplex.leaves import LeafTable
from accord.treeplex.strategy import average_behavior
from accord.treeplex.values import immediate_loss, joint_reach

RATES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Values of theta, in units of the square root of the number of plays, to choose from."""

UNIFORM = 0.2
"""The share of uniform actions of players who explore."""

LARGER = (1.0, 2.0, 4.0)
"""Multiples of the best rate of a pilot to try: it has more points with few plays, which ask for a
smaller one."""

LARGEST_STEP = 0.5
"""Points with a larger theta r / n count as random."""

RANDOM_SHARE = 0.25
"""Points with a larger spread for each play of the pilot count as random."""


Rates = tuple[Sequence[float], Sequence[float]]
"""Those to try for obeying and for deviating."""


class Points(NamedTuple):
    """Where chance decides, as far as plays have shown, and the ends of plays."""

    seqs: Ints  # [n_points, n_players] what the players have played there
    prob: Floats  # [n_points] the probability of chance before it
    plays: Floats  # [n_points] n
    spread: Floats  # [n_points, n_players] NaN where the first outcome is not known
    loss: Floats  # [n_points, n_players] mean losses at ends; NaN elsewhere
    edge: NDArray[np.int64]  # [n_points] where chance decides; UNKNOWN at ends and chance nodes


class JointEvidence:
    """Joint plays of a policy, by everybody or with one player who explores.

    Args:
        policy: The policy that is certified.
    """

    def __init__(self, policy: CorrelatedPolicy) -> None:
        self.policy = policy
        self.trees = list(map(OwnTree.of, policy.player_labels, policy.plexes))
        self.tree = JointTree(len(policy.plexes))

    def record(self, episodes: Sequence[Episode]) -> None:
        """Record plays by policies that were fixed before."""
        record_episodes(self.tree, self.trees, episodes)

    @cached_property
    def known(self) -> CorrelatedPolicy:
        """The policy with all infosets that plays have shown, uniform at those that it lacks."""
        policy = self.policy
        plexes, order = zip(*(tree.ordered() for tree in self.trees), strict=True)
        rows = [policy.split(row) for row in policy.behavior]
        behavior = filled(rows, self.trees, order)
        behavior.flags.writeable = False  # nobody else has it
        labels = policy.player_labels
        return CorrelatedPolicy.of_players(policy.name, labels, plexes, policy.weights, behavior)

    @cached_property
    def points(self) -> Points:
        """All points, whose sequences are those of :attr:`known`."""
        tree, players = self.tree, self.tree.n_players
        law, prob = np.empty(tree.n_edges), np.empty(tree.n_nodes)
        seqs = np.empty((tree.n_nodes, players), np.int32)
        _compute_told_law(tree.arrays, law)
        places = Places.of(self.trees)
        walk_down(tree.arrays, places, law, prob, seqs)
        most = tree.n_edges + 2 * tree.n_nodes
        points = Points(
            np.zeros((most, players), np.int32), np.zeros(most), np.zeros(most),
            np.zeros((most, players)), np.full((most, players), np.nan), np.full(most, UNKNOWN),
        )  # fmt: skip
        count = _write_points(tree.arrays, places, law, prob, seqs, *points)
        shown = [part[:count] for part in points]
        points = Points._make(shown)
        for i, own in enumerate(self.trees):
            plex, here = own.ordered()
            place = np.empty(plex.n_sequences, np.int32)
            place[here] = np.arange(plex.n_sequences, dtype=np.int32)
            points.seqs[:, i] = place[points.seqs[:, i]]
        return points

    @cached_property
    def _reach(self) -> Floats:
        """``[n_components, n_sequences]`` the sequence forms of all components."""
        known = self.known
        return np.stack([joint_reach(known.plexes, parts) for _, parts in known.components()])

    def _reached(self, without: int) -> Floats:
        """``[n_points]`` the probability of each point if one player does all to come there."""
        starts = np.cumsum([0, *(plex.n_sequences for plex in self.known.plexes)])
        reached = np.empty(len(self.points.prob))
        _mix_reach(self._reach, self.policy.weights, starts, self.points, without, reached)
        return reached

    def random_points(self, i: int, pilot: JointEvidence | None) -> NDArray[np.bool_]:
        """``[n_points]`` which points count as random for player i; without ``pilot`` few do."""
        points = self.points
        is_random = np.isnan(points.spread[:, i])
        if pilot is not None:
            shown = pilot.points
            theirs = np.zeros(pilot.tree.n_edges, np.bool_)
            spread = shown.spread[:, i] > RANDOM_SHARE * shown.plays
            theirs[shown.edge[shown.edge != UNKNOWN]] = spread[shown.edge != UNKNOWN]
            known = np.array([plex.n_infosets for plex in self.policy.plexes])
            match = np.full(self.tree.n_edges, UNKNOWN, np.int64)
            _match_edges(self.tree.arrays, pilot.tree.arrays, known, match)
            there = np.where(points.edge == UNKNOWN, UNKNOWN, match[points.edge])
            is_random |= (there != UNKNOWN) & theirs[there]
        return is_random

    def costs(
        self, i: int, reached: Floats, theta: float, is_random: NDArray[np.bool_], times: float = 1
    ) -> Floats:
        """``[n_points]`` what each point adds to C if it is ``reached`` with this probability.

        ``times`` is for a forecast: of as many times the plays.
        """
        plays, spread = times * self.points.plays, times * self.points.spread[:, i]
        step = theta * reached / plays
        random = plays * step**2 / 8.0
        small = np.minimum(step, LARGEST_STEP)
        steady = step**2 / 8.0 + (-np.log1p(-small) - small) * spread
        costs = np.where(is_random | (step > LARGEST_STEP), random, steady)
        costs[~np.isnan(self.points.loss[:, i])] = 0.0  # ends are outcomes
        return np.asarray(costs)

    def obeying(self, i: int) -> float:
        """The loss of player i in the model when everybody obeys; what was not seen costs 1."""
        ends = ~np.isnan(self.points.loss[:, i])
        return 1.0 + float((self._reached(-1)[ends] * (self.points.loss[ends, i] - 1.0)).sum())

    def deviating(self, i: int, k: NotionLike, bonus: Floats) -> float:
        """The loss of the best deviation of player i in the model, who saves ``bonus`` at points.

        What was not seen costs nothing.
        """
        points, known = self.points, self.known
        starts = np.cumsum([0, *(plex.n_sequences for plex in known.plexes)])
        best = np.zeros(len(known.plexes))
        losses = np.where(np.isnan(points.loss[:, i]), 0.0, points.loss[:, i]) - bonus
        payoffs = np.repeat(-losses[:, np.newaxis], len(best), axis=1)
        leaves = LeafTable(
            points.seqs, points.prob, payoffs, None, None, best, best - 1.0, starts, 1
        )
        meter = RegretMeter(known.plexes[i], k)
        for (weight, parts), reach in zip(known.components(), self._reach, strict=True):
            meter.observe(parts[i], immediate_loss(leaves, i, reach), weight)
        return meter.own_loss - meter.regret()

    def _bounds(
        self, i: int, k: NotionLike, delta: float, is_random: NDArray[np.bool_], rates: Rates,
        times: float = 1,
    ) -> tuple[list[float], list[float]]:  # fmt: skip
        """Bounds on the losses of obeying and of the best deviation, for each of the rates."""
        root, log = math.sqrt(times * self.tree.plays), math.log(1.0 / delta)
        most, least = [], []
        reached, loss = self._reached(-1), self.obeying(i)
        for theta in (root * rate for rate in rates[0]):
            costs = self.costs(i, reached, theta, is_random, times)
            most.append(loss + (log + float(costs.sum())) / theta)
        reached = self._reached(i)
        for theta in (root * rate for rate in rates[1]):
            costs = self.costs(i, reached, theta, is_random, times)
            bonus = np.divide(costs, theta * reached, out=np.zeros(len(costs)), where=reached > 0.0)
            least.append(self.deviating(i, k, bonus) - log / theta)
        return most, least

    def best_rates(self, i: int, k: NotionLike, delta: float, times: float) -> Rates:
        """Rates for other plays, ``times`` as many: the best ones here, and some that are larger.

        The first ones are for obeying, the second for deviating.
        """
        is_random = self.random_points(i, self)
        most, least = self._bounds(i, k, delta / 2.0, is_random, (RATES, RATES), times)
        chosen = np.array([RATES[int(np.argmin(most))], RATES[int(np.argmax(least))]])
        obeying, deviating = np.outer(chosen, LARGER).tolist()
        return obeying, deviating

    def most(
        self,
        i: int,
        k: NotionLike,
        delta: float,
        pilot: JointEvidence | None = None,
        rates: Rates = (RATES, RATES),
    ) -> float:
        """A bound on the gain of every deviation of player i, with probability 1 - delta.

        Args:
            i: The player.
            k: How many recommendations a deviator may see and disobey.
            delta: The probability of an error.
            pilot: Plays of the same policy, independent of these, which choose the random points.
            rates: The rates to try for obeying and for deviating, at the price of a union; those of
                :meth:`best_rates` of the pilot are few.
        """
        delta /= len(rates[0]) + len(rates[1])
        most, least = self._bounds(i, k, delta, self.random_points(i, pilot), rates)
        return min(most) - max(0.0, *least)


@jit
def _compute_told_law(tree: JointArrays, law: Floats) -> None:
    """Overwrite ``law`` with the probabilities of chance that were told, and 1 at other edges.

    Where chance was shown but its law not told, it is the share of plays.
    """
    law[:] = 1.0
    for d in range(tree.size[0]):
        node = tree.nodes[d]
        if node.player != CHANCE:
            continue
        told = 0.0
        for e in range(node.first_edge, node.first_edge + node.n_edges):
            told += tree.edges[e].told
        for e in range(node.first_edge, node.first_edge + node.n_edges):
            law[e] = tree.edges[e].told if told > 0.0 else tree.edges[e].count / node.count


@jit
def _match_edges(
    tree: JointArrays, other: JointArrays, known: NDArray[np.int64], match: NDArray[np.int64]
) -> None:
    """Overwrite ``match`` with the edge in the ``other`` tree of each edge, where it has one.

    Only infosets with numbers below ``known`` have the same number in both.
    """
    match[START] = START
    for d in range(tree.size[0]):
        node = tree.nodes[d]
        there = match[node.edge]
        if there == UNKNOWN or (node.player >= 0 and node.place >= known[node.player]):
            continue
        place = node.place if node.player >= 0 else 0
        found = find_node(other.nodes, other.table, there, node.player, place)
        if found != UNKNOWN:
            for a in range(node.n_edges):
                match[node.first_edge + a] = other.nodes[found].first_edge + a


@jit
def _measure_spread(tree: JointArrays, edge: int, first: int, spread: Floats) -> None:
    """Overwrite ``spread`` with the most that outcomes after ``edge`` can differ from the first.

    That led to node ``first``. If it is an end, its losses are known.
    """
    node = tree.nodes[first]
    for i in range(len(spread)):
        spread[i] = tree.edges[edge].count - node.count
        if node.player == TERMINAL:
            spread[i] += tree.losses[node.place, SQUARES, i]


@jit
def _write_points(
    tree: JointArrays,
    places: Places,
    law: Floats,
    prob: Floats,
    seqs: Ints,
    out_seqs: Ints,
    out_prob: Floats,
    plays: Floats,
    spread: Floats,
    loss: Floats,
    edge: NDArray[np.int64],
) -> int:
    """Overwrite the points; returns how many there are."""
    point = 0
    first = np.full(tree.size[1], -1, np.int64)  # the first node after each edge
    for d in range(tree.size[0] - 1, -1, -1):
        first[tree.nodes[d].edge] = d
    out_prob[point], plays[point], edge[point] = 1.0, tree.edges[START].count, START
    _measure_spread(tree, START, first[START], spread[point])
    point += 1
    for d in range(tree.size[0]):
        node = tree.nodes[d]
        if node.player == TERMINAL:
            out_seqs[point], out_prob[point], plays[point] = seqs[d], prob[d], node.count
            losses = tree.losses[node.place]
            for i in range(seqs.shape[1]):
                loss[point, i] = losses[FIRST, i] + losses[OFF, i] / node.count
            point += 1
            continue
        told = 0.0
        for e in range(node.first_edge, node.first_edge + node.n_edges):
            told += tree.edges[e].told
        if node.player == CHANCE and told == 0.0:  # shown, but not told: chance decides here, too
            out_seqs[point], out_prob[point], plays[point] = seqs[d], prob[d], node.count
            spread[point] = np.nan
            point += 1
        for a in range(node.n_edges):
            e = node.first_edge + a
            if tree.edges[e].count == 0:
                continue
            out_seqs[point], out_prob[point] = seqs[d], prob[d] * law[e]
            if node.player != CHANCE:
                x = places.first_infoset[node.player] + node.place
                start = places.first_seq[x] - places.first_reach[node.player]
                out_seqs[point, node.player] = start + a
            plays[point], edge[point] = tree.edges[e].count, e
            _measure_spread(tree, e, first[e], spread[point])
            point += 1
    return point


@jit
def _mix_reach(
    reach: Floats,
    weights: Floats,
    starts: NDArray[np.int64],
    points: Points,
    without: int,
    reached: Floats,
) -> None:
    """Overwrite ``reached`` with the probabilities of points, if player ``without`` goes there."""
    for p in range(len(reached)):
        total = 0.0
        for c in range(len(weights)):
            product = weights[c]
            for j in range(len(starts) - 1):
                if j != without:
                    product *= reach[c, starts[j] + points.seqs[p, j]]
            total += product
        reached[p] = total * points.prob[p]


class JointExplorer:
    """How one player explores in later plays: toward all ends that others let them come to.

    Args:
        pilot: Plays that the policy is chosen by; it is fixed afterwards.
    """

    def __init__(self, pilot: JointEvidence) -> None:
        self._tree, policy = pilot.tree, pilot.policy
        places = Places.of(pilot.trees)
        mean = places.uniform()
        parts = policy.split(policy.behavior)
        for i, (plex, part) in enumerate(zip(policy.plexes, parts, strict=True)):
            start = int(places.first_reach[i])
            mean[start : start + plex.n_sequences] = average_behavior(plex, part, policy.weights)
        law = np.empty(self._tree.n_edges)
        _compute_told_law(self._tree.arrays, law)
        self._ends = np.zeros((self._tree.n_edges, len(parts)))
        _count_ends(self._tree.arrays, places, law, mean, self._ends)

    def law(self, episode: Episode, i: int, x: int, n: int) -> list[float]:
        """The probabilities of the player's actions; uniform where the pilot never came."""
        edge, tree = START, self._tree
        for shown, move in zip(episode.shown, [*episode.moves, None], strict=True):
            for _, drawn in shown:
                edge = tree.after(tree.find(edge, CHANCE, 0), drawn)
            if move is not None:
                edge = tree.after(tree.find(edge, move[0], move[1]), move[4])
        first = tree.after(tree.find(edge, i, x), 0)
        ends = self._ends[first : first + n, i]
        total = 0.0 if first == UNKNOWN else float(ends.sum())
        if total == 0.0:
            return [1.0 / n] * n
        law: list[float] = (UNIFORM / n + (1.0 - UNIFORM) / total * ends).tolist()
        return law


@jit
def _count_ends(tree: JointArrays, places: Places, law: Floats, mean: Floats, ends: Floats) -> None:
    """Add to ``ends`` how many ends each player may reach after each edge; it must be zeros.

    Ends that take moves of others or of chance count by their probability. An action that nobody
    has taken counts as one end.
    """
    for d in range(tree.size[0] - 1, -1, -1):
        node = tree.nodes[d]
        share = node.count / tree.edges[node.edge].count
        if node.player == TERMINAL:
            for i in range(ends.shape[1]):
                ends[node.edge, i] += share
            continue
        seq = 0
        if node.player != CHANCE:
            seq = places.first_seq[places.first_infoset[node.player] + node.place]
        for a in range(node.n_edges):
            e = node.first_edge + a
            for i in range(ends.shape[1]):
                if tree.edges[e].count == 0:
                    ends[e, i] = 1.0
                weight = law[e] if node.player == CHANCE else mean[seq + a]
                if i == node.player:
                    weight = 1.0
                ends[node.edge, i] += share * weight * ends[e, i]
