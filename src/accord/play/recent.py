"""Running means over recent plays in which everybody obeyed.

Policies change while they are learned, so a mean since the first play says little about the last
ones. Plays are counted in three stretches: the present one, the one before it, and everything
earlier, which only counts. A stretch ends when it has a quarter of all plays, so a mean over the
first two is one over the last quarter of all plays to the last half of them.
"""

from __future__ import annotations

import numpy as np

from accord._arrays import NO_INFOSET, Floats
from accord.play.episodes import Episode
from accord.play.obedient_plays import QUANTILE

LEAST_STRETCH = 100
"""Plays that a stretch has at least."""

NOW, LAST, EARLIER = 0, 1, 2
"""The stretches."""


class RecentPlays:
    """Payoffs of recent plays, and how many of their decisions were at known infosets.

    For each stretch and player they are the number of plays, the sum of payoffs, that of their
    squares, the number of decisions, and that of decisions at infosets that were known before the
    play.
    """

    def __init__(self, n_players: int) -> None:
        self._sums = np.zeros((3, 5, n_players))
        self._now: list[list[float]] = self._sums[NOW].tolist()  # faster than an array
        self._before = 0.0  # plays in earlier stretches

    @property
    def sums(self) -> Floats:
        """``[stretch, 5, n_players]`` everything that :meth:`restore` needs."""
        self._sums[NOW] = self._now
        return self._sums

    def add(self, episode: Episode) -> None:
        """Count a play."""
        plays, total, squares, decided, known = self._now
        for i, paid in enumerate(map(float, episode.payoffs)):
            plays[i] += 1.0
            total[i] += paid
            squares[i] += paid * paid
        for i, x, *_ in episode.moves:
            decided[i] += 1.0
            known[i] += x != NO_INFOSET
        if plays[0] >= max(LEAST_STRETCH, (plays[0] + self._before) // 4):
            sums = self.sums
            sums[EARLIER] += sums[LAST]
            sums[LAST], sums[NOW] = sums[NOW], 0.0
            self.restore(sums)

    def values(self) -> tuple[tuple[float, ...], tuple[float, ...], int]:
        """Mean payoffs, half the widths of their 95% confidence intervals, and how many plays."""
        plays, total, squares = self.sums[:EARLIER, :3].sum(axis=0)
        mean = total / np.maximum(plays, 1)
        variance = np.maximum(squares / np.maximum(plays, 1) - mean * mean, 0.0)
        margin = np.where(plays > 1, QUANTILE * np.sqrt(variance / np.maximum(plays, 1)), np.nan)
        return tuple(mean.tolist()), tuple(margin.tolist()), int(plays[0])

    @property
    def coverage(self) -> float | None:
        """The share of decisions at infosets that were known; None if there was no decision."""
        decided, known = self.sums[:EARLIER, 3:].sum(axis=(0, 2)).tolist()
        return known / decided if decided else None

    def restore(self, sums: Floats) -> None:
        """Continue from saved :attr:`sums`.

        Raises:
            ValueError: If they are something else.
        """
        saved = np.array(sums, np.float64)
        if saved.shape != self.sums.shape or not np.isfinite(saved).all():
            raise ValueError("the counts of plays must fit the players")
        self._sums, self._now = saved, saved[NOW].tolist()
        self._before = float(saved[LAST:, 0, 0].sum())
