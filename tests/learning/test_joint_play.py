"""Learning from joint plays: the empirical game, exploration, and rounds of both."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from accord._arrays import CHANCE, TERMINAL, Floats
from accord.equilibrium.gap import efce_gaps
from accord.equilibrium.policy import CorrelatedPolicy
from accord.game.library import kuhn
from accord.game.tree import Game
from accord.learning.empirical_game import completed_rows
from accord.learning.joint_environment import EnvironmentJointPlay
from accord.learning.joint_exploration import EVERYBODY, exploration_weights
from accord.learning.joint_play import FIRST_ROUND, JointPlay
from accord.learning.joint_simulator import SimulatorJointPlay
from accord.play.joint_tree import compute_law
from accord.play.own_tree import policy_of
from accord.treeplex.form import sequence_form
from accord.treeplex.values import expected_values, joint_reach
from tests.support.environments import Hidden, NoisyChicken, Open
from tests.support.policies import grown_game

GAMES = [
    pytest.param(grown_game(0, 2, 60), id="two players"),
    pytest.param(grown_game(1, 3, 60), id="three players"),
    pytest.param(kuhn(), id="kuhn"),
]


def on_simulator(game: Game, k: float = 1, seed: int = 0) -> SimulatorJointPlay:
    return SimulatorJointPlay(sequence_form(game), k, np.random.default_rng(seed))


def in_environment(env: Any, k: float = 1, seed: int = 0) -> EnvironmentJointPlay:
    return EnvironmentJointPlay(env, k, seed)


def random_behavior(play: JointPlay, seed: int) -> Floats:
    """A joint behavior over the sequences known now."""
    rng, places = np.random.default_rng(seed), play.places
    behavior = np.ones(int(places.first_reach[-1]))
    for first, n in zip(places.first_seq, places.n_actions, strict=True):
        behavior[first : first + n] = rng.dirichlet(np.ones(n))
    return behavior


def reach_of(play: JointPlay, behavior: Floats) -> list[Floats]:
    """The sequence form of each player's part."""
    parts = []
    for i in range(play.tree.n_players):
        start, end = play.places.first_reach[i : i + 2]
        part = behavior[start:end].copy()
        infosets = range(*play.places.first_infoset[i : i + 2])
        for x, before in zip(infosets, play._parents(i), strict=True):
            first = play.places.first_seq[x] - start
            part[first : first + play.places.n_actions[x]] *= part[before]
        parts.append(part)
    return parts


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("episodes", [1, 30, 3000])
@pytest.mark.parametrize("kind", [Hidden, Open, None])
def test_every_policy_ends_somewhere_in_the_empirical_game(
    game: Game, episodes: int, kind: Any
) -> None:
    """The probabilities of all rows add up to 1, whatever everybody plays."""
    play: JointPlay = on_simulator(game) if kind is None else in_environment(kind(game))
    play.advance(episodes)
    mean = random_behavior(play, 0)
    rows = completed_rows(play.tree, play.places, mean)
    assert ((rows.losses >= 0.0) & (rows.losses <= 1.0)).all()
    for seed in range(3):
        reach = reach_of(play, random_behavior(play, seed))
        total = rows.prob.copy()
        for i, part in enumerate(reach):
            total *= part[rows.seqs[:, i]]
        assert math.isclose(total.sum(), 1.0, rel_tol=1e-9)


