"""The memory that a run takes at its peak, beside the game, told before anything is allocated.

A run has two phases. While it learns there are the learners, the iterates kept so far and, from
time to time, either the sums of one player, to measure the gap, or the packed iterates of a
checkpoint. When it has ended, there are the iterates that are saved and what certifying and then
packing them takes. Everything is counted from the arrays that the code allocates, but for one
guess: how many of the kept probabilities are neither 0 nor 1 nor what the others leave of 1, so
that a checkpoint has to hold them. ``tests/runs/test_footprint.py`` compares all of this with the
memory that the system says a process takes.
"""

from __future__ import annotations

from collections.abc import Sequence

from accord.certifying.footprint import (
    SMALL_BYTES,
    certificate_bytes,
    certify_bytes,
    check_memory,
    derived_bytes,
    deviator_bytes,
    leaf_bytes,
    packed_bytes,
    policy_bytes,
    solving_bytes,
    sorted_bytes,
)
from accord.deviations.counting import (
    BYTES_PER_NODE,
    RechistoryCount,
    count_learned,
    count_rechistories,
)
from accord.deviations.notions import NFCCE, NotionLike, as_notion
from accord.learning.self_play import LARGE
from accord.learning.tables import footprint
from accord.play.joint_tree import EDGE, NODE
from accord.regret.methods import DEFAULT, METHODS, configured
from accord.regret.sampled import SampledMinimizer
from accord.regret.state import Minimizer
from accord.runs.components import default_components
from accord.treeplex.form import SequenceForm

MATCHED, HEDGED, AVERAGED = 0.2, 0.8, 0.4
"""Shares of mixed probabilities in iterates of regret matching, in those of WRHedge and SWRHedge,
and in averages of a few iterates: a guess, from the games that were tried."""

PER_ENTRY = 96
"""Bytes for an entry of a linear program, until HiGHS has it."""

SMALLER_K = "try a smaller k; `accord info` lists what every command takes"
FEWER = "try a smaller k or fewer components; `accord info` lists what every command takes"

Parts = dict[str, float]
"""Bytes by what they are for."""


def solve_memory(
    form: SequenceForm,
    k: NotionLike,
    method: str | Minimizer = DEFAULT,
    *,
    components: int | None = None,
    iterations: int | None = None,
    timed: bool = False,
) -> Parts:
    """What ``solve`` takes; without ``iterations`` for a run that is long enough to fill it.

    A run that is ``timed`` certifies a part of the mixture on the way, to see how long that takes.
    """
    counts = [count_rechistories(plex, k) for plex in form.plexes]
    credit = configured(METHODS, method).keeps_credit
    wanted = components or default_components(form.n_sequences)
    kept = min(2 * wanted, iterations or 2 * wanted)
    mixed = HEDGED if credit else MATCHED
    learning = {
        "learners": _learners(form, counts, credit=credit),
        "kept iterates": policy_bytes(form, kept),
        "measuring and saving": max(
            _measuring(counts),
            packed_bytes(form, kept, mixed),
            certify_bytes(form, [k]) if timed else 0.0,
        ),
    }
    return _whole_run(form, k, learning, min(wanted, kept), mixed)


def learn_memory(
    form: SequenceForm,
    k: NotionLike,
    minimizer: SampledMinimizer,
    *,
    components: int | None = None,
    iterations: int | None = None,
) -> Parts:
    """What ``learn`` takes on a loaded game, of which it measures the gap on the way."""
    counts = [count_rechistories(plex, k) for plex in form.plexes]
    game = form.game
    wanted = components or default_components(form.n_sequences)
    kept = wanted if iterations is None else iterations // max(1, iterations // wanted)
    per_node, per_cell, _ = footprint(minimizer)
    learned = [count_learned(plex, k) for plex in form.plexes]
    mixed = AVERAGED if minimizer.whole_plays else HEDGED
    state = sum(per_node * one.nodes + per_cell * one.cells for one in learned)
    learning = {
        "simulator": 16.0 * game.n_nodes + 8.0 * game.n_terminals * game.n_players,
        "learners": state + 96.0 * form.n_sequences,
        "sums of deviations": deviator_bytes(counts) + derived_bytes(counts),
        "kept iterates": policy_bytes(form, kept),
        "measuring and saving": max(_measuring(counts), packed_bytes(form, kept, mixed)),
    }
    return _whole_run(form, k, learning, min(wanted, kept), mixed)


