"""What all learners from episodes share: compiled self-play, what a learner sees, and good use."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

from accord.errors import ArgumentError
from accord.game.library import kuhn, library_game, matching_pennies
from accord.game.tree import Game
from accord.learning.balanced_kefr import BalancedKEFR
from accord.learning.episode_learner import EpisodeLearner, observe_play
from accord.learning.exploration import draw_action, join_policies
from accord.learning.simulator_play import SimulatorPlay
from accord.learning.tables import joined
from accord.learning.whole_plays import WholePlayKEFR
from accord.regret.methods import SAMPLED_METHODS, configured
from accord.regret.sampled import Notes, refresh_all, settle_baselines
from accord.regret.sampled_matching import SampledRegretMatching
from accord.regret.swrhedge import SWRHedge
from accord.treeplex.form import sequence_form
from tests.support.driven import as_rng, play_round, tree_of
from tests.support.policies import grown_game

pytestmark = pytest.mark.kernels

GAMES = [
    *(pytest.param(grown_game(s, 2, 80), id=f"two players {s}") for s in (0, 1, 3, 55)),
    *(pytest.param(grown_game(s, 3, 80), id=f"three players {s}") for s in (0, 1, 53, 63)),
    pytest.param(library_game("signalling"), id="signalling"),
    pytest.param(library_game("separation:k=1"), id="separation"),
    pytest.param(kuhn(), id="kuhn"),
]
KS = (0, 1, 2, math.inf)

METHODS: list[Any] = [
    pytest.param("prm", None, id="prm"),
    pytest.param("rm", "balanced", id="rm, the paper's policies"),
    pytest.param(SampledRegretMatching(shared=0), "uniform", id="nothing shared"),
    pytest.param(SWRHedge(0.3, whole_plays=True), None, id="swrhedge on whole plays"),
    pytest.param(SWRHedge(0.3), None, id="the paper's"),
    pytest.param(SWRHedge(0.3), "uniform", id="the paper's, uniform"),
]


def learners_of(
    game: Game, k: float, method: Any, exploration: str | None = None
) -> list[EpisodeLearner]:
    kind: Any = WholePlayKEFR if configured(SAMPLED_METHODS, method).whole_plays else BalancedKEFR
    options = {} if exploration is None else {"exploration": exploration}
    return [kind(plex, k, method, **options) for plex in sequence_form(game).plexes]


# --- compiled self-play ---------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "exploration"), METHODS)
@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("game", GAMES)
def test_self_play_is_its_learners_playing(
    game: Game, k: float, method: Any, exploration: str | None
) -> None:
    """Learners that are separate objects, asked one move at a time, give the same bits."""
    form = sequence_form(game)
    play = SimulatorPlay(
        form, k, 10**4, np.random.default_rng(7), method=method, exploration=exploration
    )
    learners = learners_of(game, k, method, exploration)
    shared = learners[0].n_shared
    assert play.episodes_per_iteration == shared + sum(
        learner.n_episodes - shared for learner in learners
    )
    kept = np.empty((12, form.n_sequences))
    assert play.advance(12, kept) == 12
    rng = np.random.default_rng(7)

    def add_iterates() -> None:
        for learner in learners:
            learner.add_iterate(everywhere=k > 1)

    for row in kept:
        play_round(game, learners, rng, add_iterates)
        assert row.tobytes() == np.concatenate([one.component() for one in learners]).tobytes()
        if method == SWRHedge(0.3):
            assert row.tobytes() == np.concatenate([one.policy() for one in learners]).tobytes()
    assert rng.bit_generator.state == play.rng.bit_generator.state
    for learner in learners:
        learner.saved()  # which ends the last iteration
    for name in ("regret", "sequences"):
        parts = np.concatenate([getattr(learner.state, name) for learner in learners])
        assert getattr(play.joint, name).tobytes() == parts.tobytes()


@pytest.mark.parametrize(("method", "exploration"), METHODS)
def test_splits_of_a_run_do_not_matter(method: Any, exploration: str | None) -> None:
    form = sequence_form(library_game("kuhn:players=3"))
    runs = []
    for split in ([60], [1, 2, 3, 54], [59, 1], [20] * 3):
        play = SimulatorPlay(
            form, 1, 10**4, np.random.default_rng(3), method=method, exploration=exploration
        )
        kept = np.empty((6, form.n_sequences))
        rows = 0
        for size in split:
            rows += play.advance(size, kept[rows:], 10)
            state = {name: np.copy(value) for name, value in play.state().items()}
            play = SimulatorPlay(
                form, 1, 10**4, np.random.default_rng(99), method=method, exploration=exploration
            )
            play.restore(state)
        assert rows == 6
        assert play.iteration == 60
        runs.append((kept.tobytes(), play.joint.regret.tobytes(), play.rng.random()))
    assert len(set(runs)) == 1


@pytest.mark.parametrize("method", ["prm", "swrhedge"])
def test_what_is_kept_changes_nothing(method: str) -> None:
    """To evaluate pi^t in full is only to compute early what episodes may need later."""
    form = sequence_form(library_game("kuhn:players=3"))
    regrets = []
    for stride in (None, 1, 7):
        play = SimulatorPlay(form, 1, 10**4, np.random.default_rng(3), method=method)
        if stride is None:
            play.advance(30)
        else:
            play.advance(30, np.empty((30, form.n_sequences)), stride)
        regrets.append(play.joint.regret.tobytes())
    assert len(set(regrets)) == 1


def test_the_seed_matters() -> None:
    form = sequence_form(kuhn())
    regrets = set()
    for seed in (0, 0, 1):
        play = SimulatorPlay(form, 1, 10**4, np.random.default_rng(seed), method="swrhedge")
        play.advance(20)
        regrets.add(play.joint.regret.tobytes())
    assert len(regrets) == 2


# --- nobody sees more than they may ---------------------------------------------------------------


@pytest.mark.parametrize("method", ["prm", SWRHedge(0.1)], ids=["prm", "paper"])
def test_a_learner_is_made_from_a_treeplex(method: Any) -> None:
    """It cannot see what it does not have: the learner gets a treeplex and numbers, and every
    method gets an infoset of it, a loss or a source of randomness."""
    allowed = {"self", "plex", "k", "method", "iterations", "exploration", "budget", "batch"}
    allowed |= {"schedule", "player", "episode", "x", "rng", "draw", "loss", "policy", "layer"}
    allowed |= {"plays", "everywhere", "saved", "length", "parent_seq", "n_actions"}
    learner = learners_of(kuhn(), 1, method)[0]
    for name, function in inspect.getmembers(type(learner), inspect.isfunction):
        assert set(inspect.signature(function).parameters) <= allowed, name
    assert set(vars(learner)) - {"n_shared", "grows", "law", "plan", "_spreads"} == {
        "tables", "policies", "estimator", "schedule", "player", "iteration", "policy_of",
        "_policy", "_moves", "_mixtures", "_path", "_path_reach", "_total", "_reach",
        "_notes",
    }  # fmt: skip


def slices_of(learners: list[EpisodeLearner]) -> list[dict[str, slice]]:
    """Where each learner's part of joint arrays stands, by the name of what is numbered."""
    sizes = [
        {
            "infosets": len(learner.state.infosets),
            "seqs": len(learner.state.behavior),
            "nodes": len(learner.state.nodes),
            "cells": len(learner.state.regret),
            "policies": len(learner.policies.episodes),
        }
        for learner in learners
    ]
    slices = []
    start = dict.fromkeys(sizes[0], 0)
    for size in sizes:
        slices.append({name: slice(start[name], start[name] + n) for name, n in size.items()})
        start = {name: start[name] + n for name, n in size.items()}
    return slices


