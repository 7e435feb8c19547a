"""Trackers: the numbers that they get, and the files that the real packages write."""

from __future__ import annotations

import math
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

import accord
from accord.errors import ArgumentError
from accord.exports.trackers import Tracker, scalars, tracker_of
from accord.game.library import chicken, kuhn
from tests.support.command import run
from tests.support.environments import NoisyChicken


def test_trackers_get_every_checkpoint() -> None:
    logged: list[tuple[dict[str, float], int]] = []
    tracker = Tracker(kuhn(), lambda numbers, step: logged.append((numbers, step)))
    with tracker:
        found = accord.solve(kuhn(), 1, iterations=12, progress=tracker)
    assert [step for _, step in logged] == [point.iteration for point in found.history]
    last = found.history[-1]
    first, second = kuhn().player_labels
    assert logged[-1][0] == {
        "gap": last.gap, "seconds": last.seconds,
        f"gaps/{first}": last.player_gaps[0], f"gaps/{second}": last.player_gaps[1],
        f"values/{first}": last.values[0], f"values/{second}": last.values[1],
    }  # fmt: skip


def test_numbers_of_episodes_and_objectives() -> None:
    learned = accord.learn(kuhn(), 1, episodes=300).history[-1]
    assert scalars(learned, ("1", "2"))["episodes"] == learned.episodes
    best = accord.optimize(chicken(), 1).history[-1]
    assert scalars(best, ("row", "col"))["objective/value"] == pytest.approx(10.5)
    assert "objective/bound" in scalars(best, ("row", "col"))
    unknown = replace(learned, gap=math.nan, player_gaps=(), values=())
    assert scalars(unknown, ("1", "2")).keys() == {"seconds", "episodes"}


def test_trackers_of_environments_count_episodes() -> None:
    logged: list[tuple[dict[str, float], int]] = []
    tracker = Tracker(NoisyChicken(), lambda numbers, step: logged.append((numbers, step)))
    found = accord.learn(NoisyChicken(), 1, episodes=300, plays=600, progress=tracker)
    steps = [step for _, step in logged]
    assert steps == sorted(set(steps))
    assert set(steps) == {point.episodes for point in found.history}
    assert logged[-1][0]["coverage"] > 0.9
    assert logged[-1][0]["infosets"] == 2
    assert {"memory", "values/ann", "values/bob"} <= logged[-1][0].keys()


def test_trackers_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def tracker_of(kind: str, game: object) -> Tracker:
        asked.append(kind)
        return Tracker(kuhn(), lambda numbers, step: asked.append(str(step)))

    monkeypatch.setattr("accord.exports.trackers.tracker_of", tracker_of)
    run("learn", "kuhn", "--episodes", 300, "--track", "tensorboard:logs")
    run("solve", "kuhn", "--iterations", 5, "--track", "wandb")
    assert asked[0] == "tensorboard:logs"
    assert "300" in asked
    assert asked[-1] == "5"


def test_bad_trackers_are_refused() -> None:
    for kind in ("", "tensorboard", "wandb:here", "nothing:x"):
        with pytest.raises(ArgumentError, match="a tracker must be tensorboard:FOLDER, wandb"):
            tracker_of(kind, kuhn())


def test_progress_may_end_a_run() -> None:
    solved = accord.solve(kuhn(), 1, iterations=500, progress=lambda point: point.iteration >= 20)
    assert 20 <= solved.iterations < 60
    learned = accord.learn(
        NoisyChicken(), 1, episodes=3000, plays=0, progress=lambda p: (p.episodes or 0) > 300
    )
    assert 300 < learned.episodes < 600
    assert not learned.interrupted
    written = accord.solve(kuhn(), 1, iterations=30, progress=lambda point: 17)
    assert written.iterations == 30


