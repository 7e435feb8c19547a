"""The mediator: what it says, what it refuses, and what playing with it amounts to.

Laws are compared exactly: the one function that draws is replaced by one that goes through every
outcome, and the plays are repeated until all have come up. That function is tested by itself.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import accord
from accord._arrays import CHANCE, TERMINAL
from accord.certifying.exact import certify
from accord.deviations.modification import Modification
from accord.deviations.rechistory import RechistoryTree
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError, BudgetError, MediatorError, MismatchError
from accord.game.library import chicken, kuhn, library_device, separation
from accord.game.tree import Game
from accord.mediator.hindsight import Hindsight
from accord.mediator.mediator import Mediator, Play
from accord.mediator.seat import Move
from accord.mediator.streams import draw
from accord.play.obedient_plays import PLAYS_PER_CALL, obedient_plays
from accord.treeplex.form import sequence_form
from tests import reference
from tests.support.laws import Draw, assert_same, law, terminal_law
from tests.support.policies import (
    all_games,
    all_k,
    grown_game,
    grown_games,
    phi_as_reference,
    random_phi,
)
from tests.support.policies import random_policy as random_policy_of
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels

checked = examples(25)
seeds = st.integers(0, 2**32 - 1)

Player = Callable[[Play, int, int], int]  # (play, player, infoset) -> the action she takes


def random_policy(game: Game, seed: int) -> CorrelatedPolicy:
    return random_policy_of(game, seed, components=1 + seed % 3)


# --- playing, and the law of it -------------------------------------------------------------------


def delegating(play: Play, i: int, x: int) -> int:
    return play.seat(i).move(x)


def following(play: Play, i: int, x: int) -> int:
    told = play.seat(i).recommend(x)
    play.seat(i).act(x, told)
    return told


class Modified:
    """A player who executes phi with the recommendations of the mediator: Algorithm 1."""

    def __init__(self, phi: Modification) -> None:
        self.arrived: list[int] = []
        self.phi = phi
        self.moves: Iterator[tuple[int, int]] | None = None

    def infosets(self) -> Iterator[int]:
        while True:
            yield self.arrived.pop()

    def __call__(self, play: Play, i: int, x: int) -> int:
        if self.moves is None:
            self.moves = self.phi.execute(self.infosets(), lambda x: play.seat(i).recommend(x))
        self.arrived.append(x)
        came, action = next(self.moves)
        assert came == x
        play.seat(i).act(x, action)
        return action


def play_through(mediator: Mediator, players: Sequence[Player], chance: Draw) -> tuple[int, Play]:
    """One play from the root: the terminal, and the session with the mediator."""
    game, play = mediator.game, mediator.begin()
    for i, player in enumerate(players):
        if player is delegating:
            play.seat(i).delegate()
    node = 0
    while game.player[node] != TERMINAL:
        below = reference.node_children(game)[node]
        i = int(game.player[node])
        if i == CHANCE:
            a = chance([float(game.chance_prob[child]) for child in below])
        else:
            a = players[i](play, i, int(game.infoset[node]))
        node = below[a]
    return node, play


def against_followers(mediator: Mediator, i: int, player: Player, chance: Draw) -> tuple[int, Play]:
    """A play of ``player`` in the place of i with others who follow."""
    players: list[Player] = [delegating] * mediator.game.n_players
    players[i] = player
    return play_through(mediator, players, chance)


def end_of_all(mediator: Mediator, player: Player, chance: Draw) -> int:
    return play_through(mediator, [player] * mediator.game.n_players, chance)[0]


@checked
@given(grown_games(most=40), seeds)
def test_following_it_is_the_policy(game, seed):
    policy = random_policy(game, seed)
    expected = terminal_law(policy)
    for k, player in ((0, delegating), (1, delegating), (1, following), (math.inf, following)):
        found = law(partial(end_of_all, Mediator(game, policy, k), player))
        assert_same(found, expected)
    payoffs = {z.node: z.payoffs for z in reference.terminals(game)}
    values = [sum(p * payoffs[z][i] for z, p in found.items()) for i in range(game.n_players)]
    assert values == pytest.approx(policy.values(), abs=1e-9)


def end_with_phi(mediator: Mediator, i: int, phi: Modification, chance: Draw) -> int:
    return against_followers(mediator, i, Modified(phi), chance)[0]


@checked
@given(grown_games(most=30), seeds)
def test_executing_phi_with_it_is_the_modified_policy(game, seed):
    """Never refused while Type I, and the law is that of phi o pi."""
    rng = np.random.default_rng(seed)
    policy = random_policy(game, seed)
    for i, plex in enumerate(sequence_form(game).plexes):
        for k in all_k(game, i):
            phi = random_phi(RechistoryTree.build(plex, k), rng)
            found = law(partial(end_with_phi, Mediator(game, policy, k), i, phi))
            assert_same(found, terminal_law(policy, i, phi))


class Planned:
    """A player who does what she has planned, whatever she is told if she asks."""

    def __init__(self, plan: np.ndarray, asks: bool) -> None:
        self.plan, self.asks = plan, asks

    def __call__(self, play: Play, i: int, x: int) -> int:
        if self.asks and play.seat(i).advises:
            play.seat(i).recommend(x)
        play.seat(i).act(x, self.plan[x])
        return int(self.plan[x])


def end_and_deviations(mediator: Mediator, i: int, player: Player, chance: Draw) -> tuple[int, int]:
    end, play = against_followers(mediator, i, player, chance)
    return end, play.seat(i).deviations


@checked
@given(grown_games(most=30), seeds)
def test_not_asking_is_asking_and_not_listening(game, seed):
    """The same deviations are counted whether she asks or not."""
    rng = np.random.default_rng(seed)
    policy = random_policy(game, seed)
    for i, plex in enumerate(sequence_form(game).plexes):
        plan = rng.integers(plex.n_actions)
        for k in (0, 1, 2, math.inf):
            mediator = Mediator(game, policy, k)
            one, other = (
                law(partial(end_and_deviations, mediator, i, Planned(plan, asks)))
                for asks in (True, False)
            )
            assert_same(other, one)
            assert all(count <= k for _, count in one)


class Wayward:
    """A player who does anything, and writes down what she is told."""

    def __init__(self, k: float, rng: np.random.Generator) -> None:
        self.k, self.rng = k, rng
        self.wrong = 0  # deviations, counted here
        self.refused = 0

    def __call__(self, play: Play, i: int, x: int) -> int:
        n = play.seat(i)._plex.n_actions[x]
        assert play.seat(i).advises == (self.wrong < self.k)
        told = None
        if self.wrong < self.k:
            told = play.seat(i).recommend(x)
            assert 0 <= told < n
        else:
            with pytest.raises(
                MediatorError, match=r"nothing is recommended|mediator is now silent"
            ):
                play.seat(i).recommend(x)
            self.refused += 1
        a = int(self.rng.integers(n))
        play.seat(i).act(x, a)
        self.wrong += told is not None and told != a
        assert play.seat(i).deviations == self.wrong
        return a


@examples(100)
@given(all_games(), seeds)
def test_nothing_is_recommended_after_the_last_deviation(game, seed):
    """And always something before it."""
    rng = np.random.default_rng(seed)
    policy = random_policy(game, seed)
    for k in (0, 1, 2, math.inf):
        mediator = Mediator(game, policy, k, seed)
        for _ in range(3):
            players = [Wayward(k, rng) for _ in range(game.n_players)]
            play_through(mediator, players, lambda p: int(rng.integers(len(p))))
            assert all(player.wrong <= k for player in players)
            assert k < math.inf or not any(player.refused for player in players)


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_who_always_disobeys_is_told_k_times(k):
    game = separation(k=2)  # three decisions of two actions
    policy = CorrelatedPolicy.from_device(game, library_device("separation:k=2"))
    told = []

    def contrary(play: Play, i: int, x: int) -> int:
        if not play.seat(i).advises:
            with pytest.raises(MediatorError):
                play.seat(i).recommend(x)
            play.seat(i).act(x, 0)
            return 0
        told.append(play.seat(i).recommend(x))
        play.seat(i).act(x, 1 - told[-1])
        return 1 - told[-1]

    play_through(Mediator(game, policy, k, 1), [contrary, delegating], lambda p: 0)
    assert len(told) == k


# --- drawing --------------------------------------------------------------------------------------


def key_of(uniform: float) -> bytes:
    """A key that draws this number, a multiple of 2 ** -53."""
    return (int(uniform * 2**53) << 11).to_bytes(8, "big") + bytes(24)


@pytest.mark.parametrize(
    "p", [[1.0], [0.25, 0.75], [0.0, 0.5, 0.0, 0.5, 0.0], [0.1] * 10, [1 / 3] * 3, [0.0, 1.0]]
)
def test_the_inverse_of_the_distribution_function(p):
    """Each index is drawn on exactly its own interval, and never if it has probability 0."""
    p = np.array(p)
    edges = np.concatenate([[0.0], np.cumsum(p)])
    last = math.nextafter(1.0, 0.0)
    for j in np.flatnonzero(p):
        for u in (edges[j] + 2**-53, (edges[j] + edges[j + 1]) / 2, edges[j + 1] - 2**-53):
            assert draw(p, key_of(min(u, last))) == j
    assert draw(p, key_of(last)) == np.flatnonzero(p)[-1]  # also if they sum to less


def test_all_players_are_told_the_same_component():
    """And each component as often as its weight says (Hoeffding)."""
    game = chicken()
    policy = CorrelatedPolicy.from_device(game, library_device("chicken"))
    mediator, plays = Mediator(game, policy, seed=1), 3000
    told = Counter(
        tuple(seat.recommend(0) for seat in mediator.begin().seats) for _ in range(plays)
    )
    bound = math.sqrt(math.log(2 / 1e-9) / (2 * plays))
    for weight, behaviors in policy.components():
        plan = tuple(int(behavior[2]) for behavior in behaviors)
        assert abs(told.pop(plan) / plays - weight) < bound < 0.1
    assert not told


def test_seeds():
    game = grown_game(3)
    policy = random_policy_of(game, 3, components=4, pure=0.0)

    def ends(seed: int | None, count: int = 60) -> list[int]:
        mediator = Mediator(game, policy, 1, seed)
        rng = np.random.default_rng(0)
        players = [delegating] * game.n_players
        return [
            play_through(mediator, players, lambda p: int(rng.choice(len(p), p=p)))[0]
            for _ in range(count)
        ]

    assert ends(5) == ends(5)
    assert ends(5) != ends(6)
    assert len(set(ends(5))) > 3  # plays of one mediator differ
    assert ends(None) != ends(None)


def test_plays_at_once_do_not_disturb_each_other():
    game = separation(k=2)
    policy = random_policy_of(game, 0, components=3, pure=0.0)

    def finish(play: Play) -> list[int]:
        plex = sequence_form(game).plexes[0]
        x, told = 0, []
        while True:
            told.append(following(play, 0, x))
            after = plex.children(int(plex.first_seq[x]) + told[-1])
            if not after:
                return told
            x = after[0]

    mediator = Mediator(game, policy, 1, seed=9)
    one_by_one = [finish(mediator.begin()) for _ in range(20)]
    mediator = Mediator(game, policy, 1, seed=9)
    plays = [mediator.begin() for _ in range(20)]
    assert [finish(play) for play in reversed(plays)] == one_by_one[::-1]
    assert len({tuple(told) for told in one_by_one}) > 1


def test_a_long_run_with_real_draws():
    """The best deviation of the separation earns 1 where following earns 1/2 (Hoeffding)."""
    game = separation(k=1)
    policy = CorrelatedPolicy.from_device(game, library_device("separation:k=1"))
    witness = certify(game, policy, 2)[2].witnesses[0].modification
    payoffs = {z.node: z.payoffs[0] for z in reference.terminals(game)}
    worst, best = min(payoffs.values()), max(payoffs.values())
    plays, failure_prob = 1500, 1e-9
    bound = (best - worst) * math.sqrt(math.log(2 / failure_prob) / (2 * plays))
    assert bound < 0.25  # so that 1 and 1/2 are told apart
    mediator = Mediator(game, policy, 2, seed=0)
    rng = np.random.default_rng(1)
    for player, exact in ((lambda: Modified(witness), 1.0), (lambda: following, 0.5)):
        earned = [
            payoffs[
                play_through(
                    mediator, [player(), delegating], lambda p: int(rng.choice(len(p), p=p))
                )[0]
            ]
            for _ in range(plays)
        ]
        assert abs(np.mean(earned) - exact) < bound


# --- what is refused ------------------------------------------------------------------------------


@pytest.fixture
def mixture() -> CorrelatedPolicy:
    return random_policy_of(kuhn(), 1, components=2, pure=0.0)


def begin(mixture: CorrelatedPolicy, k: float = 1) -> Play:
    return Mediator(mixture.game, mixture, k, seed=0).begin()


def after_pass(game: Game) -> tuple[int, int, int]:
    """An infoset of Kuhn's first player, the one after she passed there, and another first one."""
    x = 0
    y = next(y for y in range(game.n_infosets[0]) if game.parent_infoset[0][y] == x)
    return x, y, 1


