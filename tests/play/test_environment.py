"""Black boxes: games that can only be played."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from accord._arrays import CHANCE, TERMINAL
from accord._draws import drawn_from
from accord.certifying.by_play import certify_by_play
from accord.certifying.exact import certify
from accord.equilibrium.policy_files import load_policy, save_policy
from accord.errors import (
    ArgumentError,
    BudgetError,
    GameError,
    ImperfectRecallError,
    MismatchError,
    MissingDependencyError,
    SimulatorError,
)
from accord.game.builder import GameBuilder
from accord.game.library import kuhn, library_game, matrix_game
from accord.game.tree import Game
from accord.interop.load import load_game
from accord.interop.openspiel import load_openspiel
from accord.interop.openspiel_env import OpenSpielEnvironment
from accord.interop.own_history import escaped, history_after
from accord.interop.pettingzoo import PettingZooEnvironment, observation_label
from accord.play.discovery import discover
from accord.play.environment import (
    Environment,
    chance_law,
    is_environment,
    missing_attributes,
)
from accord.play.obedient_plays import estimated_values
from accord.play.own_tree import OwnTree
from accord.play.playing import Playing
from accord.regret.methods import SAMPLED_METHODS
from accord.regret.swrhedge import SWRHedge
from accord.runs.learn import learn
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import EMPTY_SEQUENCE, Treeplex
from tests.support.environments import Forgetful, Hidden, NoisyChicken, Open, payoffs_of
from tests.support.policies import all_games, grown_game
from tests.support.strategies import examples

GAMES = [
    pytest.param(grown_game(0, 2, 60), id="two players"),
    pytest.param(grown_game(1, 3, 60), id="three players"),
    pytest.param(kuhn(), id="kuhn"),
]


def as_labels(plex: Treeplex) -> dict[str, Any]:
    """What a treeplex says, without its numbers."""
    names = plex.infoset_labels
    return {
        names[x]: (
            tuple(plex.action_labels[x]),
            [(names[y], plex.action_labels[y][a]) for y, a in plex.history(x)],
        )
        for x in range(plex.n_infosets)
    }


# --- finding the trees ----------------------------------------------------------------------------


@given(all_games())
@examples(30)
def test_traversal_finds_every_infoset(game: Game) -> None:
    found = discover(Open(game))
    wanted = sequence_form(game).plexes
    assert [as_labels(plex) for plex in found] == [as_labels(plex) for plex in wanted]


@pytest.mark.parametrize("game", GAMES)
def test_playing_finds_the_same(game: Game) -> None:
    whole = discover(Open(game))
    for env in (Hidden(game), Open(game)):
        played = discover(env, max_nodes=0, patience=500)
        for one, other in zip(whole, played, strict=True):
            assert list(one.infoset_labels) == list(other.infoset_labels)
            assert list(one.action_labels) == list(other.action_labels)
            assert (one.parent_seq == other.parent_seq).all()


def test_playing_tries_what_was_not_tried() -> None:
    """Uniform plays would get to the end of this corridor once in 2^13."""
    game = library_game("unbalanced:horizon=14,actions=2")
    found = discover(Hidden(game), patience=200)
    assert found[0].n_infosets == sequence_form(game).plexes[0].n_infosets


def test_impatience_misses_something_and_learning_says_so() -> None:
    game = library_game("kuhn:players=3")
    plexes = discover(Hidden(game), patience=1)
    assert any(
        some.n_infosets < all_.n_infosets
        for some, all_ in zip(plexes, sequence_form(game).plexes, strict=True)
    )
    with pytest.raises(
        MismatchError, match=r"player \d was shown '.*', which is not in their treeplex"
    ):
        learn(Hidden(game), 1, episodes=2000, plexes=plexes, method="swrhedge")
    learned = learn(Hidden(game), 1, episodes=400, plexes=plexes, plays=10)
    for some, all_ in zip(plexes, learned.policy.plexes, strict=True):  # prm learns it
        assert some.n_infosets <= all_.n_infosets
        assert set(some.infoset_labels) <= set(all_.infoset_labels)


def test_treeplexes_do_not_depend_on_the_order_of_discovery() -> None:
    """Layer by layer, within a layer by the move before, then by label."""
    seen = OwnTree("me")
    found = {}
    for label, actions, before in (
        ("b", "x", None), ("a", "lr", None), ("c", "u", ("a", 1)), ("e", "y", ("c", 0)),
        ("d", "vw", ("a", 0)),
    ):  # fmt: skip
        last = EMPTY_SEQUENCE if before is None else seen.first_seq[found[before[0]]] + before[1]
        found[label], fresh = seen.see(label, tuple(actions), last)
        assert fresh
    plex, order = seen.ordered()
    assert list(plex.infoset_labels) == ["a", "b", "d", "c", "e"]
    assert plex.depth.tolist() == [0, 0, 1, 1, 2]
    assert plex.history(4) == [(0, 1), (3, 0)]
    assert [seen.labels[seen.infoset_of(seq)] for seq in order[1:]] == list("aabddce")


@pytest.mark.parametrize("wrong", [{"max_nodes": -1}, {"patience": 0}, {"max_infosets": 0}])
def test_bad_arguments_of_discover(wrong: dict[str, int]) -> None:
    with pytest.raises(ArgumentError, match="discover"):
        discover(Hidden(kuhn()), **wrong)


def test_playing_gives_up() -> None:
    """As many infosets as there are may be found, and no more."""
    assert [plex.n_infosets for plex in discover(Hidden(kuhn()), max_infosets=12)] == [6, 6]
    with pytest.raises(BudgetError, match="kuhn must have at most max_infosets = 11 ") as refusal:
        discover(Hidden(kuhn()), max_infosets=11)
    assert (refusal.value.required, refusal.value.available) == (12, 11)


# --- learning -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "each", "bound"), [("prm", 3, 0.06), ("rm", 3, 0.06), ("swrhedge", 4, 0.35)]
)
def test_a_hidden_game_with_its_certificate(method: str, each: int, bound: float) -> None:
    """If the game is given the gap is exact; nobody learned from it."""
    game = kuhn()
    learned = learn(Hidden(game), 1, episodes=8001, method=method, game=game, components=100)
    assert learned.game is game
    assert learned.gap == pytest.approx(certify(game, learned.policy, 1)[1].gap, abs=1e-12)
    assert learned.gap < bound
    assert learned.episodes == 8001 // each * each
    assert learned.episodes_per_iteration == each


@pytest.mark.slow
def test_a_hidden_game_without() -> None:
    game = kuhn()
    learned = learn(Hidden(game), 1, episodes=4000, method="rm", plays=4000, components=50)
    assert learned.policy.game is None
    assert learned.game is None
    assert math.isnan(learned.gap)
    content = learned.to_json()
    assert content["gap"] is content["players"] is None
    assert content["values"] == list(learned.values)
    assert content["margins"] == list(learned.margins)
    json.dumps(content, allow_nan=False)
    assert learned.plays == 4000
    assert learned.policy.n_components == 50


@pytest.mark.slow
def test_same_arguments_same_bits() -> None:
    one, again, other = (
        learn(Hidden(kuhn()), 1, episodes=400, seed=seed, plays=100) for seed in (1, 1, 2)
    )
    assert one.policy.behavior.tobytes() == again.policy.behavior.tobytes()
    assert one.values == again.values
    assert one.policy.behavior.tobytes() != other.policy.behavior.tobytes()


@pytest.mark.slow
def test_files_are_those_of_policies(tmp_path: Path) -> None:
    """What was learned blindly is read, once the game is known, as a policy of it."""
    game = kuhn()
    learned = learn(Hidden(game), 1, episodes=4000, method="rm", plays=10, components=20)
    by_label = {}
    for suffix in ("json", "npz"):
        path = tmp_path / f"policy.{suffix}"
        save_policy(learned.policy, path)
        policy = load_policy(path, game)
        np.testing.assert_array_equal(policy.weights, learned.policy.weights)
        assert certify(game, policy, 1)[1].gap < 0.1
        by_label[suffix] = policy.behavior
    np.testing.assert_array_equal(by_label["json"], by_label["npz"])
    content = json.loads((tmp_path / "policy.json").read_text())
    assert "digest" not in content
    assert content["game"] == "kuhn"
    first = content["components"][0]["policy"][0]
    plex = learned.policy.plexes[0]
    part = learned.policy.split(learned.policy.behavior)[0][0]
    for x, label in enumerate(plex.infoset_labels):
        assert first[label] == part[plex.first_seq[x] : plex.first_seq[x + 1]].tolist()
    with pytest.raises(MismatchError, match="is for 2 players"):
        load_policy(tmp_path / "policy.json", library_game("kuhn:players=3"))


def test_values_and_their_margins() -> None:
    """The exact value lies within three margins; a margin is 1.96 standard errors."""
    game = kuhn()
    learned = learn(Hidden(game), 1, episodes=400, game=game, components=10)
    found = estimated_values(Hidden(game), learned.policy, 5000, 0)
    values, margins = found["values"], found["margins"]
    assert np.abs(np.array(values) - learned.values).max() < 1.5 * max(margins)
    assert 0.5 * 1.96 / math.sqrt(5000) < max(margins) < 2 * 1.96 / math.sqrt(5000)
    once = estimated_values(Hidden(game), learned.policy, 1, 0)
    assert all(map(math.isnan, once["margins"]))


# --- somebody's own class -------------------------------------------------------------------------


def chicken_with(means: Any) -> Game:
    row = [[means[a][b][0] for b in range(2)] for a in range(2)]
    column = [[means[a][b][1] for b in range(2)] for a in range(2)]
    return matrix_game("chicken", row, column)


@pytest.mark.slow
def test_stochastic_rewards() -> None:
    """Payoffs are 0 or 7; what is learned is an equilibrium of their means."""
    learned = learn(NoisyChicken(), 1, episodes=20_000, method="rm", plays=2000)
    assert learned.name == "noisy chicken"
    weights, behavior = learned.policy.weights, learned.policy.behavior
    means = np.array(NoisyChicken.means)
    law = np.einsum("c,ca,cb->ab", weights, behavior[:, 1:3], behavior[:, 4:6])
    values = np.einsum("ab,abi->i", law, means)
    assert np.abs(values - learned.values).max() < 1.5 * max(learned.margins)
    for i, one in enumerate((law, law.T)):
        paid = means[:, :, i] if i == 0 else means[:, :, i].T
        gain = sum(max(0.0, float((one[r] * (paid - paid[r])).sum(axis=1).max())) for r in range(2))
        assert gain < 0.15  # of a payoff range of 7


class Broken(NoisyChicken):
    """Goes wrong in the way that a test wants, after a while."""

    def __init__(self, **wrong: Any) -> None:
        self.wrong, self.plays = wrong, 0
        for name in ("payoff_bounds", "players"):
            if name in wrong:
                setattr(self, name, wrong[name])

    def reset(self, rng: np.random.Generator) -> None:
        super().reset(rng)
        self.plays += 1

    @property
    def now(self) -> bool:
        return self.plays > 30

    def turn(self) -> int:
        return self.wrong["turn"] if "turn" in self.wrong and self.now else super().turn()

    def infoset(self) -> str:
        return self.wrong["infoset"] if "infoset" in self.wrong and self.now else "the road"

    def actions(self) -> Sequence[str]:
        if "actions" in self.wrong and self.plays >= self.wrong.get("since", 0):
            return tuple(self.wrong["actions"])
        return super().actions()

    def payoffs(self) -> Sequence[float]:
        return self.wrong["payoffs"] if "payoffs" in self.wrong and self.now else super().payoffs()


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (
            {"payoffs": (0.0, 7.5)},
            GameError,
            r"bob was paid 7.5, outside .*\(0, 7\).* widen",
        ),
        ({"payoffs": (-0.1, 7.0)}, GameError, "player ann was paid -0.1"),
        (
            {"payoffs": (math.nan, 0.0)},
            GameError,
            "must be finite numbers; player ann was paid nan",
        ),
        (
            {"payoffs": (0.0, math.inf)},
            GameError,
            "must be finite numbers; player bob was paid inf",
        ),
        ({"payoffs": (None, 0.0)}, GameError, "must be finite numbers; player ann was paid None"),
        ({"payoffs": (1.0,)}, GameError, r"payoffs\(\) must be one number per player, 2; got"),
        ({"payoffs": 1.0}, GameError, r"payoffs\(\) must be one number per player, 2; got 1.0"),
        ({"turn": 2}, GameError, r"turn\(\) must be a player, 0 to 1"),
        ({"payoff_bounds": ((0, 7),)}, GameError, "payoff_bounds must be finite pairs"),
        ({"payoff_bounds": ((0, math.inf),) * 2}, GameError, "payoff_bounds must be finite pairs"),
        ({"payoff_bounds": ((0, 7), (0,))}, GameError, "payoff_bounds must be finite pairs"),
        ({"payoff_bounds": ((7, 0),) * 2}, GameError, "the worst payoff must not exceed the best"),
        ({"players": ("ann",)}, MismatchError, "has 1 players; got 2 treeplexes"),
        ({"actions": ("dare", "yield")}, GameError, "'the road'.*actions must always be the same"),
        (
            {"actions": ("yield", "dare", "turn"), "since": 30},
            GameError,
            "'the road'.*got .*'turn'.*, but .*'yield', 'dare'.* before",
        ),
    ],
)
def test_environments_that_go_wrong(
    wrong: dict[str, Any], error: type[Exception], message: str
) -> None:
    plexes = discover(NoisyChicken(), patience=10)
    with pytest.raises(error, match=message):
        learn(Broken(**wrong), 1, episodes=1000, plexes=plexes)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"actions": ()}, "with one or more distinct actions"),
        ({"actions": ("a", "a")}, "with one or more distinct actions"),
        ({"actions": ("a", "b"), "since": 20}, "the actions must always be the same"),
        ({"infoset": ["the", "ditch"]}, r"an infoset must be a string .*; got \['the', 'ditch'\]"),
        ({"turn": 2}, r"turn\(\) must be a player, 0 to 1, CHANCE .*; got 2"),
        ({"turn": -3}, r"turn\(\) must be a player, .*; got -3"),
        ({"turn": None}, r"turn\(\) must be a player, .*; got None"),
        ({"turn": CHANCE}, r"must have probabilities\(\); for the end of a play return TERMINAL"),
    ],
)
def test_discovery_notices(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(GameError, match=message):
        discover(Broken(**wrong), patience=100)


class ForgetfulClone(Forgetful):
    def clone(self) -> ForgetfulClone:
        other = ForgetfulClone()
        other.done = list(self.done)
        return other


@pytest.mark.parametrize("env", [Forgetful(), ForgetfulClone()])
def test_forgetting_is_noticed(env: Any) -> None:
    with pytest.raises(ImperfectRecallError, match="player me forgets at infoset 'move 1'") as info:
        discover(env, patience=50)
    moves = {history[0][1] for history in info.value.histories}
    assert moves == {"left", "right"}
    plex = Treeplex.from_parents(
        [2, 2], [-1, 0], [0, 0], ["move 0", "move 1"], [("left", "right")] * 2
    )
    with pytest.raises(ImperfectRecallError, match="player me forgets"):
        learn(env, 1, episodes=100, plexes=[plex])


def test_forgetting_later_is_noticed_too() -> None:
    """An infoset that was reached as it should be once may be reached otherwise the next time."""
    plex = Treeplex.from_parents(
        [2, 2], [-1, 0], [0, 0], ["move 0", "move 1"], [("left", "right")] * 2
    )
    for _ in range(2):
        assert payoffs_of(Forgetful(), [plex], [0, 0]) == [1.0]
    with pytest.raises(ImperfectRecallError, match="after 'left' at 'move 0' and after 'right'"):
        payoffs_of(Forgetful(), [plex], [1, 1])


class Lottery:
    """Nobody decides anything."""

    name, players, payoff_bounds = "lottery", ("me",), ((0.0, 1.0),)
    over = False

    def __init__(self, law: Any = (0.5, 0.5)) -> None:
        self.law = law

    def reset(self, rng: np.random.Generator) -> None:
        self.over = False

    def turn(self) -> int:
        return TERMINAL if self.over else CHANCE

    def infoset(self) -> str:
        raise AssertionError

    def actions(self) -> Sequence[str]:
        return ("win", "lose")

    def probabilities(self) -> Sequence[float]:
        return self.law  # type: ignore[no-any-return]

    def step(self, action: int) -> None:
        self.over = True

    def payoffs(self) -> Sequence[float]:
        return [1.0]


class RareDecision(Lottery):
    """Chance ends most plays before anybody decides."""

    def reset(self, rng: np.random.Generator) -> None:
        super().reset(rng)
        self.decides = False

    def turn(self) -> int:
        return 0 if self.decides else super().turn()

    def infoset(self) -> str:
        return "at last"

    def step(self, action: int) -> None:
        self.decides = not self.over and action == 0
        self.over = True


def test_plays_without_decisions_come_first() -> None:
    learned = learn(RareDecision((0.02, 0.98)), 1, episodes=600, seed=3, plays=40)
    assert learned.policy.plexes[0].infoset_labels == ["at last"]


def test_nothing_to_learn() -> None:
    empty = Treeplex.from_parents([], [], [], [], [])
    for method in (*SAMPLED_METHODS, SWRHedge(whole_plays=True)):
        with pytest.raises(ArgumentError, match="the game must have a decision to learn"):
            learn(Lottery(), 1, episodes=10, method=method, plexes=[empty])
        with pytest.raises(ArgumentError, match="the game must have a decision to learn"):
            learn(Lottery(), 1, episodes=10, method=method)


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ((0.5, 0.4), r"must sum to one; got \(0.5, 0.4\), which sum to 0\.9"),
        ((1.5, -0.5), "must not be negative"),
        ((math.nan, 1.0), "must not be negative"),
        ((0.5, 0.25, 0.25), r"one number for each of the 2 actions\(\).*got \(0.5, 0.25, 0.25\)"),
        ((), r"one number for each of the 2 actions.*got \(\)"),
        (("a", "b"), "one number for each of the 2 actions"),
        (None, "one number for each of the 2 actions"),
    ],
)
@pytest.mark.parametrize("walked", [False, True])
def test_chance_laws_are_checked(law: Any, message: str, walked: bool) -> None:
    env: Any = Lottery(law)
    with pytest.raises(GameError, match=message):
        if walked:
            env.clone = lambda: env
            discover(env)
        else:
            Playing(env).begin(np.random.default_rng(0))


def test_chance_with_a_sure_outcome_takes_it() -> None:
    """The last outcome is impossible, and rounding must not select it."""
    rng = np.random.default_rng(0)
    for law in ((1.0, 0.0), (0.0, 1.0), (1.0 - 1e-9, 0.0)):
        drawn = {drawn_from(chance_law(Lottery(law)), rng.random()) for _ in range(100)}
        assert drawn == {int(law[1] > 0)}


@pytest.mark.parametrize("endless", [CHANCE, 0])
def test_plays_must_end(endless: int) -> None:
    env: Any = Lottery((0.5, 0.5))
    env.turn, env.infoset = (lambda: endless), (lambda: "here")
    playing = Playing(env, longest=50)
    with pytest.raises(GameError, match="a play must end, but this one has not after 50 moves"):
        decision = playing.begin(np.random.default_rng(0))
        while decision is not None:
            decision = playing.step(0)


class Faulty(NoisyChicken):
    """A simulator with a bug in one of its methods, from some play on."""

    def __init__(self, method: str, since: int = 0) -> None:
        self.method, self.since, self.plays = method, since, 0

    def reset(self, rng: np.random.Generator) -> None:
        super().reset(rng)
        self.plays += 1
        self.fail("reset")

    def step(self, action: int) -> None:
        super().step(action)
        self.fail("step")

    def payoffs(self) -> Sequence[float]:
        self.fail("payoffs")
        return super().payoffs()

    def fail(self, method: str) -> None:
        if method == self.method and self.plays > self.since:
            raise KeyError("a bug")


@pytest.mark.parametrize(
    ("method", "place"),
    [
        ("reset", "at the start of the play"),
        ("step", "after player ann took 'yield' at infoset 'the road'"),
        ("payoffs", "at the end of a play of 2 moves"),
    ],
)
def test_a_bug_in_a_simulator_is_placed(method: str, place: str) -> None:
    plexes = discover(NoisyChicken(), patience=10)
    with pytest.raises(SimulatorError, match=f"noisy chicken: .* KeyError: .*a bug.*, {place}"):
        payoffs_of(Faulty(method), plexes, [0, 0])


def test_what_is_an_environment() -> None:
    import pyspiel

    from tests.support import pettingzoo_envs

    assert is_environment(NoisyChicken())
    assert isinstance(Hidden(kuhn()), Environment)
    assert not is_environment(NoisyChicken)
    for thing in (kuhn(), "kuhn", None, object()):
        assert not is_environment(thing)
    assert missing_attributes(NoisyChicken()) == ()
    assert missing_attributes(SimpleNamespace(name="n", reset=len, step=len, actions=None)) == (
        "players", "payoff_bounds", "turn", "infoset", "actions", "payoffs",
    )  # fmt: skip
    with pytest.raises(ArgumentError, match=r"try accord\.load_game\('kuhn'\)"):
        learn("kuhn", 1, episodes=100)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="must be an environment; got None, which lacks"):
        learn(None, episodes=100)
    with pytest.raises(ArgumentError, match="a loaded game is for learn, certify and Mediator"):
        certify_by_play(kuhn(), learn(kuhn(), episodes=100))
    for option in ({"workers": 2}, {"batch": 3}, {"game": kuhn()}, {"plays": 10}):
        with pytest.raises(ArgumentError, match=f"^{next(iter(option))} is for environments"):
            learn(kuhn(), episodes=100, **option)
    with pytest.raises(ArgumentError, match="which is a class, not an instance"):
        learn(NoisyChicken, episodes=100)
    with pytest.raises(ArgumentError, match=r"give accord.PettingZooEnvironment\(env, payoff_b"):
        learn(pettingzoo_envs.Pennies(), episodes=100)
    with pytest.raises(ArgumentError, match=r"give accord\.OpenSpielEnvironment"):
        learn(pyspiel.load_game("kuhn_poker"), episodes=100)
    assert learn(NoisyChicken(), episodes=30).game is None


def test_arguments_that_do_not_go_together() -> None:
    game = kuhn()
    plexes = sequence_form(game).plexes
    with pytest.raises(ArgumentError, match="game or plexes, not both"):
        learn(Hidden(game), episodes=100, game=game, plexes=plexes)
    with pytest.raises(ArgumentError, match="plays must be a whole number"):
        learn(Hidden(game), episodes=100, plays=-1)
    with pytest.raises(MismatchError, match="has 3 players; the game kuhn has 2"):
        learn(Hidden(library_game("kuhn:players=3")), episodes=100, game=game)


# --- OpenSpiel ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["kuhn_poker", "matrix_rps", "goofspiel(num_cards=3)"])
def test_openspiel_states_are_the_loaded_game(name: str) -> None:
    env, game = OpenSpielEnvironment(name), load_game(name)
    assert is_environment(env)
    wanted = [as_labels(plex) for plex in sequence_form(game).plexes]
    assert [as_labels(plex) for plex in discover(env)] == wanted
    played = discover(env, max_nodes=0, patience=300)
    assert [as_labels(plex) for plex in played] == wanted
    assert env.players == game.player_labels


@pytest.mark.slow
def test_kuhn_poker_through_its_states() -> None:
    game = load_game("kuhn_poker")
    for method, bound in (("swrhedge", 0.35), ("prm", 0.08), ("rm", 0.08)):
        blind = learn(
            OpenSpielEnvironment("kuhn_poker"), 1, episodes=8000, method=method, game=game
        )
        seeing = learn(game, 1, episodes=8000, method=method)
        assert blind.gap < bound
        assert seeing.gap < bound
        assert np.abs(np.subtract(blind.values, seeing.values)).max() < 0.1


@pytest.mark.slow
def test_a_game_too_large_to_load() -> None:
    """36^5 deals and bids, sixty million; eight infosets of each bidder."""
    name = "first_sealed_auction(max_value=8,players=5)"
    with pytest.raises(BudgetError):
        load_openspiel(name)
    env = OpenSpielEnvironment(name)
    plexes = discover(env, max_nodes=1000, patience=300)
    assert [plex.n_infosets for plex in plexes] == [8] * 5
    assert [plex.horizon for plex in plexes] == [1] * 5
    learned = learn(env, 1, episodes=5000, method="rm", plexes=plexes, plays=500, components=100)
    assert learned.episodes_per_iteration == 6
    assert all(0 <= value <= 8 for value in learned.values)
    by_value = learned.policy.split(learned.policy.behavior)[0].mean(axis=0)
    plex = plexes[0]
    x = list(plex.infoset_labels).index("p0 val 8")
    bids = by_value[plex.first_seq[x] : plex.first_seq[x + 1]]
    assert bids.argmax() in (4, 5, 6)  # less than it is worth, more than it takes to lose
    assert bids.max() > 0.2


def test_openspiel_chance_is_drawn_by_the_caller() -> None:
    env = OpenSpielEnvironment("kuhn_poker")
    env.reset(np.random.default_rng(0))
    assert env.turn() == CHANCE
    assert list(env.probabilities()) == pytest.approx([1 / 3] * 3)
    assert len(env.actions()) == 3
    copy = env.clone()
    copy.step(2)
    copy.step(0)
    assert (copy.turn(), copy.infoset(), list(copy.actions())) == (0, "2", ["Pass", "Bet"])
    assert env.turn() == CHANCE
    for action in (1, 0):
        copy.step(action)
    assert copy.turn() == TERMINAL
    assert copy.payoffs() == [1.0, -1.0]
    assert env.payoff_bounds == ((-2.0, 2.0),) * 2


def test_openspiel_games_that_only_have_observations() -> None:
    """The prisoners' dilemma twice: OpenSpiel shows the last round, players remember their own."""
    name = "repeated_game(num_repetitions=2,stage_game=matrix_pd())"
    with pytest.raises(GameError, match="no information state string"):
        load_openspiel(name)
    env = OpenSpielEnvironment(name)
    plexes = discover(env)
    for plex in plexes:
        assert (plex.n_infosets, plex.horizon) == (5, 2)
        assert sorted(plex.parent_seq.tolist()) == [0, 1, 1, 2, 2]
    played = discover(env, max_nodes=0, patience=200)
    assert [as_labels(plex) for plex in played] == [as_labels(plex) for plex in plexes]
    learned = learn(
        OpenSpielEnvironment("catch(columns=3,rows=4)"), 1, episodes=2000, method="rm",
        plays=1000,
    )  # fmt: skip
    assert learned.values[0] > 0.85  # the ball can always be caught, for 1


