"""The policies with which a player samples episodes.

The paper's are the balanced exploration policies, Definition 6 of Song, Mei, Bai 2022. For each
layer h the player has one of them. Above layer h it takes each action in proportion to the number
of infosets of layer h below it,

    pi^{*,h}(a | x) = |C_h(x, a)| / |C_h(x)|,

and from layer h on it is uniform. In an uneven tree some infosets have no infoset of layer h below
them; there it is uniform too. It reaches the infosets of layer h as evenly as a single policy can:
for every policy pi of the player (Lemma B.5)

    sum over the sequences (x, a) of layer h of pi_{1:h}(x, a) / pi^{*,h}_{1:h}(x, a)  <=  X_h A_h,

with A_h the size of the largest action set in the layer. Equality holds if every play reaches layer
h and all action sets there have the same size. Uniform exploration, which takes every action with
the same probability at every layer, is included for comparison; it reaches deep infosets
exponentially less often.

Learning from whole plays needs one policy for all layers; by default it is the one that spreads
(``learning/tables.py``).

In an episode a player follows one of their :class:`SamplingPolicies`: pi^t at some layers, and at
the others an exploration policy or a mixture of both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Floats, Ints
from accord._jit import jit, part
from accord.deviations.notions import Notion, check_tree
from accord.errors import ArgumentError
from accord.regret.sampled import Infosets, SampledMinimizer
from accord.treeplex.strategy import uniform_behavior
from accord.treeplex.treeplex import Treeplex, TreeplexArrays

EXPLORATIONS = ("spread", "balanced", "uniform")
"""All ways to explore. Which of them suit a minimizer, and which is its default, it says itself."""


class SamplingPolicies(NamedTuple):
    """The policies q^e of one player, or of several players one after the other.

    Where policy e explores, it plays ``follow[e] pi^t + (1 - follow[e]) base[column[e]]``, and
    elsewhere pi^t.
    """

    episodes: Ints  # [n_policies] how many of an iteration it plays
    explores: NDArray[np.bool_]  # [n_policies, horizon] whether it explores at each layer
    follow: Floats  # [n_policies]
    column: Ints  # [n_policies]
    base: Floats  # [n_columns, n_sequences]


Explore = Callable[[int, str, tuple[str, ...]], Sequence[float]]
"""Exploration of a user's own: ``explore(player, infoset, actions)`` returns a positive weight for
each action. It is asked once for every infoset, when the player has met it."""

OWN_EXPLORATIONS: dict[str, Explore] = {}
"""Functions that users have passed, by their names."""


def named_exploration(given: str | Explore | None) -> str | None:
    """The name of an exploration. A function of the user's own is from then on known by its name.

    Raises:
        ArgumentError: If it is neither a name nor a function, or its name is taken.
    """
    if given is None or isinstance(given, str):
        return given
    name = getattr(given, "__name__", None) or getattr(given, "name", None)
    if not callable(given) or not isinstance(name, str) or isinstance(given, type):
        raise ArgumentError(
            "exploration must be a name, such as 'spread', or a function of player, infoset and "
            f"actions, with a name; got {given!r}"
        )
    if name in EXPLORATIONS:
        raise ArgumentError(f"exploration of your own needs a name of its own; {name!r} is taken")
    OWN_EXPLORATIONS[name] = given
    return name


def checked_exploration(known: tuple[str, ...], exploration: str | Explore | None) -> str:
    """``exploration`` by its name, or the first of ``known`` if it is None.

    Raises:
        ArgumentError: If it is not one of ``known``, and not the user's own where these may spread.
    """
    if exploration is None:
        return known[0]
    name = named_exploration(exploration)
    if name in known or ("spread" in known and name in OWN_EXPLORATIONS):
        return str(name)
    raise ArgumentError(
        f"exploration must be one of {', '.join(known)}; got {name!r}"
        + ("; to resume a run with exploration of your own, pass it again" * ("spread" in known))
    )


def own_law(exploration: str, player: int, infoset: str, actions: tuple[str, ...]) -> Floats:
    """The probabilities of the actions at an infoset, by exploration of the user's own.

    Raises:
        ArgumentError: If they are not a positive, finite weight per action.
    """
    given = OWN_EXPLORATIONS[exploration](player, infoset, actions)
    try:
        weights = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.empty(0)
    if weights.shape != (len(actions),) or not (weights > 0.0).all() or not weights.max() < np.inf:
        raise ArgumentError(
            f"{exploration} must return a positive weight for each of the {len(actions)} actions, "
            "because what is never tried is never learned; for player "
            f"{player} at infoset {infoset!r:.200} it returned {given!r:.200}"
        )
    weights /= weights.max()
    return np.asarray(weights / weights.sum())


def needs_treeplexes(minimizer: SampledMinimizer, exploration: str) -> bool:
    """Whether the sampling policies count infosets, so that treeplexes must be known."""
    return not minimizer.whole_plays or exploration == "balanced"


def check_learnable(notion: Notion, minimizer: SampledMinimizer, exploration: str) -> None:
    """Refuse a notion that cannot be learned in this way.

    Raises:
        ArgumentError: If its deviators have no rechistories, or if the sampling policies are the
            paper's, which are made for the rechistories of a K-EFCE.
    """
    check_tree(notion)
    if notion.k is None and needs_treeplexes(minimizer, exploration):
        raise ArgumentError(
            f"the paper's episodes ({minimizer.name} with {exploration} exploration) are for a "
            f"K-EFCE; got {notion}; learn it with prm or rm, and spread or uniform exploration"
        )


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
    """``[n_sequences, horizon]`` weights in proportion to which the paper's episodes explore.

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


