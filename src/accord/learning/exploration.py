"""Balanced exploration policies, Definition 6 of Song, Mei, Bai 2022.

For each layer h the player has one exploration policy. Above layer h it takes each action in
proportion to the number of infosets of layer h below it,

    pi^{*,h}(a | x) = |C_h(x, a)| / |C_h(x)|,

and from layer h on it is uniform. In an uneven tree some infosets have no infoset of layer h below
them; there it is uniform too. It reaches the infosets of layer h as evenly as a single policy can:
for every policy pi of the player (Lemma B.5)

    sum over the sequences (x, a) of layer h of pi_{1:h}(x, a) / pi^{*,h}_{1:h}(x, a)  <=  X_h A_h,

with A_h the size of the largest action set in the layer. Equality holds if every play reaches layer
h and all action sets there have the same size. Uniform exploration, which takes every action with
the same probability at every layer, is included for comparison; it reaches deep infosets
exponentially less often.

Learning from whole plays needs one policy for all layers; by default it is
:func:`accord.treeplex.strategy.spread_behavior`.
"""

from __future__ import annotations

import numpy as np

from accord._arrays import Floats, Ints
from accord._jit import jit
from accord.errors import ArgumentError
from accord.treeplex.treeplex import Treeplex, TreeplexArrays

EXPLORATIONS = ("spread", "balanced", "uniform")
"""All ways to explore. Which of them suit a minimizer, and which is its default, it says itself."""


def checked_exploration(known: tuple[str, ...], exploration: str | None) -> str:
    """``exploration``, or the first of ``known`` if it is None.

    Raises:
        ArgumentError: If it is not one of ``known``.
    """
    if exploration is None:
        return known[0]
    if exploration not in known:
        raise ArgumentError(f"exploration must be one of {', '.join(known)}; got {exploration!r}")
    return exploration


def balanced_behavior(plex: Treeplex, layer: int) -> Floats:
    """pi^{*,h} over sequences, for ``layer`` h in 1..horizon."""
    counts = count_descendants(plex)
    behavior = np.ones(plex.n_sequences)
    for x in range(plex.n_infosets):
        seqs = slice(plex.first_seq[x], plex.first_seq[x + 1])
        below = counts[seqs, layer - 1]
        even = 1.0 / (seqs.stop - seqs.start)
        behavior[seqs] = below / below.sum() if below.sum() > 0 else even
    return behavior


def exploration_weights(plex: Treeplex, exploration: str) -> Ints:
    """``[n_sequences, horizon]`` weights in proportion to which episodes explore.

    Column h - 1 is for episodes that target layer h: the number of descendants in that layer for
    ``"balanced"``, 1 for ``"uniform"``.

    Raises:
        ArgumentError: If ``exploration`` is neither of these.
    """
    if checked_exploration(("balanced", "uniform"), exploration) == "balanced":
        return count_descendants(plex)
    return np.ones((plex.n_sequences, plex.horizon), np.int32)


def count_descendants(plex: Treeplex) -> Ints:
    """``[n_sequences, horizon]``: in column h - 1, the infosets of layer h after each sequence."""
    counts = np.zeros((plex.n_sequences, plex.horizon), np.int32)
    _count_descendants(plex.arrays, plex.depth, counts)
    return counts


@jit
def _count_descendants(plex: TreeplexArrays, depth: Ints, counts: Ints) -> None:
    """Add every infoset, and all below it, to the sequence that leads to it; children first."""
    for x in range(len(plex.parent_seq) - 1, -1, -1):
        above = plex.parent_seq[x]
        counts[above, depth[x]] += 1
        for seq in range(plex.first_seq[x], plex.first_seq[x + 1]):
            for h in range(depth[x] + 1, counts.shape[1]):
                counts[above, h] += counts[seq, h]
