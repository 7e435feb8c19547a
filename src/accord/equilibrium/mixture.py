"""Correlated policies of players whose game is not known.

What was learned by playing is a correlated policy like any other (``equilibrium/correlated.py``),
weights over product policies. But where only the players' treeplexes are known, and not how their
moves and chance's make payoffs, there is no gap to compute. Files are the same: once the game is
known, :func:`accord.load_policy` reads them as policies of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from accord._arrays import Floats
from accord.treeplex.treeplex import Treeplex


@dataclass(frozen=True, eq=False, repr=False)
class Mixture:
    """Weights over product policies of players with these treeplexes."""

    name: str  # of what is played
    player_labels: tuple[str, ...]
    plexes: tuple[Treeplex, ...]
    weights: Floats  # [n_components] positive, sum to one
    behavior: Floats  # [n_components, n_sequences] joint behaviours, player after player

    @property
    def n_components(self) -> int:
        return len(self.weights)

    def split(self, joint: Floats) -> tuple[Floats, ...]:
        """The part of each player in a joint vector over everybody's sequences, as views."""
        ends = np.cumsum([plex.n_sequences for plex in self.plexes])
        return tuple(np.split(joint, ends[:-1], axis=-1))

    def components(self) -> Iterator[tuple[float, tuple[Floats, ...]]]:
        """``(weight, (behavior of each player))`` of every component, as views."""
        for weight, joint in zip(self.weights, self.behavior, strict=True):
            yield float(weight), self.split(joint)

    def __repr__(self) -> str:
        return f"Mixture({self.name!r}, components={self.n_components})"
