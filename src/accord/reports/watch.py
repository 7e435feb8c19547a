"""A live page that follows a run: a small web server on this computer.

The page asks for news every few seconds and gets a piece of HTML, made from what the run has
written to its folder by then (``progress.jsonl``, at most every ten seconds). The server listens on
127.0.0.1 only. It answers only requests that name this host, so that other sites cannot read it
through the browser.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from markupsafe import Markup

from accord.errors import AccordError, ArgumentError
from accord.game.tree import Game
from accord.reports import plots
from accord.reports.chart import to_inline, to_svg
from accord.reports.page import render
from accord.reports.source import facts_of, load_game_of
from accord.reports.summary import bound_of, players_of
from accord.reports.view import Course, Picture, how_found
from accord.runs.checkpoint import Checkpoint
from accord.runs.folder import RunFolder
from accord.runs.lock import is_held
from accord.runs.reading import read_players, read_result, result_so_far
from accord.runs.request import OptimizeRequest
from accord.treeplex.form import SequenceForm, sequence_form

HOST = "127.0.0.1"

SECONDS = 3
"""Between two questions of the page."""


class Watch:
    """A run that is being watched.

    Args:
        folder: The folder of the run.
        game: Its game, if that is not where the run found it.

    Raises:
        AccordError: If there is no readable run in the folder, or its game cannot be loaded.
    """

    def __init__(self, folder: Path, game: Game | None = None) -> None:
        files = RunFolder.open(folder)
        self.folder, self.request = files.path, files.request
        self.name, self.digest = str(files.content["game"]), str(files.content["digest"])
        self.form: SequenceForm | None = None  # None if the game is not known
        if (name := files.request.known_game) is not None:
            game = load_game_of(files.path, name) if game is None else game
            files.check_game(game)
            self.form = sequence_form(game)
        elif game is not None:
            raise ArgumentError(
                f"{folder} holds a run in an environment, whose game is not known; leave --game out"
            )
        self.bound = None if self.form is None else bound_of(self.request, self.form)

    def page(self) -> str:
        """The whole page."""
        return render(
            "watch.html",
            title=f"{self.name}: {self.request.notion}",
            now=Markup(self.now()),
            seconds=SECONDS,
        )

    def now(self) -> str:
        """The state of the run, as a piece of HTML."""
        held = is_held(self.folder)  # asked first: meanwhile the run may finish
        course = point = rate = None
        finished, waiting = False, "The run has written no checkpoint yet."
        try:
            files = RunFolder.open(self.folder)
            finished = files.finished
            labels = read_players(files) if self.form is None else self.form.game.player_labels
            history = files.read_history(files.read_lines(), len(labels)) if labels else ()
            if history:
                course = self._course(files, labels, history, finished=finished)
                point, rate = history[-1], episodes_per_second(history)
        except AccordError as error:
            finished, waiting = False, str(error)
        return render(
            "watch_now.html",
            game=self.name,
            how=how_found(self.request),
            request=self.request,
            folder=shlex.quote(str(self.folder)),
            state="finished" if finished else "in progress" if held else "stopped",
            waiting=waiting,
            course=course,
            point=point,
            rate=rate,
            curve=None
            if course is None or isinstance(self.request, OptimizeRequest)
            else _curve(course),
        )

    def _course(
        self,
        files: RunFolder,
        labels: tuple[str, ...],
        history: tuple[Checkpoint, ...],
        *,
        finished: bool,
    ) -> Course:
        """The history of the run until now."""
        last, form = history[-1], self.form
        result, bounds = result_so_far(self.request, last, last.seconds), None
        if finished:
            result, bounds = read_result(files, len(labels))
        game = None if form is None else form.game
        facts = facts_of(
            self.folder, self.request, self.name, self.digest, game, result, history, bounds,
            finished=finished,
        )  # fmt: skip
        players = players_of(
            labels, facts.values, margins=facts.margins,
            plexes=() if form is None else form.plexes,
            leaves=None if form is None else form.leaves,
        )  # fmt: skip
        return Course(facts, players, self.bound)


def _curve(course: Course) -> Picture | None:
    """The gap until now."""
    wide, narrow = plots.convergence(course), plots.convergence(course, narrow=True)
    if wide is None or narrow is None:
        return None
    what = "gap" if course.facts.knows_game else "values and coverage"
    label = f"The {what} of {course.facts.game} so far"
    return Picture(to_inline(to_svg(wide), "gap", label), to_inline(to_svg(narrow), "gap-n", label))


def episodes_per_second(history: Sequence[Checkpoint]) -> float | None:
    """The speed of a run in the second half of its time; None before that is known."""
    if not history:
        return None
    last = history[-1]
    first = next(point for point in history if 2.0 * point.seconds >= last.seconds)
    if first is last or last.episodes is None or first.episodes is None:
        return None
    return (last.episodes - first.episodes) / (last.seconds - first.seconds)


def server_of(watch: Watch, port: int) -> ThreadingHTTPServer:
    """The server of a watched run; port 0 takes any that is free.

    Raises:
        OSError: If the port is taken.
    """

    class Handler(BaseHTTPRequestHandler):
        """Answers with the page, or with the piece that changes."""

        def do_GET(self) -> None:
            hosts = [f"{name}:{server.server_port}" for name in (HOST, "localhost")]
            if self.headers.get("Host") not in hosts:
                self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
                return
            pages = {"/": watch.page, "/now": watch.now}
            if self.path not in pages:
                self.send_error(HTTPStatus.NOT_FOUND)
                return
            status = HTTPStatus.OK
            try:
                content = pages[self.path]().encode()
            except Exception as error:  # whatever damaged files lead to, the page asks again
                status, what = HTTPStatus.INTERNAL_SERVER_ERROR, type(error).__name__
                content = f"<p>The files of this run cannot be shown now ({what}).</p>".encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Cache-Control", "no-store")
            self.send_header(
                "Content-Security-Policy",
                "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                "img-src data:; connect-src 'self'",
            )
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing about each request."""

    server = ThreadingHTTPServer((HOST, port), Handler)
    return server
