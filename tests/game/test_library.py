"""The library: facts that the sources state about each game, and the names of the games."""

from __future__ import annotations

import inspect
import math
import tracemalloc
from fractions import Fraction
from itertools import product

import numpy as np
import pyspiel
import pytest
from hypothesis import given
from scipy.optimize import linprog

from accord._arrays import CHANCE, NO_INFOSET, TERMINAL
from accord.errors import ArgumentError, GameError
from accord.game.library import (
    LIBRARY,
    Draws,
    balanced,
    battle_of_the_sexes,
    battle_of_the_sexes_device,
    chicken,
    chicken_device,
    extended_shapley,
    foresight,
    foresight_device,
    greenwald_sarfati_1,
    greenwald_sarfati_1_device,
    greenwald_sarfati_2,
    greenwald_sarfati_2_device,
    in_out,
    in_out_device,
    kuhn,
    library_device,
    library_game,
    matching_pennies,
    matching_pennies_device,
    matrix_game,
    prisoners_dilemma,
    prisoners_dilemma_device,
    random_game,
    separation,
    separation_device,
    shapley,
    shapley_device,
    signalling,
    signalling_device,
    unbalanced,
)
from accord.game.tree import Game
from tests import reference
from tests.support.strategies import games


def as_policy(game: Game, device: Draws) -> reference.CorrelatedPolicy:
    """A device in the form that the reference functions take."""
    policy = []
    for weight, recommended in device:
        behaviors = [
            reference.pure_behavior(
                game,
                i,
                [
                    game.action_labels[i][x].index(recommended[i][label])
                    for x, label in enumerate(game.infoset_labels[i])
                ],
            )
            for i in range(game.n_players)
        ]
        policy.append((weight, behaviors))
    return policy


def gap(game: Game, device: Draws, k: float) -> float:
    policy = as_policy(game, device)
    return max(reference.best_deviation(game, i, k, policy)[0] for i in range(game.n_players))


def nfce_gap(game: Game, device: Draws) -> float:
    policy = as_policy(game, device)
    return max(reference.nfce_gap(game, i, policy) for i in range(game.n_players))


def afce_gap(game: Game, device: Draws) -> float:
    """The largest gain from answering one recommendation at one infoset with another action."""
    policy = as_policy(game, device)
    gains = []
    for i in range(game.n_players):
        for x in reference.infosets(game, i):
            for told, taken in product(reference.actions(game, i, x), repeat=2):
                total = 0.0
                for weight, behaviors in policy:
                    swapped = [list(behavior) for behavior in behaviors]
                    seq, other = (reference.sequence(game, i, x, a) for a in (told, taken))
                    if swapped[i][seq] == 1.0:
                        swapped[i][seq], swapped[i][other] = 0.0, 1.0
                    before = reference.expected_values(game, behaviors)[i]
                    total += weight * (reference.expected_values(game, swapped)[i] - before)
                gains.append(total)
    return max(gains)


def values(game: Game, device: Draws) -> list[float]:
    return reference.correlated_values(game, as_policy(game, device))


# --- the paper's games ----------------------------------------------------------------------------


