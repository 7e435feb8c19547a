"""Of equally good devices, one without a lottery if there is one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import accord
from accord.game.library import chicken, random_game
from accord.optimal.enumeration import all_plans
from accord.optimal.incentives import Incentives
from accord.runs.optimize import optimize
from accord.treeplex.form import sequence_form
from accord.treeplex.strategy import pure_behavior
from tests import reference
from tests.optimal.test_proof import beer_quiche
from tests.support.strategies import examples


def sharing():
    """Shoham and Leyton-Brown 2008, Figure 5.1: a brother proposes, and a sister accepts or not."""
    b = accord.GameBuilder(players="brother sister", name="sharing")
    b.move(player="brother", infoset="start", actions="2-0 1-1 0-2")
    for split, mine in (("2-0", 2), ("1-1", 1), ("0-2", 0)):
        b.move(split, player="sister", infoset=split, actions="no yes")
        b.payoff(f"{split} no", 0, 0)
        b.payoff(f"{split} yes", mine, 2 - mine)
    return b.build()


def single_optima(game, value, objective):
    """The joint plans with this objective that are equilibria, by brute force."""
    form = sequence_form(game)
    trees = Incentives.build(form, 1).trees
    for plan in product(*map(all_plans, trees)):
        behavior = np.concatenate(list(map(pure_behavior, form.plexes, plan)))
        policy = accord.CorrelatedPolicy(game, np.ones(1), behavior[np.newaxis])
        if abs(objective(policy.values()) - value) < 1e-9:
            certificate = accord.certify(game, policy, 1, tremble=0.01)
            if certificate[1].gap <= 1e-9:
                yield certificate


def test_known_games_need_no_lottery():
    for objective in ("welfare", "egalitarian"):
        found = optimize(sharing(), 1, objective)
        assert found.optimal and found.policy.n_components == 1
        assert found.certificate.is_credible
    found = optimize(beer_quiche())
    assert found.policy.n_components == len(found.certificate.threats) == 1


def test_a_lottery_stays_where_it_is_needed():
    assert optimize(chicken()).policy.n_components == 3


@pytest.mark.slow
@examples(40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3]), st.sampled_from([0.0, 0.3]))
def test_a_mixture_threatens_less_than_any_equally_good_plan(seed, players, chance):
    """Payoffs have few levels, so that there are ties."""
    game = random_game(
        seed=seed, players=players, depth=4, actions=2, observe=0.5, chance=chance, stop=0.2,
        levels=3,
    )  # fmt: skip
    if reference.n_profiles(game) > 300:
        return
    found = optimize(game, 1)
    if found.policy.n_components > 1 and found.rational is not None:
        threats = len(found.certificate.threats)
        for single in single_optima(game, found.value, sum):
            assert len(single.threats) > threats
