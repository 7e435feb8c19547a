"""A certificate from play: bounds on the K-EFCE gap of a policy in an environment.

A quarter of the plays search for a deviation of each player (``certifying/search.py``) and for the
infosets that it leads to. In half of them one player explores while the rest obey, or all obey;
they help the search, and give an *upper* bound on the gain of every deviation
(``certifying/evidence.py``). The others are fresh: everybody obeys, and then one player at a time
plays the deviation that was found, with the same random numbers. The differences of their losses
give a *lower* bound on the gap (``certifying/confidence.py``). With the stated probability all
bounds of all players hold.

Gaps do not decrease in K, because a deviator at a larger K may do whatever one at a smaller K does.
So with several K, a lower bound is also one for each larger K, and an upper bound for each smaller.

The upper bound is large until plays have covered all that a deviator may do. It then says no more
than that a deviator cannot be paid more than the best payoff, and :attr:`Gap.vacuous` is True. So
it does if the sums for the upper bound do not fit into memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, SupportsIndex

import numpy as np

from accord._arrays import NO_INFOSET, Floats
from accord._check import check_probability, checked_seed, checked_whole
from accord._draws import drawn_from
from accord.certifying.certificate import Certificate, FirstDeviation, Gap, TriggerGap, Witness
from accord.certifying.confidence import mean_at_least
from accord.certifying.evidence import FOLLOW, Evidence, check_evidence
from accord.certifying.joint_evidence import JointEvidence, JointExplorer, Rates
from accord.certifying.search import Move, Search
from accord.deviations.modification import Modification
from accord.deviations.notions import Notion, NotionLike, as_notion, bounding_k, check_tree
from accord.deviations.rechistory import ROOT, RechistoryTree
from accord.equilibrium.policy import CorrelatedPolicy, Solved, policy_in
from accord.errors import ArgumentError, BudgetError
from accord.play.bounds import Bounded, bounded, bounds_of, is_estimated
from accord.play.deviator import checked_agents, modification_of
from accord.play.environment import Environment, check_environment
from accord.play.episodes import Episode, Executor
from accord.play.feedback import FEEDBACKS, JOINT, OWN
from accord.play.losses import Losses
from accord.play.mediated import NOBODY, Deviate, MediatedPlays
from accord.play.own_tree import filled
from accord.play.streams import CERTIFICATE, seed_for
from accord.play.venue import Venue, venue
from accord.treeplex.strategy import average_behavior, spread_behavior

_Found = tuple[Modification, Floats]  # what Search.best returns

FEWEST_PLAYS = 20
"""Plays per player that a certificate needs, at least."""

PLAYS_AT_ONCE = 500
"""Plays whose moves are kept at once."""

COPIES = 4
"""How often the policy is in memory while its gap is bounded, with infosets that plays show."""

PILOT = 10
"""One in this many plays that explore serves only to choose how the others are damped."""

CONFIDENCE = 0.95
"""The probability with which all bounds hold, by default."""


def certify_by_play(
    env: Environment,
    policy: CorrelatedPolicy | Solved,
    k: NotionLike | Sequence[NotionLike] = 1,
    *,
    plays: SupportsIndex = 20_000,
    confidence: float = CONFIDENCE,
    seed: SupportsIndex | np.random.Generator = 0,
    workers: SupportsIndex | None = None,
    ray: str | None = None,
    feedback: str = OWN,
    deviator: Mapping[int | str, Any] | None = None,
    memory: SupportsIndex | None = None,
) -> Certificate:
    """Bound the K-EFCE gap of ``policy`` by playing.

    The plays are fresh, also if ``seed`` is that of the run that learned the policy. The stated
    probability is that of one certificate of a policy that was chosen before: if you choose the
    best of several policies by their certificates, certify it again with another seed. Plays must
    be independent, so the environment must keep nothing from one play to the next.

    Args:
        env: The environment, whose game may be unknown.
        policy: A policy learned in it. At infosets that it does not know it is uniform.
        k: How many recommendations a deviator may see and disobey: 0 (NFCCE), 1 (EFCE), 2, ...,
            ``math.inf`` (BCE); or one of these names; or ``"efcce"``, ``"afce"`` or ``"afcce"``,
            for which the bounds are 0 and the upper bound of the least K that bounds them, 1 or 2;
            or a list of these.
        plays: How many plays to use for each K, at least 20 per player.
        confidence: The probability with which all bounds of all players and all K hold together.
        seed: The seed of all randomness, or a generator that draws one.
        workers: Play in this many processes, as in :func:`learn`.
        ray: Play on a Ray cluster, as in :func:`learn`.
        feedback: What the certificate uses of a play: ``"own"``, the moves and losses of one player
            at a time; or ``"joint"``, those of all players, which gives a much smaller upper bound
            if the tree of joint histories is not too large for the plays.
        deviator: By name or number of a player: an agent that deviates, usually trained in
            :func:`accord.deviator_env`, whose gain in fresh plays is then that player's lower
            bound. It is a function from observations to actions, or has ``predict``. For other
            players a deviation is searched for.
        memory: Bytes that may be used beside the policy, by default all that is free. If the sums
            for the upper bound do not fit, it is the trivial one.

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
    env = bounded(env, start)
    budget = None if memory is None else checked_whole("memory", memory, 1)
    if feedback not in FEEDBACKS:
        raise ArgumentError(f"feedback must be one of {', '.join(FEEDBACKS)}; got {feedback!r}")
    agents = checked_agents(tuple(map(str, env.players)), deviator or {})
    given: Sequence[Any] = k if isinstance(k, (list, tuple)) else [k]
    notions = list(map(as_notion, given))
    for notion in notions:
        check_tree(notion)
    if not notions:
        raise ArgumentError("k must be a K, or a list of at least one")
    each = 1.0 - (1.0 - confidence) / len(notions)
    found: list[Certificate] = []
    seeds = [seed_for(f"{CERTIFICATE} {one.written}", start) for one in notions]
    with venue(workers, ray) as where:
        while True:
            before = bounds_of(env).tolist()
            found = [
                bounded_by_play(env, policy, one, total, each, own, where, feedback, agents, budget)
                for one, own in zip(notions, seeds, strict=True)
            ]
            if bounds_of(env).tolist() == before:  # else all again, by the wider ones
                break
    return replace(
        found[0],
        confidence=confidence,
        plays=sum(one.plays or 0 for one in found),
        gaps=tightened([gap for one in found for gap in one.gaps], _trivial(env, found)),
    )