@pytest.mark.parametrize("k", range(4))
def test_separation_separates(k):
    game, device = separation(k), separation_device(k)
    assert game.n_infosets == ((4 ** (k + 1) - 1) // 3,) * 2
    assert [reference.horizon(game, i) for i in (0, 1)] == [k + 1] * 2
    assert len(device) == (2 ** (k + 1) if k else 3)
    assert values(game, device) == pytest.approx([0.5, 0])
    assert gap(game, device, k) == pytest.approx(0, abs=1e-12)
    assert gap(game, device, k + 1) == pytest.approx(0.5)


def test_one_coin_per_step_stands_for_one_per_infoset():
    game = separation(1)
    labels = list(game.infoset_labels[0])
    literal = tuple(
        (1 / 32, (dict(zip(labels, coins, strict=True)),) * 2) for coins in product("12", repeat=5)
    )
    for k in range(4):
        assert gap(game, literal, k) == pytest.approx(gap(game, separation_device(1), k))


def test_two_choices_do_not_separate_0_from_1():
    """The paper's own game for K = 0 has a gap of 1/4, so separation(0) has three choices."""
    game = matrix_game([[[1 / 2, 1], [1, 1 / 2]], np.zeros((2, 2))])
    device = tuple((1 / 2, ({"1": a}, {"2": a})) for a in "01")
    assert gap(game, device, 0) == pytest.approx(1 / 4)


def test_separation_refuses_values_out_of_range():
    for k in (-1, 10):
        with pytest.raises(ArgumentError, match=f"k must be between 0 and 9; got {k}"):
            separation(k)


def test_only_foresight_gains():
    game, device = foresight(), foresight_device()
    assert len(device) == 32
    assert values(game, device) == pytest.approx([0.5, 0])
    assert gap(game, device, math.inf) == pytest.approx(0, abs=1e-12)
    assert nfce_gap(game, device) == pytest.approx(1 / 4)


# --- games from the literature --------------------------------------------------------------------


def test_the_efce_of_the_signalling_game_is_better_than_any_in_normal_form():
    game, device = signalling(), signalling_device()
    assert values(game, device) == pytest.approx([3.5, 6.5])
    assert gap(game, device, 1) == pytest.approx(0, abs=1e-12)
    assert nfce_gap(game, device) > 0.1

    plans = [list(reference.pure_choices(game, i)) for i in (0, 1)]
    table = np.array(
        [
            [
                reference.expected_values(
                    game, [reference.pure_behavior(game, i, plan) for i, plan in enumerate(pair)]
                )
                for pair in product([row], plans[1])
            ]
            for row in plans[0]
        ]
    ).transpose(2, 0, 1)
    obey = []  # gain of each player from a plan other than the recommended one, at most 0
    for told, other in product(range(4), repeat=2):
        for i in (0, 1):
            gain = np.zeros((4, 4))
            own, mine = np.moveaxis(gain, i, 0), np.moveaxis(table[i], i, 0)
            own[told] = mine[other] - mine[told]
            obey.append(gain.reshape(-1))
    best = linprog(
        -table[0].reshape(-1), A_ub=obey, b_ub=np.zeros(32), A_eq=[np.ones(16)], b_eq=[1]
    )
    assert -best.fun == pytest.approx(0, abs=1e-9)
    assert table[1].reshape(-1) @ best.x == pytest.approx(6)


def test_in_out_resists_one_deviation_but_not_two():
    game, device = in_out(), in_out_device()
    assert afce_gap(game, device) == 0
    assert gap(game, device, 1) == pytest.approx(1)


def test_greenwald_and_sarfati_s_first_device_is_agent_form_only():
    game, device = greenwald_sarfati_1(), greenwald_sarfati_1_device()
    assert values(game, device) == pytest.approx([2, 2])
    assert afce_gap(game, device) == pytest.approx(0)
    assert gap(game, device, 1) == pytest.approx(1)


def test_greenwald_and_sarfati_s_second_device_is_extensive_form_only():
    game, device = greenwald_sarfati_2(), greenwald_sarfati_2_device()
    assert values(game, device) == pytest.approx([2, 2])
    assert gap(game, device, 1) == pytest.approx(0)
    assert nfce_gap(game, device) == pytest.approx(1 / 2)


def test_extended_shapley_is_shapley_with_small_bets():
    base, game = shapley(), extended_shapley()
    plain = {
        base.history(int(n)): row for n, row in zip(base.reward_node, base.reward, strict=True)
    }
    for node, (row, col) in zip(game.reward_node, game.reward.tolist(), strict=True):
        mine, bet, theirs = game.history(int(node))
        wins, loses = plain[mine, theirs]
        bonus = {("rock", True): 0.003, ("other", False): 0.001}.get((bet, theirs == "rock"), 0)
        assert (row, col) == pytest.approx((wins + bonus, loses))


def test_cfr_finds_an_nfcce_of_extended_shapley_but_not_an_efce():
    """Regret matching at every infoset, with alternating updates, from unequal first regrets."""
    game = extended_shapley()
    rng = np.random.default_rng(0)
    regret = [0.01 * rng.random(reference.n_sequences(game, i)) for i in (0, 1)]
    iterates = []
    for _ in range(300):
        for i in (0, 1):
            play = [matched(game, j, regret[j]) for j in (0, 1)]
            loss = reference.counterfactual_losses(game, i, play)
            for x in reference.infosets(game, i):
                seqs = [reference.sequence(game, i, x, a) for a in reference.actions(game, i, x)]
                mean = sum(play[i][seq] * loss[seq] for seq in seqs)
                for seq in seqs:
                    regret[i][seq] += mean - loss[seq]
        iterates.append(play)
    policy = [(1 / len(iterates), play) for play in iterates]
    coarse, extensive = (
        max(reference.best_deviation(game, i, k, policy)[0] for i in (0, 1)) for k in (0, 1)
    )
    assert coarse < 0.02
    assert extensive > 0.1


def matched(game: Game, i: int, regret: np.ndarray) -> list[float]:
    behavior = reference.uniform_behavior(game, i)
    for x in reference.infosets(game, i):
        seqs = [reference.sequence(game, i, x, a) for a in reference.actions(game, i, x)]
        positive = np.maximum(regret[seqs], 0)
        if positive.sum() > 0:
            for seq, p in zip(seqs, positive / positive.sum(), strict=True):
                behavior[seq] = float(p)
    return behavior


# --- Kuhn poker -----------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [2, 3, 4])
def test_kuhn_poker_is_openspiel_s(players):
    game = kuhn(players)
    rng = np.random.default_rng(players)
    law = [
        {label: rng.dirichlet([1, 1]) for label in game.infoset_labels[i]} for i in range(players)
    ]
    behaviors = [
        [1.0, *(p for label in game.infoset_labels[i] for p in law[i][label])]
        for i in range(players)
    ]
    infosets = [set() for _ in range(players)]
    terminals = 0

    def value(state: pyspiel.State) -> np.ndarray:
        nonlocal terminals
        if state.is_terminal():
            terminals += 1
            return np.array(state.returns())
        if state.is_chance_node():
            moves = state.chance_outcomes()
        else:
            label = state.information_state_string()
            infosets[state.current_player()].add(label)
            moves = list(enumerate(law[state.current_player()][label]))
        return sum(p * value(state.child(move)) for move, p in moves)

    theirs = value(pyspiel.load_game(f"kuhn_poker(players={players})").new_initial_state())
    assert [set(labels) for labels in game.infoset_labels] == infosets
    assert game.n_terminals == terminals
    assert reference.expected_values(game, behaviors) == pytest.approx(theirs)


@pytest.mark.parametrize("bluff", [0.0, 0.2, 1 / 3])
def test_kuhn_s_equilibria_are_worth_minus_one_eighteenth(bluff):
    """Kuhn 1950: the first player bluffs with the lowest card with any probability up to 1/3."""
    game = kuhn()
    bets = (
        {"0": bluff, "1": 0, "2": 3 * bluff, "0pb": 0, "1pb": bluff + 1 / 3, "2pb": 1},
        {"0p": 1 / 3, "1p": 0, "2p": 1, "0b": 0, "1b": 1 / 3, "2b": 1},
    )
    behaviors = [
        [
            1.0,
            *(p for label in game.infoset_labels[i] for p in (1 - bets[i][label], bets[i][label])),
        ]
        for i in (0, 1)
    ]
    assert reference.expected_values(game, behaviors) == pytest.approx([-1 / 18, 1 / 18])
    for i, k in product((0, 1), (0, 1, math.inf)):
        assert reference.best_deviation(game, i, k, [(1.0, behaviors)])[0] == pytest.approx(
            0, abs=1e-12
        )


def test_kuhn_refuses_one_player():
    with pytest.raises(ArgumentError, match="players must be between 2 and 6; got 1"):
        kuhn(1)


# --- matrix games ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "device", "worth"),
    [
        (chicken(), chicken_device(), (5.25, 5.25)),
        (shapley(), shapley_device(), (0.5, 0.5)),
        (battle_of_the_sexes(), battle_of_the_sexes_device(), (1.5, 1.5)),
        (matching_pennies(), matching_pennies_device(), (0, 0)),
        (prisoners_dilemma(), prisoners_dilemma_device(), (1, 1)),
    ],
    ids=lambda value: value.name if isinstance(value, Game) else "",
)
def test_devices_of_matrix_games_are_correlated_equilibria(game, device, worth):
    assert values(game, device) == pytest.approx(worth)
    assert gap(game, device, 1) == pytest.approx(0, abs=1e-12)
    assert nfce_gap(game, device) == pytest.approx(0, abs=1e-12)


