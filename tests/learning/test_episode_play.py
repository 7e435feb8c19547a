"""Learning in environments: with known treeplexes, or meeting infosets while playing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from accord._arrays import TERMINAL, Floats
from accord.deviations.rechistory import RechistoryTree
from accord.errors import AccordError, BudgetError, ImperfectRecallError, SimulatorError
from accord.game.builder import GameBuilder
from accord.game.library import kuhn, library_game
from accord.game.tree import Game
from accord.learning.balanced_kefr import BalancedKEFR
from accord.learning.episode_play import EnvironmentPlay, needs_treeplexes
from accord.learning.simulator_play import SimulatorPlay
from accord.learning.tables import Tables
from accord.learning.whole_plays import WholePlayKEFR
from accord.play.own_tree import OwnTree
from accord.play.streams import Streams
from accord.regret.methods import SAMPLED_METHODS, configured
from accord.regret.sampled_matching import SampledRegretMatching
from accord.regret.swrhedge import SWRHedge
from accord.runs.components import Components
from accord.runs.learn import learn
from accord.runs.result import Learned
from accord.treeplex.form import sequence_form
from accord.treeplex.strategy import spread_behavior
from accord.treeplex.treeplex import Treeplex
from tests import reference
from tests.support.environments import Forgetful, Hidden, NoisyChicken, Open
from tests.support.policies import grown_game

GAMES = [
    pytest.param(grown_game(0, 2, 60), id="two players"),
    pytest.param(grown_game(1, 3, 60), id="three players"),
    pytest.param(kuhn(), id="kuhn"),
]
UNEVEN = grown_game(0, 2, 60)
METHODS = [
    pytest.param({}, id="prm"),
    pytest.param({"method": "rm"}, id="rm"),
    pytest.param({"exploration": "uniform"}, id="prm uniform"),
    pytest.param({"exploration": "balanced"}, id="prm balanced"),
    pytest.param({"method": SampledRegretMatching(shared=0)}, id="prm alone"),
    pytest.param({"method": SWRHedge(scale=2.0)}, id="swrhedge"),
    pytest.param({"method": SWRHedge(scale=2.0, whole_plays=True)}, id="swrhedge on whole plays"),
]
FAST = SWRHedge(0.5)
SINGLE = SampledRegretMatching(averages=1)
"""The number of iterates in a component would depend on whether treeplexes may grow."""

PLANNED = [
    pytest.param({"method": SINGLE, "exploration": "balanced"}, id="prm balanced"),
    *METHODS[5:],
]
"""Methods that need to know the treeplexes."""


def led_game() -> Game:
    """One player moves; the other only looks on."""
    builder = GameBuilder("led", players=2)
    builder.chance({"low": 0.25, "high": 0.75})
    builder.move("low", "high", player="1", infoset="card", actions="stay go")
    builder.payoff("low stay", 0, 1)
    builder.payoff("low go", -1, 0)
    builder.payoff("high stay", 0, 2)
    builder.payoff("high go", 1, 3)
    return builder.build()


class Rows:
    """Keeps every row."""

    def __init__(self, stride: int, averages: int) -> None:
        self.stride, self.averages = stride, averages
        self.rows: list[list[Floats]] = []

    def append(self, row: list[Floats], *, work: int, visits: int) -> None:
        self.rows.append(row)


def shuffled_tree(plex: Treeplex, seed: int) -> tuple[OwnTree, list[int]]:
    """The infosets of a treeplex as plays might show them, and the number there of each."""
    rng, tree = np.random.default_rng(seed), OwnTree("me")
    order: list[int] = []
    waiting = list(plex.children(0))
    while waiting:
        x = waiting.pop(int(rng.integers(len(waiting))))
        history = plex.history(x)
        before = 0
        if history:
            y, a = history[-1]
            before = tree.first_seq[order.index(y)] + a
        tree.add(plex.infoset_labels[x], tuple(plex.action_labels[x]), before)
        order.append(x)
        for seq in range(plex.first_seq[x], plex.first_seq[x + 1]):
            waiting += plex.children(seq)
    return tree, order


@pytest.fixture
def one_generator(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Lets all episodes draw from one generator, in order, as the compiled simulator does."""

    def use(seed: int) -> None:
        rng = np.random.default_rng(seed)
        monkeypatch.setattr(Streams, "at", lambda self, episode: rng)
        monkeypatch.setattr(Streams, "draws", lambda self, episode: rng.random)

    return use