def _trivial(env: Environment, found: Sequence[Certificate]) -> list[float]:
    """The most that each player could gain: the best payoff, minus the least value by any K."""
    best = Losses(env).best
    return [
        min(best[i] - one.values[i] + one.value_errors[i] for one in found)
        for i in range(len(best))
    ]


def tightened(gaps: Sequence[Gap], most: Sequence[float]) -> tuple[Gap, ...]:
    """The bounds that follow from each other, because gaps do not decrease in K.

    ``most`` is what no player can gain more than, at any K.
    """
    better = []
    for gap in gaps:
        smaller = [one for one in gaps if one is gap or _is_within(one, gap)]
        larger = [one for one in gaps if one is gap or _is_within(gap, one)]
        lower, upper, vacuous, witnesses = [], [], [], []
        for i in range(len(gap.player_lower)):
            below = max(smaller, key=lambda one: (one.player_lower[i], one is gap))
            above = min(larger, key=lambda one: (one.player_upper[i], one is not gap))
            lower.append(below.player_lower[i])
            witnesses.append(below.witnesses[i])
            upper.append(min(above.player_upper[i], most[i]))
            vacuous.append(above.vacuous[i] or above.player_upper[i] >= most[i])
        better.append(
            replace(
                gap,
                player_lower=tuple(lower),
                player_upper=tuple(upper),
                vacuous=tuple(vacuous),
                witnesses=tuple(witnesses),
            )
        )
    return tuple(better)


def _is_within(one: Gap, other: Gap) -> bool:
    """Whether the deviators of one gap may do no more than those of the other, by their K."""
    return one.k is not None and other.k is not None and one.k <= other.k


