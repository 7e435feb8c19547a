"""Discounted regret matching against its plain twin, and its published bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import ArgumentError
from accord.game.library import kuhn
from accord.regret.discounted import DiscountedRegretMatching, Discounts
from accord.runs.solve import solve
from tests import reference
from tests.support.runs import OneInfoset
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels

PAPER = Discounts(1.5, 0.0)


class Twin(reference.RegretMatching):
    """Brown and Sandholm 2019: discount what was added up so far, then add the next regrets."""

    def __init__(self, *shape: Any, discounts: Discounts) -> None:
        super().__init__(*shape, "rm")
        self.discounts, self.seen = discounts, 0

    def observe_loss(self, loss: list[float]) -> None:
        if self.seen:
            for key, total in self.regret.items():
                power = self.seen ** (self.discounts.alpha if total > 0 else self.discounts.beta)
                self.regret[key] = total * power / (power + 1)
        super().observe_loss(loss)
        self.seen += 1


@examples(50)
@given(
    shape=st.tuples(st.integers(2, 4), st.integers(0, 3), st.integers(1, 3)),
    seed=st.integers(0, 2**32 - 1),
    discounts=st.sampled_from([PAPER, Discounts(1.0, 1.0), Discounts(2.0, -1.0)]),
)
def test_it_is_the_literal_algorithm(
    shape: tuple[int, int, int], seed: int, discounts: Discounts
) -> None:
    """With any time selections: the policy is a stationary distribution of the twin's rates."""
    rng = np.random.default_rng(seed)
    n_actions, n_swap, n_external = shape
    swap = [(b,) for b in range(n_swap)]
    external = [(n_swap + b,) for b in range(n_external)]
    one = OneInfoset(*shape, discounts)
    twin = Twin(n_actions, swap, external, discounts=discounts)
    for _ in range(20):
        S = rng.random(n_swap + n_external) * (rng.random(n_swap + n_external) < 0.8)
        p, loss = one.recommend(S), rng.random(n_actions)
        twin.observe_time_selection({(b,): float(S[b]) for b in range(len(S))})
        assert reference.imbalance(p.tolist(), twin.rates()) < 1e-9
        twin.p = p.tolist()
        twin.observe_loss(loss.tolist())
        one.observe(loss)


@pytest.mark.parametrize("n_actions", [2, 3, 5])
@pytest.mark.parametrize("kind", ["random", "against", "switching"])
def test_the_bound_of_its_paper_holds_at_every_iteration(n_actions: int, kind: str) -> None:
    """Theorem 3: with weights t ** 2 the average regret is at most 6 (sqrt A + 1/sqrt T)/sqrt T."""
    rng = np.random.default_rng(7)
    one = OneInfoset(n_actions, 0, 1, PAPER)
    regret, weight = np.zeros(n_actions), 0.0
    for t in range(1, 2001):
        p = one.recommend(np.ones(1))
        if kind == "random":
            loss = rng.random(n_actions)
        elif kind == "against":
            loss = (p == p.max()).astype(float)
        else:
            loss = np.zeros(n_actions)
            loss[int(math.log2(t)) % n_actions] = 1.0
        one.observe(loss)
        regret += t**2 * (p @ loss - loss)
        weight += t**2
        bound = 6 * (math.sqrt(n_actions) + 1 / math.sqrt(t)) / math.sqrt(t)
        assert regret.max() / weight <= bound
    assert bound < 1  # it says something


def test_it_solves() -> None:
    """Quadratic averaging by default, and ahead of plain regret matching on Kuhn poker."""
    discounted = solve(kuhn(), 1, method="dcfr", iterations=1000)
    plain = solve(kuhn(), 1, method="rm", iterations=1000)
    assert discounted.gap < plain.gap
    same = solve(kuhn(), 1, method="dcfr", iterations=1000, averaging="quadratic")
    assert same.gap == discounted.gap


@pytest.mark.parametrize("power", [math.nan, math.inf, -11.0, 11.0])
def test_powers_out_of_range(power: float) -> None:
    with pytest.raises(ArgumentError, match="alpha must be between -10 and 10"):
        DiscountedRegretMatching(alpha=power)
    with pytest.raises(ArgumentError, match="beta must be between -10 and 10"):
        DiscountedRegretMatching(beta=power)