def within(values: Any, where: slice) -> bool:
    return bool(((np.asarray(values) >= where.start) & (np.asarray(values) < where.stop)).all())


@pytest.mark.parametrize("game", GAMES)
def test_what_is_reachable_from_an_infoset_is_its_players(game: Game) -> None:
    """Every index in the joint arrays points into the part of the same player."""
    learners = learners_of(game, 1, SWRHedge(0.1))
    joint = joined([one.tables for one in learners], [one.n_episodes for one in learners])
    policies = join_policies([one.policies for one in learners])
    for own, learner in zip(slices_of(learners), learners, strict=True):
        infosets, nodes = joint.infosets[own["infosets"]], joint.nodes[own["nodes"]]
        assert within(infosets["first_seq"], own["seqs"])
        assert within(infosets["first_seq"] + infosets["n_actions"] - 1, own["seqs"])
        assert within(infosets["first_node"], own["nodes"])
        assert within(infosets["end_node"] - 1, own["nodes"])
        assert within(infosets["first_external"], slice(own["nodes"].start, own["nodes"].stop + 1))
        assert within(nodes["parent"], own["nodes"])
        assert within(nodes["rec_seq"], own["seqs"])
        size = np.diff(tree_of(learner).arrays.first_cell)
        assert within(nodes["first_cell"], own["cells"])
        assert within(nodes["first_cell"] + size - 1, own["cells"])
        assert (infosets["first_cell"] == joint.nodes["first_cell"][infosets["first_node"]]).all()
        if learner.n_episodes:
            assert within(nodes["episode"], own["policies"])
        horizon = learner.policies.explores.shape[1]
        assert (policies.explores[own["policies"], :horizon] == learner.policies.explores).all()
        assert not policies.explores[own["policies"], horizon:].any()
        columns = len(learner.policies.base)
        assert (policies.base[:columns, own["seqs"]] == learner.policies.base).all()