@pytest.mark.kernels
@pytest.mark.parametrize("options", METHODS)
@pytest.mark.parametrize(("k", "stride"), [(0, 3), (1, 3), (1, 1), (2, 3), (math.inf, 3)])
@pytest.mark.parametrize("game", GAMES)
def test_with_known_treeplexes_it_is_the_compiled_learner(
    game: Game,
    k: float,
    stride: int,
    options: dict[str, Any],
    one_generator: Callable[[int], None],
) -> None:
    """With the same draws, the same policies to rounding."""
    form = sequence_form(game)
    one_generator(4)
    blind = EnvironmentPlay(Open(game), k, 0, episodes=5000, plexes=form.plexes, **options)
    compiled = SimulatorPlay(form, k, 5000, np.random.default_rng(4), **options)
    assert blind.episodes_per_iteration == compiled.episodes_per_iteration
    assert blind.averages == compiled.averages
    assert blind.sizes == compiled.sizes
    rows, kept = Rows(stride, compiled.averages), np.empty((30 // stride, form.n_sequences))
    assert blind.advance(30, rows) == compiled.advance(30, kept, stride) == len(kept)
    for row, wanted in zip(rows.rows, kept, strict=True):
        np.testing.assert_allclose(np.concatenate(row), wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("options", PLANNED)
@pytest.mark.parametrize("game", [kuhn(), led_game()], ids=["kuhn", "led"])
def test_an_environment_has_the_gap_of_its_game(
    game: Game, options: dict[str, Any], one_generator: Callable[[int], None]
) -> None:
    """The same draws give the same mixture in an environment and on a simulator, to rounding."""
    asked: dict[str, Any] = {"episodes": 300, "seed": 6, "components": 10, **options}
    one_generator(6)
    blind, seeing = learn(Open(game), 1, game=game, **asked), learn(game, 1, **asked)
    assert (blind.method, blind.episodes) == (seeing.method, seeing.episodes)
    assert blind.player_gaps == pytest.approx(seeing.player_gaps, rel=1e-9)
    np.testing.assert_allclose(blind.policy.behavior, seeing.policy.behavior, rtol=1e-9, atol=1e-12)


@pytest.mark.kernels
@pytest.mark.parametrize("k", [0, 1, 2, math.inf])
@pytest.mark.parametrize("game", GAMES)
def test_tables_of_a_treeplex_have_its_rechistories(game: Game, k: float) -> None:
    """With the same numbers as the tree that gaps are computed on."""
    for i, plex in enumerate(sequence_form(game).plexes):
        learner, tree = WholePlayKEFR(plex, k), RechistoryTree.build(plex, k)
        own, arrays = learner.state, tree.arrays
        for name, wanted in {
            "first_seq": plex.first_seq[:-1],
            "n_actions": plex.n_actions,
            "first_node": arrays.first_node[:-1],
            "first_external": arrays.first_external,
            "end_node": arrays.first_node[1:],
            "first_cell": arrays.first_cell[arrays.first_node[:-1]],
        }.items():
            assert own.infosets[name].tolist() == wanted.tolist(), name
        assert own.nodes["parent"].tolist() == arrays.parent.tolist()
        assert own.nodes["rec_seq"].tolist() == arrays.rec_seq.tolist()
        assert len(own.regret) == 2 * tree.n_cells
        np.testing.assert_array_equal(learner.policies.base[0], spread_behavior(plex))
        np.testing.assert_allclose(learner.policies.base[0], reference.spread_behavior(game, i))


@pytest.mark.kernels
@pytest.mark.parametrize("k", [0, 1, 2, math.inf])
@pytest.mark.parametrize("game", GAMES)
def test_tables_grow_into_those_of_the_treeplex(game: Game, k: float) -> None:
    """However infosets are met, the records are those of the whole tree, in another order."""
    for seed, plex in enumerate(sequence_form(game).plexes):
        seen, order = shuffled_tree(plex, seed)
        learner = WholePlayKEFR(None, k)
        for x in range(seen.n_infosets):
            assert learner.add(seen.parent_seq[x], len(seen.actions[x])) == x
        learner.begin_iteration()
        tables, known = learner.tables, Tables.of(plex, k, SampledRegretMatching())
        whole, own = known.arrays, learner.state
        spread, seqs = spread_behavior(plex), {0: 0}
        for x, y in enumerate(order):
            for a in range(int(plex.n_actions[y])):
                seqs[seen.first_seq[x] + a] = int(plex.first_seq[y]) + a
        nodes = {0: 0}
        for x, y in enumerate(order):
            one, other = own.infosets[x], whole.infosets[y]
            assert one["n_actions"] == other["n_actions"]
            for name in ("first_external", "end_node"):
                assert one[name] - one["first_node"] == other[name] - other["first_node"]
            nodes |= zip(
                range(one["first_node"], one["end_node"]),
                range(other["first_node"], other["end_node"]),
                strict=True,
            )
            here = slice(one["first_seq"], one["first_seq"] + one["n_actions"])
            there = slice(other["first_seq"], other["first_seq"] + other["n_actions"])
            np.testing.assert_allclose(learner.policies.base[0, here], spread[there])
        for node, wanted in nodes.items():
            assert nodes[int(own.nodes[node]["parent"])] == whole.nodes[wanted]["parent"]
            assert seqs[int(own.nodes[node]["rec_seq"])] == whole.nodes[wanted]["rec_seq"]
        assert (tables.n_nodes, tables.n_cells) == (known.n_nodes, known.n_cells)
        found, columns = seen.ordered()
        assert list(found.infoset_labels) == sorted_labels(plex)
        assert [seqs[int(seq)] for seq in columns] == sequences_of(plex, found)


def sorted_labels(plex: Treeplex) -> list[str]:
    tree = OwnTree.of("me", plex)
    return list(tree.treeplex().infoset_labels)


def sequences_of(plex: Treeplex, found: Treeplex) -> list[int]:
    number = {label: x for x, label in enumerate(plex.infoset_labels)}
    seqs = [0]
    for label in found.infoset_labels:
        x = number[label]
        seqs += range(int(plex.first_seq[x]), int(plex.first_seq[x + 1]))
    return seqs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "k", "episodes"),
    [(kuhn(), 1, 500), (kuhn(), 1, 2000), (kuhn(), math.inf, 500), (UNEVEN, 1, 500)],
)
def test_the_gap_is_that_of_the_compiled_simulator(game: Game, k: float, episodes: int) -> None:
    """The same gaps at the same episodes, within seeds: 40 differ by at most 3 standard errors."""
    blind = [
        learn(Hidden(game), k, episodes=episodes, seed=seed, game=game).gap for seed in range(40)
    ]
    seeing = [learn(game, k, episodes=episodes, seed=1000 + seed).gap for seed in range(40)]
    means = np.mean([blind, seeing], axis=1)
    error = math.hypot(*(np.std([blind, seeing], axis=1, ddof=1) / math.sqrt(40)).tolist())
    assert abs(means[0] - means[1]) < 3 * error


def test_the_order_of_play_does_not_matter() -> None:
    """Episodes of an iteration that are played backwards change no bit."""

    class Backwards(EnvironmentPlay):
        def _play(self) -> None:
            forwards = self._executor.play
            self._executor.play = lambda episodes: forwards(episodes[::-1])  # type: ignore[method-assign]
            try:
                super()._play()
            finally:
                self._executor.play = forwards  # type: ignore[method-assign]

    game = grown_game(1, 3, 60)
    states = []
    for kind in (EnvironmentPlay, Backwards):
        play = kind(Hidden(game), 2, 5, batch=3)
        play.advance(20, Components(iterations=20, averages=4))
        states.append(play.state())
    for name, value in states[0].items():
        np.testing.assert_array_equal(value, states[1][name])


def test_a_batch_plays_more_under_the_same_policies() -> None:
    play = EnvironmentPlay(Hidden(kuhn()), 1, 0, batch=5)
    assert play.episodes_per_iteration == 15
    assert play.learners[0].policies.episodes.tolist() == [5, 5]
    play.advance(1)
    first = [learner.policy() for learner in play.learners]
    assert all((learner.state.infosets["stamp"] <= 1).all() for learner in play.learners)
    for policy, tree in zip(first, play.trees, strict=True):  # all 15 were played by the first one
        counts = [len(actions) for actions in tree.actions]
        np.testing.assert_allclose(policy[1:], 1 / np.repeat(counts, counts))
    play.advance(399)
    assert play.recent.sums[:, 0, 0].sum() == 2000


@pytest.mark.parametrize(
    "method",
    [SampledRegretMatching(0.0, baseline_rate=0.0), SWRHedge(0.5, whole_plays=True), SWRHedge(0.5)],
    ids=["rm", "swrhedge on whole plays", "swrhedge"],
)
def test_a_batch_takes_the_mean(method: Any) -> None:
    """Every play of an iteration five times, each counted a fifth, is every play once."""
    game, rng = grown_game(1, 3, 60), np.random.default_rng(2)
    kind: Any = WholePlayKEFR if method.whole_plays else BalancedKEFR
    for plex in sequence_form(game).plexes:
        one, five = kind(plex, 1, method), kind(plex, 1, method, batch=5)
        assert five.n_episodes == 5 * one.n_episodes
        for _ in range(4):
            one.begin_iteration()
            five.begin_iteration()
            for policy in one.policy_of.tolist():
                moves, children = [], plex.children(0)
                while children:
                    x = int(rng.choice(children))
                    a = one.choose(x, draw := rng.random(), policy, len(moves))
                    assert five.choose(x, draw, policy, len(moves)) == a
                    moves.append((x, a))
                    children = plex.children(int(plex.first_seq[x]) + a)
                loss = rng.random()
                one.observe([(moves, loss, policy)])
                five.observe([(moves, loss, policy)] * 5)
            np.testing.assert_allclose(five.state.regret, one.state.regret, rtol=0, atol=1e-9)
            five.state.regret[:] = one.state.regret
        assert one.state.regret.any() or not plex.n_infosets


@pytest.mark.slow
@pytest.mark.parametrize("method", ["prm", "swrhedge"])
def test_learning_in_batches(method: str) -> None:
    """Five episodes at a time, all under the same policies, lead to an equilibrium, too."""
    game = kuhn()
    gaps = [
        learn(
            Hidden(game), 1, episodes=episodes, batch=5, game=game, method=method, components=100
        ).gap
        for episodes in (300, 20_000)
    ]
    assert gaps[1] < 0.5 * gaps[0]


@pytest.mark.parametrize("options", METHODS)
def test_state_continues_with_the_same_bits(options: dict[str, Any]) -> None:
    game = library_game("kuhn:players=3")
    minimizer = configured(SAMPLED_METHODS, options.get("method", "prm"))
    known = needs_treeplexes(minimizer, options.get("exploration", minimizer.explorations[0]))

    def begun() -> EnvironmentPlay:
        plexes = sequence_form(game).plexes if known else None
        return EnvironmentPlay(Hidden(game), 1, 7, episodes=10**4, plexes=plexes, **options)

    whole, first, second = begun(), begun(), begun()
    kept, rows = (
        [Components(iterations=60, averages=4) for _ in range(2)],
        Components(iterations=60, averages=4),
    )
    whole.advance(60, kept[0])
    first.advance(23, kept[1])
    second.restore({name: np.array(value) for name, value in first.state().items()})
    rows.restore(
        {name: np.array(value) for name, value in kept[1].state().items()}, 23, second.sizes
    )
    second.advance(37, rows)
    for name, value in whole.state().items():
        np.testing.assert_array_equal(value, second.state()[name])
    assert rows.count == kept[0].count
    for one, other in zip(kept[0].rows.parts, rows.rows.parts, strict=True):
        np.testing.assert_array_equal(np.concatenate(one), np.concatenate(other))


def test_a_planned_run_is_restored_with_its_own_treeplexes() -> None:
    """Those of the checkpoint count, not those that were discovered again."""
    game = kuhn()
    first = EnvironmentPlay(Hidden(game), 1, 7, plexes=sequence_form(game).plexes, method=FAST)
    first.advance(5)
    found = [OwnTree.of("", plex).treeplex() for plex in sequence_form(game).plexes]
    second = EnvironmentPlay(Hidden(game), 1, 7, plexes=found[::-1], method=FAST)
    second.restore({name: np.array(value) for name, value in first.state().items()})
    assert [tree.labels for tree in second.trees] == [tree.labels for tree in first.trees]
    first.advance(5)
    second.advance(5)
    for name, value in first.state().items():
        np.testing.assert_array_equal(value, second.state()[name])


# --- what goes wrong ------------------------------------------------------------------------------


class FailsLater(NoisyChicken):
    """Fails in some play, and works when it is tried again."""

    def __init__(self, play: int) -> None:
        self.play, self.plays = play, 0

    def reset(self, rng: np.random.Generator) -> None:
        super().reset(rng)
        self.plays += 1

    def step(self, action: int) -> None:
        if self.plays == self.play:
            raise OSError("the connection broke")
        super().step(action)


def test_nothing_learned_is_lost() -> None:
    with pytest.raises(
        SimulatorError, match=r"OSError: the connection broke.*in episode 100\)"
    ) as e:
        learn(FailsLater(100), 1, episodes=1000)
    learned = e.value.learned
    assert isinstance(learned, Learned)
    assert learned.episodes == 99
    assert learned.plays == 33
    assert learned.policy.n_components > 10
    assert isinstance(e.value.__cause__, OSError)
    with pytest.raises(AccordError) as first:
        learn(FailsLater(1), 1, episodes=1000)
    assert first.value.learned is None


def test_forgetting_is_noticed_while_learning() -> None:
    with pytest.raises(ImperfectRecallError, match=r"'move 1'.*\(in episode \d\)"):
        learn(Forgetful(), 1, episodes=100)


def test_tables_that_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    import psutil

    class Full:
        available = 1000

    monkeypatch.setattr(psutil, "virtual_memory", lambda: Full)
    with pytest.raises(BudgetError, match=r"tables of \d+ infosets take .* try a smaller k") as e:
        learn(Hidden(library_game("kuhn:players=3")), math.inf, episodes=10_000)
    learned = e.value.learned
    assert isinstance(learned, Learned)
    assert 0 < learned.episodes < 10_000
    assert len(learned.policy.weights) == learned.policy.n_components >= 1


class TwoSteps:
    """Left is better only if the second decision, of which there are many, is uniform."""

    name, players, payoff_bounds = "two steps", ("me",), ((0.0, 1.0),)

    def reset(self, rng: np.random.Generator) -> None:
        self.done: list[int] = []
        self.place = int(rng.integers(1000))

    def turn(self) -> int:
        return 0 if len(self.done) < 2 else TERMINAL

    def infoset(self) -> str:
        return "start" if not self.done else f"{self.done[0]} at {self.place}"

    def actions(self) -> tuple[str, ...]:
        return ("left", "right")

    def step(self, action: int) -> None:
        self.done.append(action)

    def payoffs(self) -> list[float]:
        first, second = self.done
        return [float(second == 0) if first == 0 else 0.3]


def test_an_episode_adds_the_first_new_infoset() -> None:
    """The first episode the start, all others at most one of the second decisions."""
    play = EnvironmentPlay(TwoSteps(), 1, 3)
    for iteration in range(1, 20):
        play.advance(1)
        assert play.n_infosets == play.learners[0].tables.n_infosets <= 2 * iteration
    assert play.n_infosets > 30
    assert play.trees[0].labels[0] == "start"


def test_full_tables_keep_learning() -> None:
    """Infosets that do not fit are played uniformly, and the others learn what that is worth."""
    play = EnvironmentPlay(TwoSteps(), 1, 0, memory=1)
    play.memory = 3000  # the first infoset fits, and one more or two
    rows = Rows(1, 1)
    play.advance(1500, rows)
    assert play.is_full
    assert 1 <= play.n_infosets < 20
    assert play.n_bytes < 40_000  # the first sizes of all arrays, not of a thousand infosets
    late = np.mean([row[0][1:3] for row in rows.rows[1000:]], axis=0)
    assert late[0] > 0.9
    large = EnvironmentPlay(TwoSteps(), 1, 0)
    large.advance(1500)
    assert large.n_infosets > 500
    assert not large.is_full


def test_a_limit_of_memory_holds_for_tables_and_components() -> None:
    learned = learn(TwoSteps(), 1, episodes=3000, memory=100_000, plays=10)
    assert learned.request.memory == 100_000
    last = learned.history[-1].seen
    assert last is not None
    assert last.full
    assert last.memory < 50_000 + 20_000  # arrays begin with a size of their own
    assert learned.policy.behavior.nbytes < 100_000


def test_components_stay_within_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many, too large or too slow: every other one is dropped."""
    monkeypatch.setattr("accord.runs.components.DEFAULT_BYTES", 8000)
    rows = Components(iterations=10, averages=1)
    for t in range(1, 101):
        if t % rows.stride == 0:
            rows.append([np.full(100, float(t))], work=0, visits=1)
    assert rows.stride == 16
    assert [int(row[0][0]) for row in rows.rows.parts] == [16, 32, 48, 64, 80, 96]
    slow = Components(iterations=10, averages=3)
    for t in range(1, 401):
        if t % slow.stride == 0:
            slow.append([np.ones(1)], work=10, visits=t)
    assert (slow.averages, slow.stride) == (1, 8)
    assert slow.count == 50
    few = Components(3, iterations=10, averages=1)
    for t in range(1, 31):
        few.make_room()
        if t % few.stride == 0:
            few.append([np.full(1, float(t))], work=0, visits=t)
    assert len(few.selection()) == 3
