"""A certificate from play: bounds on the K-EFCE gap of a policy in an environment.

Half of the plays search. A third of them only look for infosets; in the others one player explores
while the rest obey, or all obey, and the best deviation of each player is computed from them
(``learning/evidence.py``). The other half of the plays are fresh. Some play the deviations that
were found, and their payoffs beside those of obeying are a *lower* bound on the gap. Some explore
again, and give an *upper* bound on the gain of every deviation. With the stated probability all
bounds of all players hold.

The upper bound is large until plays have covered all that a deviator may do. It then says no more
than that a deviator cannot be paid more than the best payoff, and :attr:`PlayGap.vacuous` is True.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np

from accord._arrays import NO_INFOSET
from accord._check import check_probability, checked_whole
from accord._format import number
from accord.deviations.modification import Modification
from accord.deviations.notions import checked_k, written_k
from accord.deviations.rechistory import ROOT
from accord.equilibrium.certificate import FirstDeviation, Witness
from accord.equilibrium.correlated import CorrelatedPolicy
from accord.equilibrium.mixture import Mixture, as_mixture
from accord.game.labels import player_name
from accord.learning.evidence import FOLLOW, Evidence, bernstein
from accord.learning.exploration import spread_behavior
from accord.play.environment import Environment, check_environment
from accord.play.episodes import Episode, Player
from accord.play.losses import Losses
from accord.play.mediated import NOBODY, Deviate, MediatedPlays, drawn_from

_Played = list[tuple[list[list[tuple[int, int]]], list[float]]]  # paths and losses of plays

FEWEST_PLAYS = 20
"""Plays per player that a certificate needs, at least."""

CHUNK = 500
"""Plays whose moves are kept at once."""


@dataclass(frozen=True, eq=False)
class PlayGap:
    """Bounds on the gap of one player, in payoff units."""

    player: str
    lower: float  # of the gap; at K = 0, where nobody may just obey, it can be negative
    upper: float  # of the gap
    vacuous: bool  # whether the upper bound says nothing about the plays
    gain: float  # mean gain of the deviation in fresh plays
    margin: float  # the true gain of this deviation is within this of the mean
    witness: Witness  # the deviation; its gains are estimates from the plays that found it

    @property
    def deviation(self) -> str | None:
        """The deviation in words; None if the plays that searched found none that seemed to gain.

        That is no proof that there is none.
        """
        found = self.witness.first_deviations or self.witness.modification.tree.k == 0
        return str(self.witness) if found else None

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        return {
            "player": self.player,
            "lower": self.lower,
            "upper": self.upper,
            "vacuous": self.vacuous,
            "gain": self.gain,
            "margin": self.margin,
            "deviation": self.deviation,
        }


@dataclass(frozen=True, eq=False)
class PlayCertificate:
    """What plays prove about the K-EFCE gap of a policy."""

    name: str
    k: float
    confidence: float  # the probability with which all bounds hold
    episodes: int
    infosets: int  # of all players, seen in the policy or in plays
    values: tuple[float, ...]  # mean payoffs of fresh plays in which everybody obeys
    margins: tuple[float, ...]  # the true values are within these, as part of the confidence
    players: tuple[PlayGap, ...]

    @property
    def lower(self) -> float:
        """A lower bound on the gap, the maximum over players."""
        return max(player.lower for player in self.players)

    @property
    def upper(self) -> float:
        """An upper bound on the gap."""
        return max(player.upper for player in self.players)

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        return {
            "game": self.name,
            "k": written_k(self.k),
            "confidence": self.confidence,
            "episodes": self.episodes,
            "infosets": self.infosets,
            "lower": self.lower,
            "upper": self.upper,
            "values": list(self.values),
            "margins": list(self.margins),
            "players": [player.to_json() for player in self.players],
        }

    def __str__(self) -> str:
        best = max(self.players, key=lambda player: player.lower)
        lines = [
            f"{self.name}: with {100 * self.confidence:g}% confidence the {written_k(self.k)}-EFCE "
            f"gap is at least {number(self.lower)} and at most {number(self.upper)}, by "
            f"{self.episodes:,} plays"
        ]
        if any(player.vacuous for player in self.players):
            names = [player_name(part.player) for part in self.players if part.vacuous]
            lines.append(
                f"the upper bound of {', '.join(names)} says only that nobody is paid more than "
                "the best payoff; play more"
            )
        if best.lower > 0.0:
            lines.append(f"{best.witness} (estimates; fresh plays gained {number(best.gain)})")
        else:
            lines.append("no deviation has been shown to gain")
        return "\n".join(lines)


def certify_by_play(
    env: Environment,
    policy: Mixture | CorrelatedPolicy,
    k: SupportsIndex | float = 1,
    *,
    episodes: SupportsIndex = 20_000,
    confidence: float = 0.95,
    seed: SupportsIndex = 0,
    player: Player | None = None,
) -> PlayCertificate:
    """Bound the K-EFCE gap of ``policy`` by playing.

    Args:
        env: The environment, whose game may be unknown.
        policy: A policy learned in it. At infosets that it does not know it is uniform.
        k: How many recommendations a deviator may see and disobey: 0, 1, ..., ``math.inf``.
        episodes: How many plays to use, at least 20 per player.
        confidence: The probability with which all bounds of all players hold.
        seed: The seed of all randomness.
        player: Plays the episodes; by default this process.

    Raises:
        ArgumentError: If an argument is out of range.
        MismatchError: If the policy is for another number of players.
        BudgetError: If the rechistories do not fit into memory.
        GameError: If the environment is not a game with perfect recall, or pays outside its bounds.
    """
    check_environment(env)
    check_probability("confidence", confidence)
    total = checked_whole("episodes", episodes, FEWEST_PLAYS * len(env.players))
    bounded = checked_k(k)
    return _Trial(
        env, as_mixture(policy), bounded, total, confidence, checked_whole("seed", seed, 0), player
    ).certificate()


class _Trial:
    """The plays of one certificate."""

    def __init__(
        self,
        env: Environment,
        policy: Mixture,
        k: float,
        episodes: int,
        confidence: float,
        seed: int,
        player: Player | None,
    ) -> None:
        self.env, self.k, self.total, self.confidence = env, k, episodes, confidence
        self.seed, self._player = seed, player
        self.players = tuple(map(str, env.players))
        self.span = Losses(env).span
        self.best = Losses(env).best
        self.used = 0
        self._sit(policy)

    def _sit(self, policy: Mixture) -> None:
        self.plays = MediatedPlays(self.env, policy, self.seed, self._player)
        self.bases = [spread_behavior(plex) for plex in policy.plexes]
        self.horizons = [max(1, plex.horizon) for plex in policy.plexes]

    def certificate(self) -> PlayCertificate:
        everybody, half = range(len(self.players)), self.total // 2
        for chunk in self._explored(half // 3):
            for episode in chunk:
                episode.number_infosets(lambda i, before, n: None)
        self._sit(grown(self.plays))
        found = [evidence.best() for evidence in self._evidence(half - half // 3)]
        fresh, rest = self._evidence(half // 2, keep_payoffs=True), self.total - self.used
        tests = [self._test(i, found[i][1], rest // len(found)) for i in everybody]
        self.plays.close()
        return self._written(found, fresh, tests)

    def _compared(self, i: int, phi: Modification, leaving: Any, deviated: _Played) -> Any:
        """The losses of player i where ``phi`` leaves the mediator, obeying and deviating.

        Until it leaves, plays of ``phi`` are like obedient plays. So all other plays count as half
        a loss in both, which changes no difference of means.
        """
        first = phi.tree.plex.first_seq
        for plays in (self.obedient, deviated):
            losses = np.full(len(plays), 0.5)
            for n, (paths, loss) in enumerate(plays):
                # the moves of an obedient play, and of phi up to where it leaves, were recommended
                seqs = [int(first[x]) + told for x, told in paths[i]]
                if phi.tree.k == 0 or (leaving[seqs] > 0.0).any():
                    losses[n] = loss[i]
            yield losses

    def _chunks(self, count: int, active: Sequence[int], deviate: Deviate | None) -> Any:
        """``count`` plays, in which the ``active`` players take turns."""
        for start in range(0, count, CHUNK):
            size = min(CHUNK, count - start)
            turns = [active[(start + n) % len(active)] for n in range(size)]
            yield self.plays.play(self.used, self.used + size, turns, deviate)
            self.used += size

    def _explored(self, count: int) -> Any:
        """Plays in which the players explore by turns."""
        return self._chunks(count, range(len(self.players)), self._explore)

    def _explore(self, episode: Episode, i: int, x: int, recommended: int, n: int) -> int:
        """A move of the sampling policies of ``learning/evidence.py``."""
        obeys = int(episode.chance * self.horizons[i])
        if len(episode.paths[i]) < obeys or episode.draw() < FOLLOW:
            return recommended
        tree, base, draw = self.plays.trees[i], self.bases[i], episode.draw()
        if x == NO_INFOSET or (first := tree.first_seq[x]) >= len(base):
            return min(int(draw * n), n - 1)
        return drawn_from(base[first : first + n].tolist(), draw)

    def _evidence(self, count: int, *, keep_payoffs: bool = False) -> list[Evidence]:
        """Play ``count`` times: a quarter obedient, the others exploring."""
        policy = self.plays.policy
        parts = policy.split(policy.behavior)
        found = [
            Evidence(plex, self.k, np.ascontiguousarray(part))
            for plex, part in zip(policy.plexes, parts, strict=True)
        ]
        obedient = max(2, count // 4)
        paid, self.obedient = [], []
        for chunk in self._chunks(obedient, [NOBODY], None):
            for episode in chunk:
                paid.append(episode.payoffs)
                if keep_payoffs:
                    self.obedient.append((episode.paths, episode.losses))
                for i, evidence in enumerate(found):
                    evidence.obey(episode.paths[i], episode.losses[i])
        for chunk in self._explored(count - obedient):
            for episode in chunk:
                i = episode.active
                if episode.complete(i):
                    found[i].explore(episode.component, episode.paths[i], episode.losses[i])
                else:  # the rest of the play is not in the tree
                    found[i].explored += 1
        if keep_payoffs:
            self.paid = np.array(paid, np.float64)
        return found

    def _test(self, i: int, phi: Modification, count: int) -> _Played:
        """``count`` fresh plays, in which player i executes ``phi``.

        Their paths have what player i was told, not what they did.
        """
        cells: dict[int, int] = {}
        told: dict[int, list[tuple[int, int]]] = {}
        tree, plex = phi.tree, phi.tree.plex
        played: _Played = []

        def deviate(episode: Episode, i: int, x: int, recommended: int, n: int) -> int:
            if x == NO_INFOSET:
                return recommended
            if not episode.paths[i]:  # the first decision of the play
                told[episode.number], cells[episode.number] = [], ROOT
            node = phi.continuing(x, cells[episode.number])
            row, cell = int(tree.first_row[node]), int(tree.arrays.first_cell[node])
            if tree.is_swap[node]:
                action = int(phi.choice[row + recommended])
                cell += recommended * int(plex.n_actions[x]) + action
            else:
                action = int(phi.choice[row])
                cell += action
            cells[episode.number] = cell
            told[episode.number].append((x, recommended))
            return action

        for chunk in self._chunks(count, [i], deviate):
            for episode in chunk:
                paths = list(episode.paths)
                paths[i] = told.get(episode.number, [])
                played.append((paths, episode.losses))
            cells.clear()
            told.clear()
        return played

    def _written(
        self,
        found: Sequence[tuple[float, Modification, Any]],
        fresh: Sequence[Evidence],
        tests: Sequence[_Played],
    ) -> PlayCertificate:
        # ten parts for each player: three means on both sides, and four for all deviations at once
        delta = (1.0 - self.confidence) / len(found) / 10
        gaps, margins = [], []
        for i, evidence in enumerate(fresh):
            span, obeyed = self.span[i], evidence.obeying[0] / evidence.obeyed
            above = bernstein(
                evidence.obeying[0], evidence.obeying_square[0], evidence.obeyed, 1.0, delta
            )
            margins.append(float(above) * span)
            _, phi, leaving = found[i]
            obeying, deviating = self._compared(i, phi, leaving, tests[i])
            gain = float(obeying.mean() - deviating.mean())
            margin = sum(
                float(bernstein(x.sum(), np.square(x).sum(), len(x), 1.0, delta))
                for x in (obeying, deviating)
            )
            most, limit = evidence.most(4 * delta), min(1.0, float(obeyed + above))
            gaps.append(
                PlayGap(
                    player=self.players[i],
                    lower=max(-math.inf if self.k == 0 else 0.0, gain - margin) * span,
                    upper=min(most, limit) * span,
                    vacuous=most >= limit,
                    gain=gain * span,
                    margin=margin * span,
                    witness=self._witness(i, gain * span, phi, leaving, evidence),
                )
            )
        return PlayCertificate(
            name=str(self.env.name),
            k=self.k,
            confidence=self.confidence,
            episodes=self.used,
            infosets=sum(plex.n_infosets for plex in self.plays.policy.plexes),
            values=tuple(self.paid.mean(axis=0).tolist()),
            margins=tuple(margins),
            players=tuple(gaps),
        )

    def _witness(
        self, i: int, gain: float, phi: Modification, leaving: Any, evidence: Evidence
    ) -> Witness:
        """The deviation in words; a move counts only where nothing before it has left."""
        plex, span = phi.tree.plex, self.span[i]
        left = np.zeros(plex.n_sequences, bool)
        events = []
        for x in range(plex.n_infosets):
            first, end = int(plex.first_seq[x]), int(plex.first_seq[x + 1])
            before = left[plex.parent_seq[x]]
            for seq in range(first, end):
                left[seq] = before or leaving[seq] > 0.0
                if leaving[seq] > 0.0 and not before:
                    node = self._obedient_node(phi, evidence, x)
                    plays = int(phi.choice[phi.tree.first_row[node] + seq - first])
                    labels = plex.action_labels[x]
                    events.append(
                        FirstDeviation(
                            self.players[i], plex.infoset_labels[x], labels[seq - first],
                            labels[plays], float(leaving[seq]) * span,
                            float(evidence.passed[seq]) / evidence.obeyed,
                        )
                    )  # fmt: skip
        events.sort(key=lambda event: -event.gain)
        return Witness(self.players[i], gain, phi, tuple(events))

    @staticmethod
    def _obedient_node(phi: Modification, evidence: Evidence, x: int) -> int:
        arrays = phi.tree.arrays
        here = slice(int(arrays.first_node[x]), int(arrays.first_node[x + 1]))
        return here.start + int(np.flatnonzero(evidence.obedient[here])[0])


def grown(plays: MediatedPlays) -> Mixture:
    """The policy with the infosets that plays have shown beside its own, uniform there."""
    policy = plays.policy
    plexes, columns = [], []
    for tree, part in zip(plays.trees, policy.split(policy.behavior), strict=True):
        plex, order = tree.ordered()
        counts = np.array([len(actions) for actions in tree.actions], np.int64)
        uniform = np.concatenate([[1.0], np.repeat(1.0 / counts, counts)])
        whole = np.tile(uniform, (policy.n_components, 1))
        whole[:, : part.shape[1]] = part
        plexes.append(plex)
        columns.append(whole[:, order])
    return Mixture(
        policy.name, policy.player_labels, tuple(plexes), policy.weights,
        np.concatenate(columns, axis=1),
    )  # fmt: skip
