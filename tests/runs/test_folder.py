"""Runs in folders: killed, interrupted, resumed, extended, refused."""

import fcntl
import json
import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from accord.certifying.exact import certify
from accord.equilibrium.policy_files import load_policy
from accord.errors import ArgumentError, MismatchError, ParseError
from accord.game.library import library_game
from accord.regret.swrhedge import SWRHedge
from accord.runs import folder as folders
from accord.runs import lock
from accord.runs.iterations import next_checkpoint
from accord.runs.learn import learn
from accord.runs.lock import is_held, locked
from accord.runs.solve import solve
from tests.support.resuming import resume

GAME = "kuhn:players=3"
ITERATIONS = 12_000
EPISODES = 400_000


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """A run that nothing happened to."""
    folder = tmp_path_factory.mktemp("runs") / "straight"
    solution = solve(library_game(GAME), 1, iterations=ITERATIONS, components=40, folder=folder)
    return folder, solution


def every_file_is_whole(folder: Path) -> None:
    for file in folder.iterdir():
        if file.suffix == ".json":
            json.loads(file.read_text())
        elif file.suffix == ".jsonl":
            assert all(json.loads(line) for line in file.read_text().splitlines())
        elif file.suffix == ".npz":
            with np.load(file, allow_pickle=False) as content:
                assert all(content[name] is not None for name in content.files)
        else:
            assert file.suffix == ".tmp"


def same_policy(folder: Path, other: Path) -> None:
    """The saved mixtures are the same to the bit."""
    with np.load(folder / "policy.npz") as one, np.load(other / "policy.npz") as two:
        assert one.files == two.files
        for name in one.files:
            assert name == "note" or np.array_equal(one[name], two[name]), name