def test_openspiel_chance_that_is_sampled_cannot_be_traversed() -> None:
    env = OpenSpielEnvironment("bridge_uncontested_bidding")
    assert env.clone is None
    env.reset(np.random.default_rng(0))
    for _ in range(100):
        if (i := env.turn()) == TERMINAL:
            break
        if i != CHANCE:
            assert env.infoset()
        env.step(0 if i != CHANCE else int(np.argmax(env.probabilities())))
    assert len(env.payoffs()) == 2


@pytest.mark.parametrize(
    ("game", "error", "message"),
    [
        ("no_such_game", ArgumentError, "no_such_game"),
        (7, ArgumentError, "by name or as a pyspiel.Game; got 7"),
        ("mfg_crowd_modelling", GameError, "mean field"),
        ("python_iterated_prisoners_dilemma", GameError, "information state string"),
        ("bridge_uncontested_bidding(nonsense=1)", ArgumentError, "has no parameter 'nonsense'"),
    ],
)
def test_openspiel_games_that_cannot_be_played(
    game: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        OpenSpielEnvironment(game)


def test_openspiel_payoff_bounds_are_checked() -> None:
    with pytest.raises(GameError, match="the worst payoff must not exceed the best"):
        OpenSpielEnvironment("kuhn_poker", payoff_bounds=[(1, -1)] * 2)


# --- PettingZoo -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_pettingzoo_aec() -> None:
    from tests.support.pettingzoo_envs import Pennies

    env = PettingZooEnvironment(Pennies(), (-1.0, 1.0))
    assert is_environment(env)
    assert env.name == "pennies"
    assert env.players == ("even", "odd")
    plexes = discover(env, patience=200)
    assert [plex.n_infosets for plex in plexes] == [
        2,
        2,
    ]  # heads and tails
    sizes = sorted(len(actions) for actions in plexes[0].action_labels)
    assert sizes == [2, 3]  # the mask forbids an action after one of the coins
    learned = learn(env, 1, episodes=4000, method="rm", plexes=plexes, plays=2000)
    assert np.abs(learned.values).max() < 0.15
    assert sum(learned.values) == pytest.approx(0.0, abs=1e-9)


def test_pettingzoo_remembers() -> None:
    """Observations that forget make no infosets that forget."""
    from tests.support.pettingzoo_envs import Repeated

    plexes = discover(PettingZooEnvironment(Repeated(), (0.0, 2.0)), patience=100)
    assert [plex.horizon for plex in plexes] == [2, 2]
    assert [plex.n_infosets for plex in plexes] == [1 + 4, 1 + 4]  # own action, other's action
    assert plexes[0].history(1)[0][0] == 0
    with pytest.raises(ImperfectRecallError):
        env = PettingZooEnvironment(
            Repeated(), (0.0, 2.0), label=lambda agent, seen: observation_label(seen)
        )
        discover(env, patience=100)


def test_pettingzoo_rewards_are_summed() -> None:
    from tests.support.pettingzoo_envs import Repeated

    env = PettingZooEnvironment(Repeated(), [(0.0, 2.0), (0.0, 2.0)])
    env.reset(np.random.default_rng(0))
    for action in (0, 0, 1, 0):
        assert env.turn() != TERMINAL
        env.step(action)
    assert env.turn() == TERMINAL
    assert env.payoffs() == [1.0, 1.0]  # they met once in two rounds


def test_pettingzoo_parallel() -> None:
    from tests.support.pettingzoo_envs import together

    env = PettingZooEnvironment(together(), (0.0, 1.0))
    plexes = discover(env, patience=50)
    assert [plex.n_infosets for plex in plexes] == [1, 1]
    learned = learn(env, 1, episodes=2000, method="rm", plexes=plexes, plays=500)
    assert min(learned.values) > 0.9  # they learn to meet


def rps_rounds() -> Any:
    from pettingzoo.classic.rps import rps

    return rps.parallel_env(max_cycles=3)


@pytest.mark.parametrize("name", ["together", "Leaving", "rps"])
def test_pettingzoo_parallel_is_played_as_pettingzoo_converts_it(name: str) -> None:
    from pettingzoo.utils.conversions import parallel_to_aec

    from tests.support import pettingzoo_envs

    make = rps_rounds if name == "rps" else getattr(pettingzoo_envs, name)
    direct = PettingZooEnvironment(make(), (-3.0, 5.0))
    converted = PettingZooEnvironment(parallel_to_aec(make()), (-3.0, 5.0))
    for seed in range(30):
        rng, moves = np.random.default_rng(seed), 0
        for env in (direct, converted):
            env.reset(np.random.default_rng(seed))
        while direct.turn() != TERMINAL:
            assert direct.turn() == converted.turn()
            assert direct.infoset() == converted.infoset()
            assert direct.actions() == converted.actions()
            move, moves = int(rng.integers(len(direct.actions()))), moves + 1
            direct.step(move)
            converted.step(move)
        assert converted.turn() == TERMINAL
        assert moves >= 2
        assert direct.payoffs() == converted.payoffs()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("unseen", "together: agent b must move, but got no observation"),
        ("unknown", "together: agent third must be one of its possible_agents a, b"),
        ("reward", "together: the rewards of agent a must be numbers; got None"),
    ],
)
def test_pettingzoo_rules_of_rounds_that_are_broken(rule: str, message: str) -> None:
    from tests.support.pettingzoo_envs import WrongTogether

    with pytest.raises(GameError, match=message):
        discover(PettingZooEnvironment(WrongTogether(rule), (0, 1)), patience=5)