def bounded_by_play(
    env: Environment,
    policy: CorrelatedPolicy,
    notion: Notion,
    plays: int,
    confidence: float,
    seed: int,
    where: Venue | None = None,
    feedback: str = OWN,
    agents: Mapping[int, Any] | None = None,
    memory: int | None = None,
    told: Callable[[int], object] | None = None,
) -> Certificate:
    """:func:`certify_by_play` with checked arguments.

    If payoff bounds are estimated and plays exceed them, the same plays begin again with the wider
    ones. What comes out is then the certificate for the payoffs that were seen: if there are no
    others, it is that of the true bounds, and fails with the stated probability at most.

    ``told`` is called with the number of plays so far, from time to time.
    """
    k, joint = bounding_k(notion), feedback == JOINT
    wider = env if isinstance(env, Bounded) else None
    while True:
        here = env if wider is None else wider.for_certificate()
        trial = _Trial(
            here, policy, k, plays, confidence, seed, (where or Venue()).executor(here, seed),
            joint, agents, memory, told,
        )  # fmt: skip
        try:
            found = trial.certificate()
        finally:
            trial.plays.close()
        if wider is None or here.payoff_bounds == wider.payoff_bounds:
            break
        wider.include(here.payoff_bounds or ())
    found = replace(found, bounds_estimated=is_estimated(env))
    if notion.k is not None:
        return found
    return replace(found, gaps=tuple(_weakened(gap, notion) for gap in found.gaps))