def test_shapley_s_nash_equilibrium_pays_less_than_its_device():
    game = shapley()
    uniform = [reference.uniform_behavior(game, i) for i in (0, 1)]
    assert reference.expected_values(game, uniform) == pytest.approx([1 / 3, 1 / 3])
    for i in (0, 1):
        assert reference.best_deviation(game, i, 1, [(1.0, uniform)])[0] == pytest.approx(
            0, abs=1e-12
        )


def test_chicken_mixtures_of_equilibria_and_independent_coins():
    """A mixture of the two pure equilibria is an equilibrium; independent fair coins are not."""
    game = chicken()
    turns = ((0.5, ({"row": "dare"}, {"col": "yield"})), (0.5, ({"row": "yield"}, {"col": "dare"})))
    coins = tuple((0.25, ({"row": a}, {"col": b})) for a, b in product(("dare", "yield"), repeat=2))
    assert gap(game, turns, 1) == 0
    assert gap(game, coins, 1) > 0


def test_a_coarse_equilibrium_need_not_be_a_correlated_one():
    """Gibson 2013, Section 2.2: the third recommendation is dominated; obeying it costs 1/4."""
    game = matrix_game(
        [[[1, 0], [0, 2], [-1, 1]], np.zeros((3, 2))], actions=[("A", "B", "C"), ("a", "b")]
    )
    device = tuple(
        (weight, ({"1": row}, {"2": col}))
        for weight, row, col in ((0.5, "A", "a"), (0.25, "B", "b"), (0.25, "C", "b"))
    )
    assert gap(game, device, 0) == pytest.approx(0)
    assert gap(game, device, 1) == pytest.approx(0.25)


