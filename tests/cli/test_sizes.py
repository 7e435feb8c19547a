"""Games of unusual shape: very deep, or with very many actions."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import accord
from accord.certifying import footprint
from accord.certifying.footprint import certify_bytes
from accord.equilibrium.relevant import count_tuples
from accord.optimal import large
from accord.optimal.incentives import Incentives
from accord.optimal.large import large_filling
from accord.treeplex.form import sequence_form
from tests.support.command import refused, run, run_json


def chain(path: Path, length: int, players: int = 2) -> str:
    """A file in which players take turns to stop or to pass, ``length`` times."""
    names = " ".join(f'"p{i}"' for i in range(players))
    lines = [f'EFG 2 R "chain" {{ {names} }} ""']
    for n in range(length):
        paid = " ".join(str(n + (i == n % players)) for i in range(players))
        lines.append(f'p "" {n % players + 1} {n // players + 1} "x{n}" {{ "stop" "pass" }} 0')
        lines.append(f't "" {n + 1} "" {{ {paid} }}')
    lines.append(f't "" {length + 1} "" {{ {" ".join([str(length)] * players)} }}')
    path.write_text("\n".join(lines))
    return str(path)


@pytest.mark.slow
def test_a_game_that_is_very_deep(tmp_path: Path) -> None:
    """What is linear in the depth works; what is not says so, with the numbers."""
    game = chain(tmp_path / "deep.efg", 4_000)
    known = run_json("info", game)
    assert known["players"][0]["horizon"] == 2_000
    pairs = sum(1 + 2 * j for j in range(1, 2_001)) * 2  # each infoset with all that come before
    assert known["memory"][0]["optimize"] > 100 * pairs
    with mock.patch.object(footprint, "TRIGGER_CELLS", 1e6):
        certified = run_json("solve", game, "-k", 0, "--iterations", 3, "--out", tmp_path / "run")
        assert certified["gap"] >= 0.0
        said = run("certify", tmp_path / "run", "-k", 0).stdout
        assert "trigger gap not computed" in said
        run("report", tmp_path / "run")
        assert "trigger gap" not in (tmp_path / "run" / "report.html").read_text()


def test_commands_that_do_not_fit_name_the_one_that_tells_what_does(tmp_path: Path) -> None:
    game = chain(tmp_path / "deep.efg", 400)
    for command in (("learn", "--episodes", 100), ("optimize",), ("solve", "--iterations", 9)):
        with mock.patch.object(footprint, "available_memory", return_value=1_000_000):
            said = refused(command[0], game, *command[1:])
        assert "try a smaller k" in said
        assert "`accord info` lists what every command takes" in said


def test_certifying_at_0_takes_memory_in_proportion_to_the_depth(tmp_path: Path) -> None:
    forms = [
        sequence_form(accord.load_game(chain(tmp_path / f"{n}.efg", n))) for n in (1_000, 2_000)
    ]
    with mock.patch.object(footprint, "TRIGGER_CELLS", 1e4):
        shallow, deep = (certify_bytes(form, [0]) for form in forms)
    assert deep < 2.1 * shallow
    assert count_tuples(forms[1]) > 3.9 * count_tuples(forms[0])


def test_infosets_with_many_actions_are_not_swept_tuple_by_tuple() -> None:
    rng, n = np.random.default_rng(0), 200
    game = accord.matrix_game(rng.integers(0, 9, (2, n, 2)).astype(float).tolist())
    with mock.patch.object(large, "LARGE", 100):
        assert large_filling(Incentives.build(sequence_form(game), 1)) is None
