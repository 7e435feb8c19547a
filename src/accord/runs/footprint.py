"""The memory that a run takes at its peak, beside the game, told before anything is allocated.

A run has two phases. While it learns there are the learners, the iterates kept so far and, from
time to time, a copy of the sums on one player's rechistories, to measure the gap, or the packed
iterates of a checkpoint. When it has ended, there are the iterates that are saved and what
certifying them takes. These are estimates: ``tests/runs/test_footprint.py`` compares that of
``solve`` with the memory that the system says a process takes.
"""

from __future__ import annotations

from collections.abc import Sequence

from accord.deviations.counting import count_rechistories
from accord.deviations.notions import NotionLike
from accord.equilibrium.footprint import (
    TREE,
    certify_bytes,
    check_memory,
    deviator_bytes,
    leaf_bytes,
    policy_bytes,
)
from accord.regret.sampled import SampledMinimizer, footprint
from accord.regret.state import FOOTPRINT
from accord.runs.iterates import Iterates
from accord.treeplex.form import SequenceForm

PACKED = 1 / 5
"""What packing the iterates takes, as a share of their memory: as in the games that were tried."""

WORKING = 3 * 2.0**22
"""Working memory for blocks of probabilities that are checked, packed or unpacked at once, and for
whatever else is small."""

Parts = dict[str, float]
"""Bytes by what they are for."""


def solve_memory(
    form: SequenceForm,
    k: float,
    *,
    components: int | None = None,
    iterations: int | None = None,
    saves: bool = True,
) -> Parts:
    """What ``solve`` takes; without ``iterations`` for a run that is long enough to fill it."""
    counts = [count_rechistories(plex, k) for plex in form.plexes]
    wanted = components or Iterates.default_components(form.n_sequences)
    kept = policy_bytes(form, min(2 * wanted, iterations or 2 * wanted))
    measured = max((8 * one.nodes + 20 * one.cells for one in counts), default=0.0)
    learners = sum(one.bytes(FOOTPRINT) + TREE * one.nodes for one in counts)
    learning = {
        "learners": learners + 48.0 * form.n_sequences,
        "kept iterates": kept,
        "measuring and saving": max(measured, PACKED * kept if saves else 0.0),
    }
    return _whole_run(form, [k], learning, min(wanted, iterations or wanted))


def learn_memory(
    form: SequenceForm, k: float, minimizer: SampledMinimizer, *, components: int | None = None
) -> Parts:
    """What ``learn`` takes on a loaded game."""
    counts = [count_rechistories(plex, k) for plex in form.plexes]
    game = form.game
    rows = components or Iterates.default_components(form.n_sequences)
    kept = policy_bytes(form, rows)
    learners = sum(one.bytes(footprint(minimizer)) + TREE * one.nodes for one in counts)
    learning = {
        "simulator": 32.0 * game.n_nodes + 8.0 * game.n_terminals * game.n_players,
        "learners": learners + 64.0 * form.n_sequences,
        "measuring": deviator_bytes(counts),
        "kept iterates": kept,
        "saving": PACKED * kept,
    }
    return _whole_run(form, [k], learning, rows)


def certify_memory(form: SequenceForm, notions: Sequence[NotionLike], components: int) -> Parts:
    """What reading and certifying a policy takes."""
    return {
        "leaves": leaf_bytes(form),
        "the policy": policy_bytes(form, components),
        "deviators": certify_bytes(form, notions),
        "blocks": WORKING,
    }


def check_run(what: str, parts: Parts, budget: int | None = None) -> None:
    """Refuse a run that takes more memory than there is."""
    check_memory(what, parts, budget, "try a smaller k or fewer components")


def _whole_run(form: SequenceForm, ks: list[float], learning: Parts, saved: int) -> Parts:
    """The larger of the two phases."""
    ending = {
        "the mixture": policy_bytes(form, saved),
        "certifying": certify_bytes(form, ks),
    }
    larger = max(learning, ending, key=lambda parts: sum(parts.values()))
    return {"leaves": leaf_bytes(form), **larger, "blocks": WORKING}
