"""Anybody's policies: networks, OpenSpiel's policies and agents, mixtures."""

from __future__ import annotations

import math
import sys
import types
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms.random_agent import RandomAgent
from open_spiel.python.policy import Policy, UniformRandomPolicy

from accord.certifying.exact import certify
from accord.equilibrium.gap import RegretMeter
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError, PolicyError
from accord.game.library import library_device, signalling
from accord.game.tree import Game
from accord.interop import any_policy
from accord.interop.any_policy import policy_from
from accord.interop.openspiel import load_openspiel
from accord.treeplex.form import sequence_form
from accord.treeplex.strategy import random_behavior
from accord.treeplex.values import immediate_loss, joint_reach
from tests.support.policies import grown_game

KS = [0, 1, 2, math.inf, "efcce"]


class Network:
    """A softmax of the information state tensor, in batches and as a policy of OpenSpiel."""

    def __init__(self, name: str, seed: int) -> None:
        game = pyspiel.load_game(name)
        size = game.information_state_tensor_size()
        rng = np.random.default_rng(seed)
        self.weights = rng.normal(size=(size, game.num_distinct_actions()))
        self.batches: list[int] = []

    def __call__(self, seen: Any) -> Any:
        self.batches.append(len(seen))
        out = np.exp(np.asarray(seen, np.float64) @ self.weights)
        return out / out.sum(axis=1, keepdims=True)


class Told(Policy):  # type: ignore[misc]
    def __init__(self, network: Network) -> None:
        self.network = network

    def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
        i = state.current_player()
        row = self.network(np.array([state.information_state_tensor(i)], np.float32))[0]
        legal = state.legal_actions()
        return {a: float(row[a] / row[legal].sum()) for a in legal}


def gaps(game: Game, policy: Any) -> list[float]:
    found = certify(game, policy, KS)
    return [one for gap in found.gaps for one in gap.player_gaps]


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_a_network_is_the_policy_that_it_plays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(any_policy, "BATCH", 100)
    game, network = load_openspiel(name), Network(name, 0)
    found = gaps(game, network)
    assert max(network.batches) <= 100
    assert sum(network.batches) == sum(plex.n_infosets for plex in sequence_form(game).plexes)
    np.testing.assert_allclose(found, gaps(game, Told(network)), rtol=1e-9, atol=1e-12)
    assert max(found) > 0.1


def test_a_table_of_features_is_its_policy() -> None:
    """With any game, any number of players, mixtures with weights, and one source per player."""
    for game in (grown_game(0, 2, 60), grown_game(1, 3, 60)):
        form, rng = sequence_form(game), np.random.default_rng(3)
        parts = [[random_behavior(plex, rng) for plex in form.plexes] for _ in range(3)]
        most = max(plex.max_actions for plex in form.plexes)

        def table(plex: Any, behavior: Any, most: int = most) -> Any:
            rows = np.full((plex.n_infosets, most), 7.0)  # illegal actions do not count
            for x in range(plex.n_infosets):
                here = behavior[plex.first_seq[x] : plex.first_seq[x + 1]]
                rows[x, : len(here)] = here
            return lambda seen: rows[seen[:, 0].astype(int)]

        def place(i: int, label: str, form: Any = form) -> list[int]:
            return [list(form.plexes[i].infoset_labels).index(label)]

        sources = [
            {i: table(plex, part[i]) for i, plex in enumerate(form.plexes)} for part in parts
        ]
        weights = [2.0, 1.0, 1.0]
        pairs = list(zip(weights, sources, strict=True))
        exact = CorrelatedPolicy.from_components(
            game, [(w / 4.0, part) for w, part in zip(weights, parts, strict=True)]
        )
        found = policy_from(game, pairs, features=place)
        np.testing.assert_allclose(found.behavior, exact.behavior, rtol=1e-12)
        assert gaps(game, found) == pytest.approx(gaps(game, exact), abs=1e-12)
        even = policy_from(game, sources, features=place)
        np.testing.assert_allclose(even.weights, 1 / 3)


