"""accord watch: a live page of a run."""

from __future__ import annotations

import json
import math
import re
import shutil
import signal
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from accord.reports.watch import HOST, Watch, episodes_per_second, server_of
from accord.runs.checkpoint import Checkpoint, Seen
from accord.runs.learn import learn
from accord.runs.lock import locked
from tests.support.command import process, refused
from tests.support.environments import NoisyChicken
from tests.support.pages import Page


def get(address: str, host: str | None = None) -> str:
    headers = {} if host is None else {"Host": host}
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as answer:
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
        return str(answer.read().decode())


def test_the_page_follows_the_run(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(folders["1"], folder)
    progress = folder / "progress.jsonl"
    lines = progress.read_text().splitlines(keepends=True)
    progress.write_text("")
    (folder / "policy.npz").unlink()
    watch = Watch(folder)
    assert "has written no checkpoint yet" in watch.now()
    progress.write_text("".join(lines[:3]))
    with locked(folder):
        early = watch.now()
    assert "in progress" in early
    assert "--resume" not in early
    assert "stopped</p>\n<h1>kuhn" in watch.now()  # killed
    assert f"accord solve --resume {folder}" in watch.now()
    assert "<dd>3</dd>" in early
    assert "<svg" in early
    progress.write_text("".join(lines))
    shutil.copy(folders["1"] / "policy.npz", folder)
    assert "<dd>60</dd>" in watch.now()
    assert "finished" in watch.now()
    progress.write_text("{")
    assert "progress.jsonl" in watch.now()  # a broken file is named, and the page stays
    assert Page(watch.page()).outside == []


def test_a_run_that_finishes_while_somebody_looks_is_not_stopped(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(folders["1"], folder)
    policy = (folder / "policy.npz").rename(tmp_path / "policy.npz")
    watch = Watch(folder)

    def finish(path: Path) -> bool:
        policy.rename(path / "policy.npz")
        return False

    monkeypatch.setattr("accord.reports.watch.is_held", finish)
    assert "finished</p>" in watch.now()


@pytest.mark.parametrize("name", ["l1", "sep"])
def test_other_runs_have_a_page(name: str, folders: dict[str, Path]) -> None:
    page = Watch(folders[name]).page()
    assert Page(page).outside == []
    assert "finished</p>" in page
    run = json.loads((folders[name] / "run.json").read_text())
    assert f"<h1>{run['game']}</h1>" in page
    last = json.loads((folders[name] / "progress.jsonl").read_text().splitlines()[-1])
    assert f"<dt>Iterations</dt><dd>{last['iteration']:,}</dd>" in page
    shown = re.search("<dt>Gap</dt><dd>(.*?)</dd>", page)
    assert shown is not None
    assert float(shown[1]) == pytest.approx(run["result"]["gap"], rel=1e-3)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run in an environment."""
    folder = tmp_path_factory.mktemp("played") / "run"
    learn(NoisyChicken(), 1, episodes=300, seed=1, plays=100, folder=folder)
    return folder


def test_the_page_follows_a_run_in_an_environment(played: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(played, folder)
    (folder / "policy.npz").unlink()
    watch = Watch(folder)
    assert f"accord learn --resume {folder}" in watch.now()
    with locked(folder):
        now = watch.now()
    assert "in progress" in now
    assert "Fresh plays bound the gap at the end" in now
    for fact in ("<dd>300</dd>", "Episodes per second", "Infosets met", "<dd>2</dd>", "kB</dd>"):
        assert fact in now
    assert Page(watch.page()).outside == []
    shutil.copy(played / "policy.npz", folder)
    done = watch.now()
    assert "finished" in done
    assert "confidence the gap is at least" in done
    header = done.split("</header>")[0]
    assert header.count("ann<") == header.count("bob<") == 1
    assert "share of decisions in them at infosets seen before" in done
    (folder / "progress.jsonl").write_text("{")
    assert "progress.jsonl" in watch.now()
    (folder / "progress.jsonl").unlink()
    (folder / "checkpoint.npz").unlink()
    (folder / "policy.npz").unlink()
    assert "has written no checkpoint yet" in watch.now()


def test_the_speed_is_that_of_late_episodes() -> None:
    """The first seconds, in which kernels compile, are left out."""
    points = [
        Checkpoint(n, math.nan, (), (0.0,), seconds, episodes, seen=Seen(1, 1, (0.0,)))
        for n, (seconds, episodes) in enumerate([(9.0, 3), (10.0, 103), (20.0, 2103)], 1)
    ]
    assert episodes_per_second(points) == 200.0
    assert episodes_per_second(points[:1]) is None
    assert episodes_per_second([]) is None


def test_the_server_answers_this_computer_only(folders: dict[str, Path]) -> None:
    with server_of(Watch(folders["1"]), 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        address = f"http://{HOST}:{port}"
        assert server.server_address[0] == "127.0.0.1"
        assert "<h1>kuhn" in get(f"{address}/")
        assert get(f"{address}/now", f"localhost:{port}").strip().startswith("<header>")
        with pytest.raises(urllib.error.HTTPError, match="404"):
            get(f"{address}/run.json")
        with pytest.raises(urllib.error.HTTPError, match="421"):
            get(f"{address}/", "evil.example")
        server.shutdown()


def test_whatever_happens_is_answered(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also damage that nobody thought of; the page asks again later."""
    watch = Watch(folders["1"])
    monkeypatch.setattr(watch, "now", lambda: 1 / 0)
    with server_of(watch, 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(urllib.error.HTTPError, match="500") as answer:
            get(f"http://{HOST}:{server.server_address[1]}/now")
        assert b"cannot be shown now (ZeroDivisionError)" in answer.value.read()
        answer.value.close()
        server.shutdown()


def test_bad_folders_and_ports_are_refused(
    folders: dict[str, Path], played: Path, tmp_path: Path
) -> None:
    assert "must be the folder of a run, but it has no run.json" in refused("watch", tmp_path)
    message = refused("watch", played, "--game", "kuhn")
    assert "in an environment" in message
    assert "0 to 65535" in refused("watch", folders["1"], "--port", 70000)


@pytest.mark.slow
def test_the_command_serves_until_interrupted(folders: dict[str, Path]) -> None:
    with process("watch", folders["1"], "--no-browser") as running:
        assert running.stdout is not None
        line = running.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/", line)
        assert address, line
        assert "<h1>kuhn" in get(address[0])
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=30) == 130
