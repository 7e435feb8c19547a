"""Whatever can be done with one run can be done with every run, in a game or an environment.

One table has the kinds of runs, another what is done with them, and the test goes through both.
"""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.game.library import kuhn
from accord.reports.source import read_folder
from accord.reports.watch import Watch
from tests.support.command import refused, run, run_json
from tests.support.environments import Hidden
from tests.support.pages import Page

ENVIRONMENT = """
from accord.game.library import kuhn
from tests.support.environments import Hidden

def make():
    return Hidden(kuhn())
"""


@dataclass(frozen=True)
class Kind:
    """A kind of run: the command that makes it, and the call that returns its result."""

    command: tuple[object, ...]
    more: tuple[object, ...]  # the limit with which it is resumed
    call: Callable[[], Any]
    name: str = "kuhn"  # of the game or environment
    swept: bool = True  # whether there is a command for sweeps of it
    knows_game: bool = True

    @property
    def game(self) -> object:
        return self.command[1]

    @property
    def code(self) -> tuple[object, ...]:
        """The game, if it is code: that is run only if it is named."""
        return (self.game,) if self.game == "env.py:make" else ()


KINDS = {
    "solve": Kind(
        ("solve", "kuhn", "--iterations", 20),
        ("--iterations", 40),
        lambda: accord.solve(kuhn(), iterations=20),
    ),
    "learn": Kind(
        ("learn", "kuhn", "--episodes", 300),
        ("--episodes", 600),
        lambda: accord.learn(kuhn(), episodes=300),
    ),
    "learn in an environment": Kind(
        ("learn", "env.py:make", "--episodes", 300),
        ("--episodes", 600),
        lambda: accord.learn(Hidden(kuhn()), episodes=300),
        knows_game=False,
    ),
    "learn in an environment whose game is known": Kind(
        ("learn", "env.py:make", "--episodes", 300, "--game", "kuhn"),
        ("--episodes", 600),
        lambda: accord.learn(Hidden(kuhn()), episodes=300, game=kuhn()),
        swept=False,
    ),
    "learn from joint plays": Kind(
        ("learn", "kuhn", "--episodes", 1100, "--feedback", "joint"),
        ("--episodes", 2200),
        lambda: accord.learn(kuhn(), episodes=300, feedback="joint"),
    ),
    "learn from joint plays of an environment": Kind(
        ("learn", "env.py:make", "--episodes", 300, "--feedback", "joint"),
        ("--episodes", 600),
        lambda: accord.learn(Hidden(kuhn()), episodes=1100, feedback="joint"),
        knows_game=False,
    ),
    "solve for another notion": Kind(
        ("solve", "kuhn", "-k", "efcce", "--iterations", 20),
        ("--iterations", 40),
        lambda: accord.solve(kuhn(), "efcce", iterations=20),
    ),
    "learn another notion": Kind(
        ("learn", "kuhn", "-k", "afce", "--episodes", 300),
        ("--episodes", 600),
        lambda: accord.learn(kuhn(), "afce", episodes=300),
    ),
    "learn another notion in an environment": Kind(
        ("learn", "env.py:make", "-k", "efcce", "--episodes", 300),
        ("--episodes", 600),
        lambda: accord.learn(Hidden(kuhn()), "efcce", episodes=300),
        knows_game=False,
    ),
    "optimize": Kind(
        ("optimize", "chicken", "--seconds", 60),
        ("--seconds", 60),
        lambda: accord.optimize(accord.load_game("chicken")),
        name="chicken",
        swept=False,
    ),
}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an environment, and a run of each kind by its name."""
    here = tmp_path_factory.mktemp("every")
    (here / "env.py").write_text(ENVIRONMENT)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        for name, kind in KINDS.items():
            run(*kind.command, "--out", name)
    return here


def is_resumed(kind: Kind, folder: Path) -> None:
    command = kind.command[0]
    before = read_folder(folder)
    resumed = run_json(command, *kind.code, "--resume", folder, *kind.more)
    limit = "episodes" if command == "learn" else "iterations"
    grows = 1 if command == "optimize" else 2  # what is optimal stays as it is
    assert resumed[limit] == grows * before.result[limit]


def is_reported(kind: Kind, folder: Path) -> None:
    begun = (folder / "checkpoint.npz").exists()  # else it ended with its first step
    for out in ("finished.html", *(["unfinished.html"] if begun else [])):
        page, *_ = run_json("report", folder, "--out", out)["files"]
        text = Path(page).read_text()
        assert Page(text).outside == []
        assert ("<h2>Inspector</h2>" in text) == kind.knows_game
        assert ("<h2>Recommendations</h2>" in text) != kind.knows_game
        (folder / "policy.npz").unlink(missing_ok=True)


def is_compared(kind: Kind, folder: Path) -> None:
    """With every run, itself and those of other kinds."""
    others = [name for name in KINDS if Path(name).is_dir()]
    run("report", folder, *others, "--out", "all.html")
    page = Path("all.html").read_text()
    Page(page)
    section = page[page.index("<h2>All runs</h2>") :]
    assert section[: section.index("</table>")].count("<tr") == 2 + len(others)


def is_swept(kind: Kind, folder: Path) -> None:
    """By the command, where there is one, and by a function."""

    def job(folder: Path, name: str) -> Any:
        return KINDS[name].call().to_json()

    (name,) = (name for name, one in KINDS.items() if one is kind)
    results = accord.sweep(job, {"one": {"name": name}}, "swept")
    assert results["one"]["game"] == kind.name
    if not kind.swept:
        return
    options = kind.command[2:]
    for _ in range(2):  # what is done stays done
        swept = run_json("sweep", kind.game, *options, "--out", "runs")
        (done,) = swept["runs"]
        assert (done["gap"] is not None) == kind.knows_game
        if not kind.knows_game:
            assert done["lower"] <= done["upper"]


def is_watched(kind: Kind, folder: Path) -> None:
    watch = Watch(folder)
    assert "finished</p>" in watch.now()
    assert Page(watch.page()).outside == []
    (folder / "policy.npz").unlink()
    assert "stopped</p>" in watch.now()


def is_exported(kind: Kind, folder: Path) -> None:
    for name in ("policy.csv", "history.csv"):
        run("export", folder, name)
        assert len(list(csv.DictReader(Path(name).read_text().splitlines()))) >= 1
    for name in ("device.csv", "certificate.json", "tree.svg"):
        if not kind.knows_game:
            assert "in an environment, whose game is not known" in refused("export", folder, name)
        run("export", folder, name, *(() if kind.knows_game else ("--game", "kuhn")))
    assert json.loads(Path("certificate.json").read_text())["confidence"] is None


def is_displayed(kind: Kind, folder: Path) -> None:
    result = kind.call()
    html = result._repr_html_()
    assert Page(html).outside == []
    assert "expected payoff" in html
    assert Page(result.policy._repr_html_()).outside == []
    assert len(result.to_frame()) == len(result.history) >= 1
    assert Page(accord.report(result).html).outside == []
    assert len(accord.exports.comparison_frame({"one": result, "same": result})) == 2 * len(
        result.history
    )


USES = {
    "resumed": is_resumed,
    "reported": is_reported,
    "compared": is_compared,
    "swept": is_swept,
    "watched": is_watched,
    "exported": is_exported,
    "displayed": is_displayed,
}


@pytest.mark.slow
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", KINDS)
def test_every_run(
    name: str, use: str, here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(here, tmp_path, dirs_exist_ok=True)
    folder = (tmp_path / name).rename(tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    USES[use](KINDS[name], folder)


def test_a_region_has_no_run_but_is_exported_and_displayed() -> None:
    found = accord.region(accord.load_game("chicken"), 1, tolerance=1e-3)
    assert "<svg" in found._repr_html_()
    assert len(found.to_frame()) == sum(len(polygon.vertices) for polygon in found.polygons)
