"""How many ends a game has, estimated from plays of an environment.

Two plays have the same end if all players had the same infosets and actions, and chance, as far as
it is shown, the same moves. With perfect recall the last infoset and action of a player tell all
earlier ones. Of f1 ends that were seen once and f2 that were seen twice, Chao's
estimate of the number of ends that were not seen is f1 (f1 - 1) / (2 (f2 + 1)). It is rather too
low, since it knows nothing of ends that are rare.

Only a sample of the ends is kept, so memory does not grow with the plays: those whose digest is a
multiple of a power of two, which doubles when there are too many. All plays of a kept end have been
counted, whatever the power was when they were played.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from accord.play.episodes import Episode

MOST_KEPT = 1 << 14
"""Ends that are kept, at most."""


class Ends:
    """The ends that plays have shown.

    Args:
        most: How many are kept, at most.
    """

    def __init__(self, most: int = MOST_KEPT) -> None:
        self.most, self._every = most, 1
        self._plays: dict[int, int] = {}  # by the digest of an end

    def add(self, episode: Episode) -> None:
        """Count a play."""
        last = {i: (label, action) for i, _, label, _, action in episode.moves}
        drawn = [move for shown in episode.shown for _, move in shown]
        said = [f"{i}\0{action}\0{label}" for i, (label, action) in sorted(last.items())]
        text = "\0\0".join((*said, str(drawn) if drawn else ""))
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8)
        end = int.from_bytes(digest.digest(), "little")
        if end % self._every:
            return
        self._plays[end] = self._plays.get(end, 0) + 1
        while len(self._plays) > self.most:
            self._every *= 2
            self._plays = {end: n for end, n in self._plays.items() if end % self._every == 0}

    def estimate(self) -> float:
        """The estimated number of all ends; 0 before the first play."""
        plays = list(self._plays.values())
        once, twice = plays.count(1), plays.count(2)
        return self._every * (len(plays) + once * (once - 1) / (2 * (twice + 1)))

    def state(self) -> dict[str, Any]:
        """Everything that :meth:`restore` needs."""
        return {
            "every": np.array(self._every),
            "digests": np.array(list(self._plays), np.uint64),
            "plays": np.array(list(self._plays.values()), np.int64),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved :meth:`state`.

        Raises:
            LookupError, ValueError: If it is not one.
        """
        every, plays = int(state["every"]), state["plays"].tolist()
        digests = np.asarray(state["digests"], np.uint64).tolist()
        if every < 1 or len(set(digests)) != len(plays) or min(plays, default=1) < 1:
            raise ValueError("the plays of each end must be counted, and each end once")
        self._every, self._plays = every, dict(zip(digests, plays, strict=True))
