"""What a policy knows of the decisions in fresh plays, and agents where it knows nothing."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import accord
from accord._arrays import NO_INFOSET
from accord.errors import ArgumentError, BudgetError
from accord.game.library import kuhn
from accord.interop.pettingzoo import PettingZooEnvironment
from accord.play.recent import LEAST_STRETCH, RecentPlays
from accord.reports.write import write_report
from tests.support.command import run
from tests.support.environments import Hidden, Strange
from tests.support.pettingzoo_envs import Repeated, Told

ADVICE = "play more episodes, or let labels tell less apart"


def test_recent_plays_forget_the_first_ones() -> None:
    """The mean is over the last quarter to half of all plays, however many there were."""
    recent = RecentPlays(2)
    assert recent.coverage is None
    for n in range(1, 5001):
        new = NO_INFOSET if n % 4 == 0 else 7
        moves = [(0, 3, "", (), 0), (1, new, "", (), 0)]
        recent.add(SimpleNamespace(payoffs=(float(n), -float(n)), moves=moves))  # type: ignore[arg-type]
        values, margins, plays = recent.values()
        first = n - plays + 1
        assert values == pytest.approx([(first + n) / 2, -(first + n) / 2])
        if n > 4 * LEAST_STRETCH:
            assert n / 5 <= plays <= n / 2 + 1
    spread = np.arange(first, n + 1).std() / math.sqrt(plays)
    assert margins == pytest.approx([1.96 * spread] * 2, rel=1e-3)
    assert recent.coverage == pytest.approx(7 / 8, abs=1e-3)
    again = RecentPlays(2)
    again.restore(recent.sums)
    assert again.values() == recent.values()
    with pytest.raises(ValueError, match="must fit"):
        RecentPlays(3).restore(recent.sums)


def test_little_was_learned_where_nothing_repeats(tmp_path: Path) -> None:
    learned = accord.learn(Strange(), 1, episodes=600, folder=tmp_path / "run")
    assert learned.coverage == 0.0
    assert learned.to_json()["coverage"] == 0.0
    assert learned.history[-1].seen is not None
    assert learned.history[-1].seen.coverage == 0.0
    assert learned.certificate is not None
    assert learned.certificate.coverage == 0.0
    assert ADVICE in str(learned.certificate)
    write_report(tmp_path / "run", tmp_path / "page.html")
    assert ADVICE in (tmp_path / "page.html").read_text()


def test_coverage_is_the_share_of_known_decisions() -> None:
    """With a hundred numbers that are seen before both moves, a share of them is known."""

    class Rounded(Strange):
        digits = 2

    policy = accord.learn(Rounded(), 1, episodes=90, seed=3, plays=40).policy
    known = [set(plex.infoset_labels) for plex in policy.plexes]
    env, met = Rounded(), []
    agents = [policy.agent(i, 5) for i in range(2)]
    rng = np.random.default_rng(1)
    for agent in agents:
        agent.warns = False
    for _ in range(2000):
        env.reset(rng)
        for agent in agents:
            agent.reset()
        while (i := env.turn()) >= 0:
            met.append(env.infoset() in known[i])
            env.step(agents[i].act(env.infoset(), env.actions()))
    assert sum(agent.unknown for agent in agents) == len(met) - sum(met)
    expected, margin = np.mean(met), 0.03
    again = accord.learn(Rounded(), 1, episodes=90, seed=3, plays=2000)
    assert again.coverage == pytest.approx(expected, abs=margin)
    assert again.certificate is not None
    assert again.certificate.coverage == pytest.approx(expected, abs=0.06)
    assert accord.rollout(env, policy, 2000).coverage == pytest.approx(expected, abs=margin)


def test_known_games_are_covered() -> None:
    learned = accord.learn(Hidden(kuhn()), 1, episodes=3000, plays=200)
    assert learned.coverage == 1.0
    assert learned.certificate is not None
    assert ADVICE not in str(learned.certificate)
    assert not learned.is_full
    exact = accord.learn(kuhn(), 1, episodes=300)
    assert exact.coverage is None


def test_the_command_line_tells(tmp_path: Path) -> None:
    code = "from tests.support.environments import Strange\n\n\ndef env():\n    return Strange()\n"
    (tmp_path / "strange.py").write_text(code)
    name = f"{tmp_path / 'strange.py'}:env"
    shown = run("learn", name, "--episodes", "300", "--memory", "0.04MB").stdout
    assert "0% of the decisions in fresh plays are at infosets seen before" in shown
    assert "the tables were full" in shown
    assert ADVICE in shown


def test_agents_notice_a_forgotten_reset() -> None:
    policy = accord.learn(Hidden(kuhn()), 1, episodes=600, plays=40).policy
    plex = policy.plexes[0]
    later = next(x for x in range(plex.n_infosets) if plex.parent_seq[x] > 0)
    first = int(plex.seq_infoset[plex.parent_seq[later]])
    agent = policy.agent(0)
    for _ in range(3):  # the same infoset may be asked about again
        agent.act(plex.infoset_labels[first])
    agent.act(plex.infoset_labels[later])
    with pytest.raises(ArgumentError, match=r"cannot follow .* call reset\(\)"):
        agent.act(plex.infoset_labels[first])
    agent.reset()
    agent.act(plex.infoset_labels[first])
    assert agent.unknown == 0


def test_agents_warn_once_of_unknown_infosets() -> None:
    policy = accord.learn(Hidden(kuhn()), 1, episodes=600, plays=40).policy
    agent = policy.agent(0)
    with pytest.warns(UserWarning, match="does not know the infoset 'elsewhere'"):
        agent.act("elsewhere", ("a", "b"))
    agent.act("elsewhere", ("a", "b"))  # a second warning would be an error
    assert (agent.unknown, agent.decisions) == (2, 2)
    with pytest.raises(ArgumentError, match="cannot follow one that the policy does not know"):
        agent.act(policy.plexes[0].infoset_labels[0])


def test_a_forgotten_reset_in_pettingzoo() -> None:
    env = PettingZooEnvironment(Repeated(), (-9, 9))
    policy = accord.learn(env, 1, episodes=300, plays=40).policy
    zoo = Repeated()
    agents = {name: env.agent(policy, name) for name in zoo.possible_agents}

    def play() -> None:
        zoo.reset(seed=1)
        for name in zoo.agent_iter():
            observation, _, terminated, truncated, info = zoo.last()
            over = terminated or truncated
            zoo.step(None if over else agents[name].act(observation, info))

    play()
    with pytest.warns(UserWarning, match=r"reset\(\) was not called"):
        play()


def test_a_missing_mask_is_an_error() -> None:
    env = PettingZooEnvironment(Told(), (-9, 9))
    policy = accord.learn(env, 1, episodes=300, plays=40).policy
    masked = [len(set(map(len, plex.action_labels)) - {2}) > 0 for plex in policy.plexes]
    zoo = Told()
    zoo.reset(seed=1)
    name = zoo.possible_agents[masked.index(True)]
    observation, *_ = zoo.last()
    bare = observation["observation"] if isinstance(observation, dict) else observation
    with pytest.raises(ArgumentError, match=r"learned with action masks.*act\(observation, info\)"):
        env.agent(policy, name).act(bare)


@pytest.mark.parametrize(("k", "heard"), [(0, 0), (1, 1), (2, 2), (math.inf, 3), (None, 1)])
def test_the_mediator_is_silent_after_k_deviations(k: Any, heard: int) -> None:
    class Thrice(Strange):
        """Ann moves three times."""

        players, payoff_bounds = ("ann",), ((0.0, 1.0),)

        def turn(self) -> int:
            return 0 if len(self.done) < 3 else -2

        def infoset(self) -> str:
            return str(self.done)

        def payoffs(self) -> list[float]:
            return [1.0]

    policy = accord.learn(Thrice(), 1, episodes=300, plays=20).policy
    told: list[int | None] = []

    def disobeys(infoset: str, actions: tuple[str, ...], recommended: int | None) -> int:
        told.append(recommended)
        return 0 if recommended is None else 1 - recommended

    accord.rollout(Thrice(), policy, 20, k=k, agents={"ann": disobeys})
    assert [one is not None for one in told] == [n < heard for n in range(3)] * 20


def test_too_large_to_load_can_be_played() -> None:
    with pytest.raises(BudgetError, match="accord learn --play"):
        accord.load_game("phantom_ttt", max_nodes=1000)
