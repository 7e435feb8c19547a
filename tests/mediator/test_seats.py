"""What a seat knows, what it leaves in files and logs, and that order does not matter."""

from __future__ import annotations

import copy
import gc
import json
import logging
import math
import pickle
import random
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import AccordError, ArgumentError, MismatchError
from accord.game.library import chicken, kuhn, library_device, signalling
from accord.game.tree import Game
from accord.mediator.mediator import Mediator, Play
from accord.mediator.seat import Seat
from accord.mediator.streams import derive, new_key
from tests.support.mediation import mutants
from tests.support.policies import all_games, grown_games
from tests.support.policies import random_policy as random_policy_of
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels

seeds = st.integers(0, 2**32 - 1)


def mixed(game: Game, seed: int = 1) -> CorrelatedPolicy:
    return random_policy_of(game, seed, components=3, pure=0.0)


def reachable(start: object) -> list[Any]:
    """Everything that can be found from an object, apart from code."""
    found, todo = {id(start): start}, [start]
    code = (ModuleType, type, FunctionType, BuiltinFunctionType, MethodType)
    while todo:
        thing = todo.pop()
        more = list(gc.get_referents(thing))
        if isinstance(thing, np.ndarray) and thing.base is not None:
            more.append(thing.base)
        for other in more:
            if not isinstance(other, code) and id(other) not in found:
                found[id(other)] = other
                todo.append(other)
    return list(found.values())


def test_a_seat_knows_nothing_else() -> None:
    game = signalling()
    policy = CorrelatedPolicy.from_device(game, library_device("signalling"))
    play = Mediator(game, policy, 1, seed=1).begin(names={"student": "Ann", "professor": "Bob"})
    own, other = play.seats
    own.recommend("good")
    found = reachable(own)
    assert not any(isinstance(one, (Mediator, Play, CorrelatedPolicy, Game)) for one in found)
    assert [one for one in found if isinstance(one, Seat)] == [own]
    size = own._plex.n_sequences
    floats = [one for one in found if isinstance(one, np.ndarray) and one.dtype == float]
    assert [one.size for one in floats] == [size]  # no part of another plan
    hidden = {play._key, other._key, "Bob", "professor", "accept", "refuse"}
    assert hidden & set(game.action_labels[1][0])
    assert not [one for one in found if isinstance(one, (str, bytes)) and one in hidden]


def test_keys_tell_nothing_about_each_other() -> None:
    key = new_key(1)
    assert new_key(1) == key != new_key(2)
    assert new_key() != new_key()
    places = [derive(key, place) for place in ("player 0", "player 1", "infoset 0")]
    assert len({key, *places}) == 4
    assert {len(one) for one in places} == {32}


def answers(play: Play, order: random.Random) -> dict[tuple[int, int], int]:
    """What everybody is told if all follow; ``order`` says who asks next, and how often."""
    told: dict[tuple[int, int], int] = {}
    ready = {(i, x) for i, seat in enumerate(play.seats) for x in seat._plex.children(0)}
    while ready:
        i, x = order.choice(sorted(ready))
        seat = play.seats[i]
        for _ in range(order.randint(1, 2)):
            told[i, x] = seat.recommend(x)
        seat.act(x, told[i, x])
        siblings = set(seat._plex.children(int(seat._plex.parent_seq[x])))
        ready -= {(i, y) for y in siblings}
        after = seat._plex.children(int(seat._plex.first_seq[x]) + told[i, x])
        ready |= {(i, y) for y in after}
    return told


@examples(50)
@given(grown_games(), seeds)
def test_who_asks_first_changes_nothing(game: Game, seed: int) -> None:
    mediator = Mediator(game, mixed(game, seed), math.inf, seed)
    state = mediator.begin().to_json()
    told: dict[tuple[int, int], int] = {}
    for order in range(6):
        for place, action in answers(mediator.resume(state), random.Random(order)).items():
            assert told.setdefault(place, action) == action


