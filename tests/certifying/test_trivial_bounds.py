"""Bounds from play that are never worse than what is known without them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import accord
from accord.certifying.by_play import certify_by_play, tightened
from accord.certifying.certificate import Gap
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError
from accord.game.library import kuhn
from accord.play.environment import checked_bounds
from accord.runs.checkpoint import Checkpoint
from accord.treeplex.strategy import uniform_behavior
from tests.support.command import run, run_json
from tests.support.environments import NoisyChicken, Strange


def uniform(env: Any) -> CorrelatedPolicy:
    """A policy of one component that is uniform."""
    plexes = accord.discover(env, patience=200)
    behavior = np.concatenate([uniform_behavior(plex) for plex in plexes])[None]
    return CorrelatedPolicy.of_players(env.name, env.players, plexes, np.ones(1), behavior)


@pytest.mark.parametrize("plays", [100, 400, 3000])
def test_the_upper_bound_is_at_most_the_trivial_one(plays: int) -> None:
    """No deviator is paid more than the best payoff."""
    for env in (NoisyChicken(), Strange()):
        policy = accord.learn(env, 1, episodes=60, plays=0).policy
        found = certify_by_play(env, policy, [0, 1], plays=plays)
        worst, best = checked_bounds(env)
        for gap in found.gaps:
            for i, upper in enumerate(gap.player_upper):
                trivial = best[i] - found.values[i] + found.value_errors[i]
                assert upper <= trivial + 1e-9
                if gap.vacuous[i]:
                    assert upper >= best[i] - found.values[i]
                    assert upper <= best[i] - worst[i]
        if any(map(any, (gap.vacuous for gap in found.gaps))):
            assert "nobody is paid more than the best payoff" in str(found)


def test_bounds_follow_from_each_other() -> None:
    def gap(k: float, lower: float, upper: float) -> Gap:
        found = certificates[k]
        return found.__class__(
            **{**vars(found), "player_lower": (lower, 0.0), "player_upper": (upper, 9.0)}
        )

    env = NoisyChicken()
    policy = uniform(env)
    made = certify_by_play(env, policy, [0, 1, 2], plays=200)
    certificates = {one.k or 0: one for one in made.gaps}
    given = [gap(0, 0.3, 2.0), gap(2, 0.2, 1.5), gap(1, 0.1, 3.0)]
    zero, two, one = tightened(given, (5.0, 8.0))
    assert zero.player_upper[1] == 8.0
    assert zero.vacuous[1]
    assert [g.player_lower[0] for g in (zero, one, two)] == [0.3, 0.3, 0.3]
    assert [g.player_upper[0] for g in (zero, one, two)] == [1.5, 1.5, 1.5]
    assert two.witnesses[0] is certificates[0].witnesses[0]


def test_memory_limits_the_certificate() -> None:
    """The policy does not grow by more than what fits, and sums that do not fit are left out."""
    env = Strange()
    policy = accord.learn(env, 1, episodes=600, plays=0, components=4).policy
    known = sum(plex.n_infosets for plex in policy.plexes)
    free = certify_by_play(env, policy, 1, plays=2000)
    assert free.upper_refusal is None
    assert free.infosets > known + 200
    tight = certify_by_play(env, policy, 1, plays=2000, memory=200_000)
    assert "and 100 kB are available" in (tight.upper_refusal or "")
    assert tight.infosets == known
    assert tight[1].vacuous == (True, True)
    assert tight.plays == pytest.approx(2000, abs=10)
    learned = accord.learn(env, 1, episodes=600, memory=20_000, plays=2000, components=4)
    assert learned.is_full
    assert learned.certificate is not None
    assert learned.certificate.infosets < 100


def test_progress_counts_fresh_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accord.runs.loop.SHOW_SECONDS", 0.0)
    seen: list[Checkpoint] = []
    accord.learn(NoisyChicken(), 1, episodes=300, plays=1000, value_plays=700, progress=seen.append)
    fresh = [point.fresh for point in seen if point.fresh is not None]
    assert fresh == sorted(fresh)
    assert fresh[0] <= 700 < fresh[-1]
    assert 0.9 * 1700 < fresh[-1] <= 1700
    assert "fresh" not in seen[-1].to_json()


def test_fresh_plays_can_be_chosen(tmp_path: Path) -> None:
    (tmp_path / "env.py").write_text("from tests.support.environments import NoisyChicken\n")
    name = f"{tmp_path / 'env.py'}:NoisyChicken"
    shown = run("learn", name, "--episodes", 300, "--plays", 0, "--value-plays", 50).stdout
    assert "no bounds on the gap: bounds on the gap need at least 40 plays; there were 0" in shown
    learned = accord.learn(NoisyChicken(), 1, episodes=300, plays=0, value_plays=50)
    assert (learned.plays, learned.certificate) == (50, None)
    assert accord.learn(NoisyChicken(), 1, episodes=300, plays=0).plays == 300
    assert accord.learn(NoisyChicken(), 1, episodes=3000, plays=0).plays == 1000
    with pytest.raises(ArgumentError, match="value_plays must be"):
        accord.learn(NoisyChicken(), 1, episodes=300, value_plays=0)


@pytest.mark.slow
def test_seconds_end_learning(tmp_path: Path) -> None:
    """The run ends long before its episodes, keeps components, and continues from there."""
    (tmp_path / "env.py").write_text("from tests.support.environments import NoisyChicken\n")
    name = f"{tmp_path / 'env.py'}:NoisyChicken"
    out = tmp_path / "run"
    first = run_json(
        "learn", name, "--episodes", 10**9, "--seconds", 1, "--plays", 40, "--out", out
    )
    assert 0 < first["episodes"] < 10**8
    assert first["components"] >= 10
    more = first["episodes"] + 300
    again = run_json("learn", name, "--resume", out, "--episodes", more, "--plays", 40)
    assert first["episodes"] < again["episodes"] <= more
    assert accord.learn(kuhn(), 1, episodes=10**9, seconds=3).episodes < 10**9
    with pytest.raises(ArgumentError, match="seconds must be non-negative"):
        accord.learn(kuhn(), 1, episodes=100, seconds=-1)


def test_runs_of_python_code_are_resumed_on_the_command_line(tmp_path: Path) -> None:
    """Such a run does not know how its environment was made; whoever resumes it says so."""
    out = tmp_path / "run"
    accord.learn(NoisyChicken(), 1, episodes=300, folder=out, plays=40)
    code = "from tests.support.environments import NoisyChicken\n"
    (tmp_path / "env.py").write_text(code)
    result = run("learn", "--resume", out, "--episodes", 600, code=2)
    assert "Python code began" in result.stderr
    name = f"{tmp_path / 'env.py'}:NoisyChicken"
    again = run_json("learn", name, "--resume", out, "--episodes", 600, "--plays", 40)
    whole = accord.learn(NoisyChicken(), 1, episodes=600, plays=40)
    assert again["episodes"] == whole.episodes
    assert again["values"] == list(whole.values)


def test_runs_in_pettingzoo_are_resumed_with_their_payoffs(tmp_path: Path) -> None:
    out = tmp_path / "run"
    (tmp_path / "env.py").write_text("from tests.support.pettingzoo_envs import Repeated\n")
    name = f"{tmp_path / 'env.py'}:Repeated"
    from accord.interop.pettingzoo import PettingZooEnvironment
    from tests.support.pettingzoo_envs import Repeated

    accord.learn(PettingZooEnvironment(Repeated(), (-9, 9)), 1, episodes=30, folder=out, plays=40)
    arguments = ("learn", name, "--resume", out, "--episodes", 60, "--plays", 40)
    assert run_json(*arguments, "--payoffs", -9, 9)["episodes"] == 60
