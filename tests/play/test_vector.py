"""Vector environments, whose plays are stepped together."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import accord
from accord.errors import ArgumentError, GameError, SimulatorError
from accord.play.episodes import ACTIONS, Episode
from accord.play.lanes import LaneWorkers
from accord.play.own_tree import OwnTree
from accord.play.streams import Streams
from tests.support.command import run
from tests.support.vector_envs import (
    AGENTS,
    Agents,
    ByAgent,
    Cards,
    Matching,
    MatchingInParallel,
)

BOUNDS = (-2.0, 8.0)


def matching(copies: int, mode: AutoresetMode) -> accord.PettingZooEnvironment:
    vector = SyncVectorEnv([Matching] * copies, autoreset_mode=mode)
    return accord.PettingZooEnvironment(vector, BOUNDS, name="matching", agents=AGENTS)


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("copies", [4, 8])
def test_bits_are_those_of_one_play_at_a_time(copies: int, mode: AutoresetMode) -> None:
    alone = accord.PettingZooEnvironment(MatchingInParallel(), BOUNDS)
    wanted = accord.learn(alone, 1, episodes=240, batch=2, plays=240)
    learned = accord.learn(matching(copies, mode), 1, episodes=240, batch=2, plays=240)
    assert learned.policy.behavior.tobytes() == wanted.policy.behavior.tobytes()
    assert (learned.values, learned.coverage) == (wanted.values, wanted.coverage)
    assert learned.certificate is not None and wanted.certificate is not None
    assert learned.certificate.to_json() == wanted.certificate.to_json()


@pytest.mark.parametrize("mode", AutoresetMode)
def test_joint_plays_have_the_same_bits(mode: AutoresetMode) -> None:
    alone = accord.PettingZooEnvironment(MatchingInParallel(), BOUNDS)
    wanted = accord.learn(alone, 1, episodes=200, plays=0, feedback="joint")
    learned = accord.learn(matching(5, mode), 1, episodes=200, plays=0, feedback="joint")
    assert learned.policy.behavior.tobytes() == wanted.policy.behavior.tobytes()


def test_plays_are_stepped_together() -> None:
    """There is a step for each 16 plays, and as many episodes in a batch as fit into them."""
    vector = Cards(copies=16)
    learned = accord.learn(accord.PettingZooEnvironment(vector, (0, 2)), 1, episodes=1500, plays=0)
    assert learned.request.batch == 5
    assert vector.steps <= 1500 / 15 + np.ceil(learned.plays / 16)
    assert [plex.n_infosets for plex in learned.policy.plexes] == [3, 3]
    assert learned.policy.plexes[0].action_labels.count(("0", "1")) == 1  # the mask of card 0


def test_what_is_learned_in_arrays_is_an_equilibrium() -> None:
    env = accord.PettingZooEnvironment(Cards(copies=64), (0, 2))
    learned = accord.learn(env, 1, episodes=9000, plays=9000)
    assert learned.coverage == 1.0
    assert learned.certificate is not None
    assert learned.certificate[1].lower < 0.05 < learned.certificate[1].upper < 0.3


class UpToTwoRounds(ByAgent):
    """A play ends when row takes action 1, or after two rounds. A mask resets some plays only."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        if options is None:
            self.played = np.zeros(self.num_envs, int)
            return super().reset(seed=seed)
        self.played[options["reset_mask"]] = 0
        return self.seen(), {}

    def step(self, actions: dict[str, Any]) -> Any:
        seen, paid, _, *rest = super().step(actions)
        self.played = np.where(actions["row"] == 1, 2, self.played + 1)
        return seen, paid, dict.fromkeys(AGENTS, self.played >= 2), *rest


@pytest.mark.parametrize("mode", [None, AutoresetMode.DISABLED])
def test_one_seed_for_all_gives_an_episode_the_same_chance(mode: AutoresetMode | None) -> None:
    """Whatever is played, and so however long plays before it last, as certificates need it."""
    vector = UpToTwoRounds()
    vector.metadata = {"name": "rounds", "autoreset_mode": mode}  # type: ignore[dict-item]
    env: Any = accord.PettingZooEnvironment(vector, (0, 2))
    workers, draws = LaneWorkers(env, 7), Streams(7, ACTIONS).draws
    trees = [OwnTree(agent) for agent in AGENTS]

    def played(choose: Any) -> list[Episode]:
        episodes = [Episode(number, -1, trees, choose, draws) for number in range(40)]
        workers.play(episodes)
        return episodes

    short = played(lambda episode, i, x, n: int(episode.draw() < 0.5))
    long = played(lambda episode, i, x, n: 1)
    assert {len(episode.moves) for episode in short} == {2, 4}
    assert {len(episode.moves) for episode in long} == {4}
    firsts = [[[move[2] for move in one.moves[:2]] for one in run] for run in (short, long)]
    assert firsts[0] == firsts[1]
    assert len({tuple(labels) for labels in firsts[0]}) == 4


