"""The LCE gap: a linear program over all linear maps, theorems, and its witness."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from accord.certifying.exact import certify
from accord.certifying.normal_form import nfce_gaps
from accord.deviations.notions import EFCCE, EFCE, LCE, NFCCE
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError, BudgetError
from accord.game.library import foresight, foresight_device
from accord.runs.optimize import optimize
from accord.runs.region import region
from accord.runs.solve import solve
from accord.treeplex.strategy import behavior_to_reach
from accord.treeplex.treeplex import Treeplex
from accord.treeplex.values import expected_values, joint_reach
from tests.support.command import run
from tests.support.policies import all_games, grown_game, grown_games, random_policy
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels

seeds = st.integers(0, 2**32 - 1)


def pure_plans(plex: Treeplex) -> Iterator[np.ndarray]:
    """The vertices of the sequence-form polytope."""

    def extended(plan: np.ndarray, infosets: list[int]) -> Iterator[np.ndarray]:
        if not infosets:
            yield plan
            return
        for seq in range(plex.first_seq[infosets[0]], plex.first_seq[infosets[0] + 1]):
            more = plan.copy()
            more[seq] = 1.0
            yield from extended(more, [*infosets[1:], *plex.children(seq)])

    empty = np.zeros(plex.n_sequences)
    empty[0] = 1.0
    return extended(empty, list(plex.children(0)))


def constraints(plex: Treeplex) -> tuple[np.ndarray, np.ndarray]:
    """F and f: the sequence-form polytope is that of all q >= 0 with F q = f."""
    F = np.zeros((1 + plex.n_infosets, plex.n_sequences))
    F[0, 0] = 1.0
    for x in range(plex.n_infosets):
        F[1 + x, plex.first_seq[x] : plex.first_seq[x + 1]] = 1.0
        F[1 + x, plex.parent_seq[x]] -= 1.0
    return F, F @ next(pure_plans(plex))


def payoffs(policy: CorrelatedPolicy, i: int, own: np.ndarray, t: int) -> float:
    """What player ``i`` gets who plays the sequence form ``own`` against component ``t``."""
    form = policy.form
    parts = [part[t] for part in form.split(policy.behavior)]
    reach = joint_reach(form.plexes, parts)
    reach[form.leaves.first_reach[i] : form.leaves.first_reach[i + 1]] = own
    return float(expected_values(form.leaves, reach)[i])


def best_linear_map(policy: CorrelatedPolicy, i: int) -> float:
    """The most that a linear map of the polytope to itself earns, by a linear program."""
    form = policy.form
    plex, n = form.plexes[i], form.plexes[i].n_sequences
    objective, (F, f) = np.zeros((n, n)), constraints(plex)
    for t, weight in enumerate(policy.weights):
        plan = behavior_to_reach(plex, form.split(policy.behavior)[i][t])
        gain = [payoffs(policy, i, unit, t) for unit in np.eye(n)]
        objective += weight * np.outer(gain, plan)
    plans = list(pure_plans(plex))
    program = linprog(
        -objective.reshape(-1),
        A_ub=np.vstack([-np.kron(np.eye(n), plan) for plan in plans]),
        b_ub=np.zeros(n * len(plans)),
        A_eq=np.vstack([np.kron(F, plan) for plan in plans]),
        b_eq=np.tile(f, len(plans)),
        bounds=(None, None),
    )
    assert program.status == 0, program.message
    return -float(program.fun)


@pytest.mark.slow
def test_the_gap_is_the_maximum_over_all_linear_maps():
    tried = stricter = 0
    for seed in range(150):
        game = grown_game(seed, most=40)
        policy = random_policy(game, seed)
        gaps = certify(game, policy, ["lce", 1])
        for i, plex in enumerate(policy.form.plexes):
            if not 2 <= plex.n_sequences <= 12 or len(list(pure_plans(plex))) > 40:
                continue
            most = best_linear_map(policy, i) - gaps.values[i]
            assert gaps["lce"].player_gaps[i] == pytest.approx(most, abs=1e-7)
            tried += 1
            stricter += gaps["lce"].player_gaps[i] > gaps[1].player_gaps[i] + 1e-6
    assert tried >= 100
    assert stricter >= 3


@examples(60)
@given(all_games(), seeds)
def test_the_witness_is_a_linear_map_that_attains_the_gap(game, seed):
    policy = random_policy(game, seed)
    certificate = certify(game, policy, "lce")
    gap = certificate["lce"]
    for i, witness in enumerate(gap.witnesses):
        phi, plex = witness.modification, policy.form.plexes[i]
        mapped, (F, f) = phi.matrix(), constraints(plex)
        own = policy.form.split(policy.behavior)[i]
        earned = 0.0
        for t, weight in enumerate(policy.weights):
            plan = behavior_to_reach(plex, own[t])
            assert (mapped @ plan >= 0.0).all()
            assert np.allclose(F @ mapped @ plan, f)
            assert np.allclose(phi.sequence_form(own[t]), mapped @ plan)
            earned += weight * payoffs(policy, i, mapped @ plan, t)
        assert earned - certificate.values[i] == pytest.approx(gap.player_gaps[i], abs=1e-9)
        gains = sum(event.gain for event in witness.first_deviations)
        assert gains == pytest.approx(gap.player_gaps[i], abs=1e-9)


@examples(60)
@given(grown_games(most=60), seeds)
def test_gaps_do_not_decrease_from_efce_to_lce_to_nfce(game, seed):
    policy = random_policy(game, seed)
    certificate = certify(game, policy, [NFCCE, EFCCE, EFCE, LCE])
    lce, errors = certificate[LCE].player_gaps, certificate[LCE].player_errors
    for weaker in certificate.gaps[:-1]:
        for i, gap in enumerate(weaker.player_gaps):
            assert gap <= lce[i] + errors[i] + weaker.player_errors[i]
    try:
        normal_form = nfce_gaps(policy)
    except BudgetError:
        return
    assert (np.array(lce) <= normal_form + 1e-9).all()


def test_asking_ahead_gains_less_than_foresight():
    game = foresight()
    certificate = certify(game, CorrelatedPolicy.from_device(game, foresight_device()))
    assert certificate["bce"].gap == 0.0
    assert certificate["lce"].gap == pytest.approx(0.125)
    assert certificate["nfce"].gap == pytest.approx(0.25)
    assert str(certificate["lce"].witnesses[0]) == (
        "player 1 at 'start' told 'a2' asks the mediator about 'a2b2': gains 0.125; reached with "
        "probability 0.5"
    )
    shown = run("certify", "foresight", "device").stdout
    assert "in every game EFCE <= LCE <= NFCE" in shown


def test_the_gap_is_refused_before_it_takes_the_memory():
    game = foresight()
    policy = CorrelatedPolicy.from_device(game, foresight_device())
    with pytest.raises(BudgetError, match="pairs of sequences"):
        certify(game, policy, "lce", budget=500)


def test_what_cannot_be_computed_says_so():
    game = foresight()
    for attempt in (lambda: optimize(game, k="lce"), lambda: region(game, k="lce")):
        with pytest.raises(ArgumentError, match="certified but not computed"):
            attempt()
    with pytest.raises(ArgumentError, match=r"got 'lce', .* certify can measure it"):
        solve(game, k="lce", iterations=10)
