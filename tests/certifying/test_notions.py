"""Gaps of the coarse and agent-form notions: brute force, theorems, and OpenSpiel's C++."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.certifying.exact import certify
from accord.deviations.notions import LADDER, NFCE, Notion
from accord.deviations.rechistory import RechistoryTree
from accord.equilibrium.gap import RegretMeter, efce_gaps
from accord.equilibrium.policy import CorrelatedPolicy
from accord.game.builder import GameBuilder
from accord.game.library import library_device, library_game
from accord.game.tree import Game
from accord.interop.efg import read_efg
from accord.interop.load import load_game
from accord.treeplex.form import sequence_form
from accord.treeplex.strategy import behavior_to_reach
from accord.treeplex.values import joint_reach
from tests import reference
from tests.support.policies import (
    OTHER_NOTIONS,
    all_games,
    as_reference,
    grown_game,
    grown_games,
    random_phi,
    random_policy,
    tiny_games,
)
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels

checked = examples(50)
seeds = st.integers(0, 2**32 - 1)
EVERY = (*LADDER, Notion(3))
DISTANCES = Path(__file__).parents[1] / "data" / "corr_dist.json"


# --- brute force ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("players", [1, 2, 3])
@pytest.mark.parametrize("notion", OTHER_NOTIONS)
def test_the_gap_is_the_maximum_over_all_deviations(players, notion):
    tried = tiny_games(players, 5, lambda game, i: reference.n_deviations(game, i, notion), 1000)
    for seed, (game, some) in enumerate(tried):
        policy = random_policy(game, seed, components=3)
        found, said = certify(game, policy, notion)[notion], as_reference(policy)
        for i in some:
            gap = reference.notion_gap(game, i, notion, said)
            assert found.player_gaps[i] == pytest.approx(gap, abs=1e-12)


def three_in_a_row() -> Game:
    """Three decisions in a row, about a hidden move; two of them between three actions."""
    b = GameBuilder(players=2)
    b.move(player="2", actions="up down")
    for n in range(3):
        nodes = [[hidden, *["go"] * n] for hidden in ("up", "down")]
        b.move(*nodes, player="1", infoset=n, actions="go stop" if n == 2 else "go stop wait")
        for end, pay in (("stop", n), ("wait", 1.5))[: 1 if n == 2 else 2]:
            b.payoff([*nodes[0], end], pay, 1)
            b.payoff([*nodes[1], end], 2 - pay, 0)
    b.payoff("up go go go", 3, 0)
    b.payoff("down go go go", -1, 1)
    return b.build()


@pytest.mark.slow
@pytest.mark.parametrize("notion", OTHER_NOTIONS)
def test_the_gap_of_three_decisions_in_a_row(notion):
    game = three_in_a_row()
    for seed in range(3):
        policy = random_policy(game, seed, components=4)
        gap = reference.notion_gap(game, 0, notion, as_reference(policy))
        assert certify(game, policy, notion)[notion].player_gaps[0] == pytest.approx(gap, abs=1e-12)


# --- the witness ----------------------------------------------------------------------------------


def gain_of(policy: CorrelatedPolicy, i: int, phi) -> float:
    """What ``phi`` adds to player i's expected payoff, from its sequence form."""
    form = sequence_form(policy.game)
    gain = -float(policy.values()[i])
    for weight, behaviors in policy.components():
        reach = joint_reach(form.plexes, behaviors)
        form.split(reach)[i][:] = phi.sequence_form(behaviors[i])
        seqs = form.leaves.first_reach[:-1] + form.leaves.seqs
        gain += weight * float(reach[seqs].prod(axis=1) @ form.leaves.payoff[:, i])
    return gain


@checked
@given(all_games(), seeds)
def test_the_witness_attains_the_gap_and_no_deviation_does_better(game, seed):
    rng = np.random.default_rng(seed)
    policy = random_policy(game, seed)
    certificate = certify(game, policy, OTHER_NOTIONS)
    for name in OTHER_NOTIONS:
        for i, witness in enumerate(certificate[name].witnesses):
            assert gain_of(policy, i, witness.modification) == pytest.approx(
                witness.gain, abs=1e-12
            )
            for _ in range(3):
                phi = random_phi(RechistoryTree.build(sequence_form(game).plexes[i], name), rng)
                assert gain_of(policy, i, phi) <= witness.gain + 1e-12


