"""Learning that starts from a policy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import accord
from accord.errors import ArgumentError, MismatchError
from accord.game.library import library_game
from accord.learning.episode_play import EnvironmentPlay
from accord.learning.simulator_play import SimulatorPlay
from accord.learning.warm_start import WarmStart
from accord.treeplex.form import sequence_form
from tests.support.environments import Hidden

KUHN = library_game("kuhn")


def learned(episodes: int = 20_000) -> accord.Learned:
    return accord.learn(KUHN, 1, episodes=episodes, seed=5)


@pytest.mark.parametrize("k", [0, 1, 2, "efcce"])
def test_the_first_iterate_is_the_policy(k: int | str) -> None:
    """Whatever the rechistories, the stationary distribution is the mean policy."""
    start, form = WarmStart(learned().policy, KUHN.player_labels), sequence_form(KUHN)
    play = SimulatorPlay(form, k, 300, np.random.default_rng(0), start=start)
    kept = np.empty((1, form.n_sequences))
    play.averages = 1
    play.advance(1, kept)
    for ours, theirs in zip(form.split(kept[0]), start.behaviors, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-9)


def test_an_environment_starts_from_it_too() -> None:
    env, first = Hidden(KUHN), accord.learn(Hidden(KUHN), 1, episodes=600, plays=0)
    start = WarmStart(first.policy, env.players)
    play = EnvironmentPlay(env, 1, 0, start=start)
    for learner, behavior in zip(play.learners, start.behaviors, strict=True):
        learner.begin_iteration()
        assert learner.policy() == pytest.approx(behavior, abs=1e-9)


def test_a_good_start_saves_episodes() -> None:
    first = learned(100_000)
    cold = [accord.learn(KUHN, 1, episodes=3_000, seed=n).gap for n in range(3)]
    warm = [accord.learn(KUHN, 1, episodes=3_000, seed=n, start=first).gap for n in range(3)]
    assert sorted(warm)[1] < sorted(cold)[1]


def test_a_bad_start_is_overcome() -> None:
    worst = accord.CorrelatedPolicy(KUHN, np.ones(1), _always_first()[np.newaxis])
    gap = accord.certify(KUHN, worst, 1)[1].gap
    assert accord.learn(KUHN, 1, episodes=100_000, start=worst).gap < 0.1 * gap


def _always_first() -> np.ndarray:
    parts = []
    for plex in sequence_form(KUHN).plexes:
        behavior = np.zeros(plex.n_sequences)
        behavior[0] = 1.0
        behavior[plex.first_seq[:-1]] = 1.0
        parts.append(behavior)
    return np.concatenate(parts)


def test_a_run_with_a_start_is_resumed(tmp_path: Path) -> None:
    first = learned()
    whole = accord.learn(KUHN, 1, episodes=900, start=first, components=10)
    accord.learn(KUHN, 1, episodes=900, start=first, components=10, folder=tmp_path)
    again = accord.learn(KUHN, 1, episodes=900, components=10, folder=tmp_path, resume=True)
    assert np.array_equal(whole.policy.behavior, again.policy.behavior)
    with pytest.raises(MismatchError, match="started from another policy"):
        accord.learn(
            KUHN, 1, episodes=900, components=10, folder=tmp_path, resume=True, start=whole
        )
    (tmp_path / "checkpoint.npz").unlink()
    with pytest.raises(ArgumentError, match="give that policy again as start"):
        accord.learn(KUHN, 1, episodes=900, components=10, folder=tmp_path, resume=True)


def test_what_cannot_start() -> None:
    first = learned(300)
    with pytest.raises(ArgumentError, match="a warm start is for prm and rm"):
        accord.learn(KUHN, 1, episodes=3_000, method="swrhedge", start=first)
    with pytest.raises(ArgumentError, match="start is for feedback='own'"):
        accord.learn(KUHN, 1, episodes=300, feedback="joint", start=first)
    with pytest.raises(MismatchError, match="must be one of shapley"):
        accord.learn(library_game("shapley"), 1, episodes=300, start=first)
    three = library_game("kuhn:players=3")
    with pytest.raises(MismatchError, match="must be for 3 players; it is for 2"):
        accord.learn(Hidden(three), 1, episodes=300, start=first)


def test_the_policy_of_another_environment_is_refused() -> None:
    """It knows none of the infosets; under another name a policy of the same game may start."""
    other = accord.learn(Hidden(library_game("chicken")), 1, episodes=90, plays=0)
    with pytest.raises(MismatchError, match=r"it is one of chicken, and knows none of the infoset"):
        accord.learn(Hidden(KUHN), 1, episodes=90, plays=0, start=other)
    renamed = Hidden(KUHN)
    renamed.name = "poker"
    first = accord.learn(renamed, 1, episodes=900, plays=0)
    assert accord.learn(Hidden(KUHN), 1, episodes=90, plays=0, start=first).episodes == 90
