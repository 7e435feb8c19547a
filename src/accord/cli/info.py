"""``accord info``: the size of a game, and the memory and time that solving it needs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

from accord._format import count, duration, memory, number
from accord.cli.arguments import AsJson, GameName, k_option, number_option
from accord.cli.loading import load_game
from accord.cli.terminal import announced_compilation, print_json, print_table, print_text
from accord.deviations.notions import SHOWN_KS, written_k
from accord.regret.methods import DEFAULT

if TYPE_CHECKING:
    from accord.game.tree import Game
    from accord.runs.phases import Phase
    from accord.treeplex.form import SequenceForm


def info(
    game: GameName,
    k: Annotated[
        list[float] | None,
        k_option(
            "Number of deviations: 0 (nfcce), 1 (efce), 2, ..., inf (bce); by default 0, 1, 2, "
            "inf. May be repeated."
        ),
    ] = None,
    target_gap: Annotated[
        float | None,
        number_option("GAP", "Also show how many iterations and episodes guarantee this gap."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Describe a game: its size, and the rechistories and memory that each K needs.

    \b
    Example:
        accord info leduc_poker -k 1 --target-gap 0.1
    """
    with announced_compilation():
        described = _described(load_game(game), list(k or SHOWN_KS), target_gap)
    if as_json:
        print_json(described)
    else:
        _print(described)


def _described(game: Game, ks: list[float], target_gap: float | None) -> dict[str, Any]:
    from accord.deviations.counting import count_rechistories
    from accord.regret.state import FOOTPRINT
    from accord.treeplex.form import sequence_form

    form = sequence_form(game)
    leaves = form.leaves
    players = []
    for i, plex in enumerate(form.plexes):
        counts = [(k, count_rechistories(plex, k)) for k in ks]
        players.append(
            {
                "player": game.player_labels[i],
                "infosets": plex.n_infosets,
                "sequences": plex.n_sequences,
                "horizon": plex.horizon,
                "actions": plex.max_actions if plex.n_infosets else 0,
                "payoffs": [float(leaves.worst[i]), float(leaves.best[i])],
                "rechistories": [
                    {
                        "k": written_k(k),
                        "swap": _whole(found.swap),
                        "external": _whole(found.external),
                        "cells": _whole(found.cells),
                        "bytes": _whole(found.bytes(FOOTPRINT)),
                    }
                    for k, found in counts
                ],
            }
        )
    described: dict[str, Any] = {
        "game": game.name,
        "comment": game.comment,
        "digest": game.digest,
        "nodes": game.n_nodes,
        "terminals": game.n_terminals,
        "leaves": len(leaves),
        "players": players,
        "memory": [_memory(form, k) for k in ks],
    }
    if target_gap is not None:
        described["plan"] = [_planned(game, k, target_gap) for k in ks]
    return described


def _memory(form: SequenceForm, k: float) -> dict[str, Any]:
    """Bytes that each command takes at its peak, beside the game, with its default options."""
    from accord.regret.methods import SAMPLED_DEFAULT, SAMPLED_METHODS
    from accord.reports.source import report_memory
    from accord.runs.components import default_components
    from accord.runs.footprint import (
        certify_memory,
        learn_memory,
        solve_memory,
    )

    components = default_components(form.n_sequences)
    phases = _phases(form, k)
    parts = {
        "solve": solve_memory(form, k),
        "learn": learn_memory(form, k, SAMPLED_METHODS[SAMPLED_DEFAULT].config),
        "certify": certify_memory(form, [k], components),
        "report": report_memory(form, k, components),
    }
    return {
        "k": written_k(k),
        **{name: _whole(sum(of.values())) for name, of in parts.items()},
        "optimize": _whole(max(phase.bytes for phase in phases)),
        "phases": [
            {
                "phase": phase.name,
                "bytes": _whole(phase.bytes),
                "seconds": phase.seconds,
                "per": phase.per or None,
                "at_most": phase.at_most,
            }
            for phase in phases
        ],
    }