def test_matrix_games_pay_their_tensors():
    rng = np.random.default_rng(5)
    payoffs = rng.normal(size=(3, 2, 4, 3))
    game = matrix_game(payoffs, name="three", players=("x", "y", "z"))
    assert (game.name, game.n_infosets) == ("three", (1, 1, 1))
    assert [labels[0] for labels in game.infoset_labels] == ["x", "y", "z"]
    for joint in product(range(2), range(4), range(3)):
        behaviors = [reference.pure_behavior(game, i, [a]) for i, a in enumerate(joint)]
        paid = reference.expected_values(game, behaviors)
        assert paid == pytest.approx(payoffs[(slice(None), *joint)].tolist())


def test_matrix_games_pay_the_tuples_of_their_joint_actions():
    """The form of textbooks: rows of pairs."""
    rows = [[(6, 6), (2, 7)], [(7, 2), (0, 0)]]
    tables = [[[6, 2], [7, 0]], [[6, 7], [2, 0]]]
    wanted = matrix_game(tables).digest
    for payoffs in (rows, tuple(tables), [np.array(one) for one in tables], np.array(tables)):
        assert matrix_game(payoffs).digest == wanted
    rng = np.random.default_rng(5)
    for shape in ((3, 4), (2, 5), (3, 2), (3, 2, 2), (2, 3, 3), (4,)):
        table = rng.normal(size=(*shape, len(shape)))
        pairs = table.tolist()
        by_player = matrix_game(np.moveaxis(table, -1, 0)).digest
        assert matrix_game(_with_tuples(pairs)).digest == by_player
        if shape[0] != len(shape):  # only one form has this shape
            assert matrix_game(pairs).digest == matrix_game(table).digest == by_player


def _with_tuples(rows):
    return [_with_tuples(row) if isinstance(row[0], list) else tuple(row) for row in rows]


@pytest.mark.parametrize(
    "payoffs",
    [
        (((6, 6), (2, 7)), ((7, 2), (0, 0))),
        ([(6, 2), (7, 0)], [(6, 7), (2, 0)]),
        [[(6, 6), [2, 7]], [(7, 2), (0, 0)]],
        [[(6, 2), (7, 0)], np.array([[6, 7], [2, 0]])],
    ],
    ids=str,
)
def test_payoffs_that_could_have_two_forms_are_refused(payoffs):
    with pytest.raises(GameError, match=r"shape \(2, 2, 2\) could be one tuple .* or one table"):
        matrix_game(payoffs)


def test_payoffs_may_be_fractions():
    third = matrix_game([[(1 / 3, 0), (2, 7)]])
    for written in ("1/3", Fraction(1, 3)):
        assert matrix_game([[(written, 0), (2, "7")]]).digest == third.digest


def test_a_matrix_game_may_have_one_player():
    assert matrix_game([[3, 1, 2]]).n_terminals == 3