def test_only_where_she_can_be(mixture):
    x, y, elsewhere = after_pass(mixture.game)
    play = begin(mixture, math.inf)
    seat = play.seat(0)
    for request in (seat.recommend, lambda x: seat.act(x, 0)):
        with pytest.raises(MediatorError, match=r"does not follow .* of which there are none yet"):
            request(y)
    seat.recommend(x)
    for request in (seat.recommend, lambda x: seat.act(x, 0)):
        with pytest.raises(MediatorError, match=r"cannot be at .*: they are at .* not acted there"):
            request(elsewhere)
    back = int(mixture.game.parent_action[0][y])
    play.seat(0).act(x, 1 - back)
    label = mixture.game.infoset_labels[0][x]
    with pytest.raises(MediatorError, match=rf"does not follow .* at '{label}'"):
        play.seat(0).recommend(y)
    play = begin(mixture, math.inf)
    play.seat(0).act(x, back)
    with pytest.raises(MediatorError, match="does not follow"):
        play.seat(0).recommend(elsewhere)
    assert play.seat(0).recommend(y) in (0, 1)


def test_every_request_may_be_repeated(mixture):
    x, y, _ = after_pass(mixture.game)
    back = int(mixture.game.parent_action[0][y])
    for seed in range(10):
        seat = Mediator(mixture.game, mixture, math.inf, seed).begin().seat(0)
        told = [seat.recommend(x) for _ in range(3)]
        seat.act(x, back)
        seat.act(x, back)
        told += [seat.recommend(x) for _ in range(3)]
        assert len(set(told)) == 1
        assert seat.deviations == (told[0] != back)
        with pytest.raises(MediatorError, match="player 1 has already played"):
            seat.act(x, 1 - back)
        assert len(seat.moves) == 1
        assert seat.recommend(y) == seat.recommend(y)


