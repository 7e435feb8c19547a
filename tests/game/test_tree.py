"""Games as arrays: validation, numbering of nodes and infosets, digests."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from accord._arrays import CHANCE, NO_INFOSET, NO_NODE, TERMINAL
from accord.errors import ArgumentError, GameError, ImperfectRecallError
from accord.game.labels import NumberedActions, NumberedLabels
from accord.game.tree import Game, total_rewards
from tests.support.strategies import games

pytestmark = pytest.mark.kernels

# Chance (1/4, 3/4), then player 0, who sees the outcome, then terminals.
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


def test_a_game_keeps_its_data():
    game = build(name="small", player_labels=("a", "b"))
    assert repr(game) == "Game('small', players=2, infosets=2/0, terminals=4)"
    assert (game.n_players, game.n_nodes, game.n_terminals) == (2, 7, 4)
    assert game.player_labels == ("a", "b")
    assert game.chance_prob.tolist() == [1, 0.25, 1, 1, 0.75, 1, 1]
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
    assert [game.history(node) for node in (0, 4, 3, 5)] == [
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
         "action 0 of its child 4"),
        (changed("action", 4, 2), "action 2 of its child 4 is out of range or used twice"),
        (changed("action", 4, -1), "action -1 of its child 4 is out of range"),
        (changed("player", 1, TERMINAL), "a terminal must have no children; node 1 has some"),
        (changed("player", 3, 0), "a decision node must have at least one child; node 3 has none"),
        (changed("player", 3, CHANCE), "a chance node must have at least one child; node 3"),
        (changed("chance_prob", 1, 0.0), "positive probability; the one from node 0 to node 1"),
        (changed("chance_prob", 1, -0.5), "node 1 has -0.5; leave out impossible outcomes"),
        (changed("chance_prob", 2, np.nan), "node 2 has nan"),
        (changed("chance_prob", 2, np.inf), "node 2 has inf"),
        (changed("chance_prob", 2, 0.5), "sum to one; the 2 outcomes of node 0 sum to 0.75"),
        ({"chance_prob": ["1"] * 7}, r"chance_prob must be numbers of shape \(7,\); got <U1"),
        (changed("reward_node", 0, 7), r"reward_node must hold nodes 0\.\.6; got 7"),
        (changed("reward_node", 0, -1), "reward_node must .* got -1"),
        (changed("reward_node", 0, 3.5), "must be a flat list of integers; got float64 of shape"),
        ({"reward": [[1, 0], [0, 1], [2, 0], [0, np.nan]]}, "node 6 pays nan to player 2"),
        ({"reward": [1, 2, 3, 4]}, r"reward must be numbers of shape \(4, 2\); got int64 of .*4,"),
        (
            {"player": [CHANCE, TERMINAL], "parent": [-1, 0], "action": [0, 0], "infoset": [0, 0],
             "chance_prob": [1, 1], "reward_node": [], "reward": []},
            "at least one decision; every node is chance or terminal",
        ),
        (changed("infoset", 1, -1), "numbered 0 or more; node 1 of player 1 is in -1"),
        (changed("infoset", 2, 3), r"numbered 0\.\.3 without gaps; no node is in infoset 1"),
        (changed("infoset", 2, 2**30), "without gaps; no node is in infoset 1"),
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
def test_invalid_games_are_refused(changes, message):
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
    """Player 0 moves, and again after each of the two actions."""
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


def test_a_player_remembers_past_actions():
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


def test_a_player_remembers_having_moved():
    with pytest.raises(ImperfectRecallError, match="no own decision and after '0' at '0'"):
        path_of_one_player([0, 0, 1])


def test_a_player_remembers_past_observations():
    """The player sees the chance outcome, moves, and would then have forgotten the outcome."""
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


@given(games())
def test_the_numbers_of_infosets_come_from_the_tree(game):
    """The player's previous move at every node, found by walking up, is that of its infoset."""
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


@given(games())
def test_nodes_are_in_prefix_order(game):
    """A depth-first walk visits the nodes in the order of their numbers."""
    below = [[] for _ in range(game.n_nodes)]
    for node in range(1, game.n_nodes):
        below[game.parent[node]].append((int(game.action[node]), node))
    met, ahead = [], [0]
    while ahead:
        met.append(ahead.pop())
        ahead.extend(node for _, node in sorted(below[met[-1]], reverse=True))
    assert met == list(range(game.n_nodes))


