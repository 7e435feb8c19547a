"""``accord serve``: plays with real people, on web pages."""

from __future__ import annotations

import errno
import logging
import os
import re
import socket
import sqlite3
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from accord._format import LONGEST_MESSAGE, number, safe
from accord.cli import session
from accord.cli.arguments import (
    GameOrRun,
    PolicyName,
    Silence,
    number_option,
    whole_option,
)
from accord.cli.loading import game_and_policy, k_of, load_policy
from accord.cli.terminal import announced_compilation, print_text, say
from accord.deviations.notions import written_k
from accord.errors import ArgumentError, BudgetError, MissingDependencyError

if TYPE_CHECKING:
    from accord.mediator.mediator import Mediator
    from accord.serve.design import Design, Treatment
    from accord.serve.messages import Messages

DATA = Path("plays.db")
WORTH_A_WARNING = 0.01
"""A gap above this share of the payoff range is worth a warning."""

WARNINGS_PER_MINUTE, MINUTE = 10, 60.0
"""Lines of the log about the same kind of trouble, and a minute in seconds."""

SAME_KIND = 40
"""Letters in which lines about the same kind of trouble agree; addresses come later."""

GRACE = 3
"""Seconds that requests have to end after Ctrl-C; slow clients cannot keep the server running."""


def serve(
    game: GameOrRun,
    policy: PolicyName = None,
    data: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="The SQLite database with all plays. It is made if it does not exist; otherwise "
            "its plays continue.",
        ),
    ] = DATA,
    k: Silence = None,
    limit: Annotated[
        float | None,
        number_option(
            "SECONDS", "A robot moves for players who have not answered after this time."
        ),
    ] = None,
    pace: Annotated[
        float | None,
        number_option(
            "SECONDS",
            "Every round lasts exactly this long, so that the clock tells nobody anything.",
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="The address to listen at: by default only this computer can open the pages, with "
            "0.0.0.0 everybody in its network.",
        ),
    ] = "127.0.0.1",
    port: Annotated[int, whole_option("N", "The port; 0 for a free one.")] = 8000,
    root_path: Annotated[
        str,
        typer.Option(metavar="PATH", help="The path under which a reverse proxy shows the server."),
    ] = "",
    proxy: Annotated[
        str,
        typer.Option(
            metavar="ADDRESSES",
            help="Proxies whose forwarded headers are believed, separated by commas.",
        ),
    ] = "127.0.0.1",
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="How the server is reached, for links."),
    ] = None,
    rounds: session.Rounds = 1,
    match: session.Match = "arrival",
    rematch: session.Rematch = "partners",
    roles: session.Roles = "fixed",
    treatment: session.Treatments = None,
    ask: session.Ask = "nothing",
    instructions: session.Instructions = None,
    consent: session.Consent = None,
    quiz: session.Quiz = False,
    practice: session.Practice = False,
    debrief: session.Debrief = "own",
    rate: session.Rate = None,
    fee: session.Fee = 0.0,
    currency: session.Currency = "",
    gone: session.Gone = None,
    stop: session.Stop = False,
    language: session.Language = "en",
) -> None:
    """Run plays with real people: a page for everybody, and one for the operator.

    Prints the operator's link. There you find the address and the QR code by which people come in
    and are matched into plays, round by round. Or create plays and make a private link for each
    seat. Watch, pause and export; fill empty seats with robots. Stop with Ctrl-C; the plays
    continue when you start the server again with the same database and options.

    \b
    Examples:
        accord serve chicken device --host 0.0.0.0
        accord serve runs/chicken --data chicken.db
        accord serve signalling device --data lab.db --pace 30
        accord serve chicken device --rounds 5 --rematch strangers --treatment alone=none
    """
    try:
        import markdown_it  # noqa: F401
        import segno  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(error.name or "starlette", "serve") from None

    if root_path and not root_path.startswith("/"):
        raise ArgumentError(f"--root-path must start with /; got {root_path!r}")
    if url is not None and not re.fullmatch(r"https?://[^/\s?#]+[^\s?#]*", url):
        raise ArgumentError(f"--url must be like https://example.org/lab; got {url!r}")
    from accord.serve.messages import load_messages
    from accord.serve.rules import check_quiz

    messages = load_messages(language)
    treatments = _prepare(*game_and_policy(game, policy), k, limit, pace, treatment or [])
    design = session.make_design(
        treatments[0].mediator.game, [one.name for one in treatments],
        rounds=rounds, match=match, rematch=rematch, roles=roles, ask=ask,
        instructions=instructions, consent=consent, quiz=quiz, practice=practice, debrief=debrief,
        rate=rate, fee=fee, currency=currency, gone=gone, stop=stop,
    )  # fmt: skip
    check_quiz(treatments[0].mediator.game, design)
    _say_whether_pay_can_be_negative(treatments[0].mediator, design)
    with _listen(host, port) as listener:
        _run(treatments, design, messages, listener, data, limit, pace, root_path, proxy, url)
    say(f"stopped; all plays are in {data}")


