"""Reading run folders: what is in them, and refusing those that are broken."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import accord
from accord.errors import ParseError
from accord.runs.folder import RunFolder
from accord.runs.reading import read_finished, read_run
from tests.support.command import refused, run


def test_a_learned_run_has_exact_gaps_on_the_way(folders: dict[str, Path]) -> None:
    loaded = read_finished(RunFolder.open(folders["l1"]), accord.load_game("kuhn"))
    assert len(loaded.history) > 10
    last = loaded.history[-1]
    assert last.gap == pytest.approx(loaded.result["gap"], rel=1e-9)
    assert (last.iteration, last.episodes) == (loaded.result["iterations"], 2400)
    half = loaded.history[len(loaded.history) // 2]
    count = half.iteration * loaded.policy.n_components // loaded.result["iterations"]
    part = accord.CorrelatedPolicy(
        loaded.game, np.full(count, 1 / count), loaded.policy.behavior[:count]
    )
    assert half.player_gaps == pytest.approx(accord.certify(loaded.game, part, 1)[1].player_gaps)


def test_a_solved_run_has_the_recorded_gaps(folders: dict[str, Path]) -> None:
    loaded = read_finished(RunFolder.open(folders["1"]), accord.load_game("kuhn"))
    lines = (folders["1"] / "progress.jsonl").read_text().splitlines()
    assert [json.loads(line)["gap"] for line in lines] == [point.gap for point in loaded.history]


def spoil(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)


def test_no_run(tmp_path: Path) -> None:
    assert "but there is no such folder" in refused("report", tmp_path / "nowhere")
    assert refused("report", tmp_path).endswith("but it has no run.json")
    assert list(tmp_path.iterdir()) == []
    assert "Missing argument" in refused("report")
    (tmp_path / "one").mkdir()
    spoil(tmp_path / "one", "run.json", "{}")
    assert f"choose one of {tmp_path / 'one'}" in refused("report", tmp_path)


def changed(folder: Path, **changes: Any) -> None:
    content = json.loads((folder / "run.json").read_text())
    spoil(folder, "run.json", json.dumps({**content, **changes}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "accord-run"),
        ({"version": 5}, 'must have "format": "accord-run" and "version": 4; got'),
        ({"version": 3}, "'accord-run' and 3; open it with the version of Accord that wrote it"),
        ({"version": "4"}, "accord-run"),
        ({"version": None}, "accord-run"),
        ({"command": "play"}, "command"),
        ({"asked": {"game": "kuhn", "k": -1, "method": "rm"}}, "asked"),
        ({"asked": {"game": "kuhn", "k": True, "method": "rm"}}, "asked"),
        ({"asked": None}, "asked"),
        ({"result": 5}, "result"),
        ({"versions": []}, "versions"),
        ({"id": "0" * 16}, "must belong to the run"),
        ({"digest": "0" * 64}, "digest 000000000000"),
        ({"asked": {"game": "gone.efg", "k": 1, "method": "rm"}}, "give it with --game"),
    ],
)
def test_a_header_that_is_wrong(folder: Path, changes: dict[str, Any], message: str) -> None:
    changed(folder, **changes)
    said = refused("report", folder)
    assert message in said
    assert str(folder) in said
    assert not (folder / "report.html").exists()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("run.json", "{", "run.json:1:2"),
        ("run.json", "[]", "must be a JSON object"),
        ("policy.npz", "no archive", "policy.npz"),
    ],
)
def test_a_broken_file(folder: Path, name: str, text: str, message: str) -> None:
    spoil(folder, name, text)
    assert message in refused("report", folder)
    assert not (folder / "report.html").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('\n{"iter', "progress.jsonl:2:"),
        ('{"iteration": 1, "players": [1]}\n', "each of 2 players"),
        ('{"iteration": 1, "players": [1, NaN]}\n', "each of 2 players"),
    ],
)
def test_a_broken_record_of_the_progress(folder: Path, text: str, message: str) -> None:
    spoil(folder, "progress.jsonl", text)
    files = RunFolder.open(folder)
    with pytest.raises(ParseError, match=message):
        files.read_history(files.read_lines(), 2)


def test_without_a_policy_the_report_is_about_the_last_checkpoint(folder: Path) -> None:
    whole = read_finished(RunFolder.open(folder), accord.load_game("kuhn"))
    (folder / "policy.npz").unlink()
    files = RunFolder.open(folder)
    assert not files.finished
    part = read_run(files, accord.load_game("kuhn"))
    assert not part.finished
    assert part.history == whole.history
    for name in ("iterations", "average_gap", "average_error"):
        assert part.result[name] == whole.result[name]
    run("report", folder)
    assert "This run has not finished." in (folder / "report.html").read_text()
    (folder / "checkpoint.npz").unlink()
    assert "has no checkpoint yet" in refused("report", folder)


@pytest.mark.parametrize("name", ["policy.npz", "checkpoint.npz"])
def test_a_file_of_another_run(folder: Path, folders: dict[str, Path], name: str) -> None:
    """The same game, another K: nothing but the identity tells them apart."""
    (folder / "policy.npz").unlink()
    shutil.copy(folders["0"] / name, folder / name)
    assert f"{name} must belong to the run" in refused("report", folder)


def test_a_policy_of_another_game(folder: Path, folders: dict[str, Path]) -> None:
    shutil.copy(folders["sep"] / "policy.npz", folder / "policy.npz")
    assert "was made for the game 'separation:k=1'" in refused("report", folder)


def test_a_game_that_has_moved(tmp_path: Path) -> None:
    accord.interop.write_efg(accord.load_game("kuhn"), tmp_path / "old.efg")
    run("solve", tmp_path / "old.efg", "--iterations", 3, "--out", tmp_path / "run")
    (tmp_path / "old.efg").rename(tmp_path / "new.efg")
    assert "--game" in refused("report", tmp_path / "run")
    run("report", tmp_path / "run", "--game", tmp_path / "new.efg")
    assert "digest" in refused("report", tmp_path / "run", "--game", "separation:k=1")
