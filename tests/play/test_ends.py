"""How many ends a game has, by plays: Chao's estimate from a sample of the ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from accord.game.library import kuhn
from accord.play.ends import Ends
from accord.play.episodes import Episode
from accord.runs.learn import learn
from tests.support.command import run, run_json
from tests.support.environments import Hidden


def played(end: int) -> Episode:
    """A play whose only decision tells which end it has."""
    episode = Episode(0, 0, [], lambda *_: 0, lambda _: lambda: 0.0)
    episode.moves, episode.shown = [(0, 0, f"end {end}", ("a",), 0)], [[], []]
    return episode


def test_ends_that_all_were_seen_often_are_counted() -> None:
    ends = Ends()
    for n in range(300):
        ends.add(played(n % 100))
    assert ends.estimate() == 100.0


def test_unseen_ends_are_estimated() -> None:
    """By the formula, from ends that were seen once and twice: 3 + 2 * 1 / (2 * 2)."""
    ends = Ends()
    for end in (1, 2, 3, 3):
        ends.add(played(end))
    assert ends.estimate() == 3.5


def test_what_chance_shows_tells_ends_apart() -> None:
    ends = Ends()
    for drawn in (0, 0, 0, 1, 1, 1):
        episode = played(0)
        episode.shown = [[((0.5, 0.5), drawn)], []]
        ends.add(episode)
    assert ends.estimate() == 2.0


def test_a_sample_estimates_the_same_number() -> None:
    """Uniform plays over 5,000 ends, of which at most 500 are kept: within four deviations."""
    rng = np.random.default_rng(0)
    sampled = Ends(most=500)
    for end in rng.integers(5_000, size=20_000).tolist():
        sampled.add(played(end))
    assert abs(sampled.estimate() - 5_000) < 4 * 5_000 / np.sqrt(250)


def test_counts_can_be_saved_and_restored() -> None:
    whole, first, second = Ends(50), Ends(50), Ends(50)
    for n in range(200):
        whole.add(played(n % 170))
        first.add(played(n % 170))
    second.restore(first.state())
    for n in range(200, 400):
        whole.add(played(n % 170))
        second.add(played(n % 170))
    assert second.estimate() == whole.estimate()


@pytest.mark.parametrize(
    "change",
    [
        {"every": np.array(0)},
        {"plays": np.array([1, 0])},
        {"plays": np.array([1])},
        {"digests": np.array([7, 7], np.uint64)},
    ],
)
def test_damaged_counts_are_refused(change: dict[str, Any]) -> None:
    ends = Ends()
    ends.add(played(1))
    ends.add(played(2))
    with pytest.raises(ValueError, match="counted"):
        Ends().restore({**ends.state(), **change})


def test_learn_says_when_joint_plays_would_serve_better() -> None:
    """Kuhn poker has 30 ends, and an environment shows that in plays."""
    few, many = learn(kuhn(), episodes=29), learn(kuhn(), episodes=300)
    assert few.ends == many.ends == 30
    assert few.advice is None
    assert many.advice is not None
    assert "300 episodes for 30 ends of the game" in many.advice
    there = learn(Hidden(kuhn()), episodes=300, plays=0)
    assert there.ends is not None
    assert 24 <= there.ends <= 36
    assert there.advice is not None
    assert "for about " in there.advice
    assert learn(Hidden(kuhn()), episodes=12, plays=0).advice is None
    joint = learn(kuhn(), episodes=300, feedback="joint")
    assert joint.ends is joint.advice is None


def test_the_command_says_it_once(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ("learn", "kuhn", "--episodes", 300)
    assert run(*asked).stdout.count("--feedback joint") == 1
    assert "joint feedback" in run_json(*asked)["advice"]
    assert "--feedback joint" not in run("learn", "kuhn", "--episodes", 29).stdout
    text = (
        "from accord.game.library import kuhn\nfrom tests.support.environments import Hidden\n"
        "def make():\n    return Hidden(kuhn())\n"
    )
    (tmp_path / "env.py").write_text(text)
    assert run("learn", "env.py:make", "--episodes", 300).stdout.count("--feedback joint") == 1
    folder = tmp_path / "run"
    whole = run_json("learn", "env.py:make", "--episodes", 600)["advice"]
    run("learn", "env.py:make", "--episodes", 300, "--out", folder)
    resumed = run_json("learn", "env.py:make", "--resume", folder, "--episodes", 600)
    assert resumed["advice"] == whole