def joint_memory(
    form: SequenceForm, k: NotionLike, minimizer: SampledMinimizer, *, components: int, own: int
) -> Parts:
    """What ``learn`` takes on a loaded game if it sees joint plays, when it has seen everything.

    Players who learn for themselves by ``minimizer`` keep up to ``own`` components beside it.
    """
    counts = [count_rechistories(plex, k) for plex in form.plexes]
    game, players = form.game, form.n_players
    edges = game.n_nodes
    tree = (NODE.itemsize + 20.0) * game.n_nodes + EDGE.itemsize * edges
    tree += 24.0 * players * game.n_terminals
    passes = (8.0 + 4.0 * players) * game.n_nodes + 16.0 * players * (game.n_nodes + edges)
    solving = leaf_bytes(form) + _learners(form, counts, credit=False) + passes
    per_node, per_cell, _ = footprint(minimizer)
    players_own = sum(per_node * one.nodes + per_cell * one.cells for one in counts)
    players_own += 96.0 * form.n_sequences + policy_bytes(form, own) + 8.0 * game.n_nodes
    learning = {
        "simulator": 20.0 * game.n_nodes + 8.0 * game.n_terminals * players,
        "joint histories": 1.5 * tree + 8.0 * (1 + players) * edges,
        "their game": solving,
        "learners": players_own,
        "kept iterates": 3.0 * policy_bytes(form, components),
        "sums of deviations": deviator_bytes(counts) + derived_bytes(counts),
        "measuring and saving": max(_measuring(counts), packed_bytes(form, components, AVERAGED)),
    }
    return _whole_run(form, k, learning, components, AVERAGED)


def certify_memory(form: SequenceForm, notions: Sequence[NotionLike], components: int) -> Parts:
    """What reading and certifying a policy takes."""
    reading = packed_bytes(form, components, AVERAGED)
    return {
        "leaves": leaf_bytes(form),
        "the policy": policy_bytes(form, components),
        "deviators": max(certify_bytes(form, notions), reading),
        "everything else": SMALL_BYTES,
    }


def region_memory(form: SequenceForm, notions: Sequence[NotionLike]) -> Parts:
    """What ``region`` takes, without HiGHS; it searches for the points of all notions in turn."""
    trees = [one for one in map(as_notion, notions) if not one.has_no_tree] or [NFCCE]
    held, pricing = zip(*(generation_bytes(form, one) for one in trees), strict=True)
    certifying = max(certify_bytes(form, [one]) for one in trees)
    return {
        "leaves": leaf_bytes(form),
        "rechistories": sum(held),
        "prices and certifying": max(*pricing, certifying),
        "everything else": SMALL_BYTES,
    }


def check_run(what: str, parts: Parts, advice: str = FEWER) -> None:
    """Refuse a run that takes more memory than there is."""
    check_memory(what, parts, None, advice)


def generation_bytes(form: SequenceForm, notion: NotionLike) -> tuple[float, float]:
    """What column generation holds beside its columns, and what prices and separation take.

    It holds the trees, an index of them (``optimal/separation.py``), room for pricing on them, and
    the leaves of each player in a third order (``optimal/pricing.py``).
    """
    counts = [count_rechistories(plex, notion) for plex in form.plexes]
    trees = derived_bytes(counts) + sum(one.tree_bytes for one in counts)
    index = sum(17 * one.nodes + 8 * one.rows + 24 * one.cells for one in counts)
    leaves = len(form.leaves) * form.n_players * (12 * form.n_players + 8)
    largest = max(one.cells for one in counts)
    prices = 8.0 * sum(one.cells for one in counts) + 33.0 * largest
    return trees + index + leaves + 64.0 * form.n_sequences, prices


def _learners(form: SequenceForm, counts: Sequence[RechistoryCount], *, credit: bool) -> float:
    """The learners of all players with full feedback; small ones are joined, trees and leaves
    twice."""
    per_node = BYTES_PER_NODE + 8 + (8 if credit else 0)
    total = sum(per_node * one.nodes + 16 * one.cells for one in counts) + derived_bytes(counts)
    cells = sum(one.cells for one in counts)
    if len(form.leaves) * form.n_players + cells < LARGE:
        total += sum(one.tree_bytes for one in counts) + sorted_bytes(form)
    return total + 48.0 * form.n_sequences


def _measuring(counts: Sequence[RechistoryCount]) -> float:
    """A copy of the sums on one player's rechistories, and the search for the best deviation."""
    return max((8.0 * one.cells + solving_bytes(one) for one in counts), default=0.0)


def _whole_run(
    form: SequenceForm, k: NotionLike, learning: Parts, saved: int, mixed: float
) -> Parts:
    """The larger of the two phases."""
    packing = certificate_bytes(form, [k]) + packed_bytes(form, saved, mixed)
    ending = {
        "the mixture": policy_bytes(form, saved),
        "certifying and saving": max(certify_bytes(form, [k]), packing),
    }
    larger = max(learning, ending, key=lambda parts: sum(parts.values()))
    return {"leaves": leaf_bytes(form), **larger, "everything else": SMALL_BYTES}
