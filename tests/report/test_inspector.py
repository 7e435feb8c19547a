"""The inspector's numbers against the certificate and against plain enumeration."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import accord
from accord._arrays import CHANCE, TERMINAL
from accord.deviations.notions import written_k
from accord.report import inspector
from accord.report.source import read_source
from accord.report.summary import summarise
from accord.treeplex.form import sequence_form


def told_by_enumeration(
    policy: accord.CorrelatedPolicy,
) -> dict[tuple[int, int, int], tuple[float, float]]:
    """(player, infoset, told) to the probability and the payoff of following, node by node."""
    game = policy.game
    form = sequence_form(game)
    rewards = np.zeros((game.n_nodes, game.n_players))
    rewards[game.reward_node] = game.reward
    children: list[list[int]] = [[] for _ in range(game.n_nodes)]
    for node in range(1, game.n_nodes):
        children[game.parent[node]].append(node)
    found: dict[tuple[int, int, int], tuple[float, float]] = {}

    def move(behaviors: Any, node: int) -> float:
        """The probability of the move that leads to ``node``."""
        above = game.parent[node]
        if game.player[above] == CHANCE:
            return float(game.chance_prob[node])
        i, x = game.player[above], game.infoset[above]
        return float(behaviors[i][form.plexes[i].first_seq[x] + game.action[node]])

    def walk(behaviors: Any, weight: float, node: int, prob: float, earned: Any) -> Any:
        """The expected payoffs of plays through ``node``, times their probability."""
        earned = earned + rewards[node]
        if game.player[node] == TERMINAL:
            return prob * earned
        total = np.zeros(game.n_players)
        for child in children[node]:
            share = prob * move(behaviors, child)
            below = walk(behaviors, weight, child, share, earned)
            total += below
            i = int(game.player[node])
            if i != CHANCE:
                key = i, int(game.infoset[node]), int(game.action[child])
                p, v = found.get(key, (0.0, 0.0))
                found[key] = p + weight * share, v + weight * below[i]
        return total

    for weight, behaviors in policy.components():
        walk(behaviors, weight, 0, 1.0, np.zeros(game.n_players))
    return {key: (p, v / p if p else math.nan) for key, (p, v) in found.items()}


@pytest.mark.parametrize("name", ["1", "inf", "sep", "l1"])
def test_inspector_shows_what_is_told_and_what_following_earns(
    folders: dict[str, Path], name: str
) -> None:
    loaded = read_source(folders[name])
    data = summarise(loaded).inspector
    expected = told_by_enumeration(loaded.policy)
    checked = 0
    for (i, x, r), (prob, value) in expected.items():
        infoset = data["players"][i]["infosets"][x]
        assert infoset["prob"][r] == pytest.approx(prob, rel=1e-6, abs=1e-12)
        if prob > 0:
            assert infoset["follow"][r] == pytest.approx(value, rel=1e-6, abs=1e-6)
            checked += 1
        else:
            assert infoset["follow"][r] is None
    assert checked > 5
    assert sum(len(x["prob"]) for p in data["players"] for x in p["infosets"]) == len(expected)


@pytest.mark.parametrize("name", ["1", "inf", "sep", "l1", "0"])
def test_gains_add_up_to_the_gaps(folders: dict[str, Path], name: str) -> None:
    """A deviation starts at the first infosets, so the best responses there are worth the gap."""
    loaded = read_source(folders[name])
    found = summarise(loaded)
    for k in (1, 2, math.inf):
        gaps = accord.certify(loaded.game, loaded.policy, k)[k].players
        for player, gap in zip(found.inspector["players"], gaps, strict=True):
            total = sum(
                p * max(gains)
                for x in player["infosets"]
                if x["parent"] < 0
                for p, gains in zip(x["prob"], x["gain"][written_k(k)], strict=True)
                if p > 0
            )
            assert total == pytest.approx(gap, rel=1e-5, abs=1e-12)


def test_plans_add_up_to_the_gap_at_0(folders: dict[str, Path]) -> None:
    loaded = read_source(folders["0"])
    found = summarise(loaded)
    form = sequence_form(loaded.game)
    gaps = accord.certify(loaded.game, loaded.policy, 0)[0].players
    reach = 1 / 3  # each of the three cards is a first infoset of either player
    for i, plex in enumerate(form.plexes):
        infosets = found.inspector["players"][i]["infosets"]
        best = 0.0
        for x in infosets:
            if x["parent"] < 0:
                there = sum(x["prob"]) if i else reach
                best += there * max(x["plan"])
        assert best == pytest.approx(found.players[i].value + gaps[i], abs=1e-6)
        assert plex.n_infosets == len(infosets)


def test_a_deviation_goes_on_after_its_first_step(folders: dict[str, Path]) -> None:
    """Against the device of the separation, two deviations are needed: both are listed."""
    loaded = read_source(folders["sep"])
    from accord.game.library import library_device

    device = accord.CorrelatedPolicy.from_device(loaded.game, library_device("separation:k=1"))
    seen = inspector.inspect(device, [2])
    steps, more = inspector.steps(seen.deviators[2][0], (0, 0), 10)
    assert more == 0
    assert [step["depth"] for step in steps] == [0, 1, 1]
    assert all(step["told"] != step["plays"] for step in steps[:1])
    assert any(step["told"] != step["plays"] for step in steps[1:])
    assert sum(step["probability"] for step in steps[1:]) == pytest.approx(steps[0]["probability"])
    assert inspector.steps(seen.deviators[2][0], (0, 0), 1) == (steps[:1], 2)


@pytest.mark.parametrize("limit", [60, 25])
def test_large_games_keep_the_infosets_reached_most(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    loaded = read_source(folders["1"])
    seen = inspector.inspect(loaded.policy, [0, 1, 2, math.inf])
    whole = inspector.inspector_data(seen, 1)
    monkeypatch.setattr(inspector, "LARGEST_DATA", limit)
    data = inspector.inspector_data(seen, 1)
    for player, everything in zip(data["players"], whole["players"], strict=True):
        kept = player["infosets"]
        assert 0 < len(kept) < player["total"] == len(everything["infosets"])
        assert all(list(x["gain"]) == [1] and x["plan"] is None for x in kept)
        labels = {x["label"] for x in kept}
        for x in kept:
            original = next(y for y in everything["infosets"] if y["label"] == x["label"])
            assert x["prob"] == original["prob"]
            if original["parent"] >= 0:
                above = everything["infosets"][original["parent"]]["label"]
                assert player["infosets"][x["parent"]]["label"] == above
            else:
                assert x["parent"] == -1
        left = [sum(x["prob"]) for x in everything["infosets"] if x["label"] not in labels]
        assert max(left) <= min(sum(x["prob"]) for x in kept) + 1e-6
        roots_left = sum(
            x["parent"] < 0 for x in everything["infosets"] if x["label"] not in labels
        )
        assert sum(x["hidden"] for x in kept) <= player["total"] - len(kept) - roots_left