def test_pettingzoo_finished_agents_make_no_more_moves() -> None:
    """Even if a parallel environment keeps them among its agents, and tells nothing else."""
    from tests.support.pettingzoo_envs import WrongTogether

    env = PettingZooEnvironment(WrongTogether("stays"), (0, 1))
    env.reset(np.random.default_rng(0))
    env.step(0)
    env.step(0)
    assert env.turn() == TERMINAL
    assert env.payoffs() == [1.0, 1.0]


ROCK_PAPER_SCISSORS = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])


@pytest.mark.parametrize("kind", ["env", "raw_env", "parallel_env"])
def test_rock_paper_scissors_of_pettingzoo(kind: str) -> None:
    """Two rounds: who moves second has not seen the first move, then both have seen both."""
    from pettingzoo.classic.rps import rps

    env = PettingZooEnvironment(getattr(rps, kind)(max_cycles=2), (-2, 2))
    assert env.name == "rps_v2"
    plexes = discover(env, patience=300)
    for plex in plexes:
        seen = {"3": [], **{f"3 / action {own} / {other}": [("3", str(own))]
                            for own in range(3) for other in range(3)}}  # fmt: skip
        assert as_labels(plex) == {label: (("0", "1", "2"), seen[label]) for label in seen}
    for moves in itertools.product(range(3), repeat=4):
        paid = payoffs_of(env, plexes, moves)
        won = ROCK_PAPER_SCISSORS[moves[0], moves[1]] + ROCK_PAPER_SCISSORS[moves[2], moves[3]]
        assert list(paid) == [won, -won]


