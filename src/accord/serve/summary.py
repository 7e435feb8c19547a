"""What a session shows: how often people obeyed, and what they earned, with intervals.

A share of k out of n decisions has the exact interval of Clopper and Pearson (1934) at 95 percent;
a mean payoff has Student's interval. Both treat decisions and plays as independent. Decisions of
one person, or of people who have met, are not, so a paper should resample people or groups from the
exported rows. Only decisions and payoffs of people count, not those of robots, and no practice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from scipy.special import betaincinv, stdtrit

from accord.serve.export import Decision, decisions
from accord.serve.hall import Hall
from accord.serve.tables import as_csv, harmless

TAIL = 0.025
"""The probability on each side of an interval."""


@dataclass(frozen=True)
class Share:
    """How often people did what was recommended."""

    treatment: str
    round: int | None  # None for all rounds together
    player: str | None  # None for all players
    infoset: str | None  # None for all infosets
    decisions: int
    obeyed: int

    @property
    def share(self) -> float:
        """The share of decisions that obeyed."""
        return self.obeyed / self.decisions

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of Clopper and Pearson."""
        k, n = self.obeyed, self.decisions
        low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, TAIL))
        high = 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - TAIL))
        return low, high


@dataclass(frozen=True)
class MeanPayoff:
    """What a player earned on average, beside what the device promises."""

    treatment: str
    player: str
    plays: int
    mean: float
    spread: float  # standard deviation; NaN for one play
    expected: float | None  # if everybody follows; None without a mediator

    @property
    def interval(self) -> tuple[float, float]:
        """Student's interval; unbounded if no two plays differ: their spread is then not known."""
        if not self.spread > 0.0:
            return -math.inf, math.inf
        half = float(stdtrit(self.plays - 1, 1 - TAIL)) * self.spread / math.sqrt(self.plays)
        return self.mean - half, self.mean + half


@dataclass(frozen=True)
class Summary:
    """The results of a session so far."""

    shares: tuple[Share, ...]
    payoffs: tuple[MeanPayoff, ...]


def summarize(hall: Hall) -> Summary:
    """The results of all finished plays."""
    found = [one for one in decisions(hall, private=False) if one.row.round != 0]
    told = [one for one in found if one.move is not None and one.move.by == "player"]
    return Summary(
        tuple(_shares(one for one in told if one.obeyed is not None)),
        tuple(_payoffs(hall, found)),
    )


def summary_csv(hall: Hall) -> str:
    """The results as a table: shares first, then payoffs."""
    summary = summarize(hall)
    rows: list[list[object]] = []
    for share in summary.shares:
        rows.append([
            "obeyed", share.treatment, _or_all(share.round), _or_all(share.player),
            harmless(_or_all(share.infoset)), share.decisions, share.share, *share.interval, "",
        ])  # fmt: skip
    for mean in summary.payoffs:
        low, high = mean.interval
        rows.append([
            "payoff", mean.treatment, "all", mean.player, "all", mean.plays, mean.mean,
            low if math.isfinite(low) else "", high if math.isfinite(high) else "",
            "" if mean.expected is None else mean.expected,
        ])  # fmt: skip
    head = ("what", "treatment", "round", "player", "infoset", "n", "value", "low", "high",
        "expected")  # fmt: skip
    return as_csv(head, rows)


def _or_all(value: object) -> str:
    return "all" if value is None else str(value)


def _shares(told: Iterable[Decision]) -> Iterable[Share]:
    """All decisions together, then by round, by player, by infoset, and by infoset and round."""
    counts: dict[tuple[str, int | None, str | None, str | None], list[int]] = {}
    for one in told:
        assert one.move is not None
        name, role, infoset = one.row.treatment, one.seat.player, one.move.infoset
        keys = {
            (name, None, None, None),
            (name, one.row.round, None, None),
            (name, None, role, None),
            (name, None, role, infoset),
            (name, one.row.round, role, infoset),
        }
        for key in keys:
            count = counts.setdefault(key, [0, 0])
            count[0] += 1
            count[1] += bool(one.obeyed)
    order = sorted(
        counts,
        key=lambda key: (key[0], key[2] or "", key[3] or "", -1 if key[1] is None else key[1]),
    )
    return [Share(*key, *counts[key]) for key in order]


def _payoffs(hall: Hall, found: list[Decision]) -> Iterable[MeanPayoff]:
    """The mean payoff of each player in each treatment, where a person played."""
    payoffs: dict[tuple[str, int], dict[str, float]] = {}
    for one in found:
        robot = one.seat.robot if one.move is None else one.move.by == "robot"
        if one.seat.payoff is not None and not robot:
            plays = payoffs.setdefault((one.row.treatment, one.seat.number), {})
            plays[one.row.id] = one.seat.payoff
    for (name, player), plays in sorted(payoffs.items()):
        values = list(plays.values())
        mean, n = math.fsum(values) / len(values), len(values)
        spread = (
            math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1)) if n > 1 else math.nan
        )
        treatment = hall.treatments[name]
        yield MeanPayoff(
            name, hall.game.player_labels[player], n, mean, spread,
            treatment.values[player] if treatment.mediated else None,
        )  # fmt: skip