def test_environments_by_agent_and_copies_that_are_agents() -> None:
    env = accord.PettingZooEnvironment(ByAgent(), (0, 2))
    learned = accord.learn(env, 1, episodes=600, plays=100)
    assert [plex.n_infosets for plex in learned.policy.plexes] == [10, 10]
    assert set(learned.policy.plexes[0].action_labels) == {("1", "2")}
    assert sum(learned.values) == pytest.approx(2.0)
    flat = accord.PettingZooEnvironment(Agents(), (-1, 1), agents=["even", "odd"])
    assert (flat.players, flat.together and flat.together.count) == (("even", "odd"), 4)
    learned = accord.learn(flat, 1, episodes=3000, plays=1000)
    assert learned.values[0] == pytest.approx(0.5, abs=0.1)
    assert learned.values[0] == -learned.values[1]


def test_one_lane_alone_is_an_environment() -> None:
    env = matching(3, AutoresetMode.NEXT_STEP)
    alone = accord.PettingZooEnvironment(MatchingInParallel(), BOUNDS)
    policy = accord.learn(alone, 0, episodes=90, plays=0).policy
    wanted = accord.rollout(alone, policy, plays=30, agents={"row": lambda *_: 0}, seed=1)
    found = accord.rollout(env, policy, plays=30, agents={"row": lambda *_: 0}, seed=1)
    assert tuple(found.mean) == tuple(wanted.mean)


def test_bounds_are_estimated() -> None:
    learned = accord.learn(accord.PettingZooEnvironment(Cards()), 1, episodes=300, plays=200)
    assert learned.bounds_estimated
    assert learned.payoff_bounds == ((0.0, 2.0), (0.0, 2.0))


def test_a_failure_says_where_and_loses_nothing(tmp_path: Path) -> None:
    env = accord.PettingZooEnvironment(Cards(fails=30), (0, 2))
    with pytest.raises(SimulatorError, match=r"out of memory.*after player column took") as failed:
        accord.learn(env, 1, episodes=900, plays=0, folder=tmp_path / "run")
    assert failed.value.learned is not None and failed.value.learned.episodes > 0
    again = accord.PettingZooEnvironment(Cards(), (0, 2))
    accord.learn(again, 1, episodes=900, plays=0, folder=tmp_path / "run", resume=True)
    wanted = accord.learn(accord.PettingZooEnvironment(Cards(), (0, 2)), 1, episodes=900, plays=0)
    kept = accord.load_policy(tmp_path / "run")
    assert kept.behavior.tobytes() == wanted.policy.behavior.tobytes()


class Hanging(Cards):
    def step(self, actions: Any) -> Any:
        time.sleep(60.0)


def test_a_step_that_hangs_is_given_up() -> None:
    env: Any = accord.PettingZooEnvironment(Hanging(), (0, 2))
    env.step_seconds = 0.5
    since = time.monotonic()
    with pytest.raises(SimulatorError, match=r"must answer within 0\.5 seconds"):
        accord.learn(env, 1, episodes=90)
    assert time.monotonic() - since < 30.0


class OneReward(Cards):
    def step(self, actions: Any) -> Any:
        seen, paid, *rest = super().step(actions)
        return seen, paid[:, 0], *rest


def test_mistakes_are_explained() -> None:
    with pytest.raises(GameError, match=r"2 rewards, one for each agent.*infos\[\"rewards\"\]"):
        accord.learn(accord.PettingZooEnvironment(OneReward(), (0, 2)), 1, episodes=90)
    with pytest.raises(ArgumentError, match="leave workers and ray out"):
        accord.learn(accord.PettingZooEnvironment(Cards(), (0, 2)), 1, episodes=90, workers=2)
    with pytest.raises(ArgumentError, match=r"a part for each agent.*agents=\[\.\.\.\]"):
        accord.PettingZooEnvironment(Agents(), (-1, 1))
    with pytest.raises(ArgumentError, match="Gymnasium sorts the entries of a Dict"):
        accord.PettingZooEnvironment(SyncVectorEnv([Matching] * 2), BOUNDS)
    with pytest.raises(ArgumentError, match="a multiple of the 2 agents; it is 7"):
        accord.PettingZooEnvironment(Agents(7), (-1, 1), agents=["even", "odd"])
    with pytest.raises(ArgumentError, match="agents are for vector environments"):
        accord.PettingZooEnvironment(MatchingInParallel(), BOUNDS, agents=["a", "b"])
    for unwrapped in (Cards(), gymnasium.make("CartPole-v1")):
        with pytest.raises(ArgumentError, match=r"a Gymnasium environment, which has one agent"):
            accord.learn(unwrapped, 1, episodes=90)  # type: ignore[arg-type]


def test_command() -> None:
    result = run(
        "learn", "tests.support.vector_envs:Cards", "--payoffs", "0", "2", "--episodes", "300",
        "--plays", "60",
    )  # fmt: skip
    assert result.exit_code == 0
    assert "cards: EFCE learned by prm from 300 episodes, 20 iterations" in result.stdout