@pytest.mark.slow
def test_rock_paper_scissors_is_learned() -> None:
    from pettingzoo.classic.rps.rps import env

    b = GameBuilder("rps", players=["player_0", "player_1"])
    b.move("", player="player_0", infoset="3", actions="0 1 2")
    b.move("0", "1", "2", player="player_1", infoset="3", actions="0 1 2")
    for row, column in itertools.product(range(3), repeat=2):
        won = float(ROCK_PAPER_SCISSORS[row, column])
        b.payoff(f"{row} {column}", won, -won)
    zoo = PettingZooEnvironment(env(max_cycles=1), (-1, 1))
    learned = learn(zoo, 1, episodes=4000, method="rm", game=b.build())
    assert learned.gap < 0.1
    assert np.abs(learned.values).max() < 0.05


def test_tictactoe_and_connect_four_of_pettingzoo() -> None:
    """Masks, the wrappers that punish illegal moves, the steps of the dead; trees too large."""
    from pettingzoo.classic.connect_four import connect_four
    from pettingzoo.classic.tictactoe import tictactoe

    for module, moves, legal in (
        (tictactoe, (0, 3, 1, 4, 2), (9, 8, 7, 6, 5)),  # the first column of three
        (connect_four, (0, 1, 0, 1, 0, 1, 0), (7,) * 7),  # four on top of each other
    ):
        env = PettingZooEnvironment(module.env(), (-1, 1))
        for _ in range(2):
            env.reset(np.random.default_rng(0))
            for n, move in enumerate(moves):
                assert env.turn() == n % 2
                assert len(env.actions()) == legal[n]
                env.step(list(env.actions()).index(str(move)))
            assert env.turn() == TERMINAL
            assert env.payoffs() == [1.0, -1.0]
        with pytest.raises(BudgetError, match=r"max_infosets = 300 .* plays keep showing more"):
            discover(env, max_infosets=300)


