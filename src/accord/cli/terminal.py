"""Printing: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any, ClassVar, Literal, TextIO

from accord._format import LONGEST_MESSAGE, narrowed, safe

INTERRUPTED = 130
"""The exit code after Ctrl-C, SIGTERM or SIGHUP."""

LONG_SECONDS = 2.0
"""Seconds after which a step that is still running is announced."""

SECONDS_PER_LINE = 5.0
"""Seconds between two lines about the same step."""

LONGEST_WORD = 20
"""A word in a table is never broken if it has at most this many letters."""

PLAIN_WIDTH = 120
"""Columns of standard output if it is not a terminal."""


def line_width() -> int:
    """Columns of standard output."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PLAIN_WIDTH


def say(message: str) -> None:
    """Print one line to standard error."""
    print(safe(message, LONGEST_MESSAGE), file=sys.stderr, flush=True)


_json_stream: list[TextIO] = []  # standard output, while nothing else may be written there


@contextmanager
def json_only() -> Iterator[None]:
    """In this context standard output is for :func:`print_json` alone.

    What simulators, Ray or anybody else prints goes to standard error, also from native code.
    """
    with _kept_output() as stream, redirect_stdout(sys.stderr):
        _json_stream.append(stream)
        try:
            yield
        finally:
            _json_stream.pop()


@contextmanager
def _kept_output() -> Iterator[TextIO]:
    """Standard output; what else is written to its file descriptor goes to standard error."""
    sys.stdout.flush()
    try:
        number = sys.stdout.fileno()
    except (OSError, ValueError):  # a stream of a test or a notebook
        yield sys.stdout
        return
    kept = os.dup(number)
    os.dup2(sys.stderr.fileno(), number)
    try:
        with open(kept, "w", encoding=sys.stdout.encoding, closefd=False) as stream:
            yield stream
    finally:
        os.dup2(kept, number)
        os.close(kept)


def print_json(content: dict[str, Any]) -> None:
    """Print the one JSON object of ``--json``."""
    stream = _json_stream[-1] if _json_stream else sys.stdout
    print(json.dumps(content, allow_nan=False), file=stream)


def print_text(text: str = "") -> None:
    """Print a paragraph of the result to standard output. Long lines are not wrapped here."""
    print(safe(text))


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]], left: int = 1) -> None:
    """Print columns under a header.

    Columns of numbers are aligned to the right; other columns, and the first ``left``, to the left.
    In a narrow terminal words and titles are wrapped. Numbers are never wrapped, so lines may be
    wider than the terminal.
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = max(console.width, PLAIN_WIDTH)
    header = [safe(title, keep="") for title in header]
    columns = [[safe(str(row[at]), keep="") for row in rows] for at in range(len(header))]
    numeric = [at >= left and all(_is_number(row[at]) for row in rows) for at in range(len(header))]
    widths, least = [], []
    for title, cells, numbers in zip(header, columns, numeric, strict=True):
        longest = max(map(cell_len, cells), default=0)
        words = [word for text in (title, *cells) for word in text.split()]
        word = min(LONGEST_WORD, max(map(cell_len, words), default=0))
        widths.append(max(cell_len(title), longest))
        least.append(max(longest, word) if numbers else word)
    spaces = 2 * (len(header) - 1)
    widths = narrowed(widths, least, console.width - spaces)
    console.width = max(console.width, sum(widths) + spaces)

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title, width, numbers in zip(header, widths, numeric, strict=True):
        justify: Literal["left", "right"] = "right" if numbers else "left"
        table.add_column(Text(title), justify=justify, overflow="fold", width=width)
    for row in zip(*columns, strict=True):
        table.add_row(*map(Text, row))
    with console.capture() as capture:
        console.print(table)
    for line in capture.get().splitlines():
        print(line.rstrip())


@contextmanager
def announced_compilation() -> Iterator[None]:
    """Announce on standard error when kernels are compiled, and steps that take long.

    End the process if it does not end within two seconds of a signal (``cli/insist.py``).
    """
    from accord._activity import listening
    from accord.cli.insist import ENDED, end_process, ending_when_asked

    with LongSteps() as steps, listening(steps):

        def end() -> None:
            say(ENDED)
            end_process(INTERRUPTED)

        with ending_when_asked(lambda: (steps.what or "").startswith("saving"), end):
            yield


class LongSteps:
    """Prints the name of a step that takes long, to standard error.

    The first line comes after ``LONG_SECONDS``, others every ``SECONDS_PER_LINE``. A thread prints
    them, because the step itself is busy.
    """

    shown: ClassVar[LongSteps | None] = None  # the instance in use

    def __init__(self) -> None:
        self.what: str | None = None
        self.silent = False  # True while a progress bar shows the step
        self._compiling = False  # True while kernels are compiled; that has its own announcement
        self._announced = False
        self._begun = self._due = 0.0
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._watch, name="accord-steps", daemon=True)

    def __enter__(self) -> LongSteps:
        LongSteps.shown = self
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        LongSteps.shown = None
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def hear(self, what: str | None) -> None:
        """A step called ``what`` begins; None if the last one has ended."""
        with self._changed:
            self.what, self._begun = what, time.monotonic()
            self._due = self._begun + LONG_SECONDS
            self._changed.notify()

    def answer(self, text: str) -> None:
        """Print ``text`` at once."""
        say(text)

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Surround the compilation of a kernel; the first one is announced.

        Ctrl-C takes effect when the kernel is compiled; the compiler itself might catch the
        exception and fail.
        """
        from accord._signals import deferred_signals

        if not self._announced:
            self._announced = True
            say("compiling kernels (first time only) ...")
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        self._compiling = True
        try:
            with deferred_signals():
                yield
        finally:
            self._compiling = False

    @property
    def words(self) -> str | None:
        """The step and its duration; None if it has not taken long yet."""
        seconds = time.monotonic() - self._begun
        what = self.what
        if what is None or seconds < LONG_SECONDS:
            return None
        return f"{safe(what, keep='')}: {seconds:.0f} s so far"

    def _watch(self) -> None:
        while True:
            with self._changed:
                if self._closed:  # asked under the lock, or the last notice could be missed
                    return
                left = None if self.what is None else self._due - time.monotonic()
                if left is None or left > 0.0:
                    self._changed.wait(left)
                    continue
                if self._compiling:
                    self._due = time.monotonic() + LONG_SECONDS
                    continue
                self._due += SECONDS_PER_LINE
                words = None if self.silent else self.words
            if words is not None:
                say(words)


def _is_number(cell: object) -> bool:
    """Whether ``cell`` may be in a column of numbers: a number, or empty."""
    return not isinstance(cell, str) or not cell or cell[0].isdigit() or cell[0] == "-"