KILLED_BEFORE = [
    ("run.json", 1),
    ("checkpoint.npz", 1),
    ("progress.jsonl", 1),
    ("checkpoint.npz", 20),
    ("progress.jsonl", 30),
    ("checkpoint.npz", 3),
    ("policy.npz", 1),
    ("certificate.json", 1),
    ("run.json", 1),
    ("progress.jsonl", 2),
]
"""Kinds of files, and how many of them a process writes before it is killed."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "count"),
    [("prm+", ITERATIONS), ("swrhedge", EPISODES), ("rm", EPISODES), ("prm", EPISODES)],
)
def test_a_run_killed_again_and_again_ends_with_the_same_bits(tmp_path, straight, method, count):
    from tests.support.killed import run_until

    folder = tmp_path / "killed"
    for written in KILLED_BEFORE:
        assert run_until(written, method, folder, count) == -signal.SIGKILL
        every_file_is_whole(folder)
    assert run_until(None, method, folder, count) == 0
    every_file_is_whole(folder)
    whole, solution = straight
    if method != "prm+":
        whole = tmp_path / "whole"
        game = library_game(GAME)
        solution = learn(game, 1, episodes=count, method=method, components=40, folder=whole)
    assert not list(folder.glob(".*.tmp"))
    same_policy(folder, whole)
    result = json.loads((folder / "run.json").read_text())["result"]
    assert result["gap"] == solution.gap
    assert tuple(result["players"]) == solution.player_gaps


def test_extending_a_finished_run_is_as_if_it_had_been_asked_for_at_once(tmp_path, straight):
    game = library_game(GAME)
    solve(game, 1, iterations=5_000, components=40, folder=tmp_path / "run")
    longer = resume(game, tmp_path / "run", iterations=ITERATIONS)
    whole, solution = straight
    assert longer.gap == solution.gap
    same_policy(tmp_path / "run", whole)
    again = resume(game, tmp_path / "run", iterations=ITERATIONS)
    assert (again.iterations, again.gap) == (longer.iterations, longer.gap)


def test_a_wrhedge_run_goes_on_with_the_rate_it_began_with(tmp_path):
    game = library_game("kuhn:players=2")
    whole = solve(game, 1, method="wrhedge", iterations=400, folder=tmp_path / "whole")
    solve(game, 1, method="wrhedge", iterations=400, seconds=0.0, folder=tmp_path / "part")
    part = resume(game, tmp_path / "part", iterations=400)
    assert part.gap == whole.gap
    assert np.array_equal(part.policy.behavior, whole.policy.behavior)


def test_the_first_interrupt_finishes_the_step_and_saves(tmp_path):
    game = library_game(GAME)

    def interrupt(checkpoint):
        if checkpoint.iteration > 100 and not interrupt.sent:
            interrupt.sent = True
            os.kill(os.getpid(), signal.SIGINT)

    interrupt.sent = False
    before = signal.getsignal(signal.SIGINT)
    stopped = solve(
        game, 1, iterations=ITERATIONS, components=40, folder=tmp_path / "run", progress=interrupt
    )
    assert stopped.interrupted
    assert 100 < stopped.iterations < ITERATIONS
    assert stopped.average_gap == stopped.history[-1].gap
    assert signal.getsignal(signal.SIGINT) is before
    every_file_is_whole(tmp_path / "run")
    assert not resume(game, tmp_path / "run").interrupted


def test_the_files_say_what_the_solution_says(straight):
    folder, solution = straight
    lines = [json.loads(line) for line in (folder / "progress.jsonl").read_text().splitlines()]
    assert [line["gap"] for line in lines] == [point.gap for point in solution.history]
    game = library_game(GAME)
    policy = load_policy(folder / "policy.npz", game)
    certificate = json.loads((folder / "certificate.json").read_text())
    assert certificate["gaps"][0]["gap"] == pytest.approx(
        certify(game, policy, 1)[1].gap, abs=1e-12
    )
    with np.load(folder / "policy.npz", allow_pickle=False) as content:  # without Accord
        assert content["weights"].sum() == pytest.approx(1.0)
        assert content["probabilities_1"].shape == (40, len(policy.behavior[0]) // 3 - 1)
    run = json.loads((folder / "run.json").read_text())
    assert run["asked"]["iterations"] == ITERATIONS
    assert run["digest"] == game.digest


def test_a_folder_that_holds_anything_is_not_written_to(tmp_path, straight):
    game = library_game(GAME)
    whole, _ = straight
    before = {file.name: file.read_bytes() for file in whole.iterdir()}
    with pytest.raises(ArgumentError, match="new or empty folder, but contains a run; resume it"):
        solve(game, 1, iterations=5, folder=whole)
    assert {file.name: file.read_bytes() for file in whole.iterdir()} == before
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ArgumentError, match="contains 'file'; choose another folder"):
        solve(game, 1, iterations=5, folder=tmp_path)
    with pytest.raises(ArgumentError, match="must be a writable folder"):
        solve(game, 1, iterations=5, folder=tmp_path / "file")


def test_a_run_goes_on_only_with_its_own_game_and_command(tmp_path, straight):
    whole, _ = straight
    with pytest.raises(MismatchError, match="holds a run of 'kuhn:players=3'"):
        resume(library_game("kuhn:players=2"), whole)
    with pytest.raises(MismatchError, match="not of 'learn'"):
        learn(library_game(GAME), 1, episodes=100, folder=whole, resume=True)
    with (
        locked(whole),
        pytest.raises(ArgumentError, match="another process is writing to this folder"),
    ):
        resume(library_game(GAME), whole)
    assert resume(library_game(GAME), whole).iterations == ITERATIONS  # free again


def test_asking_who_holds_a_folder_keeps_nobody_out(tmp_path, monkeypatch):
    assert not is_held(tmp_path)
    with locked(tmp_path):
        assert is_held(tmp_path)
    assert not is_held(tmp_path)
    assert is_held(tmp_path / "missing")  # nothing is known about it
    asking = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(asking, fcntl.LOCK_SH)
    monkeypatch.setattr(lock, "ASKING", 60.0)
    threading.Timer(0.1, os.close, [asking]).start()
    with locked(tmp_path):
        assert is_held(tmp_path)


HEAD = '{"format": "accord-run", "version": 1, "command": "solve"}'


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": "other"}', HEAD])
def test_what_is_no_run_is_refused(tmp_path, text):
    with pytest.raises(ParseError, match=r"it has no run\.json"):
        folders.RunFolder.open(tmp_path, "solve")
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(ParseError):
        folders.RunFolder.open(tmp_path, "solve")


def test_a_broken_checkpoint_is_named(tmp_path, straight):
    game = library_game(GAME)
    solve(game, 1, iterations=50, folder=tmp_path / "run")
    (tmp_path / "run" / "checkpoint.npz").write_bytes(b"not a checkpoint")
    with pytest.raises(ParseError, match=r"checkpoint\.npz: not a readable checkpoint"):
        resume(game, tmp_path / "run", iterations=100)


@pytest.mark.parametrize("lost", ["elapsed", "record", "play_iteration", "iterates_off"])
def test_a_checkpoint_of_another_version_is_refused(tmp_path, lost):
    game = library_game(GAME)
    solve(game, 1, iterations=50, folder=tmp_path / "run")
    file = tmp_path / "run" / "checkpoint.npz"
    with np.load(file) as content:
        rest = {name: content[name] for name in content.files if name != lost}
    np.savez(file, **rest)
    with pytest.raises(ParseError, match="written by another version of Accord"):
        resume(game, tmp_path / "run", iterations=100)


def test_a_full_disk_ends_in_one_clear_error_and_loses_nothing(tmp_path, monkeypatch):
    game = library_game(GAME)
    solve(game, 1, iterations=50, folder=tmp_path / "run")
    kept = (tmp_path / "run" / "checkpoint.npz").read_bytes()

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folders, "write_arrays", full)
    with pytest.raises(ArgumentError, match=r"checkpoint\.npz cannot be written: No space left"):
        resume(game, tmp_path / "run", iterations=100)
    assert (tmp_path / "run" / "checkpoint.npz").read_bytes() == kept
    assert not list((tmp_path / "run").glob("*.tmp"))
    assert not list((tmp_path / "run").glob(".*.tmp"))


def test_checkpoints_do_not_depend_on_where_a_run_stopped():
    schedule = [1]
    while schedule[-1] < 10_000:
        schedule.append(next_checkpoint(schedule[-1]))
    for iteration in range(1, 10_000, 7):
        assert next_checkpoint(iteration) == next(t for t in schedule if t > iteration)


@pytest.mark.parametrize("method", ["swrhedge", SWRHedge(whole_plays=True), "rm", "prm"])
def test_a_run_of_learn_goes_on_with_the_same_bits(tmp_path, method):
    game = library_game("kuhn:players=2")
    asked = {"episodes": 60_000, "method": method, "seed": 11, "components": 30}
    whole = learn(game, 1, **asked, folder=tmp_path / "whole")

    def interrupt(point):
        if point.episodes > 5_000 and not interrupt.sent:
            interrupt.sent = True
            os.kill(os.getpid(), signal.SIGINT)

    interrupt.sent = False
    part = learn(game, 1, **asked, folder=tmp_path / "part", progress=interrupt)
    assert part.interrupted
    assert 5_000 < part.episodes < whole.episodes
    every_file_is_whole(tmp_path / "part")
    rest = resume(game, tmp_path / "part")
    assert not rest.interrupted
    assert (rest.episodes, rest.gap) == (whole.episodes, whole.gap)
    same_policy(tmp_path / "whole", tmp_path / "part")
    assert json.loads((tmp_path / "part" / "run.json").read_text())["result"]["gap"] == whole.gap
    longer = resume(game, tmp_path / "part", episodes=90_000)
    assert longer.episodes == 90_000
    lines = (tmp_path / "part" / "progress.jsonl").read_text().splitlines()
    assert json.loads(lines[-1])["gap"] == longer.gap == longer.history[-1].gap
    with pytest.raises(MismatchError, match="not of 'solve'"):
        solve(game, 1, folder=tmp_path / "part", resume=True)


@pytest.fixture
def large(monkeypatch):
    """Every run counts as large: iterates are rounded and policies packed."""
    monkeypatch.setattr("accord.runs.components.EXACT_BYTES", 0)
    monkeypatch.setattr("accord.equilibrium.policy_npz.PLAIN_BYTES", 0)


def test_a_large_run_resumes_with_the_same_bits(tmp_path, large):
    game = library_game(GAME)
    whole = solve(game, 1, iterations=700, components=30, folder=tmp_path / "whole")
    solve(game, 1, iterations=333, components=30, folder=tmp_path / "parts")
    resumed = resume(game, tmp_path / "parts", iterations=700)
    assert resumed.average_gap == whole.average_gap
    assert resumed.gap == whole.gap
    same_policy(tmp_path / "parts", tmp_path / "whole")
    again = load_policy(tmp_path / "whole" / "policy.npz", game)
    assert again.behavior.tobytes() == whole.policy.behavior.tobytes()


@pytest.mark.parametrize("k", [0, 1, float("inf")])
def test_rounded_iterates_change_no_gap(k, large, monkeypatch):
    game = library_game(GAME)
    rounded = solve(game, k, iterations=400, components=100)
    assert (rounded.policy.behavior * 2.0**32 % 1 == 0).all()
    monkeypatch.setattr("accord.runs.components.EXACT_BYTES", 2**26)
    exact = solve(game, k, iterations=400, components=100)
    assert (exact.policy.behavior * 2.0**32 % 1 != 0).any()
    assert rounded.average_gap == exact.average_gap  # the learners saw nothing of it
    assert rounded.gap == pytest.approx(exact.gap, rel=0, abs=1e-8)
    assert rounded.gap == certify(game, rounded.policy, k)[k].gap


@pytest.mark.slow
def test_folders_of_large_runs_are_small(tmp_path, large):
    """Those of Liar's Dice and three-player Leduc took 53 and 61 MB (``docs/reliability.md``)."""
    game = library_game("kuhn:players=3")
    solution = solve(game, 1, iterations=2000, components=1000, folder=tmp_path / "run")
    kept = 2 * solution.policy.behavior.nbytes
    size = sum(file.stat().st_size for file in (tmp_path / "run").glob("*.npz"))
    assert size < kept / 10
