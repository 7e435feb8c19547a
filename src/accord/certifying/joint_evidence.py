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
martingale differences, and for every theta > 0 and with h(y) = (exp(y) - 1 - y) / y^2

    M <= log(1 / delta) / theta + theta * sum over points of h(theta r / n) rho^2 s^2 / n

with probability 1 - delta (Freedman). Here s^2 bounds the variance of V at p, and r(p) >= rho(p) is
the probability that chance and the others lead to p. Since rho^2 <= r rho, the right side is linear
in phi: a *bonus* at every point. So the best deviation in the model with bonuses bounds the
gain of all. For the loss of obeying the same holds, with the policy itself in place of phi.

Variances: let D be the first outcome of p, and let k of the n - 1 others differ from it. With
probability 1 - delta_p a fresh outcome differs with probability at most q, the largest number that
Chernoff's bound allows, and then V, which is in [0, 1], has at most the variance q (1 - q), or 1/4.
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
)
from accord.play.own_tree import OwnTree, filled
from accord.treeplex.leaves import LeafTable
from accord.treeplex.strategy import average_behavior
from accord.treeplex.values import immediate_loss, joint_reach

RATES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Values of theta, in units of the square root of the number of plays, to choose from."""

UNIFORM = 0.2
"""The share of uniform actions of players who explore."""

BISECTIONS = 40
"""Steps that find the largest probability that Chernoff's bound allows."""


class Points(NamedTuple):
    """Where chance decides, as far as plays have shown, and the ends of plays."""

    seqs: Ints  # [n_points, n_players] what the players have played there
    prob: Floats  # [n_points] the probability of chance before it
    plays: Floats  # [n_points] n
    differing: Floats  # [n_points] k; NaN if it is not known; at ends 0, since they are outcomes
    loss: Floats  # [n_points, n_players] mean losses at ends; NaN elsewhere


class JointEvidence:
    """Joint plays of a policy, by everybody or with one player who explores.

    Args:
        policy: The policy that is certified.
        longest: The largest number of moves, with those of chance, in a play that counts; what
            follows in longer ones counts as unseen. It must not depend on the plays.
    """

    def __init__(self, policy: CorrelatedPolicy, longest: int) -> None:
        self.policy, self.longest = policy, longest
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
        seqs, depth = np.empty((tree.n_nodes, players), np.int32), np.empty(tree.n_nodes, np.int64)
        _compute_told_law(tree.arrays, law)
        places = Places.of(self.trees)
        walk_down(tree.arrays, places, law, prob, seqs)
        most = tree.n_edges + 2 * tree.n_nodes
        points = Points(
            np.zeros((most, players), np.int32), np.zeros(most), np.zeros(most), np.zeros(most),
            np.full((most, players), np.nan),
        )  # fmt: skip
        count = _write_points(tree.arrays, places, law, prob, seqs, depth, self.longest, *points)
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

    def _variances(self, delta: float) -> Floats:
        """``[n_points]`` bounds on the variance of any V, all with probability 1 - delta."""
        plays, differing = self.points.plays, self.points.differing
        levels = 2.0 * self.longest + 3.0  # at each of which every play has at most one point
        ends = ~np.isnan(self.points.loss[:, 0])
        logs = np.log(self.tree.plays * levels / (plays * delta))
        largest = np.full(len(plays), 0.5)
        tested = (plays > 1) & ~np.isnan(differing)
        largest[tested] = most_likely(differing[tested], plays[tested] - 1.0, logs[tested])
        largest[ends] = 0.0
        return np.asarray(largest * (1.0 - largest))

    def obeying_most(
        self, i: int, delta: float, variances: Floats, rates: Sequence[float] = RATES
    ) -> float:
        """A bound on the loss of player i when everybody obeys, with probability 1 - delta.

        The best of the ``rates`` counts, which must not depend on the plays.
        """
        points, reached = self.points, self._reached(-1)
        ends = ~np.isnan(points.loss[:, i])
        loss = 1.0 + float((reached[ends] * (points.loss[ends, i] - 1.0)).sum())
        bounds = []
        for rate in rates:
            theta = rate * math.sqrt(self.tree.plays)
            spread = _growth(theta * reached / points.plays) * reached**2 * variances / points.plays
            bounds.append(math.log(len(rates) / delta) / theta + theta * float(spread.sum()))
        return loss + min(bounds)

    def deviating_least(
        self,
        i: int,
        k: NotionLike,
        delta: float,
        variances: Floats,
        rates: Sequence[float] = RATES,
    ) -> float:
        """A bound on the loss of player i with the best deviation, with probability 1 - delta.

        The best of the ``rates`` counts, which must not depend on the plays.
        """
        points, reached = self.points, self._reached(i)
        ends = ~np.isnan(points.loss[:, i])
        known = self.known
        starts = np.cumsum([0, *(plex.n_sequences for plex in known.plexes)])
        best = np.zeros(len(known.plexes))
        least = -math.inf
        for rate in rates:
            theta = rate * math.sqrt(self.tree.plays)
            bonus = theta * _growth(theta * reached / points.plays)
            bonus *= reached * variances / points.plays
            losses = np.where(ends, points.loss[:, i], 0.0) - bonus
            payoffs = np.repeat(-losses[:, np.newaxis], len(best), axis=1)
            leaves = LeafTable(
                points.seqs, points.prob, payoffs, None, None, best, best - 1.0, starts, 1
            )
            meter = RegretMeter(known.plexes[i], k)
            for (weight, parts), reach in zip(known.components(), self._reach, strict=True):
                meter.observe(parts[i], immediate_loss(leaves, i, reach), weight)
            found = meter.own_loss - meter.regret()
            least = max(least, found - math.log(len(rates) / delta) / theta)
        return least

    def best_rates(self, i: int, k: NotionLike, delta: float) -> tuple[float, float]:
        """The rates of theta that give the best bounds here, for obeying and for deviating.

        Use them with other plays, to which the bounds of several rates need not hold together.
        """
        variances = self._variances(delta)
        obeying = [self.obeying_most(i, delta, variances, (rate,)) for rate in RATES]
        deviating = [self.deviating_least(i, k, delta, variances, (rate,)) for rate in RATES]
        return RATES[int(np.argmin(obeying))], RATES[int(np.argmax(deviating))]

    def most(
        self, i: int, k: NotionLike, delta: float, rates: tuple[float, float] | None = None
    ) -> float:
        """A bound on the gain of every deviation of player i, with probability 1 - delta.

        ``rates`` are those of :meth:`best_rates` for other plays; by default all are tried, at the
        price of a union.
        """
        first, second = (RATES, RATES) if rates is None else ((rates[0],), (rates[1],))
        variances = self._variances(delta / 6.0)
        obeying = self.obeying_most(i, 5.0 * delta / 12.0, variances, first)
        least = self.deviating_least(i, k, 5.0 * delta / 12.0, variances, second)
        return obeying - max(0.0, least)


