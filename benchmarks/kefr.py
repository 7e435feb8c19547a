"""Accord's side: K-EFR as ``solve`` runs it, and as ``learn`` runs it from episodes."""

from __future__ import annotations

import math

import numpy as np

from accord.learning.self_play import SelfPlay
from accord.learning.simulator_play import SimulatorPlay
from accord.regret.methods import AVERAGING, METHODS
from accord.treeplex.form import SequenceForm

KS: dict[str, float] = {"0": 0, "1": 1, "2": 2, "inf": math.inf}

BUDGET = 2**28
"""Bytes that one player's learner may take: what needs more is left out, and the results say so."""


def kefr(form: SequenceForm, k: float, method: str) -> SelfPlay:
    """K-EFR on one thread.

    Raises:
        BudgetError: If a learner needs more than :data:`BUDGET`.
    """
    known = METHODS[method]
    endless = known.configured(anytime=True) if known.takes("anytime") else known.config
    averaging = AVERAGING[known.averaging]
    return SelfPlay(form, k, endless, averaging=averaging, threads=1, budget=BUDGET)


def sampled_kefr(
    form: SequenceForm, k: float, method: str, episodes: int, seed: int
) -> SimulatorPlay:
    """K-EFR from episodes, at the paper's learning rate for so many of them if it has one.

    It only plays: no iterates are kept.

    Raises:
        BudgetError: If a learner needs more than :data:`BUDGET`.
    """
    rng = np.random.default_rng(seed)
    play = SimulatorPlay(form, k, episodes, rng, method=method, budget=BUDGET)
    play.averages = 1  # an average of several iterates would be begun before it is kept
    return play
