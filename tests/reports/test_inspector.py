"""The inspector's data: an inspection, rounded."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import accord
from accord.certifying.inspection import inspect
from accord.equilibrium.policy import CorrelatedPolicy
from accord.game.library import chicken, kuhn, library_device, separation
from accord.reports import inspector
from accord.reports.inspector import inspector_data


def policy_of(name: str) -> CorrelatedPolicy:
    if name == "kuhn":
        return accord.solve(kuhn(), 1, iterations=60, components=20).policy
    if name == "separation":
        return accord.solve(separation(k=1), 2, iterations=30, components=20).policy
    device = CorrelatedPolicy.from_device(chicken(), library_device("chicken"))
    return CorrelatedPolicy(device.game, np.ones(1), device.behavior[:1])  # much is never told


def rounded(value: float) -> float | None:
    return None if math.isnan(value) else float(f"{value:.7g}")


@pytest.mark.parametrize("name", ["kuhn", "separation", "chicken"])
def test_the_data_is_the_inspection_rounded(name: str) -> None:
    ks = (0, 1, 2, math.inf)
    seen = inspect(policy_of(name), ks)
    data = inspector_data(seen, 1)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["k"] == "1"
    never = 0
    for i, player in enumerate(data["players"]):
        plex = seen.form.plexes[i]
        assert player["label"] == seen.form.game.player_labels[i]
        assert len(player["infosets"]) == player["total"] == plex.n_infosets
        for x, shown in enumerate(player["infosets"]):
            assert shown["label"] == plex.infoset_labels[x]
            assert player["actions"][shown["actions"]] == list(plex.action_labels[x])
            assert shown["prob"] == [rounded(p) for p in seen.prob(i, x)]
            assert shown["follow"] == [rounded(v) for v in seen.follow(i, x)]
            assert list(shown["gain"]) == ["1", "2", "inf"]
            for k in ks[1:]:
                wanted = [[rounded(v) for v in row] for row in seen.gain(k, i, x)]
                assert shown["gain"]["inf" if math.isinf(k) else str(k)] == wanted
            plan = seen.plan(i, x)
            assert shown["plan"] == (None if plan is None else [rounded(v) for v in plan])
            above = plex.history(x)[-1:]
            assert (shown["parent"], shown["via"]) == (above[0] if above else (-1, 0))
            assert shown["hidden"] == 0
            for r, p in enumerate(shown["prob"]):
                assert (shown["follow"][r] is None) == (p == 0)
                never += p == 0
    assert never > 0 or name != "chicken"


def test_without_any_k_there_are_still_recommendations() -> None:
    data = inspector_data(inspect(policy_of("kuhn"), []), 1)
    assert data["k"] is None
    infosets = [x for player in data["players"] for x in player["infosets"]]
    assert all(x["gain"] == {} and x["plan"] is None and sum(x["prob"]) > 0 for x in infosets)


@pytest.mark.parametrize(("limit", "below"), [(100, 2), (60, 0), (25, 0)])
def test_large_games_keep_the_infosets_reached_most(
    monkeypatch: pytest.MonkeyPatch, limit: int, below: int
) -> None:
    """With room for ``limit`` numbers, ``below`` of them follow other infosets."""
    seen = inspect(policy_of("kuhn"), [0, 1, 2, math.inf])
    whole = inspector_data(seen, 1)
    monkeypatch.setattr(inspector, "LARGEST_DATA", limit)
    data = inspector_data(seen, 1)
    assert sum(x["parent"] >= 0 for x in data["players"][0]["infosets"]) == below
    for player, everything in zip(data["players"], whole["players"], strict=True):
        kept = player["infosets"]
        assert 0 < len(kept) < player["total"] == len(everything["infosets"])
        assert all(list(x["gain"]) == ["1"] and x["plan"] is None for x in kept)
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