def most_likely(differing: Floats, trials: Floats, logs: Floats) -> Floats:
    """The largest q <= 1/2 under which so few of so many trials may have differed.

    By Chernoff's bound, ``trials * KL(differing / trials, q)`` exceeds ``logs`` with probability at
    most ``exp(-logs)`` if q is the probability and the share is below it.
    """
    share = differing / trials
    low, high = np.minimum(share, 0.5), np.full(len(share), 0.5)
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            some = np.where(share > 0.0, share * np.log(share / middle), 0.0)
            rest = np.where(
                share < 1.0, (1.0 - share) * np.log((1.0 - share) / (1.0 - middle)), 0.0
            )
            possible = trials * (some + rest) <= logs
            low, high = np.where(possible, middle, low), np.where(possible, high, middle)
    return high


def _growth(steps: Floats) -> Floats:
    """h(y) = (exp(y) - 1 - y) / y^2, which is 1/2 at 0."""
    steps = np.asarray(steps)
    with np.errstate(over="ignore", invalid="ignore"):
        large = (np.expm1(steps) - steps) / np.square(np.maximum(steps, 1e-3))
    return np.where(steps < 1e-3, 0.5 + steps / 3.0, large)  # 1/2 + y/6 + ..., from above


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
def _count_differing(tree: JointArrays, edge: int, first: int) -> float:
    """How many outcomes after ``edge`` differ from its first one, which led to node ``first``.

    NaN if that is an end whose losses vary.
    """
    node = tree.nodes[first]
    if node.player == TERMINAL:
        for i in range(tree.losses.shape[2]):
            if tree.losses[node.place, SQUARES, i] != 0.0:
                return math.nan
    return float(tree.edges[edge].count - node.count)


@jit
def _write_points(
    tree: JointArrays,
    places: Places,
    law: Floats,
    prob: Floats,
    seqs: Ints,
    depth: NDArray[np.int64],
    longest: int,
    out_seqs: Ints,
    out_prob: Floats,
    plays: Floats,
    differing: Floats,
    loss: Floats,
) -> int:
    """Overwrite the points; returns how many there are. Overwrites ``depth`` with that of nodes."""
    point = 0
    first = np.full(tree.size[1], -1, np.int64)  # the first node after each edge
    for d in range(tree.size[0] - 1, -1, -1):
        first[tree.nodes[d].edge] = d
    out_prob[point], plays[point] = 1.0, tree.edges[START].count
    differing[point] = _count_differing(tree, START, first[START])
    point += 1
    for d in range(tree.size[0]):
        node = tree.nodes[d]
        depth[d] = 0 if node.edge == START else depth[tree.edges[node.edge].node] + 1
        if depth[d] > longest:
            continue
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
            differing[point] = np.nan
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
            plays[point] = tree.edges[e].count
            differing[point] = _count_differing(tree, e, first[e])
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