@pytest.mark.parametrize(
    ("payoffs", "message"),
    [
        ([[1, 2], [3, 4]], r"\[n_players, A_1, ..., A_n\], .* got \(2, 2\)"),
        (np.zeros((2, 3, 0)), r"no empty axis; got \(2, 3, 0\)"),
        (3.0, r"got \(\)"),
        (
            [[[1, 2], [3]], [[1, 2], [3, 4]]],
            "or one table of numbers per player, all of the same shape",
        ),
        ([[["a", "b"]], [["c", "d"]]], "or one table of numbers per player"),
        ([[("1/0", 1)]], "one tuple of numbers per joint action"),
        (
            [[(6, 6, 1), (2, 7, 1)], [(7, 2, 1), (0, 0, 1)]],
            "payoffs of all 2 players, .* got 3 payoffs",
        ),
        ([(3, 1, 2)], "payoffs of all 1 players, .* got 3 payoffs"),
    ],
)
def test_invalid_payoff_tensors_are_refused(payoffs, message):
    with pytest.raises(GameError, match=message):
        matrix_game(payoffs)


# --- random games ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_random_games_have_unusual_shapes():
    seen = set()
    for seed in range(300):
        game = random_game(seed, 1 + seed % 3, rewards=0.3 * (seed % 2), observe=0.3)
        horizons = [reference.horizon(game, i) for i in range(game.n_players)]
        ends = reference.terminals(game)
        depth = [0]
        for node in range(1, game.n_nodes):
            depth.append(depth[game.parent[node]] + 1)
        layers = {}
        for node in np.flatnonzero(game.player >= 0).tolist():
            layers.setdefault((game.player[node], game.infoset[node]), set()).add(depth[node])
        corners = {
            "a player never moves": 0 in horizons,
            "horizons differ": len(set(horizons)) > 1,
            "a single action": any((n == 1).any() for n in game.n_actions),
            "three actions": any((n == 3).any() for n in game.n_actions),
            "plays with equal sequences": len({end.seqs for end in ends}) < len(ends),
            "a play without decisions": any(set(end.seqs) == {0} for end in ends),
            "plays of different lengths": len({depth[end.node] for end in ends}) > 1,
            "rewards on the way": bool((game.player[game.reward_node] != TERMINAL).any()),
            "an infoset at different depths": any(len(found) > 1 for found in layers.values()),
            "chance first": bool(game.player[0] == CHANCE),
            "no chance": not (game.player == CHANCE).any(),
            "several nodes in an infoset": len(layers) < np.count_nonzero(game.player >= 0),
            "several infosets in a layer": any(
                np.count_nonzero(above == NO_INFOSET) > 1 for above in game.parent_infoset
            ),
        }
        seen |= {corner for corner, reached in corners.items() if reached}
    assert seen == set(corners)


def test_a_seed_determines_the_game():
    assert random_game(7).digest == random_game(7).digest
    assert random_game(7).digest != random_game(8).digest