def test_after_the_last_deviation_earlier_answers_can_still_be_repeated(mixture):
    x, y, _ = after_pass(mixture.game)
    back = int(mixture.game.parent_action[0][y])
    seats = (Mediator(mixture.game, mixture, 1, seed).begin().seat(0) for seed in range(50))
    seat = next(seat for seat in seats if seat.recommend(x) != back)
    seat.act(x, back)
    assert seat.recommend(x) == 1 - back
    seat.act(y, 0)
    for silent in (y, y):
        with pytest.raises(MediatorError, match="the mediator is now silent"):
            seat.recommend(silent)


def test_others_infosets_are_as_unknown_as_those_that_do_not_exist(mixture):
    seat = begin(mixture).seat("1")
    messages = set()
    for label in (mixture.game.infoset_labels[1][0], "nowhere"):
        for request in (seat.recommend, lambda x: seat.act(x, "0")):
            with pytest.raises(ArgumentError) as refused:
                request(label)
            messages.add(str(refused.value).replace(repr(label), "it"))
    assert messages == {"player 1 has no infoset it"}


def test_silent_after_k_deviations(mixture):
    x, y, _ = after_pass(mixture.game)
    back = int(mixture.game.parent_action[0][y])
    for seed in range(20):
        play = Mediator(mixture.game, mixture, 1, seed).begin()
        told = play.seat(0).recommend(x)
        play.seat(0).act(x, back)
        assert play.seat(0).deviations == (told != back)
        if told == back:
            play.seat(0).recommend(y)
            continue
        assert not play.seat(0).advises
        with pytest.raises(
            MediatorError,
            match="player 1 has used all K = 1 deviations; the mediator is now silent",
        ):
            play.seat(0).recommend(y)
        play.seat(0).act(y, 0)  # she may act
        assert play.seat(0).deviations == 1
        assert play.seat(1).advises  # the other player is advised
        break
    else:
        pytest.fail("she was never told anything else")


