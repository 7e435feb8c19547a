"""Learning from whole plays: that the estimates are unbiased, by enumerating every play.

A learner in a random state is made to take every path through its treeplex in each of its episodes;
what each play adds to its minimizers, weighted with the exact probability of the play, must be M_b
times the counterfactual regret, at every (infoset, rechistory, action).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from accord.errors import ArgumentError
from accord.game.library import kuhn, library_game
from accord.game.tree import Game
from accord.learning.averaging import Averaging, add_iterates, is_sampled, write_average
from accord.learning.simulator_play import SimulatorPlay
from accord.learning.whole_plays import WholePlayKEFR
from accord.regret.sampled_matching import SampledRegretMatching
from accord.regret.swrhedge import SWRHedge
from accord.treeplex.form import sequence_form
from accord.treeplex.strategy import spread_behavior, uniform_behavior
from accord.treeplex.treeplex import Treeplex
from tests import reference
from tests.support.driven import (
    assert_sums_are_unbiased,
    naive_episodes,
    nodes_of,
    own_path,
    replay,
    tree_of,
)
from tests.support.policies import all_games, grown_game
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels

GAMES = [
    *(pytest.param(grown_game(s, 2, 80), id=f"two players {s}") for s in (0, 1, 3, 55)),
    *(pytest.param(grown_game(s, 3, 80), id=f"three players {s}") for s in (0, 1, 53, 63)),
    pytest.param(library_game("signalling"), id="signalling"),
    pytest.param(library_game("separation:k=1"), id="separation"),
    pytest.param(kuhn(), id="kuhn"),
]
"""Uneven trees, some with five decisions in a row."""

KS = (0, 1, 2, math.inf)

NOTIONS = ("EFCCE", "AFCE", "AFCCE")

SAMPLINGS: list[Any] = [
    pytest.param("spread", SampledRegretMatching(shared=1, follow=0.05), id="default"),
    pytest.param("spread", SampledRegretMatching(shared=0, follow=0.0), id="no pi"),
    pytest.param("uniform", SampledRegretMatching(shared=3, follow=0.5), id="three shared"),
    pytest.param("balanced", SampledRegretMatching(), id="the paper's policies"),
]


def in_random_state(
    game: Game, k: float | str, exploration: str, minimizer: Any, seed: int
) -> tuple[list[WholePlayKEFR], list[list[float]]]:
    """A learner per player with random regrets and baselines, and the policies that follow."""
    rng = np.random.default_rng(seed)
    learners = [
        WholePlayKEFR(plex, k, minimizer, exploration=exploration)
        for plex in sequence_form(game).plexes
    ]
    for learner in learners:
        own = learner.state
        own.regret[:] = rng.normal(size=len(own.regret))
        if isinstance(minimizer, SampledRegretMatching):
            own.sequences["baseline"] = rng.normal(size=len(own.sequences))
            own.sequences["plays"] = rng.integers(0, 5, len(own.sequences))
        else:
            own.nodes["credit"] = rng.random(len(own.nodes))
        learner.begin_iteration()
    return learners, [learner.policy().tolist() for learner in learners]


def policies_of(
    game: Game, i: int, k: float | str, behavior: list[float], exploration: str, minimizer: Any
) -> list[tuple[int, list[float]]]:
    """The player's policies of an iteration as ``reference`` has them, with their episodes."""
    if exploration == "balanced":
        return [
            (1, reference.sampling_behavior(game, i, behavior, episode))
            for episode in naive_episodes(game, i, k)
        ]
    base = reference.spread_behavior(game, i)
    if exploration == "uniform":
        base = reference.uniform_behavior(game, i)
    explored = reference.mixed_behavior(behavior, base, minimizer.follow)
    shared = [(minimizer.shared, behavior)] if minimizer.shared else []
    return [*shared, (int(len(behavior) > 1), explored)]


