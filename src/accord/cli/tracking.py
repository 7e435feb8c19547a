"""``--track``: a run in an experiment tracker, beside its progress on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from accord.runs.checkpoint import Checkpoint

Track = Annotated[
    str | None,
    typer.Option(
        metavar="TRACKER",
        help="Also log checkpoints to an experiment tracker: tensorboard:FOLDER, wandb, mlflow or "
        "mlflow:FILE.",
        show_default=False,
    ),
]


@contextmanager
def tracked(
    kind: str | None, playable: Any, show: Callable[[Checkpoint], None]
) -> Iterator[Callable[[Checkpoint], None]]:
    """``show``, which also calls the tracker called ``kind`` if there is one."""
    if kind is None:
        yield show
        return
    from accord.exports.trackers import tracker_of

    with tracker_of(kind, playable) as tracker:

        def both(point: Checkpoint) -> None:
            show(point)
            tracker(point)

        yield both