@pytest.mark.parametrize(
    "method", ["prm", SWRHedge(0.3, whole_plays=True), SWRHedge(0.3)], ids=["prm", "whole", "paper"]
)
@pytest.mark.parametrize("game", GAMES)
def test_kernels_do_not_look_at_other_players(game: Game, method: Any) -> None:
    """With everything of the others made nonsense, a player in joint arrays plays and learns as
    they do alone."""
    rng = np.random.default_rng(4)
    for i, plex in enumerate(sequence_form(game).plexes):
        learners = learners_of(game, 1, method)
        alone, own = learners[i], slices_of(learners)[i]
        joint = joined(
            [one.tables for one in learners], [len(one.policies.episodes) for one in learners]
        )
        policies = join_policies([one.policies for one in learners])
        others = {
            name: np.delete(np.arange(slices_of(learners)[-1][name].stop), np.r_[where])
            for name, where in own.items()
        }
        joint.behavior[others["seqs"]] = np.nan
        joint.regret[others["cells"]] = np.nan
        policies.base[:, others["seqs"]] = np.nan
        policies.follow[others["policies"]] = np.nan
        policies.explores[others["policies"]] ^= True
        for name in ("baseline", "plays"):
            joint.sequences[name][others["seqs"]] = np.nan
        numbers = [
            name for name in ("rec_reach", "weight", "credit") if name in joint.nodes.dtype.names
        ]
        for name in numbers:
            joint.nodes[name][others["nodes"]] = np.nan
        before = [array.copy() for array in joint]
        alone.begin_iteration()
        path = np.zeros((2, max(1, policies.explores.shape[1])), np.int32)
        reach = np.zeros(path.shape[1] + 1)
        notes = Notes.of(alone.n_episodes * path.shape[1])
        arrays = (joint.infosets, joint.nodes, joint.behavior, joint.regret, joint.scratch)
        for e in range(alone.n_episodes):
            policy = own["policies"].start + int(alone.policy_of[e])
            alone.begin_episode(e)
            length, children = 0, plex.children(0)
            while children:
                x = int(rng.choice(children))
                y, draw = own["infosets"].start + x, float(rng.random())
                refresh_all(alone.schedule, 0, y, y + 1, 1, *arrays)
                follow, column = 1.0, 0
                if policies.explores[policy, length]:
                    follow, column = policies.follow[policy], policies.column[policy]
                a = draw_action(
                    y, draw, follow, column, policies.base, joint.infosets, joint.behavior
                )
                assert 0 <= a < plex.n_actions[x]
                assert alone.act(x, as_rng([draw])) == a
                path[:, length] = y, a
                length += 1
                children = plex.children(int(plex.first_seq[x]) + a)
            observe_play(
                alone.estimator, alone.schedule, policies, own["policies"].start,
                own["policies"].stop, policy, path, length, 0.7, reach, notes, joint,
            )  # fmt: skip
            alone.end_episode(0.7)
        settle_baselines(notes, joint.sequences)
        alone.begin_iteration()  # which ends the last one
        for name, where in (("behavior", "seqs"), ("regret", "cells"), ("sequences", "seqs")):
            assert (
                getattr(joint, name)[own[where]].tobytes() == getattr(alone.state, name).tobytes()
            )
        for name in numbers:
            assert (joint.nodes[name][own["nodes"]] == alone.state.nodes[name]).all()
        for array, was, kind in zip(
            joint, before, ("infosets", "nodes", "seqs", "cells", "seqs"), strict=False
        ):
            assert array[others[kind]].tobytes() == was[others[kind]].tobytes()


