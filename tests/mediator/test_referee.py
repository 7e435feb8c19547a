"""The referee: nobody can lie to the mediator, and rounds do not tell who has answered."""

from __future__ import annotations

import itertools
import json
import math
import pickle
import random
import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import AccordError, ArgumentError, MediatorError
from accord.game.library import chicken, kuhn, library_device, separation, signalling
from accord.game.tree import Game
from accord.mediator.mediator import Mediator
from accord.mediator.referee import Referee, RefereedPlay
from accord.mediator.timing import TimingWarning, timing
from tests import reference
from tests.support.laws import Draw, assert_same, law, terminal_law
from tests.support.mediation import crossed, delayed, mutants
from tests.support.policies import all_games, grown_games
from tests.support.policies import random_policy as random_policy_of
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels

seeds = st.integers(0, 2**32 - 1)


def referee_of(game: Game, policy: CorrelatedPolicy, k: float = 1, **options: Any) -> Referee:
    seed = options.pop("seed", 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TimingWarning)
        return Referee(Mediator(game, policy, k, seed), **options)


def device_referee(name: str, game: Game, k: float = 1, **options: Any) -> Referee:
    policy = CorrelatedPolicy.from_device(game, library_device(name))
    return referee_of(game, policy, k, **options)


def views(play: RefereedPlay) -> list[tuple[Any, ...]]:
    """All that each player can see."""
    return [
        (seat.infoset, seat.actions, seat.recommendation, seat.undecided, seat.moves)
        for seat in play.seats
    ]


# The truth


def follow_to_the_end(referee: Referee, draw: Draw) -> int:
    play = referee.begin()
    while not play.is_over:
        for seat in play.seats:
            if seat.infoset is not None:
                seat.follow()
    return play._node


@examples(25)
@given(grown_games(most=40), seeds)
def test_following_it_is_the_policy(game: Game, seed: int) -> None:
    policy = random_policy_of(game, seed, components=1 + seed % 3)
    for k in (1, math.inf):
        found = law(partial(follow_to_the_end, referee_of(game, policy, k)))
        assert_same(found, terminal_law(policy))


def test_nobody_can_claim_to_be_elsewhere() -> None:
    """A bad student who says they are good is refused; alone, the mediator would believe it."""
    for seed in range(20):
        play = device_referee("signalling", signalling(), seed=seed).begin()
        student, professor = play.seats
        lie = {"good": "bad", "bad": "good"}[student.infoset]
        with pytest.raises(MediatorError, match=f"not asked to decide at '{lie}' now"):
            student.act(lie, 0)
        assert professor.infoset is None
        assert professor.recommendation is None
        with pytest.raises(MediatorError, match="not asked to decide at"):
            professor.act(0, 0)
        with pytest.raises(MediatorError, match="not asked to decide now"):
            professor.follow()
        student.act(student.infoset, student.recommendation)
        assert student.infoset is None
        assert professor.infoset is not None


def test_what_lying_is_worth_without_a_referee() -> None:
    """The mediator alone trusts the student, and a bad one who lies is always accepted."""
    game = signalling()
    policy = CorrelatedPolicy.from_device(game, library_device("signalling"))
    for seed in range(20):
        play = Mediator(game, policy, 1, seed).begin()
        signal = play.seat("student").recommend("good")  # the student is bad
        assert play.seat("professor").recommend(signal) == "accept"


# Rounds


def test_players_who_move_at_the_same_time_are_asked_at_once() -> None:
    referee = device_referee("chicken", chicken())
    state = referee.begin().to_json()
    ends = set()
    for order in itertools.permutations((0, 1)):
        play = referee.resume(state)
        before = views(play)
        assert play.waiting_for == ("row", "col")
        first, second = (play.seats[i] for i in order)
        first.act(first.infoset, first.recommendation)
        assert play.waiting_for == (second.player,)
        assert views(play)[order[1]] == before[order[1]]
        assert first.infoset is None
        second.act(second.infoset, second.recommendation)
        assert play.is_over
        ends.add(play.history)
    assert len(ends) == 1


