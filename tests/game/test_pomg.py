"""Partially observable Markov games: values by definition, infosets, and refused inputs."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

import accord
from accord._arrays import CHANCE, TERMINAL
from accord.errors import GameError, ImperfectRecallError
from accord.game.pomg import POMG
from accord.game.tree import Game
from tests.support.strategies import random_pomg


@cache
def policy(player: int, label: str, size: int) -> np.ndarray:
    """A distribution that depends only on the player and the player's memory."""
    rng = np.random.default_rng([player, *label.encode()])
    return rng.dirichlet(np.ones(size))


def value_by_definition(tables: dict) -> np.ndarray:
    """V_i: the sum over trajectories of their probability times their rewards."""
    p_0, p, r, x = (tables[key] for key in ("initial", "transition", "reward", "emission"))
    players, horizon, states, *sizes = r.shape

    def value(h: int, s: int, memories: tuple[str, ...]) -> np.ndarray:
        if h == horizon:
            return np.zeros(players)
        seen = [f"{memory} {x[i, s]}".lstrip() for i, memory in enumerate(memories)]
        laws = [policy(i, seen[i], sizes[i]) for i in range(players)]
        total = np.zeros(players)
        for joint in product(*map(range, sizes)):
            weight = np.prod([laws[i][a] for i, a in enumerate(joint)])
            done = tuple(f"{seen[i]} {a}" for i, a in enumerate(joint))
            later = np.zeros(players)
            if h + 1 < horizon:
                for t in range(states):
                    if p[(h, s, *joint, t)] > 0:
                        later += p[(h, s, *joint, t)] * value(h + 1, t, done)
            total += weight * (r[(slice(None), h, s, *joint)] + later)
        return total

    return sum(p_0[s] * value(0, s, ("",) * players) for s in range(states))