@examples(50)
@given(all_games(), seeds)
def test_a_play_is_json_at_any_moment(game: Game, seed: int) -> None:
    """Saved and resumed after every request, it is the play that was never saved."""
    policy, rng = mixed(game, seed), np.random.default_rng(seed)
    for k in (0, 1, math.inf):
        mediator = Mediator(game, policy, k, seed)
        play = mediator.begin("a play", {game.player_labels[0]: "Ann"})
        again = mediator.resume(play.to_json())
        for i, seat in enumerate(play.seats):
            if rng.random() < 0.3:
                seat.delegate()
                again.seats[i].delegate()
            ready = list(seat._plex.children(0))
            while ready:
                x = int(rng.choice(ready))
                a = int(rng.integers(seat._plex.n_actions[x]))
                one, other = (request(p.seats[i], x, a) for p in (play, again))
                assert one == other
                again = mediator.resume(json.loads(json.dumps(again.to_json())))
                assert again.to_json() == play.to_json()
                assert again.seats[i].moves == seat.moves
                last = seat.moves[-1]
                ready = list(seat._plex.children(int(seat._plex.first_seq[x]) + last.action))
        assert again.id == "a play"
        assert again.seats[0].name == "Ann"


def request(seat: Seat, x: int, a: int) -> tuple[int | None, int]:
    if seat.delegated:
        return None, seat.move(x)
    told = seat.recommend(x) if seat.advises else None
    seat.act(x, a)
    return told, a


def test_an_answer_can_be_asked_for_again_after_a_restart() -> None:
    game = kuhn()
    policy = mixed(game)
    for seed in range(20):
        play = Mediator(game, policy, 1, seed).begin()
        told = play.seat(0).recommend(0)
        elsewhere = Mediator(game, policy, 1)  # another process, with another key of its own
        again = elsewhere.resume(json.loads(json.dumps(play.to_json())))
        assert again.seat(0).recommend(0) == told


def test_what_a_saved_play_says() -> None:
    game = chicken()
    policy = CorrelatedPolicy.from_device(game, library_device("chicken"))
    play = Mediator(game, policy, 1, seed=1).begin("room 4", {"row": "Ann"})
    play.seat("row").recommend("row")
    play.seat("col").act("col", "dare")
    state = play.to_json()
    assert state.keys() == {"format", "version", "game", "policy", "k", "id", "key", "seats"}
    assert state["seats"] == [
        {"player": "row", "name": "Ann", "delegated": None, "at": 0, "moves": []},
        {"player": "col", "name": "col", "delegated": None, "at": None, "moves": [[0, 0]]},
    ]


def test_plays_of_other_games_policies_and_k_are_refused() -> None:
    game = kuhn()
    one, other = mixed(game, 1), mixed(game, 2)
    state = Mediator(game, one, 1).begin().to_json()
    Mediator(kuhn(), one, 1).resume(state)
    for mediator, what in (
        (Mediator(game, other, 1), "policy"),
        (Mediator(game, one, 2), "K"),
        (Mediator(chicken(), mixed(chicken()), 1), "game"),
    ):
        with pytest.raises(MismatchError, match=f"another {what};"):
            mediator.resume(state)


@pytest.mark.parametrize("k", [0, 1, math.inf])
def test_damaged_states(k: float) -> None:
    """Each is refused in our words, or it is a play after all."""
    game = kuhn()
    mediator = Mediator(game, mixed(game), k, seed=1)
    play = mediator.begin()
    play.seat(0).act(0, 0)
    if k:
        play.seat(1).recommend(1)
    for damaged in mutants(play.to_json()):
        try:
            again = mediator.resume(damaged)
        except AccordError as error:
            assert len(str(error)) < 400
        else:
            assert_written(again.to_json()["seats"])
            for i, seat in enumerate(again.seats):
                x = seat.at if seat.at is not None else seat._plex.children(0)[0]
                if not seat.moves:
                    request(seat, int(x), i)


def assert_written(seats: list[dict[str, Any]]) -> None:
    """Every value has the type that it always has."""
    for seat in seats:
        assert type(seat["at"]) in (int, type(None))
        assert type(seat["delegated"]) in (bool, type(None))
        assert all(type(number) is int for move in seat["moves"] for number in move)