@examples(60)
@given(all_games(), seeds)
def test_a_round_does_not_tell_who_has_answered(game: Game, seed: int) -> None:
    rng = random.Random(seed)
    referee = referee_of(game, random_policy_of(game, seed, components=2, pure=0.0), 1)
    rounds = timing(game)
    play, last = referee.begin(), -1
    while not play.is_over:
        asked = [seat for seat in play.seats if seat.infoset is not None]
        assert play.waiting_for == tuple(seat.player for seat in asked)
        if rounds.exists:
            assert play.round > last  # one round after the other, each at its time
            last = play.round
            for seat in asked:
                x = game.infoset_labels[seat._i].index(seat.infoset)
                assert rounds.rounds[seat._i][x] == last
        rng.shuffle(asked)
        for n, seat in enumerate(asked, 1):
            before = views(play)
            seat.act(seat.infoset, rng.randrange(len(seat.actions)))
            again = referee.resume(json.loads(json.dumps(play.to_json())))
            assert views(again) == views(play)
            assert (again.round, again.history) == (play.round, play.history)
            if n < len(asked) and rounds.exists:
                pairs = enumerate(zip(before, views(play), strict=True))
                changed = [i for i, (old, new) in pairs if old != new]
                assert changed == [seat._i]
    end = next(z for z in reference.terminals(game) if z.node == play._node)
    assert play.payoffs.tolist() == pytest.approx(list(end.payoffs))
    assert play.round is None


@examples(30)
@given(all_games(), seeds)
def test_the_order_of_answers_changes_nothing(game: Game, seed: int) -> None:
    """Whoever answers first, everybody is told the same and the play ends at the same place."""
    referee = referee_of(game, random_policy_of(game, seed, components=2, pure=0.0), 1)
    state, ends = referee.begin().to_json(), set()
    for order in range(4):
        play, rng = referee.resume(state), random.Random(order)
        while not play.is_over:
            asked = [seat for seat in play.seats if seat.infoset is not None]
            seat = rng.choice(asked)
            wanted = random.Random(f"{seed} {seat.player} {seat.infoset}").randrange(99)
            seat.act(seat.infoset, wanted % len(seat.actions))
        ends.add((play.history, tuple(seat.moves for seat in play.seats)))
    assert len(ends) == 1


def test_warnings_about_time() -> None:
    for game, words in (
        (crossed(stop=True), "this game has no timing"),
        (delayed(), "give all rounds the same length"),
    ):
        with pytest.warns(TimingWarning, match=words):
            Referee(Mediator(game, random_policy_of(game, 1, components=2)))


def test_games_without_a_timing_can_be_played() -> None:
    game = crossed(stop=True)
    for seed in range(10):
        referee = referee_of(game, random_policy_of(game, 1, components=2, pure=0.0), seed=seed)
        assert follow_to_the_end(referee, None) > 0


# Repeating


def test_double_clicks_and_late_answers() -> None:
    play = device_referee("separation:k=1", separation(k=1), math.inf).begin()
    seat = play.seat("1")
    play.seat("2").delegate()
    for _ in range(2):
        seat.act("start", "1")
    with pytest.raises(MediatorError, match="already played '1' at 'start'"):
        seat.act("start", "2")
    assert len(seat.moves) == 1


def test_absent_players_follow_and_are_silent_after_the_last_deviation() -> None:
    game = separation(k=2)
    policy = CorrelatedPolicy.from_device(game, library_device("separation:k=2"))
    chosen = set()
    for seed in range(40):
        play = Referee(Mediator(game, policy, 1, seed)).begin()
        state = play.to_json()
        seat = play.seat("1")
        told = seat.recommendation
        seat.follow()
        assert game.action_labels[0][0][seat.moves[0].action] == told
        play = Referee(Mediator(game, policy, 1)).resume(state)
        seat = play.seat("1")
        seat.act("start", "2" if told == "1" else "1")
        assert not seat.advises
        while seat.infoset is None:
            play.seat("2").follow()
        assert seat.recommendation is None
        seat.follow()
        assert seat.moves[1].told is None
        chosen.add(seat.moves[1].action)
    assert chosen == {0, 1}  # at random, not what was drawn for them


# K = 0


def test_at_k_0_all_decide_before_anybody_sees_anything() -> None:
    play = device_referee("signalling", signalling(), 0).begin()
    student, professor = play.seats
    assert play.undecided == ("student", "professor")
    assert play.history == ()  # not even chance has moved
    assert student.infoset is None
    with pytest.raises(MediatorError, match="not asked to decide"):
        student.act("good", 0)
    student.decline()
    assert student.infoset is None
    student.decline()
    with pytest.raises(MediatorError, match="only before their first decision"):
        student.delegate()
    professor.delegate()
    professor.delegate()
    assert student.infoset in ("good", "bad")
    assert student.recommendation is None
    student.act(student.infoset, 0)
    assert play.is_over
    assert len(professor.moves) == 1