def _prepare(
    game: str | None,
    policy: str,
    k: float | None,
    limit: float | None,
    pace: float | None,
    others: list[str],
) -> list[Treatment]:
    """The treatments of the session. Bad arguments are refused before the database is opened."""
    from accord.mediator.mediator import Mediator
    from accord.mediator.referee import Referee
    from accord.mediator.timing import TimingWarning
    from accord.serve.design import Treatment
    from accord.serve.hall import check_times

    named = [session.parse_treatment(text) for text in others]
    names = [Treatment.MEDIATOR, *(name for name, _ in named)]
    if len(set(names)) < len(names):
        raise ArgumentError(
            f"treatments must have different names, and the first is called {names[0]}; got "
            f"{', '.join(names[1:])}"
        )
    with announced_compilation(), warnings.catch_warnings():
        warnings.simplefilter("ignore", TimingWarning)
        mixture = load_policy(policy, game)
        own = k_of(policy) if k is None else k
        played = mixture.form.game
        found = [Treatment(Referee(Mediator(played, mixture, own)))]
        check_times(found[0].referee, limit, pace)
        for name, file in named:
            if file == "none":
                found.append(Treatment(Referee(Mediator(played, mixture, 0)), name, mediated=False))
            else:
                other = load_policy(file, game)
                found.append(Treatment(Referee(Mediator(played, other, own)), name))
        for one in found:
            if one.mediated:
                _say_whether_disobeying_pays(one.mediator)
                _say_whether_threats_are_shown(one)
            _ = one.hindsights  # now, and not when the first play ends
    return found


def _say_whether_disobeying_pays(mediator: Mediator) -> None:
    """Warn about a policy that is far from an equilibrium at this K."""
    from accord.equilibrium.gap import efce_gaps
    from accord.game.labels import player_name
    from accord.treeplex.form import sequence_form

    game, k = mediator.game, mediator.k
    try:
        gaps = efce_gaps(mediator.policy, k)
    except BudgetError:
        return
    i = int(gaps.argmax())
    if gaps[i] > WORTH_A_WARNING * sequence_form(game).leaves.payoff_range[i]:
        way = "playing on their own" if k == 0 else "disobeying"
        say(
            f"warning: at K = {written_k(k)} {player_name(game.player_labels[i])} can gain "
            f"{number(float(gaps[i]))} by {way}; give -k the K for which the policy was found"
        )


def _say_whether_threats_are_shown(treatment: Treatment) -> None:
    """Warn about advice that players would disobey when somebody's disobedience shows it."""
    if treatment.judged is not None and treatment.threats:
        sentence, *threats = treatment.judged.credibility()
        say("\n".join([f"warning: the device is {sentence}", *threats]))


def _say_whether_pay_can_be_negative(mediator: Mediator, design: Design) -> None:
    """Warn if somebody who earns the worst payoff in every round would have to pay."""
    from accord.treeplex.form import sequence_form

    worst = float(sequence_form(mediator.game).leaves.worst.min())
    least = design.fee + design.rounds * worst * (design.rate or 0.0)
    if least < 0:
        say(
            f"warning: whoever earns {number(worst)} in every round ends with "
            f"{design.money(design.rounds * worst)}; a larger --fee keeps pay from being negative"
        )