def test_pettingzoo_that_never_ends() -> None:
    """Labels of long histories stay short, and the tree is refused."""
    from pettingzoo.classic.rps.rps import env

    zoo = PettingZooEnvironment(env(max_cycles=10**9), (-1, 1))
    with pytest.raises(BudgetError, match="rps_v2 must have at most"):
        discover(zoo, max_infosets=1000)
    zoo.reset(np.random.default_rng(0))
    labels = []
    while len(labels) < 1000:
        labels.append((zoo.turn(), zoo.infoset()))
        zoo.step(0)
    assert len(set(labels)) == 1000
    assert max(len(label) for _, label in labels) < 1100


def test_pettingzoo_agents_that_leave() -> None:
    from tests.support.pettingzoo_envs import Leaving

    env = PettingZooEnvironment(Leaving(), (0.0, 5.0))
    plexes = discover(env, patience=200)
    # at the start, and having stayed with nobody, one or two others
    assert [plex.n_infosets for plex in plexes] == [4, 4, 4]
    for first, second, paid in (
        ((0, 0, 0), (), [1, 1, 1]),
        ((0, 1, 1), (1, 0), [1, 5, 1]),
        ((1, 0, 0), (1,), [5, 1, 1]),
        ((1, 1, 1), (1, 0, 1), [5, 1, 5]),
    ):
        assert list(payoffs_of(env, plexes, first + second)) == paid