@pytest.mark.parametrize("game", GAMES)
def test_the_empirical_game_is_the_game_once_chance_is_told_and_all_is_seen(game: Game) -> None:
    play = in_environment(Open(game))
    play.advance(6000)
    assert play.unseen == 0.0
    assert play.covered == 1.0
    form = sequence_form(game)
    assert play.n_infosets == sum(plex.n_infosets for plex in form.plexes)
    rows = completed_rows(play.tree, play.places, play.places.uniform())
    behavior = random_behavior(play, 1)
    weight = rows.prob.copy()
    for i, part in enumerate(reach_of(play, behavior)):
        weight *= part[rows.seqs[:, i]]
    values = form.payoffs(weight @ rows.losses)
    parts = np.split(behavior, play.places.first_reach[1:-1])
    named = policy_of(game.name, [parts], play.trees).in_game(game)
    reach = joint_reach(form.plexes, form.split(named.behavior[0]))
    np.testing.assert_allclose(values, expected_values(form.leaves, reach), atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_weights_of_exploration_follow_their_recursion(seed: int) -> None:
    play = in_environment(Open(grown_game(seed, 2, 80)), seed=seed)
    play.advance(4)
    mean, tree = random_behavior(play, 3), play.tree.arrays
    law = np.empty(play.tree.n_edges)
    compute_law(tree, law)
    weights, unseen = exploration_weights(play.tree, play.places, mean, law)
    after: dict[int, list[int]] = {}
    for d in range(play.tree.n_nodes):
        after.setdefault(int(tree.nodes[d]["edge"]), []).append(d)

    def of_node(d: int, mode: int) -> float:
        node = tree.nodes[d]
        edges = range(node["first_edge"], node["first_edge"] + node["n_edges"])
        if node["player"] == TERMINAL:
            return 0.0
        if mode in (EVERYBODY, node["player"] + 1):
            return float(sum(weights[e, mode] for e in edges))
        if node["player"] == CHANCE:
            return float(sum(law[e] * weights[e, mode] for e in edges))
        x = play.places.first_infoset[node["player"]] + node["place"]
        first = play.places.first_seq[x]
        return float(sum(mean[first + a] * weights[e, mode] for a, e in enumerate(edges)))

    own = weights[1:, 0].copy()
    for mode in range(3):
        for e in range(1, play.tree.n_edges):
            below = 0.0
            for d in after.get(e, ()):
                share = tree.nodes[d]["count"] / tree.edges[e]["count"]
                below += of_node(d, mode) * (1.0 if mode == EVERYBODY else share)
            if mode == 0:
                own[e - 1] -= below
            elif tree.nodes[tree.edges[e]["node"]]["player"] != CHANCE:
                assert math.isclose(weights[e, mode] - below, own[e - 1], abs_tol=1e-9)
    fresh = [e for e in range(1, play.tree.n_edges) if tree.edges[e]["count"] == 0
             and tree.nodes[tree.edges[e]["node"]]["player"] != CHANCE]  # fmt: skip
    assert math.isclose(unseen, sum(own[e - 1] for e in fresh), abs_tol=1e-9)
    assert fresh


@pytest.mark.parametrize("k", [0, 1, 2, math.inf])
@pytest.mark.parametrize("game", GAMES)
def test_joint_plays_lead_to_an_equilibrium(game: Game, k: float) -> None:
    """The gap after 30,000 plays is a few percent of the payoff range at most."""
    play = on_simulator(game, k)
    play.advance(30_000)
    behaviors = np.concatenate(play.solved(300, 50), axis=1)
    policy = CorrelatedPolicy(game, np.full(50, 0.02), behaviors)
    assert (efce_gaps(policy, k) <= 0.03 * sequence_form(game).leaves.payoff_range).all()


def same(one: JointPlay, other: JointPlay) -> None:
    ours, theirs = one.state(), other.state()
    assert ours.keys() == theirs.keys()
    for mine, their in zip(one.behavior, other.behavior, strict=True):
        np.testing.assert_array_equal(mine, their)
    for name, value in ours.items():
        np.testing.assert_array_equal(value, theirs[name], err_msg=name)


@pytest.mark.parametrize("kind", [None, Hidden, Open])
def test_calls_do_not_change_the_bits(kind: Any) -> None:
    def play() -> JointPlay:
        game = kuhn()
        return on_simulator(game) if kind is None else in_environment(kind(game))

    whole, parts, restored = play(), play(), play()
    episodes = FIRST_ROUND + 500
    whole.advance(episodes)
    for size in (1, 18, 7, 300, 500, episodes - 826):
        parts.advance(size)
    same(whole, parts)
    first = play()
    first.advance(513)
    restored.restore({name: np.copy(value) for name, value in first.state().items()})
    restored.follow(first.behavior)
    restored.advance(episodes - 513)
    same(whole, restored)


def test_payoffs_may_be_random_at_the_end() -> None:
    play = in_environment(NoisyChicken())
    play.advance(4000)
    ann, bob = play.solved(300, 50)
    assert play.tree.n_ends == 4
    joint = np.einsum("ca,cb->ab", ann[:, 1:], bob[:, 1:]) / 50
    means = np.array(NoisyChicken.means)
    for told in range(2):
        for instead in range(2):
            gains = joint[told] @ (means[instead, :, 0] - means[told, :, 0])
            others = joint[:, told] @ (means[:, instead, 1] - means[:, told, 1])
            assert max(gains, others) < 0.3


def test_a_checkpoint_must_fit() -> None:
    play = on_simulator(kuhn())
    play.advance(1100)
    for name, value in (("iteration", 7), ("known", 10**6), ("explore", np.nan)):
        with pytest.raises(ValueError, match=r"must be|contradict"):
            on_simulator(kuhn()).restore({**play.state(), name: np.array(value)})
