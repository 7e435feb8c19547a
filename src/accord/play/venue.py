"""Where episodes are played: in this process, in several, or on a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, SupportsIndex, cast

from accord._check import checked_whole
from accord.errors import ArgumentError
from accord.play.cluster import connected
from accord.play.environment import Environment
from accord.play.episodes import Executor, LocalExecutor
from accord.play.lanes import LaneWorkers, VectorEnvironment
from accord.play.processes import Processes
from accord.play.ray_actors import RayActors
from accord.play.workers import Workers


@dataclass(frozen=True)
class Venue:
    """A place to play at. Made by :func:`venue`."""

    workers: int | None = None  # copies of the environment; by default as many as suit the place
    ray: Any | None = None  # connected to a cluster, if it is there

    @property
    def is_here(self) -> bool:
        """Whether it is this process."""
        return self.workers is None and self.ray is None

    def executor(self, env: Environment, seed: int) -> Executor:
        """Plays episodes of ``env``. It must be closed."""
        if getattr(env, "together", None) is not None:
            if not self.is_here:
                raise ArgumentError(
                    f"{env.name}: the plays of a vector environment are stepped together, in this "
                    "process; leave workers and ray out"
                )
            return LaneWorkers(cast(VectorEnvironment, env), seed)
        if self.ray is not None:
            return Workers(env, RayActors(self.ray, env, seed, self.workers))
        if self.workers is not None:
            return Workers(env, Processes(env, seed, self.workers))
        return LocalExecutor(env, seed)


@contextmanager
def venue(workers: SupportsIndex | None = None, ray: str | None = None) -> Iterator[Venue]:
    """A venue with this many workers, in processes or on the Ray cluster at an address.

    Raises:
        ArgumentError: If ``workers`` is out of range, or no cluster answers.
        MissingDependencyError: If Ray is needed and not installed.
    """
    count = None if workers is None else checked_whole("workers", workers, 1)
    if ray is None:
        yield Venue(count)
    else:
        with connected(ray) as cluster:
            yield Venue(count, cluster)
