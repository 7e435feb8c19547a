"""The part of the oTree example that works without oTree."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import accord

FOLDER = Path(__file__).parents[2] / "examples" / "otree"
GAMES = ("chicken_once", "chicken_twice")


@pytest.fixture
def mediation(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module("mediation")
    for name in ("mediation", "games"):
        importlib.sys.modules.pop(name, None)


def play(mediation: ModuleType, name: str, action: Any) -> tuple[str, dict[int, Any]]:
    text = mediation.begin(name, "7")
    views: dict[int, Any] = {}
    for player in (0, 1):
        text, sent = mediation.answer(name, text, player, {})
        assert sent.keys() == {player + 1}
        views |= sent
    while not views[1]["over"]:
        for player in (0, 1):
            view = views[player + 1]
            if view["infoset"] is not None:
                move = {"infoset": view["infoset"], "action": action(view)}
                text, sent = mediation.answer(name, text, player, move)
                views |= sent
                assert mediation.answer(name, text, player, move)[0] == text
    assert mediation.is_over(name, text)
    return text, views


@pytest.mark.parametrize("name", GAMES)
def test_plays_follow_the_policy(mediation: ModuleType, name: str) -> None:
    game, policy = getattr(importlib.import_module("games"), name)()
    certificate = accord.certify(game, policy, 1)
    assert certificate[1].gap == pytest.approx(0, abs=1e-9)
    for _ in range(20):
        text, views = play(mediation, name, lambda view: view["told"])
        for player in (0, 1):
            moves = mediation.moves(name, text, player)
            assert [told for _, told, _ in moves] == [action for _, _, action in moves]
            assert views[player + 1]["payoff"] > 0


def test_two_stages_are_better_than_two_plays(mediation: ModuleType) -> None:
    games = importlib.import_module("games")
    _, policy = games.chicken_twice()
    once = games.chicken_once()[1].values()
    assert policy.values().tolist() == pytest.approx([11.25, 11.25])
    assert (policy.values() > 2 * once).all()


def test_nobody_hears_of_a_move_before_all_have_moved(mediation: ModuleType) -> None:
    text = mediation.begin("chicken_twice", "7")
    move = {"infoset": "stage 1", "action": "dare"}
    text, sent = mediation.answer("chicken_twice", text, 0, move)
    assert sent.keys() == {1}
    assert sent[1]["infoset"] is None
    text, sent = mediation.answer("chicken_twice", text, 1, move)
    assert sent.keys() == {1, 2}
    assert {view["infoset"] for view in sent.values()} == {"stage 2, after row: dare, col: dare"}


@pytest.mark.parametrize(
    "message", [None, 3, "x", [], {"action": "fly"}, {"action": None}, {"infoset": "stage 2"}]
)
def test_nonsense_changes_nothing(mediation: ModuleType, message: Any) -> None:
    text = mediation.answer("chicken_twice", mediation.begin("chicken_twice", "7"), 0, {})[0]
    after, sent = mediation.answer("chicken_twice", text, 0, message)
    assert json.loads(after)["play"]["seats"][0] == json.loads(text)["play"]["seats"][0]
    assert sent.keys() == {1}