def test_random_games_keep_their_bounds():
    for seed in range(30):
        game = random_game(seed, 2, 3, 4, min_actions=2, stop=0.0, levels=1)
        assert {len(game.history(end.node)) for end in reference.terminals(game)} == {3}
        assert all(set(n.tolist()) <= {2, 3, 4} for n in game.n_actions)
        assert not game.reward.any()
    everything = random_game(1, 3, 4, observe=1.0, chance=0.5)
    assert len(reference.terminals(everything)) > 4
    for i in range(3):  # perfect information: every infoset is one node
        mine = everything.player == i
        assert np.count_nonzero(mine) == everything.n_infosets[i]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"players": 0}, "players must be between 1 and 127; got 0"),
        ({"depth": 0}, "depth must be between 1 and 64; got 0"),
        ({"actions": 2, "min_actions": 3}, "actions must be between 3 and 26; got 2"),
        ({"observe": 1.5}, "observe must be between 0 and 1; got 1.5"),
        ({"stop": math.nan}, "stop must be between 0 and 1; got nan"),
        ({"levels": 0}, "levels must be between 1 and"),
    ],
)
def test_random_games_refuse_values_out_of_range(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        random_game(**arguments)


@given(games(players=2, max_depth=3, max_actions=2, rewards=False))
def test_the_strategy_keeps_its_promises(game):
    assert game.n_players == 2
    assert game.n_nodes <= 1 + 2 + 4 + 8
    assert (game.player[game.reward_node] == TERMINAL).all()
    assert library_game(game.name).digest == game.digest


# --- scaling families -----------------------------------------------------------------------------


@pytest.mark.parametrize(("horizon", "actions"), [(1, 3), (2, 2), (3, 2), (2, 3)])
def test_balanced_games_have_the_requested_sizes(horizon, actions):
    per_type = sum(actions ** (2 * h) for h in range(horizon))
    game = balanced(per_type * 6, horizon, actions, ratio=3 * actions ** (2 * horizon) / per_type)
    assert game.n_infosets == (per_type * 6,) * 2
    assert game.n_terminals == 3 * 6 * actions ** (2 * horizon)
    assert [reference.horizon(game, i) for i in (0, 1)] == [horizon] * 2
    assert all((n == actions).all() for n in game.n_actions)
    ends = reference.terminals(game)
    assert len({end.seqs for end in ends}) == len(ends)
    assert {end.chance for end in ends} == {1 / 18}
    first = [int(np.count_nonzero(above == NO_INFOSET)) for above in game.parent_infoset]
    assert first == [6, 6]
    assert len({end.payoffs for end in ends}) == len(ends)


def test_players_of_balanced_games_see_types_and_choices():
    """Two nodes are in one infoset if and only if their types and public choices agree."""
    game = balanced(10, ratio=6)
    told = {}
    for node in np.flatnonzero(game.player >= 0).tolist():
        moves = game.history(node)[1:]
        i = int(game.player[node])
        public = tuple(moves[: len(moves) - len(moves) % 2])
        told.setdefault((i, int(game.infoset[node])), set()).add(public)
        assert len(moves) % 2 == i
    assert all(len(public) == 1 for public in told.values())
    meets = [np.count_nonzero(game.infoset[game.player == i] == 0) for i in (0, 1)]
    assert meets[0] >= 1
    assert meets[1] >= 2  # one node after each hidden action of the first player


def test_balanced_games_differ_by_seed_and_clip_their_ratio():
    assert balanced(50).digest == balanced(50).digest
    assert balanced(50).digest != balanced(50, seed=1).digest
    assert balanced(50, ratio=1e-9).n_terminals == 10 * 16
    assert balanced(50, ratio=1e9).n_terminals == 100 * 16


def test_balanced_games_are_built_without_objects():
    """At most 400 bytes per leaf at the peak: ten million leaves in 4 GB."""
    balanced(5)
    tracemalloc.start()
    game = balanced(50_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert game.n_infosets == (50_000, 50_000)
    assert game.n_terminals == 500_000
    assert peak < 400 * game.n_terminals


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"infosets": 0}, "infosets must be at least 1; got 0"),
        ({"horizon": 0}, "horizon must be at least 1; got 0"),
        ({"actions": 0}, "actions must be at least 1; got 0"),
        ({"ratio": -1.0}, "ratio must be positive and at most 2147483646; got -1.0"),
        ({"horizon": 40}, "at most 2147483646 nodes; horizon 40 and actions 2 give more"),
    ],
)
def test_balanced_games_refuse_values_out_of_range(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        balanced(**arguments)


def balanced_exploration(game: Game, i: int, h: int) -> list[float]:
    """The balanced exploration policy of layer ``h``, by counting infosets below each action."""
    above, move = game.parent_infoset[i].tolist(), game.parent_action[i].tolist()
    depth: list[int] = []
    for x in range(len(above)):
        depth.append(1 if above[x] == NO_INFOSET else depth[above[x]] + 1)
    below = {}  # (x, a) -> infosets of layer h after it
    for y in (y for y in range(len(above)) if depth[y] == h):
        x = y
        while above[x] != NO_INFOSET:
            below[above[x], move[x]] = below.get((above[x], move[x]), 0) + 1
            x = above[x]
    behavior = [1.0]
    for x, n in enumerate(game.n_actions[i].tolist()):
        count = [below.get((x, a), 0) for a in range(n)]
        behavior += [c / sum(count) for c in count] if any(count) else [1 / n] * n
    return behavior


@pytest.mark.parametrize(("horizon", "actions"), [(2, 2), (12, 2), (6, 3)])
def test_unbalanced_games_need_balanced_exploration(horizon, actions):
    """Reach of the last layer: A^-H by uniform play, 1 / (X_h A) by the balanced policy."""
    game = unbalanced(horizon, actions)
    assert game.n_infosets == (1 + actions * (horizon - 1), 1)
    assert reference.horizon(game, 0) == horizon
    uniform = reference.uniform_behavior(game, 0)
    for h in range(2, horizon + 1):
        layer = [x for x in reference.infosets(game, 0) if reference.layer(game, 0, x) == h]
        assert len(layer) == actions
        explore = balanced_exploration(game, 0, h)
        for x, a in product(layer, range(actions)):
            seq = reference.sequence(game, 0, x, a)
            assert reference.reach(game, 0, uniform, seq) == pytest.approx(actions**-h)
            assert reference.reach(game, 0, explore, seq) == pytest.approx(
                1 / (len(layer) * actions)
            )


def test_only_the_end_of_a_corridor_pays():
    game = unbalanced(5, 3)
    walks = {"won": 0, "caught": 0}
    for end in reference.terminals(game):
        guarded, walked, *moves = game.history(end.node)
        if end.payoffs == (0.25, 0.25):
            continue
        assert len(moves) == 4
        assert end.payoffs == ((0, 1) if guarded == walked else (1, 0))
        walks["caught" if guarded == walked else "won"] += 1
    assert walks == {"won": 6, "caught": 3}


def test_unbalanced_games_refuse_values_out_of_range():
    with pytest.raises(ArgumentError, match="at least 2; got horizon 1 and actions 2"):
        unbalanced(1)


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LIBRARY)
def test_entries_build_the_games_they_describe(name):
    entry = LIBRARY[name]
    game = library_game(name)
    assert game.name == entry.name == name
    assert entry.description
    assert entry.source
    if entry.device is None:
        return
    assert list(inspect.signature(entry.device).parameters) == list(entry.parameters)
    device = library_device(name)
    assert math.fsum(weight for weight, _ in device) == pytest.approx(1)
    for weight, recommended in device:
        assert weight > 0
        assert len(recommended) == game.n_players
        for i, policy in enumerate(recommended):
            assert set(policy) == set(game.infoset_labels[i])
            for label, action in policy.items():
                x = list(game.infoset_labels[i]).index(label)
                assert action in game.action_labels[i][x]