@pytest.mark.parametrize(
    ("package", "make"),
    [
        (
            "tensorboard.summary",
            lambda folder: accord.exports.TensorBoardTracker(folder, chicken()),
        ),
        ("wandb", lambda folder: accord.exports.WandbTracker(chicken(), dir=folder)),
        (
            "mlflow.tracking",
            lambda folder: accord.exports.MLflowTracker(chicken(), tracking_uri=folder),
        ),
    ],
)
def test_a_missing_package_is_named(
    package: str, make: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(accord.errors.MissingDependencyError, match=package.partition(".")[0]):
        make(tmp_path)  # type: ignore[operator]


def test_tensorboard_reads_what_is_written(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with accord.exports.TensorBoardTracker(tmp_path / "logs", kuhn()) as tracker:
        found = accord.solve(kuhn(), 1, iterations=12, progress=tracker)
    events = EventAccumulator(str(tmp_path / "logs"), size_guidance={"tensors": 0})
    events.Reload()
    points = events.Tensors("gap")
    assert [point.step for point in points] == [point.iteration for point in found.history]
    assert points[-1].tensor_proto.float_val[0] == pytest.approx(found.gap, rel=1e-6)


def test_runs_in_environments() -> None:
    logged: list[dict[str, float]] = []
    env = NoisyChicken()
    with Tracker(env, lambda numbers, _: logged.append(numbers)) as tracker:
        accord.learn(env, k=1, episodes=90, plays=10, progress=tracker)
    assert {f"values/{player}" for player in env.players} <= logged[-1].keys()


def test_arguments_in_the_wrong_order_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        accord.errors.ArgumentError, match=r"must be an accord\.Game or an environment"
    ):
        accord.exports.TensorBoardTracker(chicken(), str(tmp_path))  # type: ignore[arg-type]


def test_wandb_obeys_its_own_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "disabled")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with accord.exports.WandbTracker(kuhn(), dir=str(tmp_path)) as tracker:
            accord.solve(kuhn(), 1, iterations=5, progress=tracker)
    assert list(tmp_path.iterdir()) == []


def test_wandb_writes_an_offline_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WANDB_MODE", raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import wandb

        with accord.exports.WandbTracker(kuhn(), dir=str(tmp_path)) as tracker:
            found = accord.solve(kuhn(), 1, iterations=5, progress=tracker)
            assert wandb.run is not None
            logged = dict(wandb.run.summary)
    point = found.history[-2]  # wandb logs the last one when the run ends
    assert logged["_step"] == point.iteration
    assert {**logged, **scalars(point, kuhn().player_labels)} == logged
    (log,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    assert log.stat().st_size > 0


def test_mlflow_keeps_the_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where mlflow.db is by default
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from mlflow.tracking import MlflowClient

        with accord.exports.MLflowTracker(kuhn(), name="a run") as tracker:
            found = accord.solve(kuhn(), 1, iterations=5, progress=tracker)
        client = MlflowClient(tracking_uri="sqlite:///mlflow.db")
        experiment = client.get_experiment_by_name("accord")
        (run,) = client.search_runs([experiment.experiment_id])
        kept = client.get_metric_history(run.info.run_id, "gap")
    assert (run.info.run_name, run.info.status) == ("a run", "FINISHED")
    assert [metric.step for metric in kept] == [point.iteration for point in found.history]
    assert [metric.value for metric in kept] == [point.gap for point in found.history]
    assert run.data.metrics["values/1"] == pytest.approx(found.values[0])


def test_mlflow_knows_that_a_run_failed(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from mlflow.tracking import MlflowClient

        with (
            pytest.raises(RuntimeError, match="stop"),
            accord.exports.MLflowTracker(kuhn(), tracking_uri=tmp_path / "own.db"),
        ):
            raise RuntimeError("stop")
        client = MlflowClient(tracking_uri=f"sqlite:///{tmp_path / 'own.db'}")
        (run,) = client.search_runs([client.get_experiment_by_name("accord").experiment_id])
    assert run.info.status == "FAILED"