@given(games(), st.integers(0, 2**32 - 1))
def test_the_caller_s_numbering_does_not_matter(game, seed):
    """Any allowed order of nodes, infosets and rows of labels gives the same game."""
    rng = np.random.default_rng(seed)
    order = [0]  # a random order with parents before children
    ready = np.flatnonzero(game.parent == 0).tolist()
    while ready:
        order.append(ready.pop(int(rng.integers(len(ready)))))
        ready += np.flatnonzero(game.parent == order[-1]).tolist()
    number = np.argsort(order)
    infoset, orders = game.infoset.copy(), []
    for i, size in enumerate([*game.n_infosets, len(game.chance_labels)]):
        mine = game.player == (i if i < game.n_players else CHANCE)
        orders.append(rng.permutation(size))
        infoset[mine] = np.argsort(orders[-1])[infoset[mine]]
    rows = orders.pop()
    rewards = rng.permutation(len(game.reward_node))
    again = game.replace(
        player=game.player[order],
        parent=[NO_NODE, *number[game.parent[order[1:]]]],
        action=game.action[order],
        infoset=infoset[order],
        chance_prob=game.chance_prob[order],
        reward_node=number[game.reward_node[rewards]],
        reward=game.reward[rewards],
        infoset_labels=[[game.infoset_labels[i][x] for x in by] for i, by in enumerate(orders)],
        action_labels=[[game.action_labels[i][x] for x in by] for i, by in enumerate(orders)],
        chance_labels=[game.chance_labels[row] for row in rows],
    )
    assert again.digest == game.digest
    for field in ("parent", "infoset", "chance_prob", "reward_node", "reward"):
        np.testing.assert_array_equal(getattr(again, field), getattr(game, field))
    for field in ("infoset_labels", "action_labels", "chance_labels"):
        assert getattr(again, field) == getattr(game, field)


@given(games())
def test_replacing_a_field_by_itself_changes_nothing(game):
    again = game.replace(reward=game.reward)
    for field in dataclasses.fields(Game):
        one, other = getattr(game, field.name), getattr(again, field.name)
        if isinstance(one, tuple):
            assert [list(row) for row in one] == [list(row) for row in other]
        else:
            np.testing.assert_array_equal(one, other)
    assert again.digest == game.digest


def test_replaced_fields():
    game = build(infoset_labels=[["a", "b"], []], action_labels=[[("l", "r")] * 2, []])
    rich = game.replace(reward=10 * game.reward)
    assert total_rewards(rich, np.array([2, 6])).tolist() == [[10, 0], [0, 20]]
    assert rich.infoset_labels == game.infoset_labels
    assert rich.action_labels == game.action_labels
    fair = game.replace(chance_prob=[1, 0.5, 1, 1, 0.5, 1, 1], player_labels=["Ann", "Bob"])
    assert fair.chance_prob.tolist() == [1, 0.5, 1, 1, 0.5, 1, 1]
    assert fair.player_labels == ("Ann", "Bob")
    assert fair.digest != game.digest
    numbered = game.replace(infoset_labels=None, action_labels=None)
    assert numbered.digest == build().digest
    assert game.replace(chance_labels=[("heads", "tails")]).history(2) == ("heads", "l")


def test_a_new_name_shares_the_arrays_and_keeps_the_source():
    game = build().replace(source="small.efg")
    renamed = game.replace(name="renamed")
    assert (game.name, renamed.name) == ("game", "renamed")
    assert renamed.player is game.player
    assert renamed.source == "small.efg"
    assert game.replace(reward=game.reward).source is None  # it may be another game
    assert game.replace(reward=game.reward, source="other.efg").source == "other.efg"


def test_number_labels_stay_lazy_in_replace():
    again = build().replace(player_labels="xy")
    assert all(isinstance(labels, NumberedLabels) for labels in again.infoset_labels)
    assert all(isinstance(labels, NumberedActions) for labels in again.action_labels)
    turned = build(infoset=[NO_INFOSET, 1, 0, 0, 0, 0, 0])
    assert list(turned.infoset_labels[0]) == ["1", "0"]
    assert list(turned.replace(reward=turned.reward).infoset_labels[0]) == ["1", "0"]