def _run(
    treatments: list[Treatment],
    design: Design,
    messages: Messages,
    listener: socket.socket,
    data: Path,
    limit: float | None,
    pace: float | None,
    root_path: str,
    proxy: str,
    url: str | None,
) -> None:
    """Serve until somebody stops the server."""
    import uvicorn

    from accord.serve.app import make_app
    from accord.serve.connections import PromptConnection, allowed_connections
    from accord.serve.design import identity
    from accord.serve.hall import Hall
    from accord.serve.room import Room
    from accord.serve.store import Store

    try:
        hall = Hall(treatments, Store(data, identity(treatments)), limit=limit, pace=pace)
        room = Room(hall, design, messages)
    except sqlite3.Error as error:
        raise ArgumentError(
            f"{data} is damaged or cannot be written ({error}); restore a copy, or give another "
            "file with --data"
        ) from None
    PromptConnection.most, backlog = allowed_connections()
    if os.name == "posix" and data.stat().st_mode & 0o077:
        say(f"warning: {data} is secret, but others can read it; use chmod 600 {data}")
    if hall.warning:
        say(f"warning: {hall.warning}")
    config = uvicorn.Config(
        make_app(room, url), access_log=False, log_config=None, log_level="critical",
        server_header=False, http=PromptConnection, backlog=backlog,
        root_path=root_path.rstrip("/"), proxy_headers=True, forwarded_allow_ips=proxy,
        lifespan="on", timeout_graceful_shutdown=GRACE,
    )  # fmt: skip
    with hall.store.transaction():
        secret = hall.store.make_link(None, hall.clock())
    where = url or _address(listener, root_path)
    print_text(f"{hall.game.name}: open {where.rstrip('/')}/operator/{secret}")
    print_text(f"People come in at {where.rstrip('/')} with the code {room.code}.")
    print_text("Whoever has the first link is the operator. Stop the server with Ctrl-C.")
    try:
        with _shown_log():
            uvicorn.Server(config).run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    finally:
        hall.store.close()


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port < 1 << 16:
        raise ArgumentError(f"--port must be 0 to 65535; got {port}")
    if not host.strip():
        raise ArgumentError(
            "--host must be an address of this computer; to listen at all of them, give 0.0.0.0"
        )
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        socket.getaddrinfo(host, port, family)  # refuses names that no computer can have
        return socket.create_server((host, port), family=family)
    except OSError as error:
        reason = str(error.strerror or error).split(" (while")[0]
        advice = {
            errno.EADDRINUSE: "; choose another port with --port, or 0 for a free one",
            errno.EADDRNOTAVAIL: "; --host must be an address of this computer",
            errno.EACCES: "; choose a port above 1023 with --port",
        }.get(error.errno or 0, "")
        raise ArgumentError(f"cannot listen at {host}, port {port}: {reason}{advice}") from None
    except (UnicodeError, ValueError):
        raise ArgumentError(
            f"--host must be the name or an address of this computer; got {host!r:.100}"
        ) from None


def _address(listener: socket.socket, root_path: str) -> str:
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = _address_in_network(listener.family)
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{root_path}"


def _address_in_network(family: int) -> str:
    """The address of this computer for others; its name if there is no network."""
    elsewhere = "2001:db8::1" if family == socket.AF_INET6 else "192.0.2.1"
    with socket.socket(family, socket.SOCK_DGRAM) as any_socket:
        try:
            any_socket.connect((elsewhere, 9))  # sends nothing: it only chooses an interface
            return str(any_socket.getsockname()[0])
        except OSError:
            return socket.gethostname()


@contextmanager
def _shown_log() -> Iterator[None]:
    """Log who is asked and who moves to standard error, but not what was recommended or played.

    What asyncio has to say is there, too, and nothing of it could fill a disk.
    """
    handler: Any = logging.StreamHandler()
    handler.setFormatter(_OneLine("%(asctime)s %(message)s", "%H:%M:%S"))
    handler.addFilter(Seldom())
    logs = [logging.getLogger("accord"), logging.getLogger("asyncio")]
    for log in logs:
        log.addHandler(handler)
    logs[0].setLevel(logging.INFO)
    try:
        yield
    finally:
        for log in logs:
            log.removeHandler(handler)


class _OneLine(logging.Formatter):
    """Lines that a terminal cannot obey, without tracebacks, which can have links in them."""

    def format(self, record: logging.LogRecord) -> str:
        record.exc_info = record.exc_text = record.stack_info = None
        return safe(super().format(record), LONGEST_MESSAGE, keep="")


class Seldom(logging.Filter):
    """Lets through a few warnings of each kind per minute, and says how many it has kept."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[str, int] = {}
        self._began: dict[str, float] = {}
        self._shown: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether ``record`` is shown."""
        if record.levelno < logging.WARNING:
            return True
        kind, now = str(record.msg)[:SAME_KIND], time.monotonic()
        if now - self._began.get(kind, -MINUTE) >= MINUTE:
            self._began[kind], self._shown[kind] = now, 0
            if kept := self._kept.pop(kind, 0):
                record.msg = f"{record.msg} (and {kept:,} more such lines before)"
        self._shown[kind] += 1
        if self._shown[kind] > WARNINGS_PER_MINUTE:
            self._kept[kind] = self._kept.get(kind, 0) + 1
            return False
        return True
