"""Printing: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

INTERRUPTED = 130
"""The exit code after Ctrl-C."""

PLAIN_WIDTH = 120
"""Columns when standard output is not a terminal."""


def say(message: str) -> None:
    """Print one line to standard error."""
    print(message, file=sys.stderr, flush=True)


def print_json(content: dict[str, Any]) -> None:
    """Print the one JSON object of ``--json``."""
    print(json.dumps(content, allow_nan=False))


def print_text(text: str = "") -> None:
    """Print a paragraph of the result; the terminal wraps long ones."""
    print(text)


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]], left: int = 1) -> None:
    """Print columns under a header.

    Numbers are aligned to the right; words, and the first ``left`` columns, to the left.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = max(console.width, PLAIN_WIDTH)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column, title in enumerate(header):
        numbers = column >= left and all(_is_number(row[column]) for row in rows)
        justify: Literal["left", "right"] = "right" if numbers else "left"
        table.add_column(title, justify=justify, overflow="fold", no_wrap=numbers)
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    with console.capture() as capture:
        console.print(table)
    for line in capture.get().splitlines():
        print(line.rstrip())


@contextmanager
def announced_compilation() -> Iterator[None]:
    """Say once that kernels are being compiled, if they are, so that nobody wonders about the wait.

    Ctrl-C takes effect after the kernel being compiled: the compiler might swallow it and fail.
    """
    from numba.core import event

    class Compiling(event.Listener):
        announced = interrupted = False
        depth = 0  # kernels compile the kernels they call
        before: Any = None

        def on_start(self, event: Any) -> None:
            if not self.announced:
                say("compiling kernels (first time only) ...")
                self.announced = True
            if threading.current_thread() is threading.main_thread():
                if self.depth == 0:
                    self.before = signal.signal(signal.SIGINT, self.note)
                self.depth += 1

        def on_end(self, event: Any) -> None:
            if threading.current_thread() is not threading.main_thread():
                return
            self.depth -= 1
            if self.depth == 0:
                signal.signal(signal.SIGINT, self.before)
            if self.interrupted:
                self.interrupted = False
                raise KeyboardInterrupt

        def note(self, *_: Any) -> None:
            self.interrupted = True

    with event.install_listener("numba:compile", Compiling()):
        yield


def _is_number(cell: object) -> bool:
    """Whether ``cell`` fits into a column of numbers; an empty one does."""
    return not isinstance(cell, str) or not cell or cell[0].isdigit() or cell[0] == "-"