def test_a_mask_is_seen() -> None:
    """Where only the mask, in the info, tells what happened, infosets differ by it."""
    from tests.support.pettingzoo_envs import Told

    plexes = discover(PettingZooEnvironment(Told(), (-1, 1)), patience=100)
    for plex in plexes:
        assert as_labels(plex) == {
            "0": (("0", "1", "2"), []),
            "0 (legal 0 1)": (("0", "1"), []),
        }


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("twice", "last.. must report to agent odd the sum of its rewards since its last step"),
        ("vanish", "agent even got a reward of 1 at the end, but was removed before last"),
        ("stays", r"step\(None\) must remove the finished agent even"),
        ("agents", "agent third must be one of its possible_agents even, odd"),
        ("mask", r"one number for each of its 3 actions; got shape \(2,\) of float64"),
        ("reward", "the rewards of agent even must be numbers; got None"),
        ("observation", "must consist of numbers and strings, .*; got object; pass a label"),
    ],
)
def test_pettingzoo_rules_that_are_broken(rule: str, message: str) -> None:
    from tests.support.pettingzoo_envs import Wrong

    with pytest.raises(GameError, match=message):
        discover(PettingZooEnvironment(Wrong(rule), (-1, 1)), patience=50)


@pytest.mark.slow
def test_pettingzoo_same_seed_same_bits() -> None:
    from tests.support.pettingzoo_envs import Pennies

    runs = [
        learn(PettingZooEnvironment(Pennies(), (-1.0, 1.0)), 1, episodes=200, plays=50)
        for _ in range(2)
    ]
    assert runs[0].policy.behavior.tobytes() == runs[1].policy.behavior.tobytes()
    assert runs[0].values == runs[1].values


