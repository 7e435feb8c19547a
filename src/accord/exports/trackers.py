"""Runs in experiment trackers: TensorBoard, Weights & Biases and MLflow.

A tracker is a ``progress`` callback: ``solve``, ``learn`` and ``optimize`` call it with every
:class:`~accord.runs.checkpoint.Checkpoint`, and so they would call any other function. Each of the
three takes the same numbers under the same names, with the iteration as the step or, if the run
plays episodes, their number::

    gap, gaps/PLAYER, values/PLAYER, seconds        and, if the run has them,
    episodes, infosets, coverage, gap/lower, gap/upper, memory, covered,
    objective/value, objective/bound

    with accord.exports.TensorBoardTracker("logs/kuhn", game) as tracker:
        accord.solve(game, k=1, progress=tracker)

The tracker's own package is imported when the tracker is made. None writes to the network by
default: W&B is offline unless ``WANDB_MODE`` says otherwise, and MLflow writes to a local file.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from accord.errors import ArgumentError, MissingDependencyError
from accord.game.tree import Game
from accord.play.environment import Environment, is_environment
from accord.runs.checkpoint import Checkpoint


def scalars(point: Checkpoint, labels: tuple[str, ...]) -> dict[str, float]:
    """The finite numbers of a checkpoint, by the names that all trackers give them."""
    found = {"gap": point.gap, "seconds": point.seconds}
    found |= {f"gaps/{who}": gap for who, gap in zip(labels, point.player_gaps, strict=False)}
    found |= {f"values/{who}": value for who, value in zip(labels, point.values, strict=False)}
    if point.episodes is not None:
        found["episodes"] = point.episodes
    if point.covered is not None:
        found["covered"] = point.covered
    if point.seen is not None:
        found |= {"infosets": point.seen.infosets, "memory": point.seen.memory}
        if point.seen.coverage is not None:
            found["coverage"] = point.seen.coverage
        if point.seen.lower is not None and point.seen.upper is not None:
            found |= {"gap/lower": point.seen.lower, "gap/upper": point.seen.upper}
    if point.best is not None:
        found["objective/bound"] = point.best.bound
        if point.best.value is not None:
            found["objective/value"] = point.best.value
    return {name: float(number) for name, number in found.items() if math.isfinite(number)}


Played = Game | Environment
"""What a run is about: a game, or an environment in which it is played."""


def _labels(game: Played) -> tuple[str, ...]:
    """The names of the players."""
    if isinstance(game, Game):
        return game.player_labels
    if is_environment(game):
        return tuple(game.players)
    raise ArgumentError(
        f"game must be an accord.Game or an environment, that of the run; got {game!r}"
    )


class Tracker:
    """Passes checkpoints on to a tracker. Close it, or use it as a context manager.

    Args:
        game: The game of the run, or its environment.
        log: Called with the numbers of each checkpoint by name, and its episodes or iteration.
    """

    def __init__(self, game: Played, log: Callable[[dict[str, float], int], Any]) -> None:
        self._labels, self._log = _labels(game), log

    def __call__(self, point: Checkpoint) -> None:
        """Log a checkpoint."""
        if point.fresh is None:
            step = point.iteration if point.episodes is None else point.episodes
            self._log(scalars(point, self._labels), step)

    def close(self, failed: bool = False) -> None:
        """Write everything that is pending, and end the run, which may have ``failed``."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(failed=kind is not None)


def tracker_of(kind: str, game: Played) -> Tracker:
    """The tracker that ``kind`` names: ``tensorboard:FOLDER``, ``wandb`` or ``mlflow``, which
    takes the path of its database after a colon.

    Raises:
        ArgumentError: If it names none.
        MissingDependencyError: If its package is not installed.
    """
    name, _, place = kind.partition(":")
    if name == "tensorboard" and place:
        return TensorBoardTracker(place, game)
    if name == "wandb" and not place:
        return WandbTracker(game)
    if name == "mlflow":
        return MLflowTracker(game, **({"tracking_uri": place} if place else {}))
    raise ArgumentError(
        f"a tracker must be tensorboard:FOLDER, wandb, mlflow or mlflow:FILE; got {kind!r}"
    )


