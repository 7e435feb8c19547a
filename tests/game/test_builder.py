"""Games written by hand, and the builder's messages about mistakes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from accord._arrays import CHANCE, TERMINAL
from accord.errors import GameError, ImperfectRecallError
from accord.game.builder import GameBuilder


def signalling() -> GameBuilder:
    """A game that lacks only its payoffs."""
    b = GameBuilder("signalling", players=["sender", "receiver"])
    b.chance({"good": Fraction(1, 4), "bad": 0.75})
    b.move("good", player="sender", infoset="G", actions="X Y")
    b.move("bad", player="sender", infoset="B", actions="X Y")
    b.move("good X", "bad X", player="receiver", infoset="saw X", actions="hire refuse")
    b.move("good Y", "bad Y", player="receiver", infoset="saw Y", actions=["hire", "refuse"])
    return b


def pay(b: GameBuilder) -> GameBuilder:
    for n, kind in enumerate(("good", "bad")):
        for signal in "XY":
            b.payoff((kind, signal, "hire"), 1, n)
            b.payoff(f"{kind} {signal} refuse", 0, Fraction(1, 2))
    return b


def test_chances_and_payoffs_may_be_fractions():
    digests = set()
    for third in (1 / 3, "1/3", Fraction(1, 3)):
        b = GameBuilder(players=1)
        b.chance({"a": third, "b": third, "c": third})
        b.move("a", player=1, actions="l")
        b.payoff("a l", third)
        b.payoff("b", "-1/2")
        b.payoff("c", True)
        digests.add(b.build().digest)
    assert len(digests) == 1


def test_a_game_is_built_as_written():
    game = pay(signalling()).build()
    assert repr(game) == "Game('signalling', players=2, infosets=2/2, terminals=8)"
    assert game.player_labels == ("sender", "receiver")
    assert [tuple(labels) for labels in game.infoset_labels] == [("G", "B"), ("saw X", "saw Y")]
    assert set(game.action_labels[1]) == {("hire", "refuse")}
    payoffs = {
        game.history(int(node)): tuple(row)
        for node, row in zip(game.reward_node, game.reward.tolist(), strict=True)
    }
    assert payoffs["good", "Y", "hire"] == (1, 0)
    assert payoffs["bad", "X", "hire"] == (1, 1)
    assert payoffs["bad", "Y", "refuse"] == (0, 0.5)
    assert len(payoffs) == 8
    below = np.flatnonzero(game.parent == 0)
    assert game.player[0] == CHANCE
    assert dict(zip(map(game.history, below), game.chance_prob[below], strict=True)) == {
        ("good",): 0.25, ("bad",): 0.75,
    }  # fmt: skip


def test_an_infoset_may_be_filled_by_several_calls():
    b = GameBuilder(players=2)
    b.move(player="1", actions="l r")
    for move in ("l", "r"):
        b.move(move, player=2, infoset="blind", actions="l r")
        for answer in ("l", "r"):
            b.payoff([move, answer], move == answer, 0)
    game = b.build()
    assert game.n_infosets == (1, 1)
    assert np.count_nonzero(game.player == 1) == 2
    assert game.infoset_labels[0][0] == "root"


def test_labels_may_have_blanks():
    b = GameBuilder(players=["the player"])
    b.move(player="the player", actions=["go left", "go right"])
    b.move(("go left",), player="the player", actions=["go on"])
    b.payoff(["go left", "go on"], 1)
    b.payoff(["go right"], 0)
    game = b.build()
    assert game.infoset_labels[0] == ("root", "go left")
    assert game.action_labels[0] == (("go left", "go right"), ("go on",))


def test_rewards_add_up_along_the_path():
    b = GameBuilder(players=1)
    b.move(player=1, actions="a b")
    b.reward((), 1)
    b.reward("a", 10)
    b.reward("a", 10)
    b.payoff("a", 100)
    b.payoff("b", 200)
    game = b.build()
    assert dict(zip(game.reward_node.tolist(), game.reward[:, 0].tolist(), strict=True)) == {
        0: 1, 1: 120, 2: 200,
    }  # fmt: skip


def test_the_order_of_statements_does_not_matter_to_infosets():
    b = GameBuilder(players=1)
    b.move(player=1, infoset="top", actions="a b")
    b.move("b", player=1, infoset="second", actions="c")
    b.move("a", player=1, infoset="first", actions="c")
    b.payoff("b c", 0)
    b.payoff("a c", 0)
    game = b.build()
    assert tuple(game.infoset_labels[0]) == ("top", "first", "second")
    assert np.count_nonzero(game.player == TERMINAL) == 2


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (lambda b: b.move("good", player="sender", actions="X"),
         "a game is a tree, .* history 'good' already has a move of player sender and "
         "cannot also have a move"),
        (lambda b: b.chance({"x": 1}), "the root already has a chance move and cannot"),
        (lambda b: (b.payoff("good X hire", 0, 0), b.payoff("good X hire", 0, 0)),
         "history 'good X hire' already has a payoff and cannot also have a payoff"),
        (lambda b: (b.payoff("good X hire", 0, 0), b.move("good X hire", player="sender",
                                                          actions="x")),
         "already has a payoff and cannot also have a move"),
        (lambda b: b.payoff("good X", 1, 1), "already has a move of player receiver and"),
        (lambda b: b.move("bad X hire", "bad X hire", player="sender", actions="x"),
         "history 'bad X hire' already has this move and cannot also have a move"),
        (lambda b: b.move("good Z", player="sender", actions="x"),
         "there is no history 'good Z': history 'good' continues with X, Y, not with 'Z'"),
        (lambda b: b.payoff("ugly X hire", 0, 0), "root continues with good, bad, not with 'ugly'"),
        (lambda b: b.move("good X hire now", player="sender", actions="x"),
         "history 'good X hire' has no move yet; add a move there first"),
        (lambda b: (b.payoff("good X hire", 0, 0), b.reward("good X hire now", 0, 0)),
         "history 'good X hire' has a payoff, so the game ends there"),
        (lambda b: b.move("good X hire", player="sendr", actions="x"),
         "there is no player 'sendr'; the players are sender, receiver"),
        (lambda b: b.move("good X hire", player="sender", infoset="G", actions="Y X"),
         "same actions in the same order; infoset 'G' of player sender already has X, Y; got Y, X"),
        (lambda b: b.move("good X hire", player="sender", infoset="N", actions=""),
         "actions of infoset 'N' of player sender must be at least one, all different; got none"),
        (lambda b: b.move("good X hire", player="sender", actions="x y x"),
         "actions of infoset 'good X hire' of player sender must be .* different; got x, y, x"),
        (lambda b: b.chance({}, "good X hire"), "outcomes of the chance move .* got none"),
        (lambda b: b.chance({"a": 0.5, "b": 0.4}, "good X hire"),
         "probabilities of the chance move after history 'good X hire' must sum to one; got 0.9"),
        (lambda b: b.chance({"a": 1, "b": 0}, "good X hire"), "positive probability; 'b' has 0"),
        (lambda b: b.chance({"a": 1.5, "b": -0.5}, "good X hire"), "'b' has -0.5"),
        (lambda b: b.chance({"a": float("nan")}, "good X hire"), "'a' has nan"),
        (lambda b: b.chance({"a": "one"}, "good X hire"), "must have numbers; got one"),
        (lambda b: b.payoff("good X hire", 1),
         "must pay one finite number to each of the players sender, receiver; got 1"),
        (lambda b: b.payoff("good X hire", 1, 2, 3), "sender, receiver; got 1.0, 2.0, 3.0"),
        (lambda b: b.payoff("good X hire", 1, float("inf")), "one finite number .* got 1.0, inf"),
        (lambda b: b.payoff("good X hire", 1, None), "hire' must have numbers; got 1, None"),
        (lambda b: b.reward("good", 1), "history 'good' must pay one finite number to each"),
    ],
)  # fmt: skip
def test_mistakes_are_named_where_they_are_made(statement, message):
    with pytest.raises(GameError, match=message):
        statement(signalling())


def test_a_refused_statement_leaves_the_game_as_it_was():
    b = signalling()
    for actions in ("", "x x"):
        with pytest.raises(GameError):
            b.move("good X hire", player="sender", infoset="new", actions=actions)
    with pytest.raises(GameError):
        b.payoff("good X hire", 1)
    assert pay(b).build().digest == pay(signalling()).build().digest


def test_every_history_ends():
    b = signalling()
    with pytest.raises(GameError, match=r"history 'good X hire' \(and 7 more\) does neither"):
        b.build()
    with pytest.raises(GameError, match="end with a payoff; the root does neither"):
        GameBuilder().build()


def test_players_have_different_names():
    for players in (0, [], "a a"):
        with pytest.raises(GameError, match="at least one player, all with different names"):
            GameBuilder(players=players)


def test_perfect_recall_is_checked():
    b = GameBuilder(players=["Ann"])
    b.move(player="Ann", infoset="first", actions="l r")
    b.move("l", "r", player="Ann", infoset="second", actions="u d")
    for first in "lr":
        for second in "ud":
            b.payoff(f"{first} {second}", 0)
    with pytest.raises(ImperfectRecallError, match="player Ann forgets at infoset 'second'"):
        b.build()
