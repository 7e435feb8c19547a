"""Balanced K-EFR: the algorithm of the paper, and that nobody sees more than they may."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from accord.errors import ArgumentError, BudgetError
from accord.game.builder import GameBuilder
from accord.game.library import balanced, kuhn, library_game
from accord.game.tree import Game
from accord.learning.balanced_kefr import BalancedKEFR
from accord.learning.simulator_play import SimulatorPlay
from accord.play.simulator import OUTCOME, draw_outcome, prepare_draws, simulator
from accord.regret.rates import LARGEST_RATE, bandit_learning_rate
from accord.regret.swrhedge import SWRHedge
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import Treeplex
from tests import reference
from tests.support.driven import naive_episodes, play_round, tree_of
from tests.support.policies import grown_game

pytestmark = pytest.mark.kernels

GAMES = [
    *(pytest.param(grown_game(s, 2, 60), id=f"two players {s}") for s in (0, 3, 9, 55)),
    *(pytest.param(grown_game(s, 3, 60), id=f"three players {s}") for s in (0, 1, 26, 53)),
    pytest.param(library_game("separation:k=1"), id="separation"),
    pytest.param(kuhn(), id="kuhn"),
]
KS = (0, 1, 2, math.inf)


def rates_of(game: Game, k: float, iterations: int, scale: float = 1.0) -> list[float]:
    plexes = sequence_form(game).plexes
    return [
        scale * bandit_learning_rate(plexes, i, int(min(k, plex.horizon)), iterations, 0.05)
        for i, plex in enumerate(plexes)
    ]


def learners_of(game: Game, k: float, rates: list[float]) -> list[BalancedKEFR]:
    plexes = sequence_form(game).plexes
    return [BalancedKEFR(plex, k, SWRHedge(rate)) for plex, rate in zip(plexes, rates, strict=True)]


def joint_policy(learners: list[BalancedKEFR]) -> np.ndarray:
    return np.concatenate([learner.policy() for learner in learners])


# --- the algorithm --------------------------------------------------------------------------------


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("game", GAMES)
def test_every_iterate_is_the_papers(game: Game, k: float) -> None:
    """Algorithm 8 with SWRHedge over all A^A experts, fed with the same plays."""
    iterations, scale = 8, 3.0
    rates = rates_of(game, k, iterations, scale)
    learners = learners_of(game, k, rates)
    rng = np.random.default_rng(5)
    ends: list[dict[tuple[int, int], int]] = []
    iterates = []
    for _ in range(iterations):
        ends.append(play_round(game, learners, rng))
        iterates.append(joint_policy(learners))
    number = [
        {episode: e for e, episode in enumerate(naive_episodes(game, i, k))}
        for i in range(game.n_players)
    ]

    def make(i: int, n: int, swap: Any, external: Any) -> reference.SWRHedge:
        return reference.SWRHedge(n, swap, external, rates[i])

    def play(t: int, i: int, episode: reference.Episode, _: reference.Behaviors) -> int:
        return ends[t][i, number[i][episode]]

    wanted = reference.balanced_kefr(game, k, iterations, make, play)
    for t, behaviors in enumerate(wanted):
        np.testing.assert_allclose(
            iterates[t], np.concatenate(behaviors), rtol=0, atol=1e-10, err_msg=f"iteration {t}"
        )


def test_the_iterates_do_change() -> None:
    """Else the test above would not say much."""
    for game in (grown_game(0, 2, 60), grown_game(0, 3, 60), kuhn()):
        learners = learners_of(game, 1, rates_of(game, 1, 8, 3.0))
        rng = np.random.default_rng(5)
        play_round(game, learners, rng)
        first = joint_policy(learners)
        for _ in range(7):
            play_round(game, learners, rng)
        assert np.abs(joint_policy(learners) - first).max() > 0.05


def alone() -> Game:
    """A game in which the second player never decides."""
    b = GameBuilder(players=["Ann", "Bob"])
    b.move(player="Ann", infoset="a", actions="l r")
    b.payoff("l", 0, 1)
    b.payoff("r", 1, 0)
    return b.build()


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("game", [*GAMES, pytest.param(alone(), id="alone")])
def test_the_learning_rate_is_the_papers(game: Game, k: float) -> None:
    for i, rate in enumerate(rates_of(game, k, 1000)):
        if reference.horizon(game, i):
            assert rate == pytest.approx(reference.bandit_rate(game, i, k, 1000, 0.05), rel=1e-12)
        else:
            assert rate == 1.0


def test_learning_rates_do_not_overflow() -> None:
    size = 2000
    plex = Treeplex.from_parents([9] * size, range(-1, size - 1), [0] * size)
    assert bandit_learning_rate((plex,), 0, size, 1, 0.05) == pytest.approx(LARGEST_RATE)


@pytest.mark.parametrize("rate", [1e-300, 1e-12, 1e3, LARGEST_RATE])
def test_no_learning_rate_leaves_the_simplex(rate: float) -> None:
    game = library_game("separation:k=1")
    learners = learners_of(game, 1, [rate] * 2)
    rng = np.random.default_rng(1)
    for _ in range(50):
        play_round(game, learners, rng)
    for learner, plex in zip(learners, sequence_form(game).plexes, strict=True):
        behavior = learner.policy()
        assert (behavior >= 0).all()
        sums = np.add.reduceat(behavior[1:], plex.first_seq[:-1] - 1)
        np.testing.assert_allclose(sums, 1.0, rtol=1e-12)


# --- the compiled simulator -----------------------------------------------------------------------


@pytest.mark.parametrize("game", [grown_game(1, 3, 60), kuhn()])  # without and with chance
def test_the_simulator_plays_the_game(game: Game) -> None:
    leaves = sequence_form(game).leaves
    arrays = simulator(game, leaves.best, leaves.loss_scale)
    number = {0: 0}  # of the game's nodes in the simulator
    for node, below in enumerate(reference.node_children(game)):
        player, place, first_child, n_children = arrays.nodes[number[node]]
        assert (player, n_children) == (game.player[node], len(below))
        number |= {child: first_child + a for a, child in enumerate(below)}
        if player == reference.CHANCE:
            cumulative = arrays.outcomes["cumulative"][place : place + n_children]
            law = np.diff([0.0, *cumulative])
            np.testing.assert_allclose(law, game.chance_prob[list(below)], rtol=0, atol=1e-15)
            assert cumulative[-1] == 1.0
        elif player != reference.TERMINAL:
            assert place == game.infoset[node]
    assert sorted(number.values()) == list(range(game.n_nodes))
    for end in reference.terminals(game):
        for i, payoff in enumerate(end.payoffs):
            loss = arrays.loss[arrays.nodes[number[end.node]]["place"], i]
            assert loss == pytest.approx(reference.normalized_loss(game, i, payoff), abs=1e-12)


def test_the_last_outcome_of_chance_takes_the_rounding() -> None:
    """Ten times 0.1 is less than 1, and a draw may be as large as that."""
    builder = GameBuilder("dice", players=1)
    builder.chance({f"side {n}": 0.1 for n in range(10)})
    builder.move(*((f"side {n}",) for n in range(10)), player="1", infoset="x", actions="a b")
    for n in range(10):
        builder.payoff((f"side {n}", "a"), n)
        builder.payoff((f"side {n}", "b"), 0)
    game = builder.build()
    arrays = simulator(game, np.array([9.0]), np.array([1 / 9]))
    assert np.cumsum([0.1] * 10)[-1] < 1.0
    assert arrays.outcomes["cumulative"].max() == arrays.outcomes["cumulative"][9] == 1.0


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 10, 100, 1000])
def test_draws_of_chance(size: int) -> None:
    """The outcome whose share of [0, 1) holds the draw; never one that cannot be."""
    rng = np.random.default_rng(size)
    law = rng.random(size) * (rng.random(size) < 0.7)
    law[rng.integers(size)] = 1.0
    outcomes = np.zeros(2 + size + 2, OUTCOME)  # those of other nodes around them
    cumulative = np.concatenate([[0.5, 0.5], law / law.sum(), [0.3, 0.7]])
    first, count = (np.array(part, np.int32) for part in ([0, 2, 2 + size], [2, size, 2]))
    guess = np.zeros(len(outcomes), np.int64)
    prepare_draws(first, count, cumulative, guess)
    outcomes["cumulative"], outcomes["guess"] = cumulative, guess
    ends = outcomes["cumulative"][2:-2]
    assert ends[-1] == 1.0
    draws = np.concatenate([[0.0], rng.random(300), ends[:-1], np.arange(size) / size, [1.0]])
    draws = np.concatenate([draws, np.nextafter(draws, -1.0), np.nextafter(draws, 2.0)])
    for draw in draws[(draws >= 0.0) & (draws < 1.0)]:
        outcome = draw_outcome(draw, 2, size, outcomes)
        assert outcome == np.searchsorted(ends, draw, side="right")
        assert np.diff([0.0, *ends])[outcome] > 0.0
    guessed = outcomes["guess"][2:-2].repeat(10)
    drawn = np.searchsorted(ends, (np.arange(10 * size) + 0.5) / (10 * size), side="right")
    assert (guessed <= drawn).all()
    assert (drawn - guessed).mean() <= 1.0


# --- an episode touches what it sees --------------------------------------------------------------


@pytest.mark.slow
def test_an_iteration_touches_only_what_it_sees() -> None:
    """The same number of entries in a game of a thousand infosets and in one of a hundred thousand,
    at most what its episodes pass."""
    for infosets in (1000, 100_000):
        game = balanced(infosets, horizon=2, actions=2, ratio=3.2)
        form = sequence_form(game)
        play = SimulatorPlay(form, 1, 10**6, np.random.default_rng(0), method="swrhedge")
        per_iteration = play.episodes_per_iteration
        assert per_iteration == 6  # C(3, 2) for each of two players
        for _ in range(20):
            before = [array.copy() for array in play.joint]
            plan = [array.copy() for array in play._policies]
            play.advance(1)
            after = play.joint
            seen = np.flatnonzero(after.infosets["stamp"] != before[0]["stamp"])
            assert 0 < len(seen) <= 4 * per_iteration  # two decisions of each of two players
            nodes = np.flatnonzero(after.nodes != before[1])
            assert 0 < len(nodes) <= 2 * len(seen)
            behavior = np.flatnonzero(after.behavior != before[2])
            assert len(behavior) <= 2 * len(seen)
            regret = np.flatnonzero(after.regret != before[3])
            assert 0 < len(regret) <= 4 * per_iteration
            assert all((a == b).all() for a, b in zip(play._policies, plan, strict=True))


def test_an_episode_informs_the_rechistories_it_is_for() -> None:
    """Exactly the nodes of its target infoset that the plan assigns to it."""
    game = grown_game(55, 2, 60)
    learner = learners_of(game, 2, [0.4, 0.4])[0]
    tree, arrays = tree_of(learner), learner.state
    rng = np.random.default_rng(8)
    learned = 0
    for _ in range(40):
        learner.begin_iteration()
        for e in range(learner.n_episodes):
            credit = arrays.nodes["credit"].copy()
            learner.begin_episode(e)
            path = []
            children = tree.plex.children(0)
            while children:
                path.append(int(rng.choice(children)))
                a = learner.act(path[-1], rng)
                children = tree.plex.children(int(tree.plex.first_seq[path[-1]]) + a)
            learner.end_episode(0.5)
            layer = int(learner.plan.layer[e])
            changed = np.flatnonzero(arrays.nodes["credit"] != credit)
            wanted = []
            if layer < len(path) and tree.plex.n_actions[path[layer]] > 1:
                here = np.flatnonzero(tree.node_infoset == path[layer])
                wanted = [n for n in here if learner.plan.node_episode[n] == e]
            assert changed.tolist() == wanted
            learned += len(wanted)
    assert learned > 100


# --- good use -------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.0, -1.0, math.inf, math.nan, 1e101])
def test_bad_learning_rates(rate: float) -> None:
    with pytest.raises(ArgumentError, match="learning_rate must be positive"):
        BalancedKEFR(sequence_form(kuhn()).plexes[0], 1, SWRHedge(rate))


def test_bad_arguments() -> None:
    plex = sequence_form(kuhn()).plexes[0]
    with pytest.raises(ArgumentError, match="method must be one of prm, rm, swrhedge; got 'cfr'"):
        BalancedKEFR(plex, 1, "cfr")
    with pytest.raises(ArgumentError, match="k must be"):
        BalancedKEFR(plex, -1)
    with pytest.raises(BudgetError, match="try a smaller k"):
        BalancedKEFR(plex, 1, SWRHedge(0.1), budget=100)