class TensorBoardTracker(Tracker):
    """Writes event files that ``tensorboard --logdir FOLDER`` shows."""

    def __init__(self, folder: str | os.PathLike[str], game: Played) -> None:
        """Start a run.

        Args:
            folder: Where the event files go; each run should have its own.
            game: The game of the run, or its environment.

        Raises:
            MissingDependencyError: If tensorboard is not installed.
        """
        super().__init__(game, self._write)
        try:
            import tensorboard.summary
        except ImportError:
            raise MissingDependencyError("tensorboard", "tensorboard") from None
        Path(folder).mkdir(parents=True, exist_ok=True)
        summary: Any = tensorboard.summary
        self._writer = summary.Writer(summary.DirectoryOutput(os.fspath(folder)))

    def _write(self, numbers: dict[str, float], step: int) -> None:
        for name, number in numbers.items():
            self._writer.add_scalar(name, number, step)
        self._writer.flush()

    def close(self, failed: bool = False) -> None:
        """Write everything that is pending."""
        self._writer.close()


class WandbTracker(Tracker):
    """Logs to Weights & Biases; ``wandb sync`` uploads what was logged offline."""

    def __init__(self, game: Played, *, mode: str | None = None, **options: Any) -> None:
        """Start a run.

        Args:
            game: The game of the run, or its environment.
            mode: ``"offline"``, ``"online"`` or ``"disabled"``. By default that of the environment
                variable ``WANDB_MODE``, else ``"offline"``.
            options: Further arguments of ``wandb.init``, such as ``project``, ``name``, ``config``
                and ``dir``.

        Raises:
            MissingDependencyError: If wandb is not installed.
        """
        try:
            import wandb
        except ImportError:
            raise MissingDependencyError("wandb", "wandb") from None
        super().__init__(game, lambda numbers, step: self._run.log(numbers, step=step))
        settings = {"mode": mode or os.environ.get("WANDB_MODE", "offline"), "project": "accord"}
        self._run: Any = wandb.init(**{**settings, **options})

    def close(self, failed: bool = False) -> None:
        """End the run."""
        self._run.finish(exit_code=1 if failed else 0)


class MLflowTracker(Tracker):
    """Logs to MLflow, by default to the file ``mlflow.db``, which ``mlflow ui`` shows."""

    def __init__(
        self,
        game: Played,
        *,
        tracking_uri: str | os.PathLike[str] = "sqlite:///mlflow.db",
        experiment: str = "accord",
        name: str | None = None,
    ) -> None:
        """Start a run.

        Args:
            game: The game of the run, or its environment.
            tracking_uri: The address of a server or a database, or the path of an SQLite file.
            experiment: The name of the experiment.
            name: The name of the run.

        Raises:
            MissingDependencyError: If mlflow is not installed.
        """
        try:
            from mlflow.tracking import MlflowClient
        except ImportError:
            raise MissingDependencyError("mlflow", "mlflow") from None
        super().__init__(game, self._write)
        address = os.fspath(tracking_uri)
        if ":/" not in address:
            address = f"sqlite:///{Path(address).absolute().as_posix()}"
        self._client: Any = MlflowClient(tracking_uri=address)
        found = self._client.get_experiment_by_name(experiment)
        own = self._client.create_experiment(experiment) if found is None else found.experiment_id
        self._id = self._client.create_run(own, run_name=name).info.run_id
        self._client.log_param(self._id, "game", game.name)

    def _write(self, numbers: dict[str, float], step: int) -> None:
        for name, number in numbers.items():
            allowed = re.sub(r"[^\w\-. :/]", "_", name, flags=re.ASCII)
            self._client.log_metric(self._id, allowed, number, step=step)

    def close(self, failed: bool = False) -> None:
        """End the run."""
        self._client.set_terminated(self._id, "FAILED" if failed else "FINISHED")