def mixed_policies(
    base: Floats, shared: int, own: int, follow: float, horizon: int
) -> SamplingPolicies:
    """``shared`` episodes that play pi^t, and ``own`` ones that mix it with ``base``."""
    episodes = [shared, own] if shared else [own]
    explores = np.zeros((len(episodes), horizon), np.bool_)
    explores[-1] = True
    return SamplingPolicies(
        episodes=np.array(episodes, np.int32),
        explores=explores,
        follow=np.full(len(episodes), follow),
        column=np.zeros(len(episodes), np.int32),
        base=base[np.newaxis],
    )


def planned_policies(
    plex: Treeplex, layer: Ints, explores: NDArray[np.bool_], exploration: str = "balanced"
) -> SamplingPolicies:
    """The sampling policies of Balanced K-EFR, one episode each.

    Args:
        plex: The player's treeplex.
        layer: ``[n_episodes]`` the layer, from 0, that each of them targets.
        explores: ``[n_episodes, horizon]`` whether it explores at each layer.
        exploration: ``"balanced"`` or ``"uniform"``.
    """
    layers = range(1, plex.horizon + 1)
    if exploration == "balanced":
        columns = [balanced_behavior(plex, h) for h in layers]
    else:
        columns = [uniform_behavior(plex) for _ in layers]
    return SamplingPolicies(
        episodes=np.ones(len(layer), np.int32),
        explores=explores,
        follow=np.zeros(len(layer)),
        column=layer,
        base=np.stack(columns) if columns else np.ones((0, plex.n_sequences)),
    )


def join_policies(parts: Sequence[SamplingPolicies]) -> SamplingPolicies:
    """The policies of several players in one set of arrays, padded to the largest size."""

    def joined(arrays: list[Any]) -> Any:
        width = max(array.shape[1] for array in arrays)
        return np.concatenate([np.pad(a, ((0, 0), (0, width - a.shape[1]))) for a in arrays])

    bases = [part.base.T for part in parts]

    return SamplingPolicies(
        episodes=np.concatenate([part.episodes for part in parts]),
        explores=joined([part.explores for part in parts]),
        follow=np.concatenate([part.follow for part in parts]),
        column=np.concatenate([part.column for part in parts]),
        base=np.ascontiguousarray(joined(bases).T),
    )


@part
def draw_action(
    x: int,
    draw: float,
    follow: float,
    column: int,
    base: Floats,
    infosets: Infosets,
    behavior: Floats,
) -> int:
    """Draw an action at ``x`` from ``follow pi^t + (1 - follow) base[column]``, by inverse CDF.

    Rounding never selects an action of probability 0.
    """
    first = infosets[x].first_seq
    seq = last = first
    while draw >= 0.0 and seq < first + infosets[x].n_actions:
        share = behavior[seq]
        if follow < 1.0:
            share = follow * share + (1.0 - follow) * base[column, seq]
        draw -= share
        if share > 0.0:
            last = seq
        seq += 1
    return last - first  # type: ignore[no-any-return]


@jit
def _count_descendants(plex: TreeplexArrays, depth: Ints, counts: Ints) -> None:
    """Add every infoset, and all below it, to the sequence that leads to it; children first."""
    for x in range(len(plex.parent_seq) - 1, -1, -1):
        above = plex.parent_seq[x]
        counts[above, depth[x]] += 1
        for seq in range(plex.first_seq[x], plex.first_seq[x + 1]):
            for h in range(depth[x] + 1, counts.shape[1]):
                counts[above, h] += counts[seq, h]