def every_play(
    game: Game, i: int, learner: WholePlayKEFR, behaviors: list[list[float]], policies: Any
) -> Any:
    """``(probability, terminal, what the play added)`` for every play of every episode."""
    own = learner.state
    saved = {
        "regret": own.regret.copy(),
        "sequences": own.sequences.copy(),
        "nodes": own.nodes.copy(),
    }
    laws = [law for count, law in policies for _ in range(count)]
    assert learner.n_episodes == len(laws)
    for e, law in enumerate(laws):
        joint = [law if j == i else other for j, other in enumerate(behaviors)]
        for prob, end in reference.play_law(game, joint):
            if prob == 0.0:
                continue
            learner.begin_episode(e)
            replay(learner, law, own_path(game, i, end))
            learner.end_episode(reference.normalized_loss(game, i, end.payoffs[i]))
            yield prob, end, {name: getattr(own, name).copy() for name in saved}, saved
            for name, array in saved.items():
                getattr(own, name)[:] = array


@pytest.mark.parametrize(("exploration", "minimizer"), SAMPLINGS)
@pytest.mark.parametrize("k", [*KS, *NOTIONS])
@pytest.mark.parametrize("game", GAMES)
def test_regrets_are_unbiased(
    game: Game, k: float | str, exploration: str, minimizer: SampledRegretMatching
) -> None:
    """For any baselines, which the random state contains."""
    if isinstance(k, str) and exploration == "balanced":
        with pytest.raises(ArgumentError, match="the paper's episodes"):
            in_random_state(game, k, exploration, minimizer, 3)
        return
    learners, behaviors = in_random_state(game, k, exploration, minimizer, 3)
    for i, learner in enumerate(learners):
        tree = tree_of(learner)
        policies = policies_of(game, i, k, behaviors[i], exploration, minimizer)
        mean = np.zeros(tree.n_cells)
        for prob, _, after, before in every_play(game, i, learner, behaviors, policies):
            mean += prob * (after["regret"] - before["regret"])[::2]
        found = [(x, b) for _, x, b in nodes_of(learner)]
        assert sorted(found) == sorted(reference.rechistories(game, i, k))
        assert_regrets(game, i, learner, behaviors, mean)


@pytest.mark.parametrize("k", [0, 1, math.inf, *NOTIONS])
@pytest.mark.parametrize(
    "game",
    [
        pytest.param(grown_game(0, 2, 30), id="two players"),
        pytest.param(grown_game(1, 3, 30), id="three players"),
        pytest.param(library_game("signalling"), id="signalling"),
        pytest.param(kuhn(), id="kuhn"),
    ],
)
def test_an_iteration_of_two_plays_is_unbiased(game: Game, k: float | str) -> None:
    """Every pair of plays, one after the other: what the first shows must not bias the second.

    The learner is as new, so that a baseline that moved between them would move far.
    """
    minimizer = SampledRegretMatching()
    learners, behaviors = in_random_state(game, k, "spread", minimizer, 3)
    for i, learner in enumerate(learners):
        own, tree = learner.state, tree_of(learner)
        own.sequences["baseline"], own.sequences["plays"] = 0.5, 0.0
        before = {name: getattr(own, name).copy() for name in ("regret", "sequences")}
        policies = policies_of(game, i, k, behaviors[i], "spread", minimizer)
        assert learner.n_episodes == len(policies) == 2
        plays = [
            merged_plays(game, i, [law if j == i else behaviors[j] for j in range(len(behaviors))])
            for _, law in policies
        ]
        mean, total = np.zeros(tree.n_cells), 0.0
        for (moves, loss), prob in plays[0].items():
            for (later_moves, later_loss), later_prob in plays[1].items():
                learner.observe([(moves, loss, 0), (later_moves, later_loss, 1)])
                mean += prob * later_prob * (own.regret - before["regret"])[::2]
                total += prob * later_prob
                own.regret[:], own.sequences[:] = before["regret"], before["sequences"]
        assert total == pytest.approx(1.0)
        assert_regrets(game, i, learner, behaviors, mean)


def merged_plays(game: Game, i: int, joint: list[list[float]]) -> dict[Any, float]:
    """The probabilities of what player i may see of a play: their moves and their loss."""
    plays: dict[Any, float] = {}
    for prob, end in reference.play_law(game, joint):
        seen = (own_path(game, i, end), reference.normalized_loss(game, i, end.payoffs[i]))
        seen = (tuple(map(tuple, seen[0])), seen[1])
        if prob > 0.0:
            plays[seen] = plays.get(seen, 0.0) + prob
    return plays