def test_nothing_at_k_0(mixture):
    play = begin(mixture, 0)
    assert not play.seat(0).advises
    with pytest.raises(MediatorError, match="at K = 0 nothing is recommended"):
        play.seat(0).recommend(0)
    play.seat(0).act(0, 0)
    with pytest.raises(MediatorError, match="before their first decision"):
        play.seat(0).delegate()
    with pytest.raises(MediatorError, match="moves only for players who have delegated"):
        play.seat(0).move(after_pass(mixture.game)[1])


@pytest.mark.parametrize("k", [0, 1, math.inf])
def test_delegating_is_for_the_whole_play(mixture, k):
    play = begin(mixture, k)
    play.seat(0).delegate()
    assert not play.seat(0).advises
    for refused, message in (
        (
            lambda: play.seat(0).recommend(0),
            "has delegated their moves and gets no recommendations",
        ),
        (lambda: play.seat(0).act(0, 0), "cannot take them back"),
        (lambda: play.seat(0).decline(), "has delegated their moves"),
        (lambda: play.seat(0).move(after_pass(mixture.game)[1]), "does not follow"),
    ):
        with pytest.raises(MediatorError, match=message):
            refused()
    play.seat(0).move(0)
    with pytest.raises(MediatorError, match="cannot take them back"):
        play.seat(0).act(after_pass(mixture.game)[1], 0)
    with pytest.raises(MediatorError, match="moves only for players who have delegated"):
        play.seat(1).move(0)