def test_observations_as_labels() -> None:
    assert observation_label(np.array([[1, 2], [3, 4]])) == "[[1 2] [3 4]]"
    assert observation_label(3) == observation_label(np.int8(3)) == "3"
    masked = {"observation": np.zeros(2), "action_mask": np.ones(3)}
    assert observation_label(masked) == "{action_mask, 'observation': [0.0 0.0]}"
    assert observation_label({"b": 1, "a": (2, None)}) == "{'a': (2, None, ), 'b': 1}"
    assert len(observation_label(np.zeros((10, 10), np.int8))) == 33


DIFFERENT = [
    None, "None", True, 1, "1", 1.0, b"1", "", (), [], {}, np.empty(0), np.empty((0, 3)),
    np.empty((3, 0)), np.array([1]), np.array([[1]]), (1,), [1], (1, 2), ((1, 2),), (1, (2,)),
    ("a, b",), ("a", "b"), "'a', 'b'", ("a", "b,"), {"a": 1, "b": 2}, {"a": "1, 'b': 2"},
    {"a": {"b": 2}}, np.arange(4), np.arange(4).reshape(2, 2), np.arange(4.0), np.arange(4) > 0,
    np.array(["a b"]), np.array(["a", "b"]), [0, 1, 2, 3], "[0 1 2 3]", {"observation": 1},
    {"observation": 1, "action_mask": np.ones(2)}, {"observation": 1, "action_mask": "x"},
    {"observation": 1, "action_mask": np.array([2, 1])}, {1: "a"}, {"1": "a"},
    np.zeros((10, 10), np.int8), np.zeros((10, 10), np.int16), np.zeros((4, 25), np.int8),
    observation_label(np.zeros((10, 10), np.int8)),
]  # fmt: skip


