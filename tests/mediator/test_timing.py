"""When players can be asked without learning anything from the clock."""

from __future__ import annotations

import warnings
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import accord
from accord._arrays import CHANCE
from accord.game.library import chicken, kuhn, signalling
from accord.game.tree import Game
from accord.mediator.mediator import Mediator
from accord.mediator.referee import Referee
from accord.mediator.timing import TimingWarning, telling_calls, timing
from tests.reference import timing as reference
from tests.support.mediation import crossed, delayed, overtaken, substitutes
from tests.support.policies import all_games, grown_game, random_policy
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels


def test_moves_at_the_same_time_share_a_round() -> None:
    assert [rounds.tolist() for rounds in timing(chicken()).rounds] == [[0], [0]]
    three = accord.matrix_game([[[[0, 1], [1, 0]], [[1, 0], [0, 0]]]] * 3)
    assert [rounds.tolist() for rounds in timing(three).rounds] == [[0], [0], [0]]


def test_a_signal_comes_before_its_answer() -> None:
    found = timing(signalling())
    assert [rounds.tolist() for rounds in found.rounds] == [[0, 0], [1, 1]]
    assert found.exists
    assert found.warning is None
    assert found.n_rounds == 2
    assert repr(found) == "Timing(2 rounds, telling=0)"


def test_in_kuhn_poker_bets_take_turns() -> None:
    assert timing(kuhn()).n_rounds == 3


def test_a_game_without_a_timing() -> None:
    """The example of Jakobsen, Sorensen and Conitzer: nobody may know who is first."""
    found = timing(crossed(stop=True))
    assert not found.exists
    assert set(found.cycle) == {("Ann", "a"), ("Bob", "b")}
    assert "this game has no timing" in found.warning
    assert "'a' of player Ann" in found.warning
    assert reference.rounds(crossed(stop=True)) is None


def test_both_decide_anyway_so_both_can_be_asked_at_once() -> None:
    found = timing(crossed(stop=False))
    assert found.exists
    assert [rounds.tolist() for rounds in found.rounds] == [[0], [0]]
    assert found.warning is None


def test_a_waiting_time_that_tells() -> None:
    found = timing(delayed())
    assert found.exists
    assert found.telling == (("Bob", "b"),)
    assert "give all rounds the same length" in found.warning


def test_others_may_still_be_deciding_in_the_round_of_the_last_decision() -> None:
    found = timing(overtaken())
    assert [rounds.tolist() for rounds in found.rounds] == [[0], [0, 1]]
    assert found.telling == (("Bob", "again"),)


def test_waiting_for_somebody_else_tells() -> None:
    assert timing(substitutes()).telling == (("Bob", "b"),)


def test_calls_for_all_to_see() -> None:
    """Bob and Ann are asked at once, but at one terminal Bob sees that Ann is called, or not."""
    game = overtaken()
    assert telling_calls(game, [0, 1]) == (("Bob", "first"),)
    assert telling_calls(game, [1, 0]) == (("Bob", "again"),)
    assert telling_calls(game, [1]) == ()
    assert telling_calls(substitutes(), [0, 1]) == (("Bob", "b"),)
    assert telling_calls(kuhn(), [0, 1]) == ()
    assert telling_calls(crossed(stop=True), [0, 1]) == ()  # has no rounds


def calls(referee: Referee, path: list[int]) -> list[tuple[int, int, int]]:
    """The (round, player, infoset) of everybody whom the referee asks in a play."""
    game, play = referee.mediator.game, referee.begin()
    taken = [int(game.action[node]) for node in path[1:]]
    chance = [a for node, a in zip(path, taken, strict=False) if game.player[node] == CHANCE]
    moves = {reference.place(game, node): a for node, a in zip(path, taken, strict=False)}
    found: list[tuple[int, int, int]] = []
    while not play.is_over:
        if play.chance is not None:
            play.enter(chance.pop(0))
            continue
        now, asked = play.round, [(s._i, s.place) for s in play.seats if s.place is not None]
        for i, x in asked:
            found.append((now, i, x))
            play.seats[i].act(x, moves[i, x])
    assert play._node == path[-1]
    return found


@examples(60)
@given(all_games(), st.data())
def test_what_the_referee_lets_players_see(game: Game, data: st.DataObject) -> None:
    """In every play of the game: who is asked when, and who is called to a terminal in turn."""
    found = timing(game)
    if not found.exists:
        return
    order = data.draw(st.permutations(range(game.n_players)))
    people = order[: data.draw(st.integers(1, game.n_players))]
    seen: dict[tuple[int, int], set[Any]] = defaultdict(set)
    heard: dict[tuple[int, int], set[Any]] = defaultdict(set)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TimingWarning)
        referee = Referee(Mediator(game, random_policy(game, 1, components=1)), enter_chance=True)
    for path in reference.paths(game):
        asked = calls(referee, path)
        for now, i, x in asked:
            since = max((r for r, j, _ in asked if j == i and r < now), default=0)
            seen[i, x].add(frozenset((r, j) for r, j, _ in asked if j != i and since <= r < now))
        turns = sorted((r, people.index(i), x) for r, i, x in asked if i in people)
        for n, (_, i, x) in enumerate(turns):
            own = max((m for m in range(n) if turns[m][1] == i), default=-1)
            heard[people[i], x].add(tuple((r, j) for r, j, _ in turns[own + 1 : n]))
    for places, kinds in ((found.telling, seen), (telling_calls(game, people), heard)):
        telling = {place for place, different in kinds.items() if len(different) > 1}
        labels, infosets = game.player_labels, game.infoset_labels
        assert set(places) == {(labels[i], infosets[i][x]) for i, x in telling}


@examples(100)
@given(all_games())
def test_rounds_are_longest_paths(game: Game) -> None:
    found, expected = timing(game), reference.rounds(game)
    assert found.exists == (expected is not None)
    if expected is None:
        labels = game.player_labels
        before = {
            (labels[i], game.infoset_labels[i][x]): {
                (labels[j], game.infoset_labels[j][y]) for j, y in others
            }
            for (i, x), others in reference.orders(game).items()
        }
        for one, other in zip(found.cycle, found.cycle[1:] + found.cycle[:1], strict=True):
            assert one in before[other]
        return
    for (i, x), when in expected.items():
        assert found.rounds[i][x] == when
    telling = {
        (game.player_labels[i], game.infoset_labels[i][x]) for i, x in reference.telling(game)
    }
    assert set(found.telling) == telling


def test_random_games_have_all_kinds() -> None:
    """Otherwise the test above would show little."""
    found = [timing(grown_game(seed)) for seed in range(60)]
    assert {one.exists for one in found} == {True, False}
    assert any(one.telling for one in found)