def test_delegating_comes_first(mixture):
    play = begin(mixture)
    play.seat(0).recommend(0)
    with pytest.raises(MediatorError, match="before their first decision"):
        play.seat(0).delegate()
    play.seat(0).act(0, 0)
    with pytest.raises(MediatorError, match="before their first decision"):
        play.seat(0).delegate()


@checked
@given(grown_games(), seeds)
def test_refusals_change_nothing(game, seed):
    """A play in which everything wrong is tried before each move goes on as if it had not been."""
    policy = random_policy(game, seed)

    def nag(play: Play, i: int, x: int) -> None:
        plex = play.seat(i)._plex
        been = {y for y, _ in plex.history(x)}
        for y in set(range(plex.n_infosets)) - been:
            if plex.parent_seq[y] != plex.parent_seq[x]:
                with pytest.raises(MediatorError):
                    play.seat(i).recommend(y)
                with pytest.raises(MediatorError):
                    play.seat(i).act(y, 0)
        with pytest.raises(MediatorError):
            play.seat(i).move(x)
        with pytest.raises(ArgumentError):
            play.seat(i).act(x, int(plex.n_actions[x]))
        if plex.parent_seq[x]:
            with pytest.raises(MediatorError):
                play.seat(i).delegate()

    def told(nags: bool) -> list[tuple[int, int, int]]:
        rng = np.random.default_rng(seed)
        said = []

        def player(play: Play, i: int, x: int) -> int:
            if nags:
                nag(play, i, x)
            if play.seat(i).advises:
                said.append((i, x, play.seat(i).recommend(x)))
            a = int(rng.integers(game.n_actions[i][x]))
            play.seat(i).act(x, a)
            return a

        mediator = Mediator(game, policy, 1, seed)
        for _ in range(3):
            play_through(mediator, [player] * game.n_players, lambda p: int(rng.integers(len(p))))
        return said

    assert told(nags=True) == told(nags=False)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            lambda play: play.seat("3").recommend(0),
            "no player '3'; the players are '1', '2', or 0 to 1",
        ),
        (lambda play: play.seat(2).recommend(0), "no player 2;"),
        (lambda play: play.seat(-1).recommend(0), "no player -1;"),
        (lambda play: play.seat(0.5).recommend(0), r"no player 0\.5;"),
        (lambda play: play.seat(0).recommend(6), "player 1 has 6 infosets, numbered from 0; got 6"),
        (lambda play: play.seat(0).recommend(-1), "got -1"),
        (lambda play: play.seat(0).recommend(None), "got None"),
        (lambda play: play.seat(0).recommend("nowhere"), "player 1 has no infoset 'nowhere'"),
        (lambda play: play.seat(0).act(0, "fly"), "no action 'fly' at .*the actions are '"),
        (lambda play: play.seat(0).act(0, 2), "no action 2 at .* or 0 to 1 as numbers"),
        (lambda play: play.seat("x").delegate(), "no player 'x'"),
        (lambda play: play.seat("x").move(0), "no player 'x'"),
        (lambda play: play.seat("x").advises, "no player 'x'"),
        (lambda play: play.seat("x").deviations, "no player 'x'"),
    ],
)
def test_what_there_is_not(mixture, request_, message):
    with pytest.raises(ArgumentError, match=message):
        request_(begin(mixture))


