"""region(): its result, limits, Ctrl-C, and what it refuses."""

from __future__ import annotations

import json
import math
import os
import signal

import pytest

import accord
from accord.errors import ArgumentError
from accord.game.library import chicken, kuhn, signalling
from accord.runs.region import region

KEYS = [
    "game", "players", "commits", "exact", "error", "tolerance", "polygons", "zero_sum", "nash",
    "mixed_nash", "feasible", "minmax", "exact_minmax", "directions", "seconds",
]  # fmt: skip


def test_it_is_public():
    assert accord.region is region
    found = region(chicken(), 1)
    assert isinstance(found, accord.runs.Region)
    assert isinstance(found[1], accord.runs.PayoffPolygon)
    assert isinstance(found[1].vertices[0], accord.runs.RegionVertex)
    assert repr(found) == (
        "Region('chicken', players=('row', 'col'), [PayoffPolygon(k=1, vertices=4, exact)])"
    )
    assert repr(found[1].vertices[0]).startswith("RegionVertex(")


def test_json():
    content = region(signalling(), (math.inf, 0)).to_json()
    json.dumps(content, allow_nan=False)
    assert list(content) == KEYS
    assert [polygon["k"] for polygon in content["polygons"]] == [0, 1]
    assert [polygon["notion"] for polygon in content["polygons"]] == ["NFCCE", "EFCE"]
    vertices = content["polygons"][0]["vertices"]
    assert len(vertices) == 3
    for vertex in vertices:
        plans = vertex["device"]
        assert sum(plan["probability"] for plan in plans) == pytest.approx(1.0)
        assert next(iter(plans[0]["told"][0])) in ("good", "bad")
    assert sorted(vertex["payoffs"] for vertex in vertices)[0] == pytest.approx([0.0, 6.0])


def test_devices_of_vertices_can_be_saved_and_run(tmp_path):
    found = region(chicken(), 1)
    policy = found[1].welfare.policy
    accord.save_policy(policy, tmp_path / "best.npz")
    loaded = accord.load_policy(tmp_path / "best.npz", chicken())
    assert accord.certify(chicken(), loaded, 1)[1].gap <= 1e-9


def test_the_order_of_k_and_players():
    found = region(chicken(), [1, 0, 1])
    assert [polygon.k for polygon in found.polygons] == [0, 1]
    assert found[2] is found[1]
    with pytest.raises(ArgumentError, match="polygons of k = 0, 1; got 'afce'"):
        found["afce"]
    one = region(signalling(), 0, players=("professor", "student"))
    assert one.players == ("professor", "student")
    assert max(vertex.payoffs[0] for vertex in one[0].vertices) == pytest.approx(7.5)


def test_limits():
    """One round is always made, and its bound counts."""
    late = region(signalling(), (0, 1), seconds=0)
    assert not late.reached
    assert not late.exact
    assert late.directions == 1
    assert late.error > 0.01
    assert late[0].outer
    some = region(signalling(), (0, 1), directions=3)
    assert some.directions == 3
    rough = region(signalling(), (0, 1), tolerance=0.2)
    exact = region(signalling(), (0, 1))
    assert rough.reached
    assert rough.directions <= exact.directions


@pytest.mark.slow
def test_a_limit_before_any_equilibrium():
    """Then there is a bound, and nothing else is claimed."""
    game = kuhn(players=3)
    late = region(game, math.inf, seconds=0)
    assert not late.reached
    assert not late.exact
    json.dumps(late.to_json(), allow_nan=False)


def test_progress_and_ctrl_c():
    seen = []

    def interrupt(now):
        seen.append(now)
        if len(seen) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    found = region(signalling(), (0, 1), progress=interrupt)
    assert found.interrupted
    assert len(seen) == 3
    assert found.directions == 3
    assert seen[-1].region.vertices >= 1
    assert seen[0].seconds <= seen[-1].seconds
    assert seen[-1].region.error == found.error


def test_ctrl_c_at_the_end_loses_nothing(monkeypatch):
    whole = region(signalling(), 1)

    def interrupted(form):
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("accord.runs.region.pure_nash_payoffs", interrupted)
    found = region(signalling(), 1)
    assert found.interrupted
    assert [v.payoffs for v in found[1].vertices] == [v.payoffs for v in whole[1].vertices]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": -1}, "k must be a whole number"),
        ({"k": 0.5}, "k must be a whole number"),
        ({"k": ()}, "at least one number"),
        ({"k": "many"}, "k must be a whole number"),
        ({"k": ("efcce", "lce")}, "got 'lce', .* its region lies inside that of k = 1"),
        ({"players": ("row", "row")}, "two different players; got .* the players are 'row', 'col'"),
        ({"players": ("row", "x")}, "no player 'x'; the players are 'row', 'col'"),
        ({"players": ("row",)}, "two different players"),
        ({"players": "row"}, "two different players"),
        ({"tolerance": 0.0}, "tolerance must be positive"),
        ({"tolerance": math.nan}, "tolerance must be positive"),
        ({"seconds": -1.0}, "seconds must be at least 0"),
        ({"seconds": math.nan}, "seconds must be at least 0"),
        ({"directions": 0}, "directions must be a whole number, 1 or more"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ArgumentError, match=message):
        region(chicken(), **options)


def test_one_player_has_no_region():
    b = accord.GameBuilder(players=["alone"])
    b.move(player="alone", infoset="x", actions="l r")
    b.payoff("l", 0)
    b.payoff("r", 1)
    with pytest.raises(ArgumentError, match="at least two players"):
        region(b.build())
