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
from tests.support.server import threatened_entry


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


def test_threats_are_marked() -> None:
    policy = threatened_entry()
    game = policy.form.game
    drawing = game.plot(policy)
    threats = [edge for edge in drawing.tree.edges if edge.threat]
    assert [edge.text for edge in threats] == ["fight, a threat"]
    assert drawing.tree.note.startswith("not credible")
    svg = drawing.svg
    assert svg.count('class="edge never threat"') == 1
    assert drawing.tree.note in texts(svg)
    assert r"\draw[accord/threat" in game.to_tikz(policy)
    assert drawing.tree.note in drawing.tikz
    honest = game.plot(accord.optimize(game))
    assert honest.tree.note.startswith("credible")
    assert not any(edge.threat for edge in honest.tree.edges)
    assert not game.plot().tree.note and not game.plot(policy, k=0).tree.note


def test_only_equilibria_have_threats() -> None:
    game = threatened_entry().form.game
    device = [(1, ({"start": "enter"}, {"entered": "fight"}))]
    drawing = game.plot(accord.CorrelatedPolicy.from_device(game, device))
    assert not drawing.tree.note and "threat" not in drawing.svg.split("</style>")[1]


def test_policies_of_other_games_are_refused() -> None:
    with pytest.raises(accord.errors.MismatchError):
        accord.load_game("chicken").plot(threatened_entry())


def test_reports_mark_threats_and_chance_only_where_they_are() -> None:
    game = threatened_entry().form.game
    page = accord.report(accord.optimize(game, objective={"incumbent": 1})).html
    assert "fight, a threat" in page and "The device is not credible: nobody would" in page
    assert '<li class="chance">' not in page
    assert (
        '<li class="chance">' in accord.report(accord.optimize(accord.load_game("signalling"))).html
    )
