"""When players can be asked without learning anything from the clock."""

from __future__ import annotations

import pytest
from hypothesis import given

import accord
from accord.game.library import chicken, kuhn, signalling
from accord.game.tree import Game
from accord.mediator.timing import timing
from tests.reference import timing as reference
from tests.support.mediation import crossed, delayed
from tests.support.policies import all_games, grown_game
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
    assert "no timing of this game hides everything" in found.warning
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
