"""Certificates as LaTeX tables."""

from __future__ import annotations

import pytest

import accord

pytestmark = pytest.mark.kernels


def test_payoffs_of_a_certificate_are_fractions() -> None:
    game = accord.load_game("kuhn")
    certificate = accord.optimize(game).certificate
    assert r"expected payoff &  & $-\frac{1}{18}$ & $\frac{1}{18}$ &" in certificate._repr_latex_()
