"""What a game is, what is refused, and how infosets are numbered."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from accord.errors import GameError, ImperfectRecallError
from accord.game.labels import NumberedActions, NumberedLabels
from accord.game.tree import CHANCE, NO_INFOSET, NO_NODE, TERMINAL, Game
from strategies import games

pytestmark = pytest.mark.kernels

# Chance (1/4, 3/4), then player 0 at an infoset of her own after each outcome, then terminals.
SMALL = {
    "n_players": 2,
    "player": [CHANCE, 0, 0, TERMINAL, TERMINAL, TERMINAL, TERMINAL],
    "parent": [NO_NODE, 0, 0, 1, 1, 2, 2],
    "action": [0, 0, 1, 0, 1, 0, 1],
    "infoset": [NO_INFOSET, 0, 1, 0, 0, 0, 0],
    "chance_prob": [1, 0.25, 0.75, 1, 1, 1, 1],
    "reward_node": [3, 4, 5, 6],
    "reward": [[1, 0], [0, 1], [2, 0], [0, 2]],
}


def build(**changes) -> Game:
    return Game.from_arrays(**{**SMALL, **changes})


def changed(key: str, place: int, value: float) -> dict[str, list[float]]:
    row = list(SMALL[key])
    row[place] = value
    return {key: row}


def test_a_game_keeps_what_it_was_given():
    game = build(name="small", player_labels=("a", "b"))
    assert repr(game) == "Game('small', players=2, infosets=2/0, terminals=4)"
    assert (game.n_players, game.n_nodes, game.n_terminals) == (2, 7, 4)
    assert game.player_labels == ("a", "b")
    assert game.chance_prob.tolist() == [1, 0.25, 0.75, 1, 1, 1, 1]
    assert game.reward.tolist() == SMALL["reward"]
    assert game.infoset_labels[0][1] == "1"
    assert game.action_labels[0][1] == ("0", "1")
    assert game.history(6) == ("1", "1")


def test_a_game_owns_its_arrays_and_cannot_be_changed():
    player = np.array(SMALL["player"], np.int8)
    parent = np.array(SMALL["parent"], np.int32)
    game = build(player=player, parent=parent)
    player[0], parent[1] = 0, 5
    assert game.player[0] == CHANCE
    assert game.parent[1] == 0
    for array in (game.player, game.parent, game.action, game.infoset, game.reward):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_histories_are_written_in_labels():
    game = build(
        infoset=[0, 1, 0, 0, 0, 0, 0],
        chance_labels=[("rain", "sun")],
        infoset_labels=[["dry", "wet"], []],
        action_labels=[[("stay", "go"), ("swim", "sink")], []],
    )
    assert [game.history(node) for node in (0, 2, 4, 5)] == [
        (), ("sun",), ("rain", "sink"), ("sun", "stay"),
    ]  # fmt: skip


def test_rewards_at_one_node_add_up_in_any_order():
    game = build(reward_node=[5, 0, 5], reward=[[1, 2], [3, 4], [10, 20]])
    assert game.reward_node.tolist() == [0, 5]
    assert game.reward.tolist() == [[3, 4], [11, 22]]


def test_a_game_may_pay_nothing():
    assert build(reward_node=[], reward=[]).reward.shape == (0, 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_players": 0}, "1 to 127 players; got 0"),
        ({"player_labels": ["a"]}, r"2 distinct names; got \('a',\)"),
        ({"player_labels": ["a", "a"]}, r"2 distinct names; got \('a', 'a'\)"),
        ({"player": []}, "a game must have 1 to 2147483646 nodes; got 0"),
        ({"player": [[-1] * 7]}, r"player must be 7 integers, one per node; got .* \(1, 7\)"),
        (changed("player", 3, 2), r"player 0\.\.1, CHANCE .* node 3 has 2"),
        (changed("player", 3, -3), "node 3 has -3"),
        (changed("player", 3, 254), "node 3 has 254"),  # -2 modulo 256
        ({"parent": [NO_NODE, 0]}, r"parent must be 7 integers, one per node; got int64 .* \(2,\)"),
        (changed("parent", 1, 0.5), "parent must be 7 integers, one per node; got float64"),
        (changed("parent", 0, 0), "node 0 must be the root, with parent -1; got 0"),
        (changed("parent", 2, NO_NODE), "one tree .* node 2 has parent -1"),
        (changed("parent", 2, 2), "every parent before its children; node 2 has parent 2"),
        (changed("parent", 2, 2**32), "parent must be 32-bit integers; got -1 to 4294967296"),
        (changed("action", 4, 0), r"numbered 0\.\.n-1, each once; node 1 has 2 children, and "
         "action 0 at node 4"),
        (changed("action", 4, 2), "action 2 at node 4 is out of range or taken twice"),
        (changed("action", 4, -1), "action -1 at node 4 is out of range"),
        (changed("player", 1, TERMINAL), "a terminal must have no children; node 1 has some"),
        (changed("player", 3, 0), "a decision node must have at least one child; node 3 has none"),
        (changed("player", 3, CHANCE), "a chance node must have at least one child; node 3"),
        (changed("chance_prob", 1, 0.0), "positive probability; the one from node 0 to node 1"),
        (changed("chance_prob", 1, -0.5), "node 1 has -0.5; leave out what cannot happen"),
        (changed("chance_prob", 2, np.nan), "node 2 has nan"),
        (changed("chance_prob", 2, np.inf), "node 2 has inf"),
        (changed("chance_prob", 2, 0.5), "sum to one; the 2 outcomes of node 0 sum to 0.75"),
        ({"chance_prob": ["1"] * 7}, r"chance_prob must be numbers of shape \(7,\); got <U1"),
        (changed("reward_node", 0, 7), r"rewards must be at nodes 0\.\.6; got node 7"),
        (changed("reward_node", 0, -1), "got node -1"),
        (changed("reward_node", 0, 3.5), "reward_node must be a row of integers; got float64"),
        ({"reward": [[1, 0], [0, 1], [2, 0], [0, np.nan]]}, "node 6 gives player 2 nan"),
        ({"reward": [1, 2, 3, 4]}, r"reward must be numbers of shape \(4, 2\); got int64 of .*4,"),
        (
            {"player": [CHANCE, TERMINAL], "parent": [-1, 0], "action": [0, 0], "infoset": [0, 0],
             "chance_prob": [1, 1], "reward_node": [], "reward": []},
            "at least one decision; every node is chance or terminal",
        ),
        (changed("infoset", 1, -1), "numbered 0 or more; node 1 of player 1 is in -1"),
        (changed("infoset", 2, 3), r"numbered 0\.\.3 without holes; no node is in 1"),
        (changed("infoset", 2, 2**30), "without holes; no node is in 1"),
        (changed("infoset", 0, 0), "row of chance_labels or -1; node 0 has 0 and there are 0 rows"),
        (
            {**changed("infoset", 0, 0), "chance_labels": [("x",)]},
            "chance node 0 has 2 outcomes but 1 labels",
        ),
        ({"infoset_labels": [["a", "b"]]}, "infoset_labels must have one entry per player, 2; got"),
        ({"infoset_labels": [["a"], []]}, "player 1 has 2 infosets but 1 infoset labels"),
        ({"infoset_labels": [["a", "a"], []]}, "player 1 has two infosets called 'a'"),
        ({"action_labels": [[("l", "r")], []]}, "player 1 has 2 infosets but action labels for 1"),
        (
            {"action_labels": [[("l", "r"), ("l",)], []]},
            r"infoset '1' of player 1 must have 2 distinct action labels; got \('l',\)",
        ),
        (
            {"action_labels": [[("l", "r"), ("l", "l")], []]},
            "must have 2 distinct action labels",
        ),
    ],
)  # fmt: skip
def test_what_is_no_game_is_refused(changes, message):
    with pytest.raises(GameError, match=message):
        build(**changes)


def test_the_nodes_of_an_infoset_have_the_same_actions():
    with pytest.raises(GameError, match="at infoset 'x' of player 1 one node has 1 and another"):
        build(
            player=[CHANCE, 0, 0, TERMINAL, TERMINAL, TERMINAL],
            parent=[NO_NODE, 0, 0, 1, 2, 2],
            action=[0, 0, 1, 0, 0, 1],
            infoset=[NO_INFOSET, 0, 0, 0, 0, 0],
            chance_prob=[1, 0.5, 0.5, 1, 1, 1],
            reward_node=[],
            reward=[],
            infoset_labels=[["x"], []],
        )


def path_of_one_player(infosets: list[int], **labels) -> Game:
    """Player 0 moves, then 0 again after each of her two actions."""
    return Game.from_arrays(
        n_players=1,
        player=[0, 0, 0, *[TERMINAL] * 4],
        parent=[NO_NODE, 0, 0, 1, 1, 2, 2],
        action=[0, 0, 1, 0, 1, 0, 1],
        infoset=[*infosets, 0, 0, 0, 0],
        chance_prob=[1] * 7,
        reward_node=[],
        reward=[],
        **labels,
    )


def test_a_player_remembers_what_she_did():
    with pytest.raises(ImperfectRecallError) as caught:
        path_of_one_player(
            [0, 1, 1],
            player_labels=["Ann"],
            infoset_labels=[["first", "second"]],
            action_labels=[[("l", "r"), ("u", "d")]],
        )
    error = caught.value
    assert (error.player, error.infoset) == ("Ann", "second")
    assert error.histories == ((("first", "l"),), (("first", "r"),))
    assert "'l' at 'first' and after 'r' at 'first'" in str(error)


def test_a_player_notices_that_she_has_moved():
    with pytest.raises(ImperfectRecallError, match="no decision of hers and after '0' at '0'"):
        path_of_one_player([0, 0, 1])


def test_a_player_remembers_what_she_knew():
    """She is told who she is, moves, and then could no longer tell."""
    with pytest.raises(ImperfectRecallError, match="'0' at '0' and after '0' at '1'"):
        Game.from_arrays(
            n_players=1,
            player=[CHANCE, 0, 0, 0, 0, TERMINAL, TERMINAL],
            parent=[NO_NODE, 0, 0, 1, 2, 3, 4],
            action=[0, 0, 1, 0, 0, 0, 0],
            infoset=[NO_INFOSET, 0, 1, 2, 2, 0, 0],
            chance_prob=[1, 0.5, 0.5, 1, 1, 1, 1],
            reward_node=[],
            reward=[],
        )


@settings(derandomize=True, deadline=None)
@given(games())
def test_infosets_are_numbered_layer_by_layer(game):
    for i in range(game.n_players):
        depth: list[int] = []
        for x, above in enumerate(game.parent_infoset[i].tolist()):
            assert above < x
            depth.append(0 if above == NO_INFOSET else depth[above] + 1)
        moves = zip(
            depth, game.parent_infoset[i].tolist(), game.parent_action[i].tolist(), strict=True
        )
        assert all(one <= other for one, other in pairwise(moves))


@settings(derandomize=True, deadline=None)
@given(games())
def test_the_numbers_of_infosets_come_from_the_tree(game):
    """The previous own move of every node, found by walking up, is that of its infoset."""
    for node in range(game.n_nodes):
        i = int(game.player[node])
        if i < 0:
            continue
        x, at = int(game.infoset[node]), node
        while (above := int(game.parent[at])) != NO_NODE and game.player[above] != i:
            at = above
        move = (NO_INFOSET, 0) if above == NO_NODE else (game.infoset[above], game.action[at])
        assert (game.parent_infoset[i][x], game.parent_action[i][x]) == move
        assert game.n_actions[i][x] == np.count_nonzero(game.parent == node)


@settings(derandomize=True, deadline=None)
@given(games())
def test_how_the_caller_numbers_infosets_does_not_matter(game):
    """Infosets renumbered backwards, with their labels, give the same game."""
    flip = [np.arange(size)[::-1] for size in game.n_infosets]
    infoset = game.infoset.copy()
    for i, order in enumerate(flip):
        mine = game.player == i
        infoset[mine] = order[infoset[mine]]
    again = Game.from_arrays(
        n_players=game.n_players,
        player=game.player,
        parent=game.parent,
        action=game.action,
        infoset=infoset,
        chance_prob=game.chance_prob,
        reward_node=game.reward_node[::-1],
        reward=game.reward[::-1],
        infoset_labels=[labels[::-1] for labels in game.infoset_labels],
        action_labels=[labels[::-1] for labels in game.action_labels],
        chance_labels=game.chance_labels,
    )
    assert again.digest == game.digest


def test_digests_tell_games_apart():
    games = [
        build(),
        build(name="other"),
        build(**changed("reward_node", 0, 0)),
        build(chance_prob=[1, 0.5, 0.5, 1, 1, 1, 1]),
        build(infoset_labels=[["a", "b"], []]),
        build(action_labels=[[("l", "r")] * 2, []]),
        build(**changed("infoset", 2, 0)),
        build(infoset=[NO_INFOSET, 1, 0, 0, 0, 0, 0]),  # the labels "0" and "1" change places
    ]
    assert games[0].digest == games[1].digest
    assert len({game.digest for game in games[1:]}) == 7


def test_labels_that_are_numbers_are_made_when_asked_for():
    labels, actions = NumberedLabels(np.array([2, 0, 1])), NumberedActions(np.array([1, 3]))
    assert list(labels) == ["2", "0", "1"]
    assert list(labels[1:]) == ["0", "1"]
    assert list(actions) == [("0",), ("0", "1", "2")]
    assert list(actions[1:]) == [("0", "1", "2")]
    assert labels.index("1") == 2