# --- good use -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["prm", "rm", SWRHedge(0.1, whole_plays=True), SWRHedge(0.5)])
def test_a_fresh_learner_is_uniform(method: Any) -> None:
    game = library_game("kuhn:players=3")
    for plex, learner in zip(sequence_form(game).plexes, learners_of(game, 1, method), strict=True):
        for _ in range(2):
            policy = learner.policy()
            np.testing.assert_allclose(policy[1:], 1 / np.repeat(plex.n_actions, plex.n_actions))
            policy[:] = -1.0  # a copy
            learner.begin_iteration()


@pytest.mark.parametrize("method", ["prm", SWRHedge(0.1)], ids=["prm", "paper"])
def test_moves_that_cannot_be(method: Any) -> None:
    """A learner is told when it is asked for what does not follow."""
    plex = sequence_form(kuhn()).plexes[0]
    assert plex.horizon == 2
    second = int(plex.layers[1])
    learner = learners_of(kuhn(), 1, method)[0]
    rng = np.random.default_rng(0)
    for call in (lambda: learner.act(0, rng), lambda: learner.end_episode(0.5)):
        with pytest.raises(ArgumentError, match="an episode must be open"):
            call()
    for episode in (-1, learner.n_episodes):
        with pytest.raises(ArgumentError, match="episode must be in the sampling plan, from 0 to"):
            learner.begin_episode(episode)
    learner.begin_episode(0)
    for x in (-1, second, plex.n_infosets):
        with pytest.raises(ArgumentError, match=f"infoset {x} cannot occur at decision 1"):
            learner.act(x, rng)
    learner.act(0, rng)
    with pytest.raises(ArgumentError, match="infoset 1 cannot occur at decision 2"):
        learner.act(1, rng)
    for loss in (-0.1, 1.1, math.nan):
        with pytest.raises(ArgumentError, match=r"loss of a play must be in \[0, 1\]"):
            learner.end_episode(loss)
    learner.end_episode(0.5)
    with pytest.raises(ArgumentError, match="an episode must be open"):
        learner.end_episode(0.5)
    learner.begin_episode()
    learner.begin_iteration()
    with pytest.raises(ArgumentError, match="an episode must be open"):
        learner.act(0, rng)


@pytest.mark.parametrize("method", ["prm", SWRHedge(0.5)], ids=["prm", "paper"])
def test_playing_while_others_sample_teaches_nothing(method: Any) -> None:
    learner = learners_of(matching_pennies(), 1, method)[0]
    learner.begin_iteration()
    before = [array.copy() for array in (learner.state.regret, learner.state.sequences)]
    learner.begin_episode()
    learner.act(0, np.random.default_rng(0))
    learner.end_episode(1.0)
    for array, was in zip((learner.state.regret, learner.state.sequences), before, strict=True):
        assert (array == was).all()
    if method != "prm":
        assert not learner.state.nodes["credit"].any()
