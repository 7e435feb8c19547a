"""The memory that policies and their evaluation take, known before anything is allocated.

A rechistory tree has four numbers per rechistory. On it a deviator (``equilibrium/gap.py``) has its
time selections and the sums U. When all components have been added, one deviator after the other is
solved in the memory of its sums; what is derived from its tree for that stays, as does its best
deviation. The leaves are sorted once per player, and once more with losses from a center.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from accord._format import memory
from accord._memory import available_memory
from accord.deviations.counting import (
    BYTES_PER_NODE,
    RechistoryCount,
    count_rechistories,
    count_triggers,
)
from accord.deviations.notions import NotionLike
from accord.deviations.rechistory import check_budget
from accord.errors import BudgetError
from accord.treeplex.form import SequenceForm

BLOCKS = 3 * 2.0**22
"""Working memory for blocks of probabilities that are checked, packed or unpacked at once."""

SMALL_BYTES = 2.0**21
"""Memory for whatever else is small."""


TRIGGER_CELLS = 1e9
"""Cells of triggers beyond which a certificate leaves them out. They grow with the square of the
depth of a game, and the deviators of K = 0 do not."""


def leaf_bytes(form: SequenceForm) -> float:
    """The leaf table, sorted by each player."""
    n, players = len(form.leaves), form.n_players
    table = n * (12 * players + 8 + (0 if form.leaves.rest is None else 16 * players))
    return float(table + sorted_bytes(form) + 8 * form.n_sequences)


def sorted_bytes(form: SequenceForm) -> float:
    """The rows of all players as kernels see them."""
    return float(len(form.leaves) * form.n_players * (4 * (form.n_players - 1) + 16))


def centered_bytes(form: SequenceForm) -> float:
    """The losses and gains of all players' leaves, measured from centers, and the last order."""
    return 16.0 * len(form.leaves) * (form.n_players + 1)


def policy_bytes(form: SequenceForm, components: int) -> float:
    """A correlated policy with this many components."""
    return 8.0 * form.n_sequences * components


def packed_bytes(form: SequenceForm, components: int, mixed: float) -> float:
    """A policy as files have it (``equilibrium/packing.py``), and the blocks that make it.

    Args:
        form: The game.
        components: How many there are.
        mixed: The share of positive probabilities, beside the last of each vector.
    """
    infosets = sum(plex.n_infosets for plex in form.plexes)
    support, off = form.n_sequences / 8.0, 1.5 * infosets  # one or two bytes
    values = 8.0 * mixed * (form.n_sequences - infosets)
    return components * (support + off + values) + min(BLOCKS, 6 * policy_bytes(form, components))


def derived_bytes(counts: Iterable[RechistoryCount]) -> float:
    """Arrays derived from trees to solve for the best deviations."""
    return sum(13.0 * one.nodes + 4.0 * one.rows for one in counts)


def solving_bytes(count: RechistoryCount) -> float:
    """One best deviation, and the temporary arrays that find it."""
    return 12.0 * count.nodes + 7.0 * count.rows


def deviator_bytes(counts: Iterable[RechistoryCount]) -> float:
    """Deviators on these trees."""
    return float(sum((BYTES_PER_NODE + 8) * one.nodes + 8 * one.cells for one in counts))


def certify_bytes(form: SequenceForm, notions: Iterable[NotionLike]) -> float:
    """All that :func:`accord.certify` allocates, except the policy and the leaf table."""
    counts = [count_rechistories(plex, one) for one in notions for plex in form.plexes]
    counts += trigger_counts(form)
    solving = max(derived_bytes([one]) + solving_bytes(one) - 8 * one.nodes for one in counts)
    return deviator_bytes(counts) + solving + centered_bytes(form)


def trigger_counts(form: SequenceForm) -> list[RechistoryCount]:
    """The sizes of all players' trees of trigger policies; none if they are not made, because there
    would be more than ``TRIGGER_CELLS``."""
    counts = [count_triggers(plex) for plex in form.plexes]
    return counts if sum(one.cells for one in counts) <= TRIGGER_CELLS else []


def certificate_bytes(form: SequenceForm, notions: Iterable[NotionLike]) -> float:
    """A certificate: the deviations that prove it."""
    counts = [count_rechistories(plex, one) for one in notions for plex in form.plexes]
    return derived_bytes(counts) + sum(one.tree_bytes + 4 * one.rows for one in counts)


def check_certifying(form: SequenceForm, notions: Sequence[NotionLike], budget: int | None) -> None:
    """Refuse notions that are too large alone, then those that are too large together."""
    for one in notions:
        for plex in form.plexes:
            check_budget(count_rechistories(plex, one), budget)
    parts = {"deviators": certify_bytes(form, notions)}
    check_memory(f"certifying {form.game.name}", parts, budget, "ask for fewer notions at once")


def check_memory(what: str, parts: dict[str, float], budget: int | None, advice: str) -> None:
    """Refuse what takes more memory than there is, and say what takes how much.

    Raises:
        BudgetError: If the ``parts`` together take more than ``budget`` bytes, by default all that
            is free.
    """
    available = available_memory() if budget is None else budget
    required = sum(parts.values())
    if required > available:
        listed = ", ".join(f"{name} {memory(size)}" for name, size in parts.items() if size)
        raise BudgetError(
            f"{what} takes {memory(required)} of memory ({listed}), and {memory(available)} are "
            f"available; {advice}",
            required=int(min(required, 2.0**62)),
            available=int(available),
        )
