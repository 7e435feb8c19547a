"""Never NaN, never a crash: every method on every awkward game."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord._arrays import TERMINAL
from accord.errors import BudgetError
from accord.game.builder import GameBuilder
from accord.game.library import (
    chicken,
    extended_shapley,
    kuhn,
    matrix_game,
    random_game,
    signalling,
)
from accord.game.tree import Game
from accord.learning.kefr import KEFR
from accord.learning.self_play import SelfPlay
from accord.regret.methods import METHODS
from accord.regret.wrhedge import WRHedge
from accord.runs.solve import solve
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import Treeplex
from tests.support.runs import MINIMIZERS, run
from tests.support.strategies import examples, games

pytestmark = pytest.mark.kernels

checked = examples(60)

KS = [0, 1, 2, math.inf]


def assert_sound(play: SelfPlay, kept=None) -> None:
    """Policies are policies, gaps are gaps, and nothing that was added up is NaN or infinite."""
    form = play.form
    joint = np.atleast_2d(play.behavior if kept is None else kept)
    for plex, part in zip(form.plexes, form.split(joint), strict=True):
        assert np.isfinite(part).all() and (part >= 0.0).all() and (part[:, 0] == 1.0).all()
        if plex.n_infosets:
            sums = np.add.reduceat(part[:, 1:], plex.first_seq[:-1] - 1, axis=1)
            np.testing.assert_allclose(sums, 1.0, rtol=0, atol=1e-13)
    for learner in play.learners:
        for array in learner.state:
            assert np.isfinite(array).all()
    unit = form.leaves.payoff_range
    gaps, values = play.gaps(), play.values()
    assert np.isfinite(gaps).all() and np.isfinite(values).all()
    assert (gaps <= unit * (1 + 1e-9)).all()
    slack = 1e-9 * unit
    assert (form.leaves.worst - slack <= values).all()
    assert (values <= form.leaves.best + slack).all()
    for learner, gap, slack_i in zip(play.learners, gaps, slack, strict=True):
        assert learner.tree.k == 0 or gap >= -slack_i


def scaled(game: Game, factor: float, shift: float = 0.0) -> Game:
    """The same game with other payoffs."""
    ends = np.flatnonzero(game.player == TERMINAL)
    shifts = np.full((len(ends), game.n_players), shift)
    return game.replace(
        reward_node=np.concatenate([game.reward_node, ends]),
        reward=np.concatenate([game.reward * factor, shifts]),
    )


# --- learning rates -------------------------------------------------------------------------------

RATES = [1e-300, 1e-12, 1e-6, 1e-2, 1.0, 1e2, 1e6, 1e12, 1e100]


@pytest.mark.slow
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("game", [kuhn(), extended_shapley(), signalling()], ids=lambda g: g.name)
def test_any_learning_rate(game, k, rate):
    play, kept = run(game, k, WRHedge(rate), 300)
    assert_sound(play, kept)
    if rate <= 1e-12:  # nothing has happened yet
        np.testing.assert_allclose(kept, np.tile(kept[0], (300, 1)), atol=1e-9)
    elif rate >= 1.0:
        assert np.abs(kept - kept[0]).max() > 1e-3
    scale, multiplied = run(game, k, WRHedge(scale=rate), 300)
    assert_sound(scale, multiplied)
    anytime, decaying = run(game, k, WRHedge(scale=rate, anytime=True), 300)
    assert_sound(anytime, decaying)


@checked
@given(games(max_actions=4, max_depth=5), st.sampled_from(KS), st.sampled_from(RATES))
def test_any_learning_rate_on_random_games(game, k, rate):
    play, kept = run(game, k, WRHedge(rate), 40, averaging=1)
    assert_sound(play, kept)


@pytest.mark.parametrize("rate", RATES)
def test_any_learning_rate_against_losses_of_any_size(rate):
    """A learner that is fed far more than [0, 1], and far less."""
    plex = Treeplex.from_parents([3, 2, 4, 2], [-1, 0, 0, 2], [0, 0, 1, 3])
    rng = np.random.default_rng(8)
    for k in KS:
        learner = KEFR(plex, k, WRHedge(rate))
        for t in range(60):
            policy = learner.recommend()
            assert np.isfinite(policy).all()
            np.testing.assert_allclose(
                np.add.reduceat(policy[1:], plex.first_seq[:-1] - 1), 1.0, atol=1e-13
            )
            learner.observe(rng.random(plex.n_sequences) * 10.0 ** rng.integers(-30, 30) * (t % 3))
        assert math.isfinite(learner.regret())
        for array in learner.state:
            assert np.isfinite(array).all()


# --- payoffs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MINIMIZERS)
@pytest.mark.parametrize("factor", [1e-300, 1e-9, 1e9, 1e300])
def test_the_unit_of_payoffs_does_not_matter(factor, name):
    for game in (kuhn(), chicken()):
        plain, _ = run(game, 1, MINIMIZERS[name], 60)
        play, kept = run(scaled(game, factor), 1, MINIMIZERS[name], 60)
        assert_sound(play, kept)
        unit = plain.form.leaves.payoff_range
        np.testing.assert_allclose(play.gaps() / factor / unit, plain.gaps() / unit, atol=1e-6)
    exact, _ = run(scaled(kuhn(), 2.0**30), 1, MINIMIZERS[name], 60)
    plain, _ = run(kuhn(), 1, MINIMIZERS[name], 60)
    np.testing.assert_array_equal(exact.behavior, plain.behavior)  # bit for bit
    np.testing.assert_array_equal(exact.gaps(), plain.gaps() * 2.0**30)


@pytest.mark.parametrize("name", ["wrhedge", "rm", "rm+"])
@pytest.mark.parametrize("shift", [-1e9, -3.0, 1.0, 1e9])
def test_the_zero_of_payoffs_does_not_matter(shift, name):
    for game in (kuhn(), chicken(), signalling()):
        plain, _ = run(game, 1, MINIMIZERS[name], 60)
        play, kept = run(scaled(game, 1.0, shift), 1, MINIMIZERS[name], 60)
        assert_sound(play, kept)
        np.testing.assert_allclose(play.gaps(), plain.gaps(), rtol=0, atol=1e-5)
        np.testing.assert_allclose(play.values(), plain.values() + shift, rtol=1e-12, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("constant", [0.0, 1.0, -1e9, 1e-9])
@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("name", MINIMIZERS)
def test_constant_payoffs_are_an_equilibrium_at_once(name, k, constant):
    game = scaled(kuhn(3), 0.0, constant)
    play, kept = run(game, k, MINIMIZERS[name], 20)
    assert_sound(play, kept)
    np.testing.assert_array_equal(play.gaps(), 0.0)
    np.testing.assert_array_equal(play.values(), constant)
    np.testing.assert_allclose(kept[-1], kept[0])


@pytest.mark.parametrize("name", MINIMIZERS)
def test_a_player_who_does_not_care_among_players_who_do(name):
    game = matrix_game([[[1, 0], [0, 1]], [[2, 2], [2, 2]]])
    play, kept = run(game, 1, MINIMIZERS[name], 500)
    assert_sound(play, kept)
    assert play.gaps()[1] == 0.0
    assert play.values()[1] == 2.0


# --- shapes ---------------------------------------------------------------------------------------


def chain(length: int, exits) -> Game:
    """A walker takes ``length`` steps; at those in ``exits`` they may leave, else they must go on.

    A guard who has seen nothing guesses whether the walker will come to the end.
    """
    b = GameBuilder("chain", players=2)
    way: tuple[str, ...] = ()
    for step in range(length):
        may_leave = step in exits
        b.move(way, player="1", infoset=step, actions="on off" if may_leave else "on")
        if may_leave:
            rank = sorted(exits).index(step)
            b.move((*way, "off"), player="2", infoset="guess", actions="leaves comes")
            b.payoff((*way, "off", "leaves"), 0.1 * rank, 1)
            b.payoff((*way, "off", "comes"), 1 + 0.1 * rank, 0)
        way = (*way, "on")
    b.move(way, player="2", infoset="guess", actions="leaves comes")
    b.payoff((*way, "leaves"), 5, 0)
    b.payoff((*way, "comes"), 0, 2)
    return b.build()


@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize("name", MINIMIZERS)
def test_a_chain_of_sixty_decisions(name, k):
    game = chain(60, range(60))
    assert sequence_form(game).plexes[0].horizon == 60
    play, kept = run(game, k, MINIMIZERS[name], 100)
    assert_sound(play, kept)
    if name == "prm+":
        before = play.gaps().max()
        play.advance(1000)
        assert play.gaps().max() < before / 2


def test_a_chain_of_sixty_decisions_has_too_many_rechistories_at_infinity():
    with pytest.raises(BudgetError, match="rechistories") as caught:
        SelfPlay(sequence_form(chain(60, range(60))), math.inf)
    assert caught.value.required > 2**60


FIXED_RATE = {**MINIMIZERS, "wrhedge": WRHedge(0.3), "anytime": WRHedge(3.0)}
"""The paper's rate counts infosets and layers, those without a choice too."""


