"""Accord's side: K-EFR and Balanced K-EFR as ``solve`` and ``learn`` run them by default."""

from __future__ import annotations

import math

import numpy as np

from accord.deviations.counting import count_rechistories
from accord.deviations.rechistory import check_budget
from accord.learning.kefr import Minimizer
from accord.learning.sampled_self_play import BanditSelfPlay
from accord.learning.self_play import SelfPlay
from accord.regret.regret_matching import DECAY, RegretMatching
from accord.regret.wrhedge import WRHedge
from accord.runs.learn import BANDIT_METHODS
from accord.treeplex.form import SequenceForm

METHODS: dict[str, tuple[Minimizer, int]] = {
    "wrhedge": (WRHedge(anytime=True), 0),
    "rm": (RegretMatching(plus=False, predictive=False), 0),
    "rm+": (RegretMatching(plus=True, predictive=False), 1),
    "prm+": (RegretMatching(plus=True, predictive=True, decay=DECAY), 2),
}
"""Each minimizer, and the power of t by which its iterates are weighed."""

KS: dict[str, float] = {"0": 0, "1": 1, "2": 2, "inf": math.inf}

BUDGET = 2**28
"""Bytes that one player's learner may take: what needs more is left out, and the results say so."""


def kefr(form: SequenceForm, k: float, method: str) -> SelfPlay:
    """K-EFR on one thread.

    Raises:
        BudgetError: If a learner needs more than :data:`BUDGET`.
    """
    minimizer, averaging = METHODS[method]
    return SelfPlay(form, k, minimizer, averaging=averaging, threads=1, budget=BUDGET)


def balanced_kefr(
    form: SequenceForm, k: float, method: str, episodes: int, seed: int
) -> BanditSelfPlay:
    """Balanced K-EFR, at the paper's learning rate for so many episodes if it has one.

    Raises:
        BudgetError: If a learner needs more than :data:`BUDGET`.
    """
    for plex in form.plexes:
        check_budget(count_rechistories(plex, k), BUDGET)
    rng = np.random.default_rng(seed)
    return BanditSelfPlay(form, k, episodes, rng, method=BANDIT_METHODS[method])
