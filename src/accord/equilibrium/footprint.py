"""How much memory policies and their evaluation take, told before anything is allocated.

A player's rechistory tree takes 16 bytes per rechistory, and as many for what is derived from it;
on it a deviator (``equilibrium/gap.py``) has its time selections and the sums U. When all
components have been added, the best deviation of one player after the other is found in a copy of
U. The leaves are sorted once per player, and once more with losses from a centre.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from accord._format import memory
from accord._memory import available_memory
from accord.deviations.counting import RechistoryCount, count_rechistories
from accord.deviations.notions import NotionLike
from accord.deviations.rechistory import check_budget
from accord.errors import BudgetError
from accord.treeplex.form import SequenceForm

TREE = 16 + 17  # arrays, and node_infoset, first_row, is_swap and kind
"""Bytes of a tree per rechistory."""


def leaf_bytes(form: SequenceForm) -> float:
    """The leaf table, sorted by each player."""
    n, players = len(form.leaves), form.n_players
    table = n * (12 * players + 8 + (0 if form.leaves.rest is None else 16 * players))
    return float(table + n * players * (4 * (players - 1) + 16) + 8 * form.n_sequences)


def centred_bytes(form: SequenceForm) -> float:
    """The losses and gains of all players' leaves, measured from centres."""
    return 16.0 * len(form.leaves) * form.n_players


def policy_bytes(form: SequenceForm, components: int) -> float:
    """A correlated policy with so many components."""
    return 8.0 * form.n_sequences * components


def deviator_bytes(counts: Iterable[RechistoryCount], sums: int = 1) -> float:
    """Deviators on these trees, with so many sums on each, and the search for the best phi."""
    counts = list(counts)
    held = sum((TREE + 8 * sums) * one.nodes + 8 * sums * one.cells for one in counts)
    searched = max((8 * sums * one.cells + 4 * one.cells for one in counts), default=0.0)
    return float(held + searched)


def certify_bytes(form: SequenceForm, notions: Iterable[NotionLike]) -> float:
    """What :func:`accord.certify` takes beside the policy and the leaf table."""
    wanted = [count_rechistories(plex, one) for one in (*notions, 1) for plex in form.plexes]
    return deviator_bytes(wanted) + centred_bytes(form)


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
