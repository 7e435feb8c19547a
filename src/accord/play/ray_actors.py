"""Workers on a Ray cluster, each an actor with a copy of the environment."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from accord._check import checked_whole
from accord._signals import TICK_SECONDS
from accord.errors import ArgumentError, SimulatorError
from accord.play.cluster import by_value
from accord.play.environment import Environment
from accord.play.workers import READY, Copy, WorkerDied


class RayActors:
    """A crew of actors (``play/workers.py``).

    Args:
        ray: Ray, connected to a cluster.
        env: The environment, which must be possible to pickle.
        seed: The seed of its randomness.
        count: How many actors; by default one for each core of the cluster.

    Raises:
        ArgumentError: If the environment cannot be sent to the cluster.
    """

    def __init__(self, ray: Any, env: Environment, seed: int, count: int | None = None) -> None:
        self._ray, self._name, self._seed = ray, env.name, seed
        cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self.count = cores if count is None else checked_whole("workers", count, 1)
        try:
            with by_value(ray):
                self._env = ray.put(ray.cloudpickle.dumps(env))
        except Exception as error:
            raise ArgumentError(
                f"{env.name}: an environment must be possible to pickle if it is sent to a Ray "
                f"cluster, but pickling raised {type(error).__name__}: {error!s:.300}; make what "
                "cannot be pickled in reset()"
            ) from None
        # more actors than cores share them: a simulator may wait for something else
        share = min(1.0, int(10_000 * cores / self.count) / 10_000)
        self._kind = ray.remote(num_cpus=share)(RemoteCopy)
        self._actors: dict[int, Any] = {}
        self._answers: dict[int, Any] = {}
        self._hired = 0

    def hire(self) -> int:
        """Start an actor."""
        self._hired += 1
        actor = self._actors[self._hired] = self._kind.remote(self._env, self._seed)
        self._answers[self._hired] = actor.ready.remote()
        return self._hired

    def dismiss(self, worker: int) -> None:
        """End an actor."""
        self._answers.pop(worker, None)
        self._ray.kill(self._actors.pop(worker))

    def send(self, worker: int, order: int, content: int) -> None:
        """Send an order."""
        self._answers[worker] = self._actors[worker].answer.remote(order, content)

    def answered(self, workers: Collection[int]) -> list[int]:
        """Wait for answers."""
        answers = {self._answers[worker]: worker for worker in workers}
        ready, rest = self._ray.wait(list(answers), num_returns=1, timeout=TICK_SECONDS)
        if ready and rest:
            _, rest = self._ray.wait(rest, num_returns=len(rest), timeout=0)
        return [worker for answer, worker in answers.items() if answer not in set(rest)]

    def receive(self, worker: int) -> tuple[int, Any]:
        """The answer of an actor."""
        try:
            answer: tuple[int, Any] = self._ray.get(self._answers[worker])
        except self._ray.exceptions.RayActorError as error:
            raise WorkerDied(" ".join(str(error).split())[:500]) from None
        except (self._ray.exceptions.RayError, OSError) as error:
            reason = " ".join(str(error).split())[:500]
            raise SimulatorError(f"{self._name}: the Ray cluster failed: {reason}") from None
        return answer


class RemoteCopy:
    """An actor."""

    def __init__(self, env: bytes, seed: int) -> None:
        import ray

        self._copy = Copy(ray.cloudpickle.loads(env), seed)

    def ready(self) -> tuple[int, Any]:
        """The first answer."""
        return READY, None

    def answer(self, order: int, content: int) -> tuple[int, Any]:
        """Carry out an order."""
        return self._copy.answer(order, content)
