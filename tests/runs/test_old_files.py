"""Files written by version 0.1 still open, resume and draw.

``tests/data/v0.1`` holds runs on the library's Kuhn poker as that version left them: three finished
ones, two killed after a checkpoint, one policy in JSON. ``expected.json`` records what that version
itself reached when it resumed them. One of them, ``learned``, has a method that is gone: its files
open, but it cannot be resumed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.errors import MismatchError
from accord.game.tree import Game
from accord.runs.folder import RunFolder
from tests.support.command import refused, run, run_json

OLD = Path(__file__).parents[1] / "data" / "v0.1"
EXPECTED = json.loads((OLD / "expected.json").read_text())
RESUME = {
    "solved": lambda game, folder: accord.resume_solve(game, folder, iterations=100),
    "learned-swrhedge": lambda game, folder: accord.resume_learn(game, folder, episodes=4000),
    "solve-killed": accord.resume_solve,
    "learn-killed": accord.resume_learn,
}
FINISHED = {"solved": accord.resume_solve, "learned-swrhedge": accord.resume_learn}
READABLE = (*FINISHED, "learned")


@pytest.fixture(scope="module")
def game() -> Game:
    return accord.load_game("kuhn")


@pytest.fixture
def copy_of(tmp_path: Path) -> Callable[[str], Path]:
    """Copies a run of version 0.1 to a folder that may be written to."""
    return lambda name: Path(shutil.copytree(OLD / name, tmp_path / name))


def kept_result(folder: Path) -> dict[str, Any]:
    """The result that a finished run has written to its folder."""
    result = json.loads((folder / "run.json").read_text())["result"]
    assert isinstance(result, dict)
    return result


@pytest.mark.parametrize("name", RESUME)
def test_a_run_resumes_to_the_numbers_of_its_own_version(
    name: str, game: Game, copy_of: Callable[[str], Path]
) -> None:
    folder = copy_of(name)
    resumed, expected = RESUME[name](game, folder), EXPECTED[name]
    assert resumed.iterations == expected["iterations"]
    assert resumed.gap == pytest.approx(expected["gap"], rel=1e-9)
    assert resumed.values == pytest.approx(expected["values"], rel=1e-9)
    assert kept_result(folder)["gap"] == resumed.gap
    assert accord.load_policy(folder / "policy.npz", game).n_components == 5


@pytest.mark.parametrize("name", FINISHED)
def test_a_finished_run_opens_with_its_result(
    name: str, game: Game, copy_of: Callable[[str], Path]
) -> None:
    """Resuming a finished run without new limits only reads it."""
    folder = copy_of(name)
    opened, kept = FINISHED[name](game, folder), kept_result(OLD / name)
    assert opened.iterations == kept["iterations"]
    assert opened.gap == pytest.approx(kept["gap"], rel=1e-9)
    assert opened.values == pytest.approx(kept["values"], rel=1e-9)


@pytest.mark.parametrize("name", READABLE)
def test_a_policy_in_npz_has_the_gap_that_its_certificate_says(name: str, game: Game) -> None:
    policy = accord.load_policy(OLD / name / "policy.npz", game)
    certificate = json.loads((OLD / name / "certificate.json").read_text())
    assert certificate["gaps"]
    for old in certificate["gaps"]:
        new = accord.certify(game, policy, old["k"])[old["k"]]
        assert new.gap == pytest.approx(old["gap"], rel=1e-9)


def test_a_policy_in_json_loads(game: Game, tmp_path: Path) -> None:
    policy = accord.load_policy(OLD / "policy.json", game)
    content = json.loads((OLD / "policy.json").read_text())
    assert policy.weights == pytest.approx([part["weight"] for part in content["components"]])
    accord.save_policy(policy, tmp_path / "policy.json")
    assert json.loads((tmp_path / "policy.json").read_text()) == content
    gaps = run_json("certify", "kuhn", OLD / "policy.json", "-k", 1)["gaps"]
    assert gaps[0]["gap"] == pytest.approx(accord.certify(game, policy, 1)[1].gap, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", READABLE)
def test_a_finished_run_has_a_report(name: str, copy_of: Callable[[str], Path]) -> None:
    folder = copy_of(name)
    run("report", folder)
    assert "<svg" in (folder / "report.html").read_text()


@pytest.mark.slow
def test_finished_runs_are_compared(tmp_path: Path, copy_of: Callable[[str], Path]) -> None:
    page = tmp_path / "comparison.html"
    run("report", *(copy_of(name) for name in READABLE), "--out", page)
    assert "swrhedge" in page.read_text()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("solved", ("solve", "--iterations", 100)),
        ("learned-swrhedge", ("learn", "--episodes", 4000)),
        ("solve-killed", ("solve",)),
        ("learn-killed", ("learn",)),
    ],
)
def test_the_command_resumes_it(
    name: str, arguments: tuple[object, ...], copy_of: Callable[[str], Path]
) -> None:
    result = run_json(*arguments, "--resume", copy_of(name))
    assert result["gap"] == pytest.approx(EXPECTED[name]["gap"], rel=1e-9)
    assert result["values"] == pytest.approx(EXPECTED[name]["values"], rel=1e-9)


# --- the layered rm of version 0.1, which is gone -------------------------------------------------


GONE = "holds a run of rm as it was before Accord learned from whole plays"


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("episodes", [None, 4000])
def test_a_run_of_the_layered_rm_is_read_but_not_resumed(
    episodes: int | None, game: Game, copy_of: Callable[[str], Path]
) -> None:
    folder = copy_of("learned")
    saved = RunFolder.open(folder).read(game)
    assert saved.result == kept_result(OLD / "learned")
    assert saved.history[-1].gap == pytest.approx(saved.result["gap"], rel=1e-9)
    with pytest.raises(MismatchError, match=f"{GONE}; .* or start a new run") as refusal:
        accord.resume_learn(game, folder, episodes=episodes)
    assert str(folder) in str(refusal.value)
    more = () if episodes is None else ("--episodes", episodes)
    assert GONE in refused("learn", "--resume", folder, *more)
    assert contents(folder) == contents(OLD / "learned")


@pytest.mark.parametrize("asked", [{}, {"exploration": "balanced"}, {"exploration": "uniform"}])
def test_it_is_not_begun_anew_either(
    asked: dict[str, Any], game: Game, copy_of: Callable[[str], Path]
) -> None:
    """Killed before its first checkpoint, it would begin as a run of another method."""
    folder = copy_of("learned")
    content = json.loads((folder / "run.json").read_text())
    content |= {"result": None, "asked": {**content["asked"], **asked}}
    (folder / "run.json").write_text(json.dumps(content))
    (folder / "checkpoint.npz").unlink()
    before = contents(folder)
    with pytest.raises(MismatchError, match=GONE):
        accord.resume_learn(game, folder)
    assert contents(folder) == before


@pytest.mark.parametrize("exploration", ["spread", "balanced"])
def test_its_checkpoint_is_not_taken_for_one_of_the_new_rm(
    exploration: str, game: Game, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    accord.learn(
        game, 1, episodes=2000, components=5, method="rm", exploration=exploration, folder=folder
    )
    shutil.copy(OLD / "learned" / "checkpoint.npz", folder)
    before = contents(folder)
    with pytest.raises(MismatchError, match=r"checkpoint\.npz must belong to the run"):
        accord.resume_learn(game, folder, episodes=4000)
    assert contents(folder) == before


def test_a_run_of_this_version_says_so(game: Game, tmp_path: Path) -> None:
    """The new rm has the old name; the version of the folder tells them apart."""
    accord.learn(game, 1, episodes=300, method="rm", exploration="balanced", folder=tmp_path / "rm")
    content = json.loads((tmp_path / "rm" / "run.json").read_text())
    assert content["version"] == 3
    assert content["asked"]["exploration"] == "balanced"
    assert accord.resume_learn(game, tmp_path / "rm", episodes=600).episodes == 600
