"""A certificate from play: bounds on the K-EFCE gap of a policy in an environment.

A quarter of the plays search for a deviation of each player (``certifying/search.py``) and for the
infosets that it leads to. In half of them one player explores while the rest obey, or all obey;
they help the search, and give an *upper* bound on the gain of every deviation
(``certifying/evidence.py``). The others are fresh: everybody obeys, and then one player at a time
plays the deviation that was found, with the same random numbers. The differences of their losses
give a *lower* bound on the gap (``certifying/confidence.py``). With the stated probability all
bounds of all players hold.

The upper bound is large until plays have covered all that a deviator may do. It then says no more
than that a deviator cannot be paid more than the best payoff, and :attr:`Gap.vacuous` is True.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

from accord._arrays import NO_INFOSET, Floats
from accord._check import check_probability, checked_seed, checked_whole
from accord.certifying.certificate import Certificate, FirstDeviation, Gap, TriggerGap, Witness
from accord.certifying.confidence import bernstein, mean_at_least
from accord.certifying.evidence import FOLLOW, Evidence, check_evidence
from accord.certifying.search import Move, Search, average_behavior
from accord.deviations.modification import Modification
from accord.deviations.notions import Notion, NotionLike, checked_k
from accord.deviations.rechistory import ROOT
from accord.equilibrium.policy import CorrelatedPolicy, Solved, policy_in
from accord.play.environment import Environment, check_environment
from accord.play.episodes import Episode, Executor
from accord.play.losses import Losses
from accord.play.mediated import NOBODY, Deviate, MediatedPlays, drawn_from
from accord.play.own_tree import filled
from accord.play.venue import venue
from accord.treeplex.strategy import spread_behavior

_Found = tuple[Modification, Floats]  # what Search.best returns

FEWEST_PLAYS = 20
"""Plays per player that a certificate needs, at least."""

CHUNK = 500
"""Plays whose moves are kept at once."""

PILOT = 10
"""One in this many plays that explore serves only to choose how the others are damped."""

CONFIDENCE = 0.95
"""The probability with which all bounds hold, by default."""


def certify_by_play(
    env: Environment,
    policy: CorrelatedPolicy | Solved,
    k: NotionLike = 1,
    *,
    plays: SupportsIndex = 20_000,
    confidence: float = CONFIDENCE,
    seed: SupportsIndex | np.random.Generator = 0,
    workers: SupportsIndex | None = None,
    ray: str | None = None,
) -> Certificate:
    """Bound the K-EFCE gap of ``policy`` by playing.

    Args:
        env: The environment, whose game may be unknown.
        policy: A policy learned in it. At infosets that it does not know it is uniform.
        k: How many recommendations a deviator may see and disobey: 0 (NFCCE), 1 (EFCE), 2, ...,
            ``math.inf`` (BCE); or one of these names.
        plays: How many plays to use, at least 20 per player.
        confidence: The probability with which all bounds of all players hold.
        seed: The seed of all randomness, or a generator that draws one.
        workers: Play in this many processes, as in :func:`learn_env`.
        ray: Play on a Ray cluster, as in :func:`learn_env`.

    Raises:
        ArgumentError: If an argument is out of range.
        MismatchError: If the policy is for another number of players.
        BudgetError: If the rechistories do not fit into memory.
        GameError: If the environment is not a game with perfect recall, or pays outside its bounds.
    """
    check_environment(env)
    check_probability("confidence", confidence)
    total = checked_whole("plays", plays, FEWEST_PLAYS * len(env.players))
    start, policy = checked_seed(seed), policy_in(policy)
    with venue(workers, ray) as where:
        executor = where.executor(env, start)
        return bounded_by_play(env, policy, checked_k(k), total, confidence, start, executor)


def bounded_by_play(
    env: Environment,
    policy: CorrelatedPolicy,
    k: float,
    plays: int,
    confidence: float,
    seed: int,
    executor: Executor | None = None,
) -> Certificate:
    """:func:`certify_by_play` with checked arguments; ``executor`` is closed at the end."""
    trial = _Trial(env, policy, k, plays, confidence, seed, executor)
    try:
        return trial.certificate()
    finally:
        trial.plays.close()


class _Trial:
    """The plays of one certificate."""

    def __init__(
        self,
        env: Environment,
        policy: CorrelatedPolicy,
        k: float,
        plays: int,
        confidence: float,
        seed: int,
        executor: Executor | None,
    ) -> None:
        self.env, self.k, self.total, self.confidence = env, k, plays, confidence
        self.seed, self._executor = seed, executor
        # five parts for each player: obeying, on both sides; the gain; two for all deviations
        self.delta = (1.0 - confidence) / len(env.players) / 5
        self.players = tuple(map(str, env.players))
        self.span = Losses(env).span
        self.used = 0
        self.told: dict[int, list[int]] = {}  # recommendations of the active player, by episode
        self._sit(policy)
        parts = policy.split(policy.behavior)
        self.searches = [
            Search(k, average_behavior(plex, part, policy.weights))
            for plex, part in zip(policy.plexes, parts, strict=True)
        ]

    def _sit(self, policy: CorrelatedPolicy) -> None:
        self.plays = MediatedPlays(self.env, policy, self.seed, self._executor)
        self.bases = [spread_behavior(plex) for plex in policy.plexes]
        # with which probabilities players obey before each layer, summed up
        self.until = [np.arange(1, plex.horizon + 1) / plex.horizon for plex in policy.plexes]

    def certificate(self) -> Certificate:
        self._search(self.total // 4)
        evidence = self._evidence(self.total // 2)
        found = [
            search.best(one.tree, one.obedient)
            for search, one in zip(self.searches, evidence, strict=True)
        ]
        each = (self.total - self.used) // (len(self.players) + 1)
        losses, gains = self._tested(found, evidence, each)
        return self._written(found, evidence, losses, gains)

    def _chunks(self, count: int, active: Sequence[int], deviate: Deviate | None) -> Any:
        """``count`` plays, in which the ``active`` players take turns."""
        for start in range(0, count, CHUNK):
            size = min(CHUNK, count - start)
            turns = [active[(start + n) % len(active)] for n in range(size)]
            yield self.plays.play(self.used, self.used + size, turns, deviate)
            self.used += size
            self.told.clear()

    def _hearing(self, choose: Deviate) -> Deviate:
        """``choose``, and note the recommendation."""

        def deviate(episode: Episode, i: int, x: int, recommended: int, n: int) -> int:
            heard = self.told.setdefault(episode.number, [])
            del heard[sum(move[0] == i for move in episode.moves) :]  # of a play that broke off
            heard.append(recommended)
            return choose(episode, i, x, recommended, n)

        return deviate

    def _moves(self, episode: Episode, i: int) -> list[Move]:
        """The moves of player i so far, at infosets that are known."""
        tree, path = self.plays.trees[i], episode.paths[i]
        heard = self.told.get(episode.number) or [a for _, a in path]
        return [
            (tree.first_seq[x], len(tree.actions[x]), r, a)
            for (x, a), r in zip(path, heard, strict=False)
        ]

    def _search(self, count: int) -> None:
        """Play ``count`` times to find deviations, and the infosets that they lead to."""
        turns, deviate = range(len(self.players)), self._hearing(self._seek)
        while self.used < count:
            size = min(max(FEWEST_PLAYS, self.used // 10), CHUNK, count - self.used)
            for chunk in self._chunks(size, turns, deviate):
                for episode in chunk:
                    episode.number_infosets(lambda i, before, n: True)
                    i = episode.active
                    self.searches[i].add(self._moves(episode, i), episode.losses[i])
            for search in self.searches:
                search.sweep()
        orders = [tree.ordered()[1] for tree in self.plays.trees]
        self._sit(grown(self.plays))
        for search, order in zip(self.searches, orders, strict=True):
            search.renumber(order)

    def _seek(self, episode: Episode, i: int, x: int, recommended: int, n: int) -> int:
        """A move of a player who searches; in every other turn they explore."""
        if episode.number // len(self.players) % 2:
            return self._explore(episode, i, x, recommended, n)
        if x == NO_INFOSET:
            return recommended
        first = self.plays.trees[i].first_seq[x]
        moves = self._moves(episode, i)
        return self.searches[i].choose(moves, first, n, recommended, episode.draw())

    def _explored(self, count: int) -> Any:
        """Plays in which the players explore by turns."""
        return self._chunks(count, range(len(self.players)), self._hearing(self._explore))

    def _explore(self, episode: Episode, i: int, x: int, recommended: int, n: int) -> int:
        """A move of the sampling policies of ``certifying/evidence.py``."""
        obeys = int(np.searchsorted(self.until[i], episode.chance, side="right"))
        if len(episode.paths[i]) < obeys or episode.draw() < FOLLOW:
            return recommended
        tree, base, draw = self.plays.trees[i], self.bases[i], episode.draw()
        if x == NO_INFOSET or (first := tree.first_seq[x]) >= len(base):
            return min(int(draw * n), n - 1)
        return drawn_from(base[first : first + n].tolist(), draw)

    def _evidence(self, count: int) -> list[Evidence]:
        """Play ``count`` times: a quarter obedient, the others exploring."""
        policy = self.plays.policy
        parts = policy.split(policy.behavior)
        check_evidence(policy.plexes, self.k)
        found = [
            Evidence(plex, self.k, np.ascontiguousarray(part))
            for plex, part in zip(policy.plexes, parts, strict=True)
        ]
        obedient = max(2, count // 4)
        for chunk in self._chunks(obedient, [NOBODY], None):
            for episode in chunk:
                self._obeyed(episode, found)
        for evidence in found:
            evidence.plan()
        self.until = [np.cumsum(evidence.weights) for evidence in found]
        exploring = count - obedient
        pilot = exploring // PILOT
        self._explore_all(pilot, found)
        for evidence in found:
            evidence.damp((exploring - pilot) // len(found), self.delta)
        self._explore_all(exploring - pilot, found)
        return found

    def _obeyed(self, episode: Episode, found: Sequence[Evidence]) -> None:
        for i, evidence in enumerate(found):
            loss = episode.losses[i]
            evidence.obey(episode.paths[i], loss, complete=episode.complete(i))
            self.searches[i].add(self._moves(episode, i), loss)

    def _explore_all(self, count: int, found: Sequence[Evidence]) -> None:
        for chunk in self._explored(count):
            for episode in chunk:
                i = episode.active
                self.searches[i].add(self._moves(episode, i), episode.losses[i])
                if episode.complete(i):
                    found[i].explore(episode.component, episode.paths[i], episode.losses[i])
                else:  # the rest of the play is not in the tree
                    found[i].explored += 1

    def _tested(
        self, found: Sequence[_Found], evidence: Sequence[Evidence], count: int
    ) -> tuple[Floats, Floats]:
        """``[n_players, count]`` losses of fresh plays in which all obey, and gains of deviations.

        A deviator plays with the same random numbers, so that both plays are the same until the
        deviator leaves. Also keeps the payoffs.
        """
        losses, gains = np.empty((2, len(found), count))
        self.paid = np.empty((count, len(found)))
        for start in range(0, count, CHUNK):
            end = min(start + CHUNK, count)
            numbers = self.used, self.used + end - start
            obedient = self.plays.play(*numbers)
            for n, episode in enumerate(obedient, start):
                self.paid[n], losses[:, n] = episode.payoffs, episode.losses
                self._obeyed(episode, evidence)
            for i, (phi, _) in enumerate(found):
                for n, episode in enumerate(self.plays.play(*numbers, i, deviating(phi)), start):
                    gains[i, n] = losses[i, n] - episode.losses[i]
            self.used += (end - start) * (len(found) + 1)
        return losses, gains

    def _written(
        self, found: Sequence[_Found], evidence: Sequence[Evidence], losses: Floats, gains: Floats
    ) -> Certificate:
        rows = []  # lower bound, upper bound, vacuous, witness of each player
        margins = []
        for i, (phi, saved) in enumerate(found):
            span, above = self.span[i], bernstein(losses[i], self.delta)
            margins.append(above * span)
            gain, least = float(gains[i].mean()), mean_at_least(gains[i], self.delta)
            most = evidence[i].most(2 * self.delta)
            limit = min(1.0, float(losses[i].mean()) + above)
            rows.append(
                (
                    max(-math.inf if self.k == 0 else 0.0, least) * span,
                    min(most, limit) * span,
                    most >= limit,
                    Witness(
                        self.players[i],
                        gain * span,
                        phi,
                        self._first_deviations(i, phi, saved, evidence[i]),
                        margin=(gain - least) * span,
                    ),
                )
            )
        lower, upper, vacuous, witnesses = zip(*rows, strict=True)
        unknown = (math.nan,) * len(rows)
        gap = Gap(
            notion=Notion(self.k),
            player_gaps=unknown,
            player_errors=unknown,
            player_lower=lower,
            player_upper=upper,
            vacuous=vacuous,
            relative=math.nan,
            witnesses=witnesses,
        )
        return Certificate(
            game=str(self.env.name),
            players=self.players,
            infosets=sum(plex.n_infosets for plex in self.plays.policy.plexes),
            confidence=self.confidence,
            plays=self.used,
            values=tuple(self.paid.mean(axis=0).tolist()),
            value_errors=tuple(margins),
            stakes=unknown,
            gaps=(gap,),
            trigger=TriggerGap(math.nan, None, math.nan),
            nfce=None,
            nfce_refusal="plays do not bound the NFCE gap",
        )

    def _first_deviations(
        self, i: int, phi: Modification, saved: Floats, evidence: Evidence
    ) -> tuple[FirstDeviation, ...]:
        """Where plays showed that the deviation leaves first."""
        plex, span = phi.tree.plex, self.span[i]
        reached = evidence.passed / evidence.obeyed
        left = np.zeros(plex.n_sequences, bool)
        events = []
        for x in range(plex.n_infosets):
            first, end = int(plex.first_seq[x]), int(plex.first_seq[x + 1])
            before = left[plex.parent_seq[x]]
            for seq in range(first, end):
                left[seq] = before or saved[seq] > 0.0
                if saved[seq] * reached[seq] > 0.0 and not before:
                    node = self._obedient_node(phi, evidence, x)
                    plays = int(phi.choice[phi.tree.first_row[node] + seq - first])
                    labels = plex.action_labels[x]
                    events.append(
                        FirstDeviation(
                            self.players[i], plex.infoset_labels[x], labels[seq - first],
                            labels[plays], float(saved[seq] * reached[seq]) * span,
                            float(reached[seq]),
                        )
                    )  # fmt: skip
        return tuple(sorted(events, key=lambda event: -event.gain))

    @staticmethod
    def _obedient_node(phi: Modification, evidence: Evidence, x: int) -> int:
        arrays = phi.tree.arrays
        here = slice(int(arrays.first_node[x]), int(arrays.first_node[x + 1]))
        return here.start + int(np.flatnonzero(evidence.obedient[here])[0])


def deviating(phi: Modification) -> Deviate:
    """Play ``phi``, and obey at infosets that its tree does not have."""
    tree = phi.tree
    cells: dict[int, int] = {}  # the last cell of each episode

    def deviate(episode: Episode, i: int, x: int, recommended: int, n: int) -> int:
        if x == NO_INFOSET:
            return recommended
        node = phi.continuing(x, cells[episode.number] if episode.paths[i] else ROOT)
        told = recommended if tree.is_swap[node] else 0
        action = int(phi.choice[tree.first_row[node] + told])
        cells[episode.number] = int(tree.arrays.first_cell[node]) + told * n + action
        return action

    return deviate


def grown(plays: MediatedPlays) -> CorrelatedPolicy:
    """The policy with the infosets that plays have shown beside its own, uniform there."""
    policy = plays.policy
    plexes, order = zip(*(tree.ordered() for tree in plays.trees), strict=True)
    behavior = filled(list(map(policy.split, policy.behavior)), plays.trees, order)
    behavior.flags.writeable = False  # nobody else has it
    return CorrelatedPolicy.of_players(
        policy.name, policy.player_labels, plexes, policy.weights, behavior
    )