@pytest.mark.parametrize(
    "text",
    [
        "separation:k=2",
        "kuhn:players=3",
        "random:seed=3,players=2,observe=0.25",
        "balanced:infosets=20,ratio=4.0",
    ],
)
def test_the_name_of_a_game_is_the_text_that_loads_it(text):
    game = library_game(text)
    assert game.name == text
    assert library_game(game.name).digest == game.digest


def test_names_are_read_leniently_and_written_one_way():
    assert (
        library_game(" balanced : infosets=1_0, ratio=4 ").name == "balanced:infosets=10,ratio=4.0"
    )
    assert separation(k=1).name == separation(1).name == "separation:k=1"
    assert library_game("chicken:").name == "chicken"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seperation", "no library game 'seperation'; did you mean separation or persuasion?"),
        ("leduc_poker", "no library game 'leduc_poker'; there are separation, foresight,"),
        ("kuhn:player=3", "kuhn has no parameter 'player'; did you mean players?"),
        ("chicken:k=1", "chicken has no parameter 'k'; there are none"),
        ("kuhn:players=3.5", "players of kuhn must be an integer; got '3.5'"),
        ("random:observe=much", "observe of random must be a number, such as 0.25 .* got 'much'"),
        ("kuhn:players", "must be key=value, each at most once; got 'players'"),
        ("kuhn:players=2,players=3", "each at most once; got 'players=3'"),
        ("kuhn:players=3,", "each at most once; got ''"),
        ("kuhn:players=9", "players must be between 2 and 6; got 9"),
    ],
)
def test_invalid_names_are_refused(text, message):
    with pytest.raises(ArgumentError, match=message.replace("?", r"\?")):
        library_game(text)


def test_not_every_game_has_a_device():
    with pytest.raises(
        ArgumentError, match="no device for kuhn; it has devices for separation, fore"
    ):
        library_device("kuhn")
    with pytest.raises(ArgumentError, match=r"no device for kuhn_poker\(players=3\); it has"):
        library_device("kuhn_poker(players=3)")
    with pytest.raises(ArgumentError, match="separation has no parameter 'j'"):
        library_device("separation:j=1")