def test_replaced_fields_are_validated():
    with pytest.raises(GameError, match="sum to one"):
        build().replace(chance_prob=[1, 0.5, 1, 1, 0.75, 1, 1])
    with pytest.raises(GameError, match="player_labels must be 2 distinct names"):
        build().replace(player_labels=["Ann"])
    with pytest.raises(GameError, match="reward must be numbers of shape"):
        build().replace(reward=[[1.0, 1.0]])
    for field in ("rewards", "n_actions", "n_players"):
        with pytest.raises(ArgumentError, match=f"takes name, player_labels.*; got {field}"):
            build().replace(**{field: None})


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


def test_equal_games_have_equal_digests():
    early = build(reward_node=[0, 1, 3, 4, 5, 6], reward=[[4, 0], [-1, 0], *SMALL["reward"]])
    late = build(reward_node=[6, 5, 4, 3], reward=[[4, 2], [6, 0], [3, 1], [4, 0]])
    assert early.digest == late.digest != build().digest
    numbers = {"chance_labels": [("0", "1")], **changed("infoset", 0, 0)}
    names = {"infoset_labels": [("0", "1"), ()], "action_labels": [[("0", "1")] * 2, []]}
    assert build(**numbers, **names).digest == build().digest
    assert build(**changed("reward", 0, [1, -0.0])).digest == build().digest
    terminal = {"reward_node": [3], "reward": [[1, 0]]}
    assert build(**terminal).digest == build(reward=[[1, 0], [0, 0], [0, 0], [0, 0]]).digest


def test_equal_rows_of_chance_labels_are_merged_and_unused_ones_dropped():
    game = Game.from_arrays(
        n_players=1,
        player=[0, CHANCE, CHANCE, CHANCE, *[TERMINAL] * 6],
        parent=[NO_NODE, 0, 0, 0, 1, 1, 2, 2, 3, 3],
        action=[0, 0, 1, 2, 0, 1, 0, 1, 0, 1],
        infoset=[0, 2, NO_INFOSET, 1, *[NO_INFOSET] * 6],
        chance_prob=[1, 1, 1, 1, *[0.5] * 6],
        reward_node=[],
        reward=[],
        chance_labels=[("never", "used"), ("l", "r"), ("l", "r")],
    )
    assert game.chance_labels == (("l", "r"), ("0", "1"))
    assert game.infoset[game.player == CHANCE].tolist() == [0, 1, 0]


@given(st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=6), st.floats(-4e-10, 4e-10))
@example([1.0, 3.0, 9.0, 4.0], 0.0)
def test_probabilities_sum_to_one_up_to_their_own_rounding(weights, off):
    """Some reals that round to them sum to one; otherwise they are divided by their exact sum."""
    given = [w / sum(weights) * (1.0 + off) for w in weights]
    n = len(given)
    game = Game.from_arrays(
        n_players=1,
        player=[0, CHANCE, *[TERMINAL] * n],
        parent=[NO_NODE, 0, *[1] * n],
        action=[0, 0, *range(n)],
        infoset=[0, *[NO_INFOSET] * (n + 1)],
        chance_prob=[1, 1, *given],
        reward_node=[],
        reward=[],
    )
    probs = game.chance_prob[2:].tolist()
    assert sums_to_one(probs)
    total = sum(map(Fraction, given))
    wanted = given if sums_to_one(given) else [float(Fraction(p) / total) for p in given]
    assert probs == wanted


def sums_to_one(probs: list[float]) -> bool:
    missing = 1 - sum(map(Fraction, probs))
    up = sum(Fraction(math.nextafter(p, 2.0)) - Fraction(p) for p in probs) / 2
    down = sum(Fraction(p) - Fraction(math.nextafter(p, 0.0)) for p in probs) / 2
    return -down < missing < up


def test_number_labels_are_made_on_demand():
    labels, actions = NumberedLabels(np.array([2, 0, 1])), NumberedActions(np.array([1, 3]))
    assert list(labels) == ["2", "0", "1"]
    assert list(labels[1:]) == ["0", "1"]
    assert list(actions) == [("0",), ("0", "1", "2")]
    assert list(actions[1:]) == [("0", "1", "2")]
    assert labels.index("1") == 2