@pytest.mark.parametrize("k", [*KS, 30, 60])
@pytest.mark.parametrize("name", FIXED_RATE)
def test_a_chain_of_sixty_with_five_decisions_is_a_chain_of_five(name, k):
    """Nobody disobeys where there is nothing else to do, so neither is there more to remember."""
    exits = (0, 17, 18, 40, 59)
    play, kept = run(chain(60, exits), k, FIXED_RATE[name], 60)
    short, expected = run(chain(5, range(5)), k, FIXED_RATE[name], 60)
    assert_sound(play, kept)
    np.testing.assert_array_equal(play.gaps(), short.gaps())
    first = play.form.plexes[0].first_seq
    for rank, step in enumerate(exits):
        here = kept[:, first[step] : first[step] + 2]
        np.testing.assert_array_equal(here, expected[:, 1 + 2 * rank : 3 + 2 * rank])


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("name", FIXED_RATE)
def test_single_actions_change_nothing(name, k):
    """Kuhn poker in which everybody must clear their throat before they move."""
    ceremonious = _with_ceremony(kuhn())
    assert [plex.horizon for plex in sequence_form(ceremonious).plexes] == [4, 2]
    plain, _ = run(kuhn(), k, FIXED_RATE[name], 40)
    play, kept = run(ceremonious, k, FIXED_RATE[name], 40)
    assert_sound(play, kept)
    np.testing.assert_array_equal(play.gaps(), plain.gaps())
    np.testing.assert_array_equal(play.values(), plain.values())