def test_bad_mediators(mixture):
    with pytest.raises(MismatchError, match="the policy is for"):
        Mediator(chicken(), mixture)
    with pytest.raises(ArgumentError, match=r"must be an accord\.CorrelatedPolicy.*; got None"):
        Mediator(kuhn(), None)
    with pytest.raises(ArgumentError, match=r"try accord\.load_game\('kuhn'\)"):
        Mediator("kuhn", mixture)
    Mediator(kuhn(), mixture)  # an equal game
    for k in (-1, 1.5, math.nan, "efcce"):
        with pytest.raises(ArgumentError, match="k must be"):
            Mediator(mixture.game, mixture, k)
    for seed in (-1, 1.5, "x"):
        with pytest.raises(ArgumentError, match="seed must be"):
            Mediator(mixture.game, mixture, 1, seed)


def test_labels_are_answered_by_labels(mixture):
    game = mixture.game
    by_number, by_label = begin(mixture), begin(mixture)
    a = by_number.seat(np.int8(0)).recommend(np.int32(0))
    label = by_label.seat("1").recommend(game.infoset_labels[0][0])
    assert label == game.action_labels[0][0][a]
    by_label.seat("1").act(game.infoset_labels[0][0], label)
    by_number.seat(0).act(0, a)
    assert by_label.to_json() == by_number.to_json()
    by_label.seat("2").delegate()
    by_number.seat(1).delegate()
    moved = by_label.seat("2").move(game.infoset_labels[1][0])
    assert moved == game.action_labels[1][0][by_number.seat(1).move(np.int64(0))]


def test_repr(mixture):
    mediator = Mediator(mixture.game, mixture, 2)
    assert repr(mediator) == "Mediator(CorrelatedPolicy('kuhn', components=2), k=2)"


# --- looking back ---------------------------------------------------------------------------------


def alike(one: list[Move], other: list[Move]) -> bool:
    """Whether the same was told at the same infosets, as far as both go."""
    return all(m[:2] == n[:2] for m, n in zip(one, other, strict=False))


Then = Callable[[list[Move], int, int | None], int]


