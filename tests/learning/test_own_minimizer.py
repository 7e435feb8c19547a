"""A regret minimizer of one's own, compiled or in plain Python, works by passing it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import accord
from accord.errors import ArgumentError
from accord.game.library import kuhn
from accord.learning import KEFR
from accord.regret.regret_matching import match_regrets
from accord.regret.state import recommend
from accord.runs.request import SolveRequest
from accord.treeplex.form import sequence_form


class Plain(NamedTuple):
    plus: bool = False
    predictive: bool = False
    decay: float = 0.0


class Quick(NamedTuple):
    plus: bool = False
    predictive: bool = False
    decay: float = 0.0


@recommend.kernel_for(Quick)
def quickly(schedule: Any, plex: Any, tree: Any, state: Any, weight: float, t: int) -> None:
    """Regret matching, by the kernel that there is."""
    match_regrets(schedule, plex, tree, state, weight, t)


CALLS: list[int] = []


@recommend.kernel_for(Plain, compiled=False)
def slowly(schedule: Any, plex: Any, tree: Any, state: Any, weight: float, t: int) -> None:
    """Regret matching, with something that no kernel could do."""
    CALLS.append(t)
    match_regrets(schedule, plex, tree, state, weight, t)


@dataclass(frozen=True)
class Own:
    """Regret matching under another name."""

    compiled: bool = True
    keeps_credit = False

    @property
    def name(self) -> str:
        return "own" if self.compiled else "own-plain"

    def schedule(self, tree: Any, iterations: int | None) -> Any:
        return Quick() if self.compiled else Plain()


@pytest.mark.parametrize("compiled", [True, False])
def test_own_minimizers_solve(compiled: bool, tmp_path: Path) -> None:
    method = Own(compiled)
    CALLS.clear()
    own = accord.solve(kuhn(), 1, method=method, iterations=60, folder=tmp_path / "run")
    assert (len(CALLS) > 0) is not compiled
    known = accord.solve(kuhn(), 1, method="rm", iterations=60)
    np.testing.assert_allclose(own.policy.behavior, known.policy.behavior, atol=1e-12)
    assert own.gap == pytest.approx(known.gap)
    assert own.method == method.name
    more = accord.solve(
        kuhn(), 1, method=method, iterations=90, folder=tmp_path / "run", resume=True
    )
    assert more.iterations == 90


def test_one_learner_takes_them() -> None:
    learner = KEFR(sequence_form(kuhn()).plexes[0], 1, Own(compiled=False))
    policy = learner.recommend()
    learner.observe(np.zeros_like(policy))
    assert np.isfinite(learner.regret())


def test_what_is_not_a_minimizer_is_refused() -> None:
    with pytest.raises(ArgumentError, match="is not a frozen dataclass with a name"):
        accord.solve(kuhn(), 1, method=object(), iterations=2)

    @dataclass(frozen=True)
    class Half:
        name: str = "half"

    with pytest.raises(ArgumentError, match="lacks schedule, keeps_credit"):
        accord.solve(kuhn(), 1, method=Half(), iterations=2)

    @dataclass(frozen=True)
    class Taken(Own):
        @property
        def name(self) -> str:
            return "prm+"

    with pytest.raises(ArgumentError, match="needs a name of its own"):
        accord.solve(kuhn(), 1, method=Taken(), iterations=2)
    with pytest.raises(ArgumentError, match="pass it again"):
        _ = SolveRequest(game="kuhn", k=1, method="nobody's")