def _with_ceremony(game: Game) -> Game:
    """Put an infoset with a single action before every infoset."""
    player, parent, action, infoset, chance = [], [], [], [], []
    inner = {}
    for node in range(game.n_nodes):
        above = int(game.parent[node])
        at = -1 if above < 0 else inner[above]
        if game.player[node] >= 0:
            player += [game.player[node]] * 2
            parent += [at, len(parent)]
            action += [int(game.action[node]), 0]
            infoset += [2 * int(game.infoset[node]), 2 * int(game.infoset[node]) + 1]
            chance += [float(game.chance_prob[node]), 1.0]
        else:
            player.append(game.player[node])
            parent.append(at)
            action.append(int(game.action[node]))
            infoset.append(-1)
            chance.append(float(game.chance_prob[node]))
        inner[node] = len(parent) - 1
    return Game.from_arrays(
        n_players=game.n_players, player=player, parent=parent, action=action, infoset=infoset,
        chance_prob=chance, reward_node=[inner[int(n)] for n in game.reward_node],
        reward=game.reward,
    )  # fmt: skip


AWKWARD = {
    "nobody decides": matrix_game([[[3.0]], [[-1.0]]]),
    "one row": matrix_game([[[3.0, 1.0, 2.0]], [[0.0, 0.5, 1.0]]]),
    "one player": matrix_game([[0.0, 1.0, 0.25]]),
    "four players": matrix_game(np.random.default_rng(2).random((4, 2, 3, 1, 2))),
    "five players": random_game(seed=77, players=5, depth=7, actions=2),
}


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("name", MINIMIZERS)
@pytest.mark.parametrize("shape", AWKWARD)
def test_awkward_shapes(shape, name, k):
    play, kept = run(AWKWARD[shape], k, MINIMIZERS[name], 100)
    assert_sound(play, kept)
    play.advance(400)
    assert_sound(play)


@pytest.mark.parametrize("method", METHODS)
def test_a_player_who_never_moves(method):
    b = GameBuilder("onlooker", players=3)
    b.chance({"a": 0.25, "b": 0.75})
    for card in "ab":
        b.move(card, player="2", infoset="blind", actions="in out")
        b.payoff(f"{card} in", 1, 1 if card == "b" else -1, 0)
        b.payoff(f"{card} out", 0, 0, 5)
    game = b.build()
    solution = solve(game, math.inf, method=method, iterations=2000)
    assert solution.player_gaps[0] == solution.player_gaps[2] == 0.0
    assert 0.0 <= solution.gap < 0.1
    assert solution.values[1] == pytest.approx(0.5, abs=0.1)
    single = solve(matrix_game([[0.0, 1.0, 0.25]]), 1, method=method, iterations=2000)
    assert single.values[0] == pytest.approx(1.0, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_solve_is_sound_on_random_games(method):
    for seed in range(12):
        game = random_game(seed=seed, players=1 + seed % 4, depth=5, actions=1 + seed % 4)
        for k in KS:
            solution = solve(game, k, method=method, iterations=37, components=5)
            for number in (
                solution.average_gap,
                solution.gap,
                *solution.player_gaps,
                *solution.values,
            ):
                assert math.isfinite(number)
            assert (solution.policy.behavior >= 0).all()


@checked
@given(games(max_players=4, max_actions=4, max_depth=5), st.sampled_from(KS))
def test_every_method_is_sound_on_random_games(game, k):
    for minimizer in MINIMIZERS.values():
        play, kept = run(game, k, minimizer, 25, averaging=2)
        assert_sound(play, kept)


@pytest.mark.slow
def test_six_cards():
    """Five players, 32,000 leaves: one method, a few iterations."""
    play, _ = run(kuhn(5), 1, iterations=3, threads=1)
    assert_sound(play)


# --- time -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wrhedge", "prm+"])
def test_a_million_iterations(name):
    tilted = matrix_game([[[2, -1], [-1, 1]], [[-1, 1], [1, -1]]])  # no equilibrium at the start
    play = SelfPlay(sequence_form(tilted), 1, MINIMIZERS[name], iterations=1_000_000, averaging=2)
    play.advance(1_000_000)
    assert play.iteration == 1_000_000
    assert_sound(play)
    assert play.gaps().max() < 0.01