def value_of_the_tree(game: Game) -> np.ndarray:
    rewards = dict(zip(game.reward_node.tolist(), game.reward, strict=True))
    value = np.zeros((game.n_nodes, game.n_players))
    for node in range(game.n_nodes - 1, -1, -1):
        value[node] += rewards.get(node, 0.0)
        if node == 0:
            break
        above = int(game.parent[node])
        i, x = int(game.player[above]), int(game.infoset[above])
        if i == CHANCE:
            weight = game.chance_prob[node]
        else:
            law = policy(i, game.infoset_labels[i][x], int(game.n_actions[i][x]))
            weight = law[game.action[node]]
        value[above] += weight * value[node]
    return value[0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_unrolling_keeps_the_value_of_every_policy(seed):
    tables = random_pomg(seed) if seed % 2 else random_pomg(seed, players=3, horizon=2)
    game = POMG.from_arrays(**tables).game()
    assert value_of_the_tree(game) == pytest.approx(value_by_definition(tables))


def test_infosets_are_histories_of_observations_and_actions():
    """One state that nobody observes: an infoset is the player's own actions."""
    game = POMG.from_arrays(
        initial=[1.0],
        transition=np.ones((3, 1, 2, 3, 1)),
        reward=np.zeros((2, 3, 1, 2, 3)),
        emission=[[0], [0]],
    ).game()
    assert game.n_infosets == (1 + 2 + 4, 1 + 3 + 9)
    assert game.n_terminals == 6**3
    assert not (game.player == CHANCE).any()
    assert "0 1 0 1 0" in game.infoset_labels[0]
    assert set(game.n_actions[1].tolist()) == {3}


def test_moves_of_one_step_are_hidden_and_rewards_come_after_them():
    """Matching pennies, twice, with different stakes; then everything is seen."""
    game = POMG(
        actions=[("h", "t"), ("h", "t")],
        horizon=2,
        initial={"start": 1.0},
        transition=lambda h, state, joint: {"".join(joint): 1.0},
        reward=lambda h, state, joint: [h * (joint[0] == joint[1]), 0],
        emission=lambda player, state: state,
        players=["Ann", "Bob"],
        name="pennies",
    ).game()
    assert (game.name, game.player_labels) == ("pennies", ("Ann", "Bob"))
    assert game.n_infosets == (5, 5)
    rewarded = {
        game.history(int(node)): float(row[0])
        for node, row in zip(game.reward_node, game.reward, strict=True)
    }
    assert rewarded[("h", "h")] == 1
    assert ("h", "t") not in rewarded
    assert rewarded[("h", "t", "t", "t")] == 2
    assert rewarded[("h", "t", "t", "h")] == 0
    assert "start h ht" in game.infoset_labels[0]
    assert "start t ht" in game.infoset_labels[1]


def test_a_single_action_is_still_an_infoset():
    game = POMG(
        actions=[2, 1],
        horizon=2,
        initial={0: 1.0},
        transition=lambda h, s, joint: {s: 1.0},
        reward=lambda h, s, joint: (joint[0], joint[1]),
        emission=lambda i, s: s,
    ).game()
    assert game.n_infosets == (3, 2)
    assert game.n_actions[1].tolist() == [1, 1]


def tree_pomg(**changes) -> POMG:
    """Chance deals one of two cards to the first player; both act; then the play is public."""

    def emission(player, state):
        card, *played = state
        return "".join((card if player == 0 else "", *played)) or "start"

    def transition(h, state, joint):
        return {(*state, "".join(map(str, joint))): 1.0}

    given = {
        "actions": [2, 2],
        "horizon": 2,
        "initial": {("J",): 0.5, ("Q",): 0.5},
        "transition": transition,
        "reward": lambda h, state, joint: (h * joint[0], joint[1]),
        "emission": emission,
        "tree": True,
        **changes,
    }
    return POMG(**given)


def test_under_the_paper_s_assumptions_both_constructions_give_the_same_game():
    taken, unrolled = tree_pomg().game(), tree_pomg(tree=False).game()
    for field in ("player", "parent", "action", "infoset", "chance_prob", "reward_node", "reward"):
        assert (getattr(taken, field) == getattr(unrolled, field)).all()
    assert taken.n_infosets == (2 + 8, 1 + 4)
    assert "J01" in taken.infoset_labels[0]
    assert "J 0 J01" in unrolled.infoset_labels[0]
    assert "start 1 01" in unrolled.infoset_labels[1]


def test_a_state_of_a_tree_has_one_history():
    with pytest.raises(GameError, match="state 0 is reached by '' and by '0 0'"):
        POMG.from_arrays(
            initial=[1.0],
            transition=np.ones((2, 1, 1, 1, 1)),
            reward=np.zeros((2, 2, 1, 1, 1)),
            emission=[[0], [0]],
            tree=True,
        ).game()


def test_an_infoset_of_a_tree_has_one_own_history():
    """The second player sees the state, but not their own action."""
    forgetful = tree_pomg(
        emission=lambda player, state: "".join(state) if player == 0 else str(len(state))
    )
    with pytest.raises(ImperfectRecallError, match="player 2 forgets at infoset '2'"):
        forgetful.game()


def test_functions_are_not_called_for_unreachable_states():
    asked = []

    def transition(h, state, joint):
        asked.append((h, state))
        return {"end": 1.0, "never": 0.0}

    game = POMG(
        actions=[2, 2],
        horizon=2,
        initial={"start": 1.0, "never": 0},
        transition=transition,
        reward=lambda h, s, joint: {"start": (0, 0), "end": (1, 0)}[s],
        emission=lambda i, s: {"start": 0, "end": 1}[s],
    ).game()
    assert set(asked) == {(1, "start")}
    assert not (game.player == CHANCE).any()
    assert np.count_nonzero(game.player == TERMINAL) == 16


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"horizon": 0}, "horizon of at least 1; got 0"),
        ({"initial": {("J",): 0.5}}, r"p_0 must be a distribution, .* got \('J',\): 0.5"),
        ({"initial": {("J",): 1.5, ("Q",): -0.5}}, "p_0 must be a distribution, non-negative"),
        ({"initial": {("J",): float("nan")}}, "p_0 must be a distribution"),
        ({"initial": {}}, "p_0 must be a distribution"),
        ({"transition": lambda h, s, joint: s[0]},
         r"p_1\(\. \| \('J',\), 0 0\) must be a dictionary .* got 'J'; if one state is certain"),
        ({"transition": lambda h, s, joint: {s: 0.4}},
         r"p_1\(\. \| \('J',\), 0 0\) must be a distribution"),
        ({"reward": lambda h, s, joint: (1, 2, 3)}, "each of the players 1, 2; got 1.0, 2.0, 3.0"),
        ({"reward": lambda h, s, joint: ()}, r" 0 0\" must pay one finite number"),
        ({"reward": lambda h, s, joint: (0, float("nan"))}, "must pay one finite number .* nan"),
        ({"actions": [2, 2, 2], "players": ["a", "b"]}, "got 3 sets for 2 players"),
        ({"actions": [2, 0]}, "actions of infoset 'start' of player 2 must be at least one"),
        ({"emission": lambda i, s: 1 if s[0] == "J" else "1"},
         "player 1 has two called '1': 1 and '1'"),
        ({"initial": {"1": 0.5, 1: 0.5}},
         r"different states must have different labels; p_0 has \['1', '1'\]"),
    ],
)  # fmt: skip
def test_invalid_pomgs_are_refused(changes, message):
    with pytest.raises(GameError, match=message):
        tree_pomg(**changes).game()