class Telling:
    """A player who, if she is told what ``moves`` say, makes all but the last of them; and what
    ``then(moves so far, infoset, recommendation or None)`` says from the last on."""

    def __init__(self, moves: list[Move], then: Then) -> None:
        self.moves, self.then = moves, then
        self.done: list[Move] = []

    def __call__(self, play: Play, i: int, x: int) -> int:
        told = play.seat(i).recommend(x) if play.seat(i).advises else None
        n = len(self.done)
        if not alike([*self.done, Move(x, told, 0)], self.moves):
            a = 0  # another story
        elif n < len(self.moves) - 1:
            a = self.moves[n].action
        else:
            a = self.then(self.done, x, told)
        play.seat(i).act(x, a)
        self.done.append(Move(x, told, a))
        return a


class Rest:
    """Makes the n-th move as ``moves`` say and goes on as phi says."""

    def __init__(self, moves: list[Move], phi: dict[Any, int]) -> None:
        self.moves, self.phi = moves, phi

    def __call__(self, done: list[Move], x: int, told: int | None) -> int:
        if len(done) == len(self.moves) - 1:
            return self.moves[-1].action
        b = tuple(m.told for m in done if m.told is not None)
        return self.phi[x, b] if told is None else self.phi[x, b, told]


def end_if_told(
    mediator: Mediator, i: int, moves: list[Move], then: Then, chance: Draw
) -> tuple[int, bool]:
    player = Telling(moves, then)
    end, _ = against_followers(mediator, i, player, chance)
    return end, len(player.done) >= len(moves) and alike(player.done, moves)


def expected_payoff(mediator: Mediator, i: int, moves: list[Move], then: Then) -> float:
    """Of player i, given that she is told what ``moves`` say; see :class:`Telling`."""
    payoffs = {z.node: z.payoffs[i] for z in reference.terminals(mediator.game)}
    found = law(partial(end_if_told, mediator, i, moves, then))
    here = {end: p for (end, told), p in found.items() if told}
    return sum(p * payoffs[end] for end, p in here.items()) / sum(here.values())


def some_moves(policy: CorrelatedPolicy, k: float, i: int, seed: int) -> list[Move]:
    """What player i is told and does in one play, at random."""
    game, rng = policy.game, np.random.default_rng(seed)
    moves: list[Move] = []

    def player(play: Play, i: int, x: int) -> int:
        told = play.seat(i).recommend(x) if play.seat(i).advises else None
        a = int(rng.integers(game.n_actions[i][x]))
        play.seat(i).act(x, a)
        moves.append(Move(x, told, a))
        return a

    mediator = Mediator(game, policy, k, seed)
    against_followers(mediator, i, player, lambda p: int(rng.choice(len(p), p=p)))
    return moves


@examples(15)
@given(grown_games(most=25), seeds)
def test_hindsight_is_what_could_be_expected(game, seed):
    policy = random_policy(game, seed)
    for i, plex in enumerate(sequence_form(game).plexes):
        for k in (0, 1, 2):
            hindsight, mediator = Hindsight(policy, i, k), Mediator(game, policy, k)
            gap = certify(game, policy, k)[k]
            best = policy.values()[i] + gap.player_gaps[i]
            assert hindsight.best == pytest.approx(best, abs=1e-9)
            best_phi = phi_as_reference(gap.witnesses[i].modification)
            any_phi = random_phi(RechistoryTree.build(plex, k), np.random.default_rng(seed))
            moves = some_moves(policy, k, i, seed)
            for n in range(1, len(moves) + 1):
                part = moves[:n]
                at_best = hindsight.deviating(part)
                found = expected_payoff(mediator, i, part, Rest(part, best_phi))
                assert at_best == pytest.approx(found, abs=1e-9)
                found = expected_payoff(mediator, i, part, Rest(part, phi_as_reference(any_phi)))
                assert found <= at_best + 1e-9
                if part[-1].told is None:
                    with pytest.raises(ArgumentError, match="nothing was told"):
                        hindsight.following(part)
                    continue
                followed = expected_payoff(mediator, i, part, lambda done, x, told: told)
                assert hindsight.following(part) == pytest.approx(followed, abs=1e-9)