def _phases(form: SequenceForm, k: float) -> list[Phase]:
    """The phases of ``optimize``."""
    from contextlib import suppress

    from accord.deviations.notions import NFCCE, Notion, outcome_notion
    from accord.errors import BudgetError
    from accord.optimal.incentives import Incentives
    from accord.optimal.zero_sum import constant_sum
    from accord.runs.phases import optimize_phases

    zero_sum = constant_sum(form) is not None and NFCCE.is_bounded_by(Notion(k))
    incentives = None
    if not zero_sum:
        with suppress(BudgetError):
            incentives = Incentives.build(form, outcome_notion(Notion(k)))
    return optimize_phases(form, k, zero_sum=zero_sum, incentives=incentives)


def _planned(game: Game, k: float, target_gap: float) -> dict[str, Any]:
    from accord.learning.theory.plan import plan

    planned = plan(game, k, target_gap)
    return {
        "k": written_k(k),
        "target_gap": planned.target_gap,
        "iterations": planned.iterations,
        "default_iterations": planned.default_iterations,
        "episodes": planned.episodes,
        "confidence": planned.confidence,
    }


def _whole(value: float) -> int | None:
    """A count for JSON, or null if it overflowed a float."""
    return int(value) if math.isfinite(value) else None


def _print(described: dict[str, Any]) -> None:
    print_text(
        f"{described['game']}: {count(described['nodes'])} nodes, "
        f"{count(described['terminals'])} terminals, {count(described['leaves'])} distinct leaves"
    )
    if comment := described["comment"].strip():
        print_text(f"{comment}\n")
    print_text(f"digest {described['digest']}\n")
    players = described["players"]
    print_table(
        ("player", "infosets", "sequences", "horizon", "actions", "payoffs"),
        [
            (
                one["player"],
                count(one["infosets"]),
                count(one["sequences"]),
                one["horizon"],
                one["actions"],
                " to ".join(map(number, one["payoffs"])),
            )
            for one in players
        ],
    )
    print_text("\nRechistories, and the memory of a learner:\n")
    print_table(
        ("K", "player", "SWAP", "EXTERNAL", "cells", "memory"),
        [
            (
                found["k"],
                one["player"],
                _counted(found["swap"]),
                _counted(found["external"]),
                _counted(found["cells"]),
                _stored(found["bytes"]),
            )
            for row in range(len(players[0]["rechistories"]))
            for one in players
            for found in [one["rechistories"][row]]
        ],
        left=2,
    )
    commands = ("solve", "learn", "certify", "report", "optimize")
    print_text("\nMemory that a command takes beside the game, with its default options:\n")
    print_table(
        ("K", *commands),
        [(one["k"], *(_stored(one[name]) for name in commands)) for one in described["memory"]],
    )
    print_text("\nPhases of optimize: memory, and roughly how long on one core:\n")
    print_table(
        ("K", "phase", "memory", "time"),
        [
            (ks, phase["phase"], _stored(phase["bytes"]), _time(phase))
            for ks, phases in _alike(described["memory"])
            for phase in phases
        ],
        left=2,
    )
    if "plan" in described:
        first = described["plan"][0]
        print_text(
            f"\nGuaranteed for a gap of {number(first['target_gap'])}: iterations of solve by "
            "method, or episodes of learn\nwith swrhedge (probability "
            f"{first['confidence']:g})\n"
        )
        names = ("iterations", "default_iterations", "episodes")
        print_table(
            ("K", "wrhedge", DEFAULT, "episodes"),
            [(one["k"], *(count(one[name]) for name in names)) for one in described["plan"]],
        )


def _alike(memory: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The phases of each K; those of several together if they are the same."""
    for phases, group in groupby(memory, lambda one: one["phases"]):
        yield ", ".join(str(one["k"]) for one in group), phases


def _time(phase: dict[str, Any]) -> str:
    """How long a phase takes, in words."""
    took = (
        f"{'up to ' if phase['at_most'] else ''}{duration(float(format(phase['seconds'], '.2g')))}"
    )
    return f"{took} per {phase['per']}" if phase["per"] else took


def _counted(value: int | None) -> str:
    return "over 1e308" if value is None else count(value)


def _stored(value: int | None) -> str:
    return memory(math.inf if value is None else value)
