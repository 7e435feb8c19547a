"""Exact laws of programs that draw: every outcome of every draw is gone through."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import pytest

from accord.equilibrium.policy import CorrelatedPolicy
from accord.mediator import mediator, referee, seat
from tests import reference

Draw = Callable[..., int]


class Outcomes:
    """Draws the outcomes that ``script`` says, then first ones; remembers what it could draw."""

    def __init__(self, script: list[int]) -> None:
        self.script = script
        self.trace: list[tuple[int, int]] = []  # (which outcome, of how many)
        self.weight = 1.0
        self.drawn: dict[bytes | None, int] = {}  # the same key draws the same again

    def __call__(self, probabilities: Sequence[float], key: bytes | None = None) -> int:
        if key in self.drawn:
            return self.drawn[key]
        possible = [j for j, p in enumerate(probabilities) if p > 0]
        n = len(self.trace)
        which = self.script[n] if n < len(self.script) else 0
        self.trace.append((which, len(possible)))
        self.weight *= float(probabilities[possible[which]])
        if key is not None:
            self.drawn[key] = possible[which]
        return possible[which]


def law(program: Callable[[Draw], Hashable]) -> dict[Any, float]:
    """The exact distribution of what ``program`` returns, the mediator's draws included."""
    total: dict[Any, float] = defaultdict(float)
    script: list[int] = []
    while True:
        draw = Outcomes(script)
        with ExitStack() as patches:
            for module in (mediator, seat, referee):
                patches.enter_context(patch.object(module, "draw", draw))
            outcome = program(draw)
        total[outcome] += draw.weight
        trace = draw.trace
        while trace and trace[-1][0] + 1 == trace[-1][1]:
            trace.pop()
        if not trace:
            return dict(total)
        script = [which for which, _ in trace[:-1]] + [trace[-1][0] + 1]


def terminal_law(policy: CorrelatedPolicy, i: int = 0, phi: Any = None) -> dict[int, float]:
    """Of (phi o pi_i) x pi_-i, from the sequence forms and the game tree."""
    game = policy.game
    found: dict[int, float] = defaultdict(float)
    for weight, behaviors in policy.components():
        reach = [reference.sequence_form(game, j, b.tolist()) for j, b in enumerate(behaviors)]
        if phi is not None:
            reach[i] = phi.sequence_form(behaviors[i]).tolist()
        for z in reference.terminals(game):
            ways = (own[seq] for own, seq in zip(reach, z.seqs, strict=True))
            found[z.node] += weight * z.chance * math.prod(ways)
    return {node: p for node, p in found.items() if p > 0}


def assert_same(found: dict[Any, float], expected: dict[Any, float]) -> None:
    assert found.keys() == expected.keys()
    for outcome, p in expected.items():
        assert found[outcome] == pytest.approx(p, abs=1e-12)