def test_different_observations_have_different_labels() -> None:
    labels = list(map(observation_label, DIFFERENT))
    for (n, one), (m, other) in itertools.combinations(enumerate(labels), 2):
        assert one != other, (DIFFERENT[n], DIFFERENT[m])


def test_different_histories_have_different_labels() -> None:
    """What is observed and done cannot look like a separator."""
    parts = ["a", "a / action b / c", "/", "a /", "/ action a", "", "//"]
    seen = {}
    for first, action, second in itertools.product(parts, repeat=3):
        label = history_after(escaped(first), action) + escaped(second)
        assert seen.setdefault(label, (first, action, second)) == (first, action, second)


def test_pettingzoo_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.support.pettingzoo_envs import Continuous, Pennies, Wrong

    with pytest.raises(ArgumentError, match=r"must be a pettingzoo.AECEnv, .*; got 'pennies'"):
        PettingZooEnvironment("pennies", (0, 1))
    with pytest.raises(ArgumentError, match="actions must be discrete"):
        PettingZooEnvironment(Continuous(), (0, 1))
    with pytest.raises(ArgumentError, match=r"actions must be discrete; .*MultiBinary"):
        PettingZooEnvironment(Wrong("space"), (0, 1))
    with pytest.raises(ArgumentError, match="must have possible_agents"):
        PettingZooEnvironment(Wrong("nobody"), (0, 1))
    for bounds in (1, (0, 1, 2), ((0, 1),) * 3, ((0, 1), (0,)), "ab"):
        with pytest.raises(ArgumentError, match=r"payoff_bounds must be \(worst, best\), or one"):
            PettingZooEnvironment(Pennies(), bounds)  # type: ignore[arg-type]
    with pytest.raises(GameError, match="the worst payoff must not exceed the best"):
        PettingZooEnvironment(Pennies(), (1, -1))
    with pytest.raises(GameError, match="payoff_bounds must be finite pairs"):
        PettingZooEnvironment(Pennies(), (-1, math.nan))
    with pytest.raises(GameError, match="must have a legal action; its action_mask is all 0"):
        discover(PettingZooEnvironment(Pennies(nothing=True), (-1, 1)))
    monkeypatch.setitem(__import__("sys").modules, "pettingzoo", None)
    with pytest.raises(MissingDependencyError, match=r"pip install .pettingzoo>="):
        PettingZooEnvironment(None, (0, 1))