def assert_regrets(game: Game, i: int, learner: Any, behaviors: Any, mean: np.ndarray) -> None:
    """``mean`` must be M_b times the counterfactual regrets of the player in every cell."""
    tree = tree_of(learner)
    losses = reference.counterfactual_losses(game, i, behaviors)
    for node, x, b in nodes_of(learner):
        if (n := int(tree.plex.n_actions[x])) == 1:
            continue  # nothing is learned where nothing is decided
        seqs = [reference.sequence(game, i, x, a) for a in range(n)]
        p, loss = np.array(behaviors[i])[seqs], np.array(losses)[seqs]
        M = reference.time_selection(game, i, behaviors[i], x, b)
        assert learner.state.nodes["rec_reach"][node] == pytest.approx(M, rel=1e-12)
        wanted = p @ loss - loss
        if tree.is_swap[node]:
            wanted = (p[:, None] * (loss[:, None] - loss)).ravel()
        cells = slice(tree.arrays.first_cell[node], tree.arrays.first_cell[node + 1])
        np.testing.assert_allclose(mean[cells], M * wanted, rtol=0, atol=1e-11)


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("game", GAMES)
def test_swrhedge_on_whole_plays_discounts_by_all_episodes(game: Game, k: float) -> None:
    """Every episode of an iteration informs every rechistory, so losses add up to their number."""
    eta = 0.7
    learners, behaviors = in_random_state(game, k, "balanced", SWRHedge(eta, whole_plays=True), 2)
    for i, learner in enumerate(learners):
        own, tree = learner.state, tree_of(learner)
        discount = math.exp(-eta * len(naive_episodes(game, i, k)))
        for x in range(tree.plex.n_infosets):
            n = int(tree.plex.n_actions[x])
            rates = np.zeros((n, n))
            for node, at, b in nodes_of(learner):
                if at != x:
                    continue
                M = reference.time_selection(game, i, behaviors[i], x, b)
                first, end = tree.arrays.first_cell[node : node + 2]
                share = np.exp(-eta * own.regret[first:end].reshape(-1, n))  # one row if EXTERNAL
                means = share.mean(axis=1)
                credit = math.exp(eta * discount * own.nodes["credit"][node])
                mass = M * own.nodes["weight"][node] * credit * means.prod()
                rates += mass * share / share.sum(axis=1, keepdims=True)
            p = np.array([behaviors[i][reference.sequence(game, i, x, a)] for a in range(n)])
            np.testing.assert_allclose(p @ rates, p * rates.sum(axis=1), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("game", GAMES)
def test_swrhedge_is_fed_unbiased_and_bounded_estimates(game: Game, k: float) -> None:
    """At every rechistory; M_b w_b times the estimate of an episode is in [0, 1]."""
    minimizer = SWRHedge(0.7, whole_plays=True)
    learners, behaviors = in_random_state(game, k, "balanced", minimizer, 2)
    for i, learner in enumerate(learners):
        tree = tree_of(learner)
        policies = policies_of(game, i, k, behaviors[i], "balanced", minimizer)
        mean, credit = np.zeros(tree.n_cells), np.zeros(tree.n_nodes)
        for prob, _, after, before in every_play(game, i, learner, behaviors, policies):
            added = after["regret"] - before["regret"]
            mean += prob * added
            credit += prob * (after["nodes"]["credit"] - before["nodes"]["credit"])
            for node, x, _ in nodes_of(learner):
                here = added[tree.arrays.first_cell[node] : tree.arrays.first_cell[node + 1]]
                scaled = here.reshape(-1, int(tree.plex.n_actions[x])).sum(axis=0)
                assert scaled.min() >= -1e-12
                assert scaled.max() <= 1.0 + 1e-12
        assert_sums_are_unbiased(game, i, k, learner, behaviors, mean, credit)


@pytest.mark.parametrize(("exploration", "minimizer"), SAMPLINGS)
@pytest.mark.parametrize("game", GAMES)
def test_every_estimate_is_the_reference(
    game: Game, exploration: str, minimizer: SampledRegretMatching
) -> None:
    """Play by play, not only in the mean: EXTERNAL rechistories at K = 0 have M_b = 1."""
    learners, behaviors = in_random_state(game, 0, exploration, minimizer, 4)
    for i, learner in enumerate(learners):
        tree = tree_of(learner)
        policies = policies_of(game, i, 0, behaviors[i], exploration, minimizer)
        baseline = learner.state.sequences["baseline"].tolist()
        for _, end, after, before in every_play(game, i, learner, behaviors, policies):
            added = (after["regret"] - before["regret"])[::2]
            known = reference.whole_play_estimate(game, i, behaviors[i], policies, baseline, end)
            for node, x, _ in nodes_of(learner):
                n = int(tree.plex.n_actions[x])
                loss = np.array([known.get((x, a), 0.0) for a in range(n)])
                p = np.array([reference.prob(game, i, behaviors[i], x, a) for a in range(n)])
                cells = slice(tree.arrays.first_cell[node], tree.arrays.first_cell[node + 1])
                wanted = p @ loss - loss if n > 1 else [0.0]
                np.testing.assert_allclose(added[cells], wanted, rtol=1e-9, atol=1e-10)


def test_baselines_that_predict_the_loss_leave_no_noise() -> None:
    """With every loss equal to the baselines, regrets are 0 whatever is played."""
    minimizer = SampledRegretMatching()
    for game in (kuhn(), grown_game(0, 3, 80)):
        learners, behaviors = in_random_state(game, 1, "spread", minimizer, 4)
        for i, learner in enumerate(learners):
            learner.state.sequences["baseline"] = 0.25
            regret = learner.state.regret[::2].copy()
            policies = policies_of(game, i, 1, behaviors[i], "spread", minimizer)
            laws = [law for count, law in policies for _ in range(count)]
            for e, law in enumerate(laws):
                for prob, end in reference.play_law(
                    game, [law if j == i else other for j, other in enumerate(behaviors)]
                ):
                    if prob > 0.0:
                        learner.begin_episode(e)
                        replay(learner, law, own_path(game, i, end))
                        learner.end_episode(0.25)
            np.testing.assert_allclose(learner.state.regret[::2], regret, rtol=0, atol=1e-10)
            np.testing.assert_allclose(learner.state.sequences["baseline"], 0.25)


def test_baselines_follow_the_losses() -> None:
    """The first loss replaces them; later ones move them by the rate, at least.

    They do so when the iteration has ended.
    """
    game = library_game("matching_pennies")
    learner = WholePlayKEFR(sequence_form(game).plexes[0], 1, SampledRegretMatching())
    seen = {0: [0.5], 1: [0.5]}
    rng = np.random.default_rng(0)
    for step in range(200):
        learner.begin_iteration()
        learner.begin_episode(learner.n_episodes - 1)
        a = learner.act(0, rng)
        learner.end_episode(loss := float(rng.random()))
        plays = len(seen[a])
        assert learner.state.sequences["baseline"][1 + a] == pytest.approx(seen[a][-1], rel=1e-12)
        seen[a].append(seen[a][-1] + max(0.05, 1 / plays) * (loss - seen[a][-1]))
        learner.saved()
        got = learner.state.sequences["baseline"][1 + a]
        assert got == pytest.approx(seen[a][-1], rel=1e-12), step
    assert learner.state.sequences["plays"].tolist() == [0.0, *(len(seen[a]) - 1 for a in (0, 1))]


# --- the minimizer --------------------------------------------------------------------------------


def rates_at(learner: WholePlayKEFR, x: int) -> np.ndarray:
    """``[n, n]`` sum of M_b max(R_b + P_b, 0), with EXTERNAL rows alike."""
    tree, own = tree_of(learner), learner.state
    n = int(tree.plex.n_actions[x])
    rates = np.zeros((n, n))
    for node in range(tree.arrays.first_node[x], tree.arrays.first_node[x + 1]):
        cells = np.arange(tree.arrays.first_cell[node], tree.arrays.first_cell[node + 1])
        positive = np.maximum(own.regret[2 * cells] + own.regret[2 * cells + 1], 0.0)
        rates += own.nodes["rec_reach"][node] * positive.reshape(-1, n)
    return rates


@pytest.mark.parametrize("k", [*KS, *NOTIONS])
@pytest.mark.parametrize("game", GAMES)
def test_policies_are_stationary(game: Game, k: float | str) -> None:
    """Also where most rates are zero, all are, or only EXTERNAL rechistories have any."""
    rng = np.random.default_rng(6)
    for plex in sequence_form(game).plexes:
        for density in (0.0, 0.1, 0.3, 1.0):
            learner = WholePlayKEFR(plex, k, "prm")
            size = len(learner.state.regret)
            learner.state.regret[:] = rng.normal(size=size) * (rng.random(size) < density)
            learner.begin_iteration()
            behavior = learner.policy()
            for x in range(plex.n_infosets):
                p = behavior[plex.first_seq[x] : plex.first_seq[x + 1]]
                assert p.min() >= 0.0
                assert p.sum() == pytest.approx(1.0, abs=1e-12)
                rates = rates_at(learner, x)
                np.testing.assert_allclose(p @ rates, p * rates.sum(axis=1), rtol=0, atol=1e-9)
                if not rates.any():
                    assert (p == 1 / len(p)).all()


@pytest.mark.parametrize("k", [*KS, *NOTIONS])
@pytest.mark.parametrize("method", ["rm", "prm"])
def test_the_potential_grows_by_the_squared_regret(method: str, k: float | str) -> None:
    """Blackwell's condition, whatever the losses: <max(R + P, 0), regret> = 0 at every step.

    Without prediction that bounds the growth of |max(R, 0)|^2 by |regret|^2, and with it by
    |regret|^2 + 2 |P| |regret|: the bounds of ``docs/theory/bandit.md``.
    """
    grew = 0
    for game in (kuhn(), grown_game(1, 2, 80), grown_game(0, 3, 80)):
        form = sequence_form(game)
        play = SimulatorPlay(form, k, 10**4, np.random.default_rng(5), method=method)
        for _ in range(300):
            before = play.joint.regret.copy()
            play.advance(1)
            regret, predicted = before[::2], before[1::2]
            step = play.joint.regret[::2] - regret
            scale = np.abs(step).max(initial=1.0) * np.abs(before).max(initial=1.0)
            positive = np.maximum(regret + predicted, 0.0)
            assert abs(positive @ step) <= 1e-10 * scale * len(step)
            growth = (np.maximum(regret + step, 0.0) ** 2 - np.maximum(regret, 0.0) ** 2).sum()
            bound = step @ step + 2 * np.linalg.norm(predicted) * np.linalg.norm(step)
            assert growth <= bound + 1e-10 * scale**2 * len(step)
            grew += growth > 0
            assert method == "prm" or not predicted.any()
    assert grew > 30


@pytest.mark.parametrize("rate", [0.0, 0.05])
def test_predictions_sum_the_last_visits(rate: float) -> None:
    """P <- (1 - 1/w) P + regret, w = max(1, min(longest, window sqrt(visits))), at every visit.

    Also if baselines stay where they are.
    """
    game = library_game("matching_pennies")
    window, longest = 0.7, 4.0
    minimizer = SampledRegretMatching(window, longest, shared=0, baseline_rate=rate)
    learner = WholePlayKEFR(sequence_form(game).plexes[0], 0, minimizer)
    rng = np.random.default_rng(1)
    wanted = np.zeros(2)
    for visits in range(1, 60):
        learner.begin_iteration()
        before = learner.state.regret[::2].copy()
        learner.begin_episode(0)
        learner.act(0, rng)
        learner.end_episode(float(rng.random()))
        after = learner.state.regret
        gain = (after[::2] - before)[1:]
        w = max(1.0, min(longest, window * math.sqrt(visits)))
        wanted = (1 - 1 / w) * wanted + gain
        np.testing.assert_allclose(after[1::2][1:], wanted, rtol=1e-10, atol=1e-12)


# --- exploration and averages ---------------------------------------------------------------------


@given(all_games())
@examples(40)
def test_base_policies(game: Game) -> None:
    for i, plex in enumerate(sequence_form(game).plexes):
        np.testing.assert_allclose(
            spread_behavior(plex), reference.spread_behavior(game, i), rtol=1e-14
        )
        np.testing.assert_allclose(
            uniform_behavior(plex), reference.uniform_behavior(game, i), rtol=1e-14
        )


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("game", GAMES)
def test_averages_are_those_of_reach_probabilities(game: Game, k: float) -> None:
    """And plain means where the player never comes."""
    for plex in sequence_form(game).plexes:
        learner = WholePlayKEFR(plex, k, "prm")
        own, total, reach = learner.state, np.zeros(plex.n_sequences), np.ones(plex.n_sequences)
        rng = np.random.default_rng(9)
        reaches, behaviors = [], []
        for t in range(1, 5):
            own.regret[:] = rng.normal(size=len(own.regret))
            learner.begin_iteration()
            averaging = Averaging(plex.parent_seq, reach, total, True)
            infosets = np.array([0, plex.n_infosets])
            add_iterates(learner.schedule, 0, infosets, t, averaging, own)
            behaviors.append(learner.policy())
            reached = np.ones(plex.n_sequences)
            for x in range(plex.n_infosets):
                seqs = slice(plex.first_seq[x], plex.first_seq[x + 1])
                reached[seqs] = reached[plex.parent_seq[x]] * behaviors[-1][seqs]
            reaches.append(reached)
        average = np.zeros(plex.n_sequences)
        write_average(own.infosets, total, average)
        assert not total.any()
        summed, mean = np.sum(reaches, axis=0), np.mean(behaviors, axis=0)
        for x in range(plex.n_infosets):
            seqs = slice(plex.first_seq[x], plex.first_seq[x + 1])
            weight = summed[seqs].sum()
            wanted = summed[seqs] / weight if weight > 0 else mean[seqs]
            np.testing.assert_allclose(average[seqs], wanted, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("averages", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("stride", [1, 2, 4, 5, 10, 333])
def test_every_stretch_has_as_many_iterates_as_it_can(averages: int, stride: int) -> None:
    for start in (0, 7 * stride):
        chosen = [
            t for t in range(start + 1, start + stride + 1) if is_sampled(t, stride, averages)
        ]
        assert len(chosen) == min(averages, stride)
        assert chosen[-1] == start + stride
        assert max(np.diff([start, *chosen])) <= math.ceil(stride / len(chosen))


def test_unreached_policies_do_not_matter_at_k_1() -> None:
    """They are not computed, and the gaps are those of the same run with all of them."""
    from accord.equilibrium.gap import MixtureMeter

    for game in (kuhn(), grown_game(1, 2, 80), grown_game(0, 3, 80)):
        form = sequence_form(game)
        gaps = []
        for everywhere in (False, True):
            play = SimulatorPlay(form, 1, 10**4, np.random.default_rng(2))
            play._everywhere = everywhere
            kept = np.empty((50, form.n_sequences))
            play.advance(200, kept, 4)
            meter = MixtureMeter(form, 1)
            for joint in kept:
                meter.observe(form.split(joint))
            gaps.append(meter.measured().gaps)
        np.testing.assert_allclose(gaps[0], gaps[1], rtol=0, atol=1e-12)


# --- good use -------------------------------------------------------------------------------------


def test_a_player_without_decisions_has_no_own_episodes() -> None:
    learner = WholePlayKEFR(Treeplex.from_parents([], [], []), 1)
    assert learner.n_episodes == learner.n_shared == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": -1.0}, "window must be non-negative"),
        ({"window": math.nan}, "window must be non-negative"),
        ({"longest": 0.5}, "longest must be at least 1"),
        ({"follow": 1.0}, "follow must be below 1"),
        ({"follow": -0.1}, "follow must be between 0 and 1"),
        ({"baseline_rate": 1.5}, "baseline_rate must be between 0 and 1"),
        ({"trace": math.nan}, "trace must be between 0 and 1"),
        ({"shared": -1}, "shared must be"),
        ({"averages": 0}, "averages must be"),
    ],
)
def test_bad_options(options: dict[str, float], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        SampledRegretMatching(**options)  # type: ignore[arg-type]


def test_bad_explorations() -> None:
    plex = sequence_form(kuhn()).plexes[0]
    with pytest.raises(ArgumentError, match="must be one of spread, uniform, balanced; got 'x'"):
        WholePlayKEFR(plex, 1, exploration="x")
    with pytest.raises(ArgumentError, match="must be one of balanced; got 'uniform'"):
        WholePlayKEFR(plex, 1, SWRHedge(1, whole_plays=True), exploration="uniform")