def test_a_regret_meter_takes_iterates() -> None:
    game = load_openspiel("kuhn_poker")
    form = sequence_form(game)
    policy = policy_from(game, [Network("kuhn_poker", s) for s in range(4)])
    meter = RegretMeter(form.plexes[0], 1)
    for weight, parts in policy.components():
        loss = immediate_loss(form.leaves, 0, joint_reach(form.plexes, parts))
        meter.observe(parts[0], loss, weight)
    exact = certify(game, policy, 1)[1].player_gaps[0]
    assert meter.regret() * form.leaves.payoff_range[0] == pytest.approx(exact, abs=1e-12)


def test_policies_and_agents_of_openspiel() -> None:
    game, spiel = load_openspiel("kuhn_poker"), pyspiel.load_game("kuhn_poker")
    uniform = gaps(game, CorrelatedPolicy.from_components(game, [(1.0, uniform_of(game))]))
    assert gaps(game, UniformRandomPolicy(spiel)) == pytest.approx(uniform, abs=1e-12)
    agents = {i: RandomAgent(i, 2) for i in range(2)}
    assert gaps(game, agents) == pytest.approx(uniform, abs=1e-12)
    mixed = {0: agents[0], "1": UniformRandomPolicy(spiel)}
    assert gaps(game, [mixed, agents]) == pytest.approx(uniform, abs=1e-12)


def uniform_of(game: Game) -> list[Any]:
    from accord.treeplex.strategy import uniform_behavior

    return [uniform_behavior(plex) for plex in sequence_form(game).plexes]


def test_modules_of_torch_get_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in, with the names of PyTorch that are used."""
    torch: Any = types.ModuleType("torch")

    class Tensor:
        def __init__(self, array: Any) -> None:
            self.array = array

        def cpu(self) -> Any:
            return self.array

    class NoGrad:
        inside = False

        def __enter__(self) -> None:
            NoGrad.inside = True

        def __exit__(self, *_: object) -> None:
            NoGrad.inside = False

    class Module:
        def __call__(self, seen: Any) -> Tensor:
            assert isinstance(seen, Tensor) and NoGrad.inside
            return Tensor(np.ones((len(seen.array), 2)))

    Module.__module__ = "torch.nn.modules.module"
    torch.no_grad, torch.as_tensor = NoGrad, Tensor
    monkeypatch.setitem(sys.modules, "torch", torch)
    game = load_openspiel("kuhn_poker")
    uniform = gaps(game, UniformRandomPolicy(pyspiel.load_game("kuhn_poker")))
    assert gaps(game, Module()) == pytest.approx(uniform, abs=1e-12)


def test_refusals() -> None:
    game = load_openspiel("kuhn_poker")
    for source, kind, message in (
        (lambda seen: np.ones(len(seen)), PolicyError, "with at least 2 columns"),
        (lambda seen: np.zeros((len(seen), 2)), PolicyError, "must end in a softmax"),
        (lambda seen: np.full((len(seen), 2), np.nan), PolicyError, "must end in a softmax"),
        (lambda seen: seen[:, :2] - 1.0, PolicyError, "must not be negative"),
        ([], ArgumentError, "a mixture must have sources"),
        ([(-1.0, len), (2.0, len)], ArgumentError, "weights are not negative"),
        ({0: len}, ArgumentError, "a source for each player; 1 has none"),
        ([3], ArgumentError, "a source must be a policy or an agent of OpenSpiel"),
        ("uniform", ArgumentError, "policy must be an accord.CorrelatedPolicy"),
    ):
        with pytest.raises(kind, match=message):
            certify(game, source, 1)
    for source in (len, library_device("signalling")):
        with pytest.raises(ArgumentError, match=r"not a game of OpenSpiel, .*from_device"):
            certify(signalling(), source, 1)
