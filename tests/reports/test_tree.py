"""Drawings of game trees."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import accord
from accord._format import pretty
from accord.certifying.inspection import inspect
from accord.reports import tree
from accord.reports.page import tree_svg
from accord.reports.source import read_source
from tests.support.pages import texts


def test_tree_shows_every_move_and_payoff(folders: dict[str, Path]) -> None:
    loaded = read_source(folders["1"])
    seen = inspect(loaded.policy, [])
    view = tree.tree_view(loaded.game, seen.recommended, {(0, 0, 1)})
    assert view is not None
    svg = tree_svg(view)
    root = ET.fromstring(svg)
    groups = [e for e in root.iter() if e.tag.endswith("}g")]
    edges = [e for e in groups if "edge" in e.get("class", "").split()]
    nodes = [e for e in groups if "node" in e.get("class", "").split()]
    assert len(edges) == loaded.game.n_nodes - 1
    assert len(nodes) == sum(loaded.game.player >= 0)
    told = seen.recommended(0, 0)
    assert told is not None
    action = loaded.game.action_labels[0][0][0]
    assert f"{action} {pretty(told[0], 2)}" in texts(svg)
    marked = [e for e in edges if "deviation" in e.get("class", "").split()]
    assert len(marked) == sum((loaded.game.player == 0) & (loaded.game.infoset == 0))
    joined = [e for e in root.iter() if "joint" in e.get("class", "").split()]
    assert len(joined) == 12  # every infoset of Kuhn poker has two nodes
    payoffs = [e for e in root.iter() if e.get("class") == "payoff"]
    assert len(payoffs) == loaded.game.n_terminals
    assert {"1, −1", "−2, 2"} <= {e.text for e in payoffs}  # noqa: RUF001


def test_large_trees_are_not_drawn(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    game = read_source(folders["1"]).game
    monkeypatch.setattr(tree, "LARGEST_TREE", game.n_nodes)
    assert tree.tree_view(game, lambda player, x: None) is not None
    monkeypatch.setattr(tree, "LARGEST_TREE", game.n_nodes - 1)
    assert tree.tree_view(game, lambda player, x: None) is None


def test_nothing_is_cut_at_the_sides() -> None:
    b = accord.GameBuilder(players=["a", "b", "c"])
    b.move(player="a", infoset="a long name of the root", actions="l r")
    b.move("l", player="b", infoset="a longer name than its action", actions="l r")
    b.payoff("l l", -123456, 1.234e-10, -9.876e12)
    b.payoff("l r", 0, 0, 0)
    b.payoff("r", 1, 2, 3)
    view = tree.tree_view(b.build())
    assert view is not None
    for node in view.nodes:
        start = node.x + 3 - tree.NAME_LETTER * len(node.text)
        assert start >= max([0.0, *(other.x for other in view.nodes if other.x < node.x)])
    assert all(leaf.x + tree.DIGIT * len(leaf.text) <= view.width for leaf in view.payoffs)
    assert all(entry.end <= view.file_width for entry in view.key)
    assert view.height <= view.key[0].y <= view.key[-1].y < view.file_height
