"""The phases of ``optimize``: what each takes, told before anything is allocated.

A zero-sum game takes one program. A small game takes the relaxation (``optimal/polytope.py``) and
then rounds of column generation. A large one takes tuples, averages, the programs over supports and
the program that proves the bound (``optimal/large.py``); where chance is private, it takes averages
and the phases of a small game instead, which is not known before. What follows is the same for all.

Arrays are counted. What HiGHS takes cannot be: per tuple and per entry of a program it is what was
measured on Sheriff, Battleship and poker, as are all times, on one core. A time says whether to
wait for a phase or to go for lunch: expect it to be wrong by a factor of two or three.
``tests/runs/test_footprint.py`` compares the memory with what the system reports.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from accord._arrays import CHANCE
from accord.certifying.footprint import SMALL_BYTES, certify_bytes, leaf_bytes
from accord.deviations.counting import count_rechistories
from accord.deviations.notions import Notion, NotionLike, as_notion, outcome_notion
from accord.equilibrium.relevant import count_tuples
from accord.errors import BudgetError
from accord.optimal.column_generation import TUPLES
from accord.optimal.incentives import Incentives
from accord.optimal.large import (
    BYTES_PER_TUPLE,
    DENSE,
    PROVED,
    STAGE,
    SUPPORT,
    SUPPORTED,
    tuple_bytes,
)
from accord.optimal.tuples import count_entries
from accord.runs.footprint import PER_ENTRY, Parts, generation_bytes
from accord.treeplex.form import SequenceForm

PROVING = 60.0
"""Seconds that a proof in rational arithmetic may take."""

PERTURBED = 70.0
"""Bytes per tuple of a perturbed run, beside the averages."""

RELAXED, RELAXED_ENTRY = 1800.0, 500.0
"""Bytes that the relaxation takes per tuple and per loss of a deviator, HiGHS included."""

SIMPLEX, INTERIOR = 2200.0, 1150.0
"""Bytes per tuple that HiGHS takes for the program over a support, and for that of the proof."""

SECONDS_RELAXED, SECONDS_SIMPLEX, SECONDS_INTERIOR = 160e-6, 250e-6, 80e-6
"""Seconds per tuple of these programs."""

SECONDS_LISTED, SECONDS_SWEPT = 2e-6, 8e-9
"""Seconds per tuple to list and sort all; and, in an iteration, per tuple, entry and cell."""

SECONDS_ROUND, SECONDS_PRICED = 0.01, 1.5e-6
"""Seconds of a round of column generation, and those per leaf of each player and cell."""

SECONDS_EVALUATED, PLANS = 2e-8, 100
"""Seconds to certify a plan, per leaf of each player and cell; and a number of plans."""

SECONDS_ENTRY = 2e-5
"""Seconds per entry of the sequence-form program."""


@dataclass(frozen=True)
class Phase:
    """A phase of a run."""

    name: str
    parts: Parts  # bytes at the peak of this phase, beside the game, by what they are for
    seconds: float  # about, on one core
    per: str = ""  # what takes so long: "iteration", "round" or "program"; "" for the phase
    at_most: bool = False  # whether it ends by then

    @property
    def bytes(self) -> float:
        """The memory at the peak."""
        return sum(self.parts.values())


def optimize_phases(
    form: SequenceForm,
    notion: NotionLike,
    *,
    zero_sum: bool = False,
    incentives: Incentives | None = None,
) -> list[Phase]:
    """The phases of ``optimize``, in order.

    Args:
        form: The game.
        notion: K or the notion.
        zero_sum: Whether the program of a zero-sum game finds the equilibrium.
        incentives: If they are known, losses of deviators are counted, else guessed.
    """
    made = as_notion(notion) if zero_sum else outcome_notion(as_notion(notion))
    held: Parts = {"leaves": leaf_bytes(form)}
    rest: Parts = {"everything else": SMALL_BYTES}
    certifying = certify_bytes(form, [made])
    work = float(len(form.leaves) * form.n_players)
    if zero_sum:
        filled = len(form.leaves) + 3 * form.n_sequences
        size = max(PER_ENTRY * filled, certifying)
        parts = held | {"prices and certifying": size} | rest
        return [Phase("program", parts, SECONDS_ENTRY * filled)]
    trees, pricing = generation_bytes(form, made)
    held["rechistories"] = trees
    cells = float(sum(count_rechistories(plex, made).cells for plex in form.plexes))
    work += cells
    tuples = _tuples(form, made)
    entries = tuples if incentives is None else count_entries(incentives)
    large = tuple_bytes(form, made) > 0 and entries <= DENSE * tuples
    if large:
        phases = _large(held, rest, tuples, entries + cells)
        held = held | {"tuples": BYTES_PER_TUPLE * tuples}
        if (form.game.player == CHANCE).any():
            phases += [
                replace(phase, name=f"{phase.name}, if chance is private")
                for phase in _small(held, rest, tuples, entries, pricing, work)
            ]
    else:
        phases = _small(held, rest, tuples, entries, pricing, work)
    ending = held | {"prices and certifying": max(pricing, certifying)} | rest
    phases.append(Phase("certifying", ending, SECONDS_EVALUATED * PLANS * work))
    if not large:
        phases.append(Phase("fractions", ending, PROVING, at_most=True))
    return phases


def optimize_memory(
    form: SequenceForm,
    notion: NotionLike,
    *,
    zero_sum: bool = False,
    incentives: Incentives | None = None,
) -> Parts:
    """What ``optimize`` takes in the phase that takes most."""
    phases = optimize_phases(form, notion, zero_sum=zero_sum, incentives=incentives)
    return max(phases, key=lambda phase: phase.bytes).parts


def _tuples(form: SequenceForm, notion: Notion) -> float:
    """The number of relevant tuples; 0 if there are too many for any program."""
    with suppress(BudgetError):
        two = form.n_players == 2 and not notion.agent
        return float(count_tuples(form) if two else count_tuples(form, TUPLES))
    return 0.0


def _large(held: Parts, rest: Parts, tuples: float, others: float) -> list[Phase]:
    """The phases of a large game up to the device."""
    held = held | {"tuples": BYTES_PER_TUPLE * tuples}
    sweep = SECONDS_SWEPT * (tuples + others)
    phases = [
        Phase("tuples", held | rest, SECONDS_LISTED * tuples),
        Phase("averages", held | rest, sweep, "iteration"),
    ]
    if tuples <= SUPPORTED:
        kept = min(float(SUPPORT), tuples / 2)
        size = (BYTES_PER_TUPLE + PERTURBED) * tuples
        parts = held | {"tuples": size, "prices and programs": SIMPLEX * kept}
        seconds = STAGE[-1] * sweep + SECONDS_SIMPLEX * kept
        phases.append(Phase("supports", parts | rest, seconds, "program"))
    if tuples <= PROVED:
        parts = held | {"prices and programs": INTERIOR * tuples}
        phases.append(Phase("proof", parts | rest, SECONDS_INTERIOR * tuples))
    return phases


def _small(
    held: Parts, rest: Parts, tuples: float, entries: float, pricing: float, work: float
) -> list[Phase]:
    """The phases of column generation."""
    phases = []
    if 0 < tuples <= TUPLES:
        size = RELAXED * tuples + RELAXED_ENTRY * entries
        parts = held | {"prices and programs": size} | rest
        phases.append(Phase("relaxation", parts, SECONDS_RELAXED * tuples))
    parts = held | {"prices and programs": pricing} | rest
    seconds = SECONDS_ROUND + SECONDS_PRICED * work
    return [*phases, Phase("rounds", parts, seconds, "round")]
