"""What a report knows of a run before it evaluates anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from accord.reports.source import read_source


def test_facts_of_a_solved_run(folders: dict[str, Path]) -> None:
    facts = read_source(folders["1"]).facts
    result = json.loads((folders["1"] / "run.json").read_text())["result"]
    assert not facts.learned
    assert (facts.game, facts.k, facts.method, facts.iterations) == ("kuhn", 1, "rm", 60)
    assert (facts.seed, facts.episodes) == (None, None)
    assert (facts.gap, facts.average_gap) == (result["gap"], result["average_gap"])
    assert facts.relative == pytest.approx(result["gap"] / 4)
    assert [one.name for one in facts.requests if one.is_limit] == ["iterations"]
    assert facts.requested("iterations") == 60
    assert facts.requested("target_gap") is None  # it was not given


def test_facts_of_a_learned_run(folders: dict[str, Path]) -> None:
    facts = read_source(folders["l2"]).facts
    assert facts.learned
    assert (facts.seed, facts.episodes) == (2, 2400)
    assert facts.average_gap is None
    last = facts.history[-1]
    assert last.episodes == 2400
    assert last.gap == pytest.approx(facts.gap, rel=1e-9)
    assert facts.relative_to_range(last.player_gaps) == pytest.approx(facts.relative, rel=1e-9)
