"""Games draw themselves: in notebooks, as files, and as TikZ."""

from __future__ import annotations

from pathlib import Path

import pytest

from accord.errors import ArgumentError
from accord.game.library import chicken, kuhn
from tests.support.command import run


def test_a_game_draws_itself(tmp_path: Path) -> None:
    game = chicken()
    drawing = game.plot()
    assert repr(drawing) == "Drawing('chicken', nodes=7)"
    assert drawing._repr_svg_() == drawing.svg
    assert "<svg" in drawing.svg
    assert "6, 6" in drawing.svg  # payoffs without signs
    assert ">chance<" not in drawing.svg
    assert ">chance<" in kuhn().plot().svg
    assert game.to_tikz() == drawing.tikz
    for name, text in (("tree.svg", drawing.svg), ("tree.tex", drawing.tikz)):
        drawing.save(tmp_path / name)
        assert (tmp_path / name).read_text() == text
        run("export", "chicken", tmp_path / f"same-{name}", "--what", "tree")
        assert (tmp_path / f"same-{name}").read_text() == text


def test_a_region_is_exported(tmp_path: Path) -> None:
    starts = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}
    for suffix, start in starts.items():
        run("export", "chicken", tmp_path / f"region.{suffix}")
        assert (tmp_path / f"region.{suffix}").read_bytes().startswith(start)
    assert "mixed Nash equilibrium" in (tmp_path / "region.svg").read_text()


def test_what_cannot_be_drawn(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"must end in \.svg or \.tex; got"):
        chicken().plot().save(tmp_path / "tree.gif")
    for call in (kuhn(3).plot, kuhn(3).to_tikz):
        with pytest.raises(ArgumentError, match="at most 200 nodes"):
            call()