def test_moves_that_cannot_be(mixture):
    x, y, _ = after_pass(mixture.game)
    back = int(mixture.game.parent_action[0][y])
    hindsight = Hindsight(mixture, 0, 1)
    for moves in (
        [Move(y, 0, 0)],  # not first
        [Move(x, None, 0)],  # something was told
        [Move(x, 1 - back, back), Move(y, 0, 0)],  # nothing was
    ):
        with pytest.raises(ArgumentError, match="cannot come up"):
            hindsight.deviating(moves)
    with pytest.raises(ArgumentError, match="at least one move"):
        hindsight.deviating([])
    device = CorrelatedPolicy.from_device(chicken(), library_device("chicken"))
    never = CorrelatedPolicy(device.game, np.ones(1), device.behavior[:1])
    told = int(never.behavior[0][1] == 0.0)
    assert Hindsight(never, 0, 1).following([Move(0, told, told)]) == never.values()[0]
    with pytest.raises(ArgumentError, match="probability 0"):
        Hindsight(never, 0, 1).following([Move(0, 1 - told, told)])
    with pytest.raises(BudgetError):
        Hindsight(mixture, 0, 1, budget=10)


# --- many plays -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_plays_end_where_the_policy_says(seed):
    game = grown_game(seed, most=60)
    policy = random_policy_of(game, seed, components=3, pure=0.3)
    rollout = obedient_plays(policy, 3 * PLAYS_PER_CALL + 5, seed=seed)
    exact = terminal_law(policy)
    ends = np.flatnonzero(game.player == TERMINAL)
    assert rollout.counts.sum() == rollout.plays == 3 * PLAYS_PER_CALL + 5
    bound = math.sqrt(math.log(2 * len(ends) / 1e-9) / (2 * rollout.plays))  # Hoeffding
    for end, count in zip(ends, rollout.counts, strict=True):
        assert abs(count / rollout.plays - exact.get(int(end), 0.0)) < bound
        assert count == 0 or int(end) in exact
    assert max(exact.values()) > 10 * bound


@pytest.mark.slow
def test_the_interval_is_students():
    from scipy import stats

    policy = random_policy_of(kuhn(), 1, components=3, pure=0.0)
    rollout = obedient_plays(policy, 40, seed=4)
    payoffs = np.array([z.payoffs for z in reference.terminals(policy.game)])
    sample = np.repeat(payoffs, rollout.counts, axis=0)
    assert len(sample) == 40
    assert rollout.mean == pytest.approx(sample.mean(axis=0))
    low, high = stats.t.interval(0.95, 39, sample.mean(axis=0), stats.sem(sample, axis=0))
    assert rollout.mean - rollout.margin == pytest.approx(low)
    assert rollout.mean + rollout.margin == pytest.approx(high)
    assert np.isnan(obedient_plays(policy, 1, seed=4).margin).all()


def test_rollouts_have_seeds():
    policy = random_policy_of(kuhn(), 1, components=3, pure=0.0)
    one, again, other = (obedient_plays(policy, 1000, seed=s).counts for s in (1, 1, 2))
    assert one.tolist() == again.tolist() != other.tolist()
    for plays in (0, -1, 1.5):
        with pytest.raises(ArgumentError, match="plays must be"):
            obedient_plays(policy, plays)
    for seed in (-1, "x"):
        with pytest.raises(ArgumentError, match="seed must be"):
            obedient_plays(policy, 10, seed)


def test_the_mediator_takes_a_result_and_its_k():
    found = accord.solve(kuhn(), 2, iterations=3)
    mediator = Mediator(found.game, found)
    assert mediator.policy is found.policy
    assert mediator.k == 2
    assert Mediator(found.game, found, k=1).k == 1
    assert Mediator(found.game, found.policy).k == 1
    other = accord.optimize(chicken(), "afce")
    with pytest.raises(ArgumentError, match="runs K-EFCE, and this result is of another notion"):
        Mediator(chicken(), other)
    assert Mediator(chicken(), other, k=1).k == Mediator(chicken(), other.policy).k == 1
    with pytest.raises(ArgumentError, match="or a result that has one"):
        Mediator(found.game, found.game)
