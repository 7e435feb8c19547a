"""What the command line says while it works."""

from __future__ import annotations

import threading

from accord.cli.terminal import LongSteps


def test_a_command_that_ends_at_any_moment_returns() -> None:
    """Its end may come just before the thread that announces long steps takes the lock."""
    steps = LongSteps()

    class EndsFirst(threading.Condition):
        def __enter__(self) -> bool:
            if threading.current_thread() is steps._thread:
                steps._closed = True  # and nobody waits for the notice yet
            return super().__enter__()

    steps._changed = EndsFirst()
    steps._thread.start()
    steps._thread.join(timeout=10.0)
    assert not steps._thread.is_alive()
