"""What weights and probabilities must be to make a correlated policy.

Sums may differ from 1 by a small tolerance and are then normalized. Messages name the component,
the player and the infoset.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike

from accord._arrays import Floats
from accord.errors import PolicyError
from accord.game.labels import player_name
from accord.treeplex.treeplex import Treeplex

SUM_TOLERANCE = 1e-6
"""Probabilities must sum to 1 up to this error, and are then normalized."""

SUM_ROUNDING = 1e-13
"""Sums this close to 1 are not normalized, so that normalizing twice changes no bit."""

CHECKED_AT_ONCE = 2**18
"""Probabilities that are checked at once, to use little memory."""


def validated(
    player_labels: Sequence[str],
    plexes: Sequence[Treeplex],
    weights: ArrayLike,
    behavior: ArrayLike,
) -> tuple[Floats, Floats, float]:
    """Weights and joint behaviors, normalized and frozen, and how far sums left alone are from 1.

    An array of behaviors that nobody can write to is not copied unless it must be normalized.

    Raises:
        PolicyError: If they are not probabilities, one weight and one joint behavior of these
            players per component.
    """
    try:
        weights = np.array(weights, dtype=np.float64)
        if not _is_frozen(behavior):
            behavior = np.array(behavior, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise PolicyError("weights and probabilities must be arrays of numbers") from None
    assert isinstance(behavior, np.ndarray)
    n_sequences = sum(plex.n_sequences for plex in plexes)
    if weights.ndim != 1 or behavior.shape != (len(weights), n_sequences) or not len(weights):
        raise PolicyError(
            f"a correlated policy needs one weight and one vector of {n_sequences} probabilities "
            f"per component; got shapes {weights.shape} and {behavior.shape}"
        )
    if not (np.isfinite(weights) & (weights > 0)).all():
        bad = int(np.flatnonzero(~(np.isfinite(weights) & (weights > 0)))[0])
        raise PolicyError(
            f"component {bad}: the weight must be positive and finite; got {weights[bad]}"
        )
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise PolicyError(f"the weights must sum to one; they sum to {total}")
    excess = [0.0]
    for first in range(0, len(behavior), step := max(1, CHECKED_AT_ONCE // n_sequences)):
        block = behavior[first : first + step].copy()
        for player, plex, part in zip(
            player_labels, plexes, split_joint(plexes, block), strict=True
        ):
            excess.append(_normalize(first, player, plex, part))
        if not np.array_equal(block, behavior[first : first + step]):
            behavior = behavior if behavior.flags.writeable else behavior.copy()
            behavior[first : first + step] = block
    if abs(total - 1.0) > SUM_ROUNDING:
        weights /= total
    else:
        excess.append(abs(total - 1.0))
    for array in (weights, behavior):
        array.flags.writeable = False
    return weights, behavior, max(excess)


def split_joint(plexes: Sequence[Treeplex], joint: Floats) -> tuple[Floats, ...]:
    """The part of each player in a joint vector over all players' sequences, as views."""
    ends = accumulate(plex.n_sequences for plex in plexes)
    return tuple(
        joint[..., end - plex.n_sequences : end] for plex, end in zip(plexes, ends, strict=True)
    )


def place(c: int, player: str, plex: Treeplex, x: int) -> str:
    """Where an error is: the component, the player and the infoset."""
    return f"component {c}, {player_name(player)}, infoset {plex.infoset_labels[x]!r}"


def _is_frozen(behavior: ArrayLike) -> bool:
    """Whether nobody can write to an array: its maker gave it up, and no copy is needed."""
    return (
        isinstance(behavior, np.ndarray)
        and behavior.dtype == np.float64
        and behavior.flags.c_contiguous
        and behavior.base is None
        and not behavior.flags.writeable
    )


def _normalize(first: int, player: str, plex: Treeplex, part: Floats) -> float:
    """Check one player's behaviors in components from ``first`` on, and normalize them in place.

    Returns the largest difference from 1 of the sums that are so close that they are left alone.
    """
    part[:, 0] = 1.0
    if not plex.n_infosets:
        return 0.0
    bad = ~(np.isfinite(part) & (part >= 0.0))
    if bad.any():
        c, seq = map(int, np.argwhere(bad)[0])
        x = int(plex.seq_infoset[seq])
        raise PolicyError(
            f"{place(first + c, player, plex, x)}: probabilities must be non-negative and finite; "
            f"got {part[c, seq]} for action {plex.action_labels[x][seq - plex.first_seq[x]]!r}"
        )
    with np.errstate(over="ignore"):
        sums = np.add.reduceat(part[:, 1:], plex.first_seq[:-1] - 1, axis=1)
    if (off := np.abs(sums - 1.0) > SUM_TOLERANCE).any():
        c, x = map(int, np.argwhere(off)[0])
        raise PolicyError(
            f"{place(first + c, player, plex, x)}: probabilities must sum to one; they sum to "
            f"{sums[c, x]}"
        )
    close = np.abs(sums - 1.0) <= SUM_ROUNDING
    excess = float(np.abs(sums - 1.0).max(where=close, initial=0.0))
    sums[close] = 1.0
    part[:, 1:] /= np.repeat(sums, plex.n_actions, axis=1)
    return excess
