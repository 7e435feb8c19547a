"""A live page that follows a run: a small web server on this computer.

The page asks for news every few seconds and gets a piece of HTML, made from what the run has
written to its folder by then (``progress.jsonl``, at most every ten seconds). The server listens on
127.0.0.1 only. It answers only requests that name this host, so that other sites cannot read it
through the browser.
"""

from __future__ import annotations

import json
import shlex
from abc import ABC, abstractmethod
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from markupsafe import Markup

from accord.errors import AccordError, ArgumentError
from accord.game.tree import Game
from accord.learning.theory.guarantee import GapBound
from accord.reports import plots
from accord.reports.chart import to_inline, to_svg
from accord.reports.page import render
from accord.reports.source import load_game_of, moments
from accord.reports.summary import bound_of, players_of
from accord.reports.view import Course, Picture, RunFacts
from accord.runs.checkpoint import Checkpoint
from accord.runs.folder import RunFolder
from accord.runs.lock import is_held
from accord.runs.played_run import is_played, read_certificate
from accord.runs.request import LearnRequest, OptimizeRequest
from accord.treeplex.form import sequence_form

HOST = "127.0.0.1"

SECONDS = 3
"""Between two questions of the page."""

WAITING = "The run has written no checkpoint yet."


class Watch(ABC):
    """A run that is being watched."""

    def __init__(self, files: RunFolder) -> None:
        self.folder, self.request = files.path, files.request
        self.name = str(files.content["game"])

    @staticmethod
    def of(folder: Path, game: Game | str | None = None) -> Watch:
        """The run in a folder; ``game`` is its game, or where it is now, if it has moved.

        Raises:
            AccordError: If there is no readable run in the folder, or its game cannot be loaded.
        """
        files = RunFolder.open(folder)
        if not is_played(files):
            return SolvedWatch(files, game)
        if game is not None:
            raise ArgumentError(
                f"{folder} holds a run in an environment, whose game is not known; leave --game out"
            )
        return PlayedWatch(files)

    def page(self) -> str:
        """The whole page."""
        return render(
            "watch.html",
            title=f"{self.name}: {self.request.notion}",
            now=Markup(self.now()),
            seconds=SECONDS,
        )

    @abstractmethod
    def now(self) -> str:
        """What the run has reached, as a piece of HTML."""


class SolvedWatch(Watch):
    """A run in a game that is loaded, whose exact gap is known."""

    def __init__(self, files: RunFolder, game: Game | str | None) -> None:
        super().__init__(files)
        if not isinstance(game, Game):
            game = load_game_of(files.path, game or files.request.game)
        self.game = game
        files.check(self.game)
        self.form = sequence_form(self.game)
        self.bound: GapBound | None = bound_of(self.request, self.form)

    def now(self) -> str:
        """What the run has reached, as a piece of HTML."""
        held = is_held(self.folder)  # asked first: meanwhile the run may finish
        try:
            files = RunFolder.open(self.folder)
            history = files.read_history(files.read_lines(), self.game.n_players)
            finished, waiting = files.finished, WAITING
        except AccordError as error:
            history, finished, waiting = (), False, str(error)
        point = history[-1] if history else None
        scale = self.form.leaves.loss_scale.tolist()
        return render(
            "watch_now.html",
            game=self.game.name,
            notion=self.request.notion,
            request=self.request,
            folder=shlex.quote(str(self.folder)),
            state=_state(held=held, finished=finished),
            waiting=waiting,
            point=point,
            players=() if point is None else players_of(self.form, point.values),
            relative=None
            if point is None
            else max(gap * unit for gap, unit in zip(point.player_gaps, scale, strict=True)),
            curve=self._curve(history),
        )

    def _curve(self, history: tuple[Checkpoint, ...]) -> Picture | None:
        if not history or isinstance(self.request, OptimizeRequest):
            return None
        last = history[-1]
        facts = RunFacts(
            folder=str(self.folder),
            game=self.game.name,
            digest=self.game.digest,
            learned=isinstance(self.request, LearnRequest),
            notion=self.request.notion,
            method=self.request.method,
            requests=(),
            versions=(),
            iterations=last.iteration,
            episodes=last.episodes,
            seconds=last.seconds,
            gap=last.gap,
            relative=None,
            average_gap=None,
            history=moments(self.game, history),
        )
        course = Course(facts, players_of(self.form, last.values), self.bound)
        wide, narrow = plots.convergence(course), plots.convergence(course, narrow=True)
        if wide is None or narrow is None:
            return None
        label = f"The gap of {self.game.name} so far"
        return Picture(
            to_inline(to_svg(wide), "gap", label), to_inline(to_svg(narrow), "gap-n", label)
        )


class PlayedWatch(Watch):
    """A run in an environment, whose gap is bounded by fresh plays at the end."""

    def now(self) -> str:
        """What the run has reached, as a piece of HTML."""
        held = is_held(self.folder)
        history: tuple[Checkpoint, ...] = ()
        players, certificate, waiting, finished = [], None, WAITING, False
        try:
            files = RunFolder.open(self.folder)
            finished = files.finished
            if (known := files.load(("play_players",))) is not None:
                players = [str(name) for name in json.loads(str(known["play_players"]))]
                history = files.read_history(files.read_lines(), len(players))
            if finished:
                certificate = read_certificate(files)
        except AccordError as error:
            history, waiting = (), str(error)
        return render(
            "watch_played.html",
            game=self.name,
            request=self.request,
            folder=shlex.quote(str(self.folder)),
            state=_state(held=held, finished=finished),
            waiting=waiting,
            point=history[-1] if history else None,
            rate=episodes_per_second(history),
            players=players,
            certificate=certificate,
        )


def _state(*, held: bool, finished: bool) -> str:
    """``finished``, ``in progress``, or ``stopped`` if no process here works on it."""
    return "finished" if finished else "in progress" if held else "stopped"


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
            content = pages[self.path]().encode()
            self.send_response(HTTPStatus.OK)
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
