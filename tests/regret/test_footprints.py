"""Every state says its own size: what a budget checks is what is allocated."""

from __future__ import annotations

import math
from typing import Any

import pytest

from accord.deviations.counting import count_rechistories
from accord.deviations.rechistory import RechistoryTree
from accord.errors import BudgetError
from accord.game.library import balanced, kuhn
from accord.game.tree import Game
from accord.learning import tables
from accord.learning.balanced_kefr import BalancedKEFR
from accord.learning.kefr import KEFR
from accord.learning.whole_plays import WholePlayKEFR
from accord.regret import state
from accord.regret.methods import SAMPLED_METHODS
from accord.treeplex.form import sequence_form

GAMES = [kuhn(3), balanced(infosets=300, horizon=3, actions=3)]
LEARNERS = [
    pytest.param(KEFR, "wrhedge", state.FOOTPRINT, id="full"),
    *(
        pytest.param(
            kind,
            method,
            tables.footprint(SAMPLED_METHODS[method].config, tree=kind is BalancedKEFR),
            id=method,
        )
        for kind, method in ((BalancedKEFR, "swrhedge"), (WholePlayKEFR, "prm"))
    ),
]


@pytest.mark.parametrize("k", [0, 1, 2, math.inf])
@pytest.mark.parametrize("game", GAMES, ids=["kuhn", "balanced"])
@pytest.mark.parametrize(("kind", "method", "footprint"), LEARNERS)
def test_the_arrays_of_a_learner_have_their_footprint(
    kind: Any, method: str, footprint: Any, game: Game, k: float
) -> None:
    """Up to the root, and arrays over sequences, infosets and actions, which are small."""
    for plex in sequence_form(game).plexes:
        learner = kind(plex, k, method, iterations=10)
        count = count_rechistories(plex, k)
        if isinstance(learner, KEFR):
            used = sum(array.nbytes for array in (*learner.tree.arrays, *learner.state))
        else:
            used = learner.tables.n_bytes
        if kind is BalancedKEFR:  # while it is made
            used += sum(array.nbytes for array in RechistoryTree.build(plex, k).arrays)
        small = 6 * 8 * plex.n_sequences + 64 * plex.n_infosets + 3 * 8 * plex.max_actions**2 + 200
        assert count.bytes(footprint) <= used <= count.bytes(footprint) + small


@pytest.mark.parametrize(("kind", "method", "footprint"), LEARNERS)
def test_a_learner_is_refused_by_its_own_size(kind: Any, method: str, footprint: Any) -> None:
    plex = sequence_form(kuhn()).plexes[0]
    need = int(count_rechistories(plex, 1).bytes(footprint))
    kind(plex, 1, method, iterations=10, budget=need)
    with pytest.raises(BudgetError) as refusal:
        kind(plex, 1, method, iterations=10, budget=need - 1)
    assert refusal.value.required == need