@pytest.mark.parametrize(
    "wrong",
    [
        {"at": 0, "delegated": True},  # who delegates gets no recommendations
        {"at": 0, "moves": [[0, 0]]},  # where the player has acted
        {"at": 4, "moves": []},  # cannot be next
        {"moves": [[0, True]]},
        {"moves": [["0", 0]]},
        {"moves": {}},
        {"delegated": 0},
    ],
)
def test_impossible_states(wrong: dict[str, Any]) -> None:
    mediator = Mediator(kuhn(), mixed(kuhn()), 1, seed=1)
    state = mediator.begin().to_json()
    state["seats"][0] |= wrong
    with pytest.raises(ArgumentError, match="the state of player 1 in play '1' is damaged"):
        mediator.resume(state)


def test_nobody_was_told_anything_after_the_last_deviation() -> None:
    mediator = Mediator(kuhn(), mixed(kuhn()), 1, seed=1)
    play = mediator.begin()
    seat = play.seat(0)
    seat.act(0, 1 - seat.recommend(0))
    state = play.to_json()
    after = [int(x) for x in seat._plex.children(int(seat._plex.first_seq[0]) + 0)]
    state["seats"][0]["at"] = after[0]
    with pytest.raises(ArgumentError, match="is damaged"):
        mediator.resume(state)


@pytest.mark.parametrize("state", [None, 3, "x", [], {}, {"format": "accord-policy"}])
def test_what_is_no_play(state: Any) -> None:
    with pytest.raises(ArgumentError, match=r"must come from Play\.to_json"):
        Mediator(kuhn(), mixed(kuhn())).resume(state)


def test_later_versions_are_refused() -> None:
    mediator = Mediator(kuhn(), mixed(kuhn()))
    state = mediator.begin().to_json() | {"version": 2}
    with pytest.raises(ArgumentError, match=r"version 2 of the format; this .* reads version 1"):
        mediator.resume(state)


def test_pickles_are_refused() -> None:
    play = Mediator(kuhn(), mixed(kuhn())).begin()
    for secret in (play, play.seat(0)):
        for copier in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="cannot be pickled, because it holds"):
                copier(secret)


def test_ids_and_names() -> None:
    mediator = Mediator(chicken(), mixed(chicken()))
    assert [mediator.begin().id for _ in range(3)] == ["1", "2", "3"]
    with pytest.raises(ArgumentError, match="there is no player 'Ann'"):
        mediator.begin(names={"Ann": "row"})
    with pytest.raises(ArgumentError, match="name of a player must be text; got 3"):
        mediator.begin(names={"row": 3})
    assert mediator.begin(names={1: "Bob"}).seat("col").name == "Bob"
    with pytest.raises(ArgumentError, match=r"names must map players to names; got \['Ann'\]"):
        mediator.begin(names=["Ann"])
    with pytest.raises(ArgumentError, match="id of a play must be text; got 3"):
        mediator.begin(3)
    assert repr(mediator.begin("x")) == "Play('x')"
    assert repr(mediator.begin("x").seat("row")) == "Seat('row', play='x')"


def test_one_line_in_the_log_per_move(caplog: pytest.LogCaptureFixture) -> None:
    game = kuhn()
    play = Mediator(game, mixed(game), 1, seed=1).begin("room 4")
    with caplog.at_level(logging.INFO, "accord.mediator"):
        for _ in range(2):
            play.seat(0).recommend(0)
        for _ in range(2):
            play.seat(0).act(0, 1)
        play.seat(1).delegate()
        play.seat(1).move(0)
    assert caplog.messages == [
        "play room 4: player 1 moved, decision 1",
        "play room 4: player 2 moved, decision 1",
    ]


def test_long_labels_are_shortened_in_messages() -> None:
    seat = Mediator(kuhn(), mixed(kuhn())).begin().seat(0)
    for ask in (seat.recommend, lambda x: seat.act(0, x)):
        with pytest.raises(ArgumentError) as refused:
            ask("\x1b[2J" + "x" * 10**6)
        assert len(str(refused.value)) < 400
        assert "\x1b" not in str(refused.value)