@examples(25)
@given(grown_games(most=40), seeds)
def test_delegating_at_k_0_is_the_policy(game: Game, seed: int) -> None:
    policy = random_policy_of(game, seed, components=1 + seed % 3)
    referee = referee_of(game, policy, 0)

    def end(draw: Draw) -> int:
        play = referee.begin()
        for seat in play.seats:
            seat.delegate()
        assert play.is_over
        return play._node

    assert_same(law(end), terminal_law(policy))


# Chance


def test_chance_moves_can_be_entered() -> None:
    game = kuhn()
    referee = referee_of(game, random_policy_of(game, 1, components=2), enter_chance=True)
    play = referee.begin()
    assert play.waiting_for == ()
    outcomes = play.chance
    assert outcomes is not None
    with pytest.raises(ArgumentError, match="no outcome 'ace'; the outcomes are"):
        play.enter("ace")
    play.enter(outcomes[-1])
    while play.chance is not None:
        play = referee.resume(json.loads(json.dumps(play.to_json())))
        play.enter(0)
    assert play.history[0] == outcomes[-1]
    assert len(play.waiting_for) == 1
    with pytest.raises(MediatorError, match="no chance move is to be entered now"):
        play.enter(0)


def test_chance_is_drawn_by_its_law() -> None:
    """1,500 plays of signalling: half of the students are good (Hoeffding)."""
    referee, plays = device_referee("signalling", signalling(), seed=3), 1500
    good = sum(referee.begin().seat("student").infoset == "good" for _ in range(plays))
    assert abs(good / plays - 0.5) < math.sqrt(math.log(2 / 1e-9) / (2 * plays))


# Files


@pytest.mark.parametrize("enter_chance", [False, True])
def test_damaged_states(enter_chance: bool) -> None:
    """Each is refused in our words, or it is a play that can be played to its end."""
    game = kuhn()
    policy = random_policy_of(game, 1, components=2, pure=0.0)
    referee = referee_of(game, policy, enter_chance=enter_chance)
    play = referee.begin()
    while play.chance is not None:
        play.enter(1)
    play.seat(play.waiting_for[0]).follow()
    assert play.seat(play.waiting_for[0]).recommendation is not None
    for damaged in mutants(play.to_json()):
        try:
            again = referee.resume(damaged)
        except AccordError as error:
            assert len(str(error)) < 400
        else:
            json.dumps(again.to_json())
            while not again.is_over:
                if again.chance is not None:
                    again.enter(0)
                for player in again.waiting_for:
                    again.seat(player).follow()


def test_impossible_states_are_refused() -> None:
    game = signalling()
    referee = device_referee("signalling", game)
    play = referee.begin()
    state = play.to_json()
    wrong = {"good": 1, "bad": 0}[play.seat("student").infoset]
    state["play"]["seats"][0]["moves"] = [[wrong, 0]]
    with pytest.raises(ArgumentError, match="the state of the play is damaged"):
        referee.resume(state)
    state = play.to_json()
    state["play"]["seats"][1]["moves"] = [[0, 0]]  # before the student has moved
    with pytest.raises(ArgumentError, match="the state of the play is damaged"):
        referee.resume(state)
    state = play.to_json()
    state["play"]["seats"][0]["at"] = wrong
    with pytest.raises(ArgumentError, match="the state of the play is damaged"):
        referee.resume(state)
    with pytest.raises(ArgumentError, match="must come from RefereedPlay"):
        referee.resume(play._play.to_json())
    with pytest.raises(ArgumentError, match="version 2 of the format; this version"):
        referee.resume(play.to_json() | {"version": 2})
    with pytest.raises(ArgumentError, match=r"must be an accord\.Mediator; got 3"):
        Referee(3)


def test_refusals_say_nothing_of_the_state() -> None:
    referee = device_referee("chicken", chicken())
    state = referee.begin("room 4").to_json()
    for wrong in (state["play"], state | {"version": 2}, json.dumps(state), list(state)):
        with pytest.raises(ArgumentError) as refused:
            referee.resume(wrong)
        for secret in (state["play"]["key"], "moves", "delegated", "room 4"):
            assert secret[-8:] not in str(refused.value)


def test_pickles_are_refused() -> None:
    play = device_referee("chicken", chicken()).begin()
    for secret in (play, play.seat(0)):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(secret)
    assert repr(play) == "RefereedPlay('1')"
    assert repr(play.seat(0)) == "RefereedSeat('row', play='1')"


def test_payoffs_come_at_the_end() -> None:
    play = device_referee("chicken", chicken()).begin()
    assert play.payoffs is None
    for seat in play.seats:
        seat.act(seat.infoset, "yield")
    assert np.array_equal(play.payoffs, [6, 6])
    assert play.waiting_for == ()
    assert play.chance is None