def test_probabilities_and_rewards_may_be_fractions():
    plain = tree_pomg(initial={"J": 0.25, "Q": 0.75}, reward=lambda h, s, joint: (1 / 3, h))
    written = tree_pomg(
        initial={"J": "1/4", "Q": "3/4", "K": "0"}, reward=lambda h, s, joint: ("1/3", str(h))
    )
    assert plain.game().digest == written.game().digest
    tables = random_pomg(0)
    texts = {name: tables[name].astype(str) for name in ("initial", "transition", "reward")}
    assert (
        POMG.from_arrays(**tables).game().digest == POMG.from_arrays(**tables | texts).game().digest
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reward": np.zeros((2, 3, 3, 2))}, r"shape \[m, H, S, A_1, ..., A_m\]; got \(2, 3, 3, 2"),
        ({"initial": np.ones(2) / 2}, r"initial must have shape \(3,\), .* got \(2,\)"),
        ({"transition": np.ones((3, 3, 2, 3))}, r"transition must have shape \(3, 3, \d, \d, 3\)"),
        ({"emission": np.zeros(3)}, r"emission must have shape \(2, 3\)"),
        ({"actions": [("a",), ("b",)]}, r"actions must be \[\d, \d\] labels"),
    ],
)
def test_tables_have_the_shapes_of_the_paper(changes, message):
    with pytest.raises(GameError, match=message):
        POMG.from_arrays(**{**random_pomg(0), **changes})


def test_tables_may_have_labels_for_actions():
    game = POMG.from_arrays(
        initial=[1.0],
        transition=np.ones((1, 1, 2, 2, 1)),
        reward=np.arange(8).reshape(2, 1, 1, 2, 2),
        emission=[[0], [0]],
        actions=[("up", "down"), ("left", "right")],
    ).game()
    assert game.action_labels[1][0] == ("left", "right")
    at = [game.history(int(node)) for node in game.reward_node].index(("down", "left"))
    assert game.reward[at].tolist() == [2, 6]


def bargaining(**changes):
    """Players take turns to offer; whoever accepts ends the play, and the pie melts by a third."""
    given = {
        "actions": lambda i, state: (
            ("fair", "greedy") if state == (i, "offers") else
            ("yes", "no") if state[0] != i and state[1] != "offers" else ()
        ),
        "horizon": 4,
        "initial": {(0, "offers"): 1},
        "transition": deals,
        "reward": pays,
        "emission": lambda i, state: state[1],
        "players": ["Ann", "Bob"],
    }  # fmt: skip
    return POMG(**given | changes).game()


def deals(h, state, joint):
    who, what = state
    if what == "offers":
        return {(who, joint[who]): 1}
    return {} if joint[1 - who] == "yes" else {(1 - who, "offers"): 1}


def pays(h, state, joint):
    who, what = state
    if what == "offers" or joint[1 - who] == "no":
        return [0, 0]
    pie = Fraction(2, 3) ** (h // 2 - 1)
    share = pie / 2 if what == "fair" else pie
    return [share, pie - share] if who == 0 else [pie - share, share]


def test_plays_end_early_and_actions_depend_on_the_state():
    game = bargaining()
    assert game.n_terminals == 2 + 2 * 2 * 2  # two deals at once, else four more ends per refusal
    ends = np.flatnonzero(game.player == TERMINAL).tolist()
    assert game.history(ends[0]) == ("fair", "yes")
    assert {len(game.history(node)) for node in ends} == {2, 4}
    assert all(len(labels) > 0 for labels in game.infoset_labels)
    best = accord.optimize(game, objective={"Bob": 1}).rational
    assert best.value == Fraction(2, 3)  # Bob refuses everything and takes the rest


def test_actions_that_depend_on_the_state_need_names_of_players():
    with pytest.raises(GameError, match="must name its players"):
        bargaining(players=None)


def test_states_have_labels():
    game = POMG(
        actions=[2],
        horizon=1,
        initial={(("low", "low"), None): "1/4", (("low", "high"), None): "3/4"},
        transition=lambda h, s, joint: {},
        reward=lambda h, s, joint: [joint[0]],
        emission=lambda i, s: s[0][1],
        label=lambda state: "/".join(state[0]),
    ).game()
    assert game.chance_labels == (("low/low", "low/high"),)