def _weakened(gap: Gap, notion: Notion) -> Gap:
    """What the bounds for a K say about a notion whose gap is at most that of the K.

    The deviations that were found need not be deviations of ``notion``.
    """
    nothing = tuple(
        replace(one, gain=0.0, margin=0.0, first_deviations=()) for one in gap.witnesses
    )
    return replace(gap, notion=notion, player_lower=(0.0,) * len(nothing), witnesses=nothing)


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
        joint: bool = False,
        agents: Mapping[int, Any] | None = None,
        memory: int | None = None,
        told: Callable[[int], object] | None = None,
    ) -> None:
        self.agents, self._given = agents or {}, policy.plexes
        self.env, self.k, self.total, self.confidence = env, k, plays, confidence
        self.memory, self._tell = memory, told
        self.refusal: str | None = None  # why there is no upper bound
        self.seed, self._executor = seed, executor
        # five parts for each player: obeying, on both sides; the gain; two for all deviations
        self.delta = (1.0 - confidence) / len(env.players) / 5
        self.players = tuple(map(str, env.players))
        self.span = Losses(env).span
        self.used = 0
        self.decided = self.known = 0  # decisions in obedient plays, and those the policy knows
        self._labels = [frozenset(plex.infoset_labels) for plex in policy.plexes]
        self.is_joint = joint
        self.joint: JointEvidence | None = None
        self.pilot: JointEvidence | None = None  # plays that chose how to explore and to bound
        self.explorer: JointExplorer | None = None
        self.rates: list[Rates] = []  # of the bounds from joint plays
        self.told: dict[int, list[int]] = {}  # recommendations of the active player, by episode
        self._sit(policy)
        parts = policy.split(policy.behavior)
        self.searches = [
            Search(k, average_behavior(plex, part, policy.weights))
            for plex, part in zip(policy.plexes, parts, strict=True)
        ]
        self._paid: list[Sequence[float]] = []  # in obedient plays
        self._losses: list[Sequence[float]] = []

    def _sit(self, policy: CorrelatedPolicy) -> None:
        self.plays = MediatedPlays(self.env, policy, self.seed, self._executor)
        self.bases = [spread_behavior(plex) for plex in policy.plexes]
        # with which probabilities players obey before each layer, summed up
        self.until = [np.arange(1, plex.horizon + 1) / plex.horizon for plex in policy.plexes]

    def certificate(self) -> Certificate:
        self._search(self.total // (16 if self.is_joint else 4))
        evidence = self._joint_evidence() if self.is_joint else self._evidence(self.total // 2)
        found = [
            search.best(one.tree, one.obedient, self._agreed(i, one.tree))
            for i, (search, one) in enumerate(zip(self.searches, evidence, strict=True))
        ]
        each = (self.total - self.used) // (len(self.players) + 1)
        gains = self._tested([phi for phi, _ in found], evidence, each)
        return self._written(found, evidence, gains)

    def _agreed(self, i: int, tree: RechistoryTree) -> Modification | None:
        """The deviation of the agent of player i, if there is one."""
        return modification_of(self.agents[i], self._given[i], tree) if i in self.agents else None

    def _chunks(self, count: int, active: Sequence[int], deviate: Deviate | None) -> Any:
        """``count`` plays, in which the ``active`` players take turns."""
        for start in range(0, count, PLAYS_AT_ONCE):
            size = min(PLAYS_AT_ONCE, count - start)
            turns = [active[(start + n) % len(active)] for n in range(size)]
            yield self.plays.play(self.used, self.used + size, turns, deviate)
            self._count(size)
            self.told.clear()

    def _count(self, plays: int) -> None:
        self.used += plays
        if self._tell is not None:
            self._tell(self.used)

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
            size = min(max(FEWEST_PLAYS, self.used // 10), PLAYS_AT_ONCE, count - self.used)
            for chunk in self._chunks(size, turns, deviate):
                for episode in chunk:
                    episode.number_infosets(self._has_room)
                    self._note(episode, episode.active)
            for search in self.searches:
                search.sweep()
        orders = [tree.ordered()[1] for tree in self.plays.trees]
        self._sit(grown(self.plays))
        for search, order in zip(self.searches, orders, strict=True):
            search.renumber(order)

    def _has_room(self, i: int, before: int, n_actions: int) -> bool:
        """Whether an infoset can be added to the policy; half of the memory is for that."""
        if self.memory is None:
            return True
        sequences = sum(tree.n_sequences for tree in self.plays.trees)
        size = 8 * COPIES * self.plays.policy.n_components * sequences
        return 2 * (size + sum(tree.n_bytes for tree in self.plays.trees)) < self.memory

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
        if len(episode.paths[i]) < obeys:
            return recommended
        if self.explorer is not None:
            return drawn_from(self.explorer.law(episode, i, x, n), episode.draw())
        if episode.draw() < FOLLOW:
            return recommended
        tree, base, draw = self.plays.trees[i], self.bases[i], episode.draw()
        if x == NO_INFOSET or (first := tree.first_seq[x]) >= len(base):
            return min(int(draw * n), n - 1)
        return drawn_from(base[first : first + n].tolist(), draw)

    def _evidence(self, count: int) -> list[Evidence]:
        """Play ``count`` times: a quarter obedient, the others exploring."""
        found = self._begin_evidence()
        obedient = max(2, count // 4)
        for chunk in self._chunks(obedient, [NOBODY], None):
            for episode in chunk:
                self._obeyed(episode, found)
        for evidence in found:
            evidence.plan()
        self.until = [np.cumsum(evidence.weights) for evidence in found]
        if self.refusal is not None:  # more plays for the lower bound
            return found
        exploring = count - obedient
        pilot = exploring // PILOT
        self._explore_all(pilot, found)
        for evidence in found:
            evidence.damp((exploring - pilot) // len(found), self.delta)
        self._explore_all(exploring - pilot, found)
        return found

    def _joint_evidence(self) -> list[Evidence]:
        """Play a sixteenth of all to choose how to explore, and three quarters that count.

        In three of four of the latter a player explores, in turn: in half of these from the first
        decision on. Their policies were fixed before, and so were the rates of the bounds.
        """
        found = self._begin_evidence()
        if self.refusal is not None:
            return found
        policy = self.plays.policy
        self.joint, self.pilot = JointEvidence(policy), JointEvidence(policy)
        pilot = self.pilot
        for chunk in self._explored(self.total // 16):
            pilot.record(chunk)
            for episode in chunk:
                self._note(episode, episode.active)
        self.explorer = JointExplorer(pilot)
        self.until = [0.5 + 0.5 * until for until in self.until]
        count = 3 * self.total // 4
        times = count / pilot.tree.plays
        self.rates = [pilot.best_rates(i, self.k, 2 * self.delta, times) for i in range(len(found))]
        for chunk in self._chunks(count // 4, [NOBODY], None):
            self.joint.record(chunk)
            for episode in chunk:
                self._obeyed(episode, found)
        for chunk in self._explored(count - count // 4):
            self.joint.record(chunk)
            for episode in chunk:
                self._note(episode, episode.active)
        return found

    def _begin_evidence(self) -> list[Evidence]:
        """Evidence of each player without plays; without sums if they do not fit into memory."""
        policy = self.plays.policy
        parts = policy.split(policy.behavior)
        half = None if self.memory is None else self.memory // 2
        try:
            check_evidence(policy.plexes, self.k, half)
        except BudgetError as error:
            self.refusal = str(error)
            check_evidence(policy.plexes, self.k, half, estimates=False)
        return [
            Evidence(plex, self.k, np.ascontiguousarray(part), estimates=self.refusal is None)
            for plex, part in zip(policy.plexes, parts, strict=True)
        ]

    def _note(self, episode: Episode, i: int) -> None:
        """Let the search for a deviation of player i learn from a play."""
        self.searches[i].add(self._moves(episode, i), episode.losses[i])

    def _obeyed(self, episode: Episode, found: Sequence[Evidence]) -> None:
        """Count a play in which everybody obeyed."""
        self._paid.append(episode.payoffs)
        self._losses.append(episode.losses)
        self.decided += len(episode.moves)
        self.known += sum(move[2] in self._labels[move[0]] for move in episode.moves)
        for i, evidence in enumerate(found):
            evidence.obey(episode.paths[i], episode.losses[i], complete=episode.complete(i))
            self._note(episode, i)

    def _explore_all(self, count: int, found: Sequence[Evidence]) -> None:
        for chunk in self._explored(count):
            for episode in chunk:
                i = episode.active
                self._note(episode, i)
                if episode.complete(i):
                    found[i].explore(episode.component, episode.paths[i], episode.losses[i])
                else:  # the rest of the play is not in the tree
                    found[i].explored += 1

    def _tested(
        self, found: Sequence[Modification], evidence: Sequence[Evidence], count: int
    ) -> Floats:
        """``[n_players, count]`` what the deviation of each player gains in fresh plays.

        A deviator plays with the same random numbers as when all obey, so that both plays are the
        same until the deviator leaves.
        """
        gains = np.empty((len(found), count))
        for start in range(0, count, PLAYS_AT_ONCE):
            end = min(start + PLAYS_AT_ONCE, count)
            numbers = self.used, self.used + end - start
            obedient = self.plays.play(*numbers)
            if self.joint is not None:
                self.joint.record(obedient)
            for episode in obedient:
                self._obeyed(episode, evidence)
            for i, phi in enumerate(found):
                deviated = self.plays.play(*numbers, i, deviating(phi))
                for n, (obeyed, left) in enumerate(zip(obedient, deviated, strict=True), start):
                    gains[i, n] = obeyed.losses[i] - left.losses[i]
            self._count((end - start) * (len(found) + 1))
        return gains

    def _written(
        self, found: Sequence[_Found], evidence: Sequence[Evidence], gains: Floats
    ) -> Certificate:
        rows = []  # lower bound, upper bound, vacuous, witness of each player
        margins = []
        losses = np.array(self._losses).T
        for i, (phi, saved) in enumerate(found):
            span, mean = self.span[i], float(losses[i].mean())
            limit = 1.0 - mean_at_least(1.0 - losses[i], self.delta, 0.0)  # of obeying
            low = mean_at_least(losses[i], self.delta, 0.0)
            margins.append(max(limit - mean, mean - low) * span)
            gain, least = float(gains[i].mean()), mean_at_least(gains[i], self.delta)
            if self.joint is None:
                most = evidence[i].most(2 * self.delta)
            else:
                most = self.joint.most(i, self.k, 2 * self.delta, self.pilot, self.rates[i])
            limit = min(1.0, limit)
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
            coverage=self.known / self.decided if self.decided else None,
            values=tuple(np.array(self._paid, np.float64).mean(axis=0).tolist()),
            upper_refusal=self.refusal,
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
