"""Another way to keep components, written as CONTRIBUTING says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accord.game.library import kuhn
from accord.runs.components import Components
from accord.runs.solve import solve


class Latest(Components):
    """Keeps the latest components only."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.stride, self.dropped = 1, 0

    def until_full(self, iteration: int) -> int:
        self.make_room()
        return 2 * self.wanted - self.count

    def _thin(self) -> None:
        keep = min(self.wanted, self.count // 2)
        self.dropped += self.count - keep
        self.rows.select(range(self.count - keep, self.count))
        self.thinnings += 1

    def selection(self) -> np.ndarray:
        return np.arange(max(0, self.count - self.wanted), self.count)

    def times(self) -> np.ndarray:
        return self.dropped + 1 + np.arange(self.count)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "dropped": np.array(self.dropped)}

    def restore(self, state: dict[str, Any], iteration: int, sizes: Sequence[int]) -> None:
        self.dropped = int(state["dropped"])
        super().restore(state, iteration, sizes)


def test_a_rule_of_ones_own_saves_the_latest_and_resumes_with_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = solve(kuhn(), 1, iterations=130, components=130).policy.behavior
    monkeypatch.setattr("accord.runs.solve.Components", Latest)
    whole = solve(kuhn(), 1, iterations=130, components=20).policy
    np.testing.assert_array_equal(whole.behavior, every[-20:])
    solve(kuhn(), 1, iterations=57, components=20, folder=tmp_path / "run")
    again = solve(
        kuhn(), 1, iterations=130, components=20, folder=tmp_path / "run", resume=True
    ).policy
    np.testing.assert_array_equal(again.behavior, whole.behavior)
    np.testing.assert_array_equal(again.weights, whole.weights)


def test_restored_components_must_end_at_the_iteration() -> None:
    kept = Latest(4)
    for t in range(1, 20):
        kept.make_room()
        kept.append([np.full(2, 1.0 / t)], work=0, visits=1)
    again = Latest(4)
    for iteration in (18, 19):  # one that failed after its component was kept is made again
        again.restore(kept.state(), iteration, [2])
        assert again.times()[-1] == 19
    for iteration in (17, 20):
        with pytest.raises(ValueError, match="contradict the number of iterations"):
            again.restore(kept.state(), iteration, [2])