@checked
@given(all_games(), seeds)
def test_the_gain_splits_into_first_deviations(game, seed):
    """No gap is negative, not even by rounding, and it is 0 if and only if the witness obeys."""
    policy = random_policy(game, seed)
    plexes = sequence_form(game).plexes
    for gap in certify(game, policy, OTHER_NOTIONS).gaps:
        for i, witness in enumerate(gap.witnesses):
            events = witness.first_deviations
            assert witness.gain >= 0.0
            scale = sequence_form(game).leaves.payoff_range[i]
            assert (witness.gain > 0) == bool(events) or scale == 0
            assert math.fsum(event.gain for event in events) == pytest.approx(
                witness.gain, abs=1e-12
            )
            for event in events:
                x = plexes[i].infoset_labels.index(event.infoset)
                first = int(plexes[i].first_seq[x])
                told = slice(first, int(plexes[i].first_seq[x + 1]))
                if not gap.notion.coarse:
                    r = plexes[i].action_labels[x].index(event.told)
                    told = slice(first + r, first + r + 1)
                    assert event.plays != event.told
                else:
                    assert event.told is None
                prob = 0.0
                for weight, behaviors in policy.components():
                    others = others_reach(game, i, x, behaviors)
                    prob += weight * behavior_to_reach(plexes[i], behaviors[i])[told].sum() * others
                assert event.probability == pytest.approx(prob, abs=1e-12)


def others_reach(game: Game, i: int, x: int, behaviors) -> float:
    """The probability that chance and the others let player i come to x."""
    total = 0.0
    for start in np.flatnonzero((game.player == i) & (game.infoset == x)).tolist():
        node, prob = start, 1.0
        while node != 0:
            above = int(game.parent[node])
            j, y = int(game.player[above]), int(game.infoset[above])
            if j < 0:
                prob *= float(game.chance_prob[node])
            elif j != i:
                a = reference.node_children(game)[above].index(node)
                prob *= reference.prob(game, j, behaviors[j], y, a)
            node = above
        total += prob
    return total


# --- theorems -------------------------------------------------------------------------------------


@checked
@given(all_games(), seeds)
def test_gaps_do_not_decrease_along_the_ladder(game, seed):
    certificate = certify(game, random_policy(game, seed), EVERY)
    shown = [one for one in EVERY if one != NFCE or certificate.nfce is not None]
    for one, other in product(shown, shown):
        if one.is_bounded_by(other):
            for less, more in zip(
                certificate[one].player_gaps, certificate[other].player_gaps, strict=True
            ):
                assert less <= more + 1e-12


def told_after_leaving() -> tuple[Game, CorrelatedPolicy]:
    """An EFCE that is not even an AFCCE: left pays 2, and right pays 3 for guessing a hidden coin,
    which only the recommendations after going right reveal."""
    b = GameBuilder(players=2)
    b.move(player="2", actions="heads tails")
    b.move("heads", "tails", player="1", infoset="first", actions="left right")
    b.move("heads right", "tails right", player="1", infoset="guess", actions="heads tails")
    for coin in ("heads", "tails"):
        b.payoff(f"{coin} left", 2, 0)
        for guess in ("heads", "tails"):
            b.payoff(f"{coin} right {guess}", 3 * (coin == guess), 0)
    game = b.build()
    device = [
        (1 / 2, ({"first": "left", "guess": coin}, {game.infoset_labels[1][0]: coin}))
        for coin in ("heads", "tails")
    ]
    return game, CorrelatedPolicy.from_device(game, device)


def test_an_efce_that_is_not_an_afcce():
    certificate = certify(*told_after_leaving())
    found = {gap.notion.name: gap.gap for gap in certificate.gaps}
    assert found == pytest.approx(
        {"NFCCE": 0, "EFCCE": 0, "EFCE": 0, "AFCCE": 1, "AFCE": 1, "2-EFCE": 1, "BCE": 1, "LCE": 0}
    )


@pytest.mark.slow
def test_no_other_gap_bounds_another():
    """For every pair that is not ordered there is a policy whose gaps are the other way round."""
    open_pairs = {
        (one, other) for one, other in product(EVERY, EVERY) if not one.is_bounded_by(other)
    }
    known = [told_after_leaving()]
    for name in ("separation:k=1", "separation:k=2", "separation:k=3", "foresight"):
        game = load_game(name)
        known.append((game, CorrelatedPolicy.from_device(game, library_device(name))))
    tried = 0
    while open_pairs and tried < 400:
        if known:
            game, policy = known.pop()
        else:
            game = grown_game(tried, players=2, most=60)
            policy = random_policy(game, tried, components=4, pure=1.0)
        tried += 1
        certificate = certify(game, policy, EVERY)
        if certificate.nfce is None:
            continue
        open_pairs -= {
            (one, other)
            for one, other in open_pairs
            if any(
                more > less + 1e-6
                for more, less in zip(
                    certificate[one].player_gaps, certificate[other].player_gaps, strict=True
                )
            )
        }
    assert not open_pairs, [f"{one} > {other}" for one, other in open_pairs]


