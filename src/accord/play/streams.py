"""Independent streams of random numbers, one for each episode.

A stream is a piece of one Philox generator, whose key comes from the seed and the purpose and whose
counter has the number of the episode in it (Salmon et al. 2011). An episode therefore has the same
random numbers wherever, whenever and how often it is played.

What is learned from some plays must be judged by others. So everything that plays has a seed of its
own, which :func:`seed_for` derives from the user's and from what the plays are for: the same seed
may be given to a run, to its certificate and to a rollout, and none of them repeats the moves of
chance of another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np

BLOCK = 16
"""How many numbers are drawn at once."""


CERTIFICATE, ROLLOUT = "certificate", "rollout"
"""What plays are for, if they are not for learning, which takes the user's seed as it is."""


def seed_for(purpose: str, seed: int) -> int:
    """A seed for plays that serve ``purpose``, derived from the user's ``seed``."""
    digest = hashlib.blake2b(f"accord {purpose} {seed}".encode(), digest_size=16).digest()
    return int.from_bytes(digest, "little")


class Streams:
    """The streams of one purpose."""

    def __init__(self, seed: int, purpose: int) -> None:
        key = np.random.SeedSequence([seed, purpose]).generate_state(2, np.uint64)
        self._philox = np.random.Philox(key=key)
        self._rng = np.random.Generator(self._philox)
        self._start = self._philox.state

    def at(self, episode: int) -> np.random.Generator:
        """The generator, moved to the start of the stream of ``episode``."""
        self._start["state"]["counter"][2] = episode
        self._philox.state = self._start
        return self._rng

    def draws(self, episode: int) -> Callable[[], float]:
        """A function that returns the next number in [0, 1) of the stream with every call.

        Unlike :meth:`at` it may be used for several episodes in turns.
        """
        return _Draws(self, episode).__next__


class _Draws:
    def __init__(self, streams: Streams, episode: int) -> None:
        self._streams, self._episode = streams, episode
        self._drawn = 0
        self._rest: list[float] = []

    def __next__(self) -> float:
        if not self._rest:  # a longer piece begins with the same numbers
            more = max(BLOCK, self._drawn)
            numbers = self._streams.at(self._episode).random(self._drawn + more)
            self._rest = numbers[self._drawn :][::-1].tolist()
            self._drawn += more
        return self._rest.pop()