def unreachable_told_once(policy: CorrelatedPolicy) -> CorrelatedPolicy:
    """The same pure policy, except that each player is told the first action wherever their own
    strategy does not lead."""
    components = []
    for weight, behaviors in policy.components():
        changed = []
        for plex, behavior in zip(sequence_form(policy.game).plexes, behaviors, strict=True):
            own, reach = behavior.copy(), behavior_to_reach(plex, behavior)
            for x in range(plex.n_infosets):
                if reach[plex.parent_seq[x]] == 0:
                    own[plex.first_seq[x] : plex.first_seq[x + 1]] = 0.0
                    own[plex.first_seq[x]] = 1.0
            changed.append(own)
        components.append((weight, changed))
    return CorrelatedPolicy.from_components(policy.game, components)


@checked
@given(grown_games(), seeds)
def test_every_efce_has_the_outcome_of_one_that_is_also_an_afce(game, seed):
    policy = random_policy(game, seed, components=4, pure=1.0)
    before = certify(game, policy, ["efcce", "efce"])
    after = certify(game, unreachable_told_once(policy), ["efcce", "efce", "afce"])
    assert after.values == pytest.approx(before.values, abs=1e-12)
    for name in ("efcce", "efce"):
        assert after[name].player_gaps == pytest.approx(before[name].player_gaps, abs=1e-12)
    for less, more in zip(after["afce"].player_gaps, after["efce"].player_gaps, strict=True):
        assert less <= more + 1e-12


@checked
@given(grown_games(), seeds)
def test_with_one_decision_agent_form_and_extensive_form_are_the_same(game, seed):
    certificate = certify(game, random_policy(game, seed), ["efce", "afce", "efcce", "afcce"])
    for i in range(game.n_players):
        if reference.horizon(game, i) <= 1:
            for one, other in (("efce", "afce"), ("efcce", "afcce")):
                assert certificate[one].player_gaps[i] == pytest.approx(
                    certificate[other].player_gaps[i], abs=1e-13
                )


@checked
@given(grown_games(), seeds)
def test_a_meter_measures_every_notion(game, seed):
    policy = random_policy(game, seed)
    certificate = certify(game, policy, OTHER_NOTIONS)
    for name in OTHER_NOTIONS:
        assert efce_gaps(policy, name) == pytest.approx(certificate[name].player_gaps, abs=1e-12)
    assert RegretMeter(sequence_form(game).plexes[0], "efcce").tree.notion.name == "EFCCE"


# --- OpenSpiel ------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(24))
def test_the_distances_of_openspiel(number, tmp_path):
    """``EFCEDist``, ``EFCCEDist``, ``AFCEDist`` and ``AFCCEDist`` of OpenSpiel 2.0's C++ library,
    which Python cannot call, as they were computed for random games and pure devices. They add up
    players."""
    case = json.loads(DISTANCES.read_text())[number]
    path = tmp_path / "game.efg"
    path.write_text(case["efg"])
    game = read_efg(path)
    policy = CorrelatedPolicy.from_device(game, [(w, tuple(told)) for w, told in case["device"]])
    certificate = certify(game, policy)
    for name in ("EFCE", "EFCCE", "AFCE", "AFCCE"):
        assert certificate[name].sum == pytest.approx(case[name], abs=1e-12)


@pytest.mark.parametrize(
    ("name", "gaps"),
    [
        ("in_out", {"AFCE": 0, "EFCE": 1}),
        ("greenwald_sarfati_1", {"AFCE": 0, "AFCCE": 0, "EFCE": 1, "EFCCE": 1}),
        ("greenwald_sarfati_2", {"EFCE": 0}),
        ("signalling", {"EFCE": 0, "EFCCE": 0}),
    ],
)
def test_the_games_of_openspiels_own_tests(name, gaps):
    game = library_game(name)
    policy = CorrelatedPolicy.from_device(game, library_device(name))
    certificate = certify(game, policy)
    for notion, gap in gaps.items():
        assert certificate[notion].sum == pytest.approx(gap, abs=1e-12)
