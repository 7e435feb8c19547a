"""``accord serve``: plays with real people, on web pages."""

from __future__ import annotations

import errno
import logging
import os
import re
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from accord._format import number
from accord.cli.arguments import (
    GameOrRun,
    PolicyName,
    Silence,
    parse_number,
    parse_whole,
)
from accord.cli.loading import game_and_policy, k_of, load_policy
from accord.cli.terminal import announced_compilation, print_text, say
from accord.deviations.notions import written_k
from accord.errors import ArgumentError, BudgetError, MissingDependencyError

if TYPE_CHECKING:
    from accord.mediator.mediator import Mediator
    from accord.mediator.referee import Referee

DATA = Path("plays.db")
WORTH_A_WARNING = 0.01
"""A gap above this share of the payoff range is worth a warning."""

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
        typer.Option(
            parser=parse_number,
            metavar="SECONDS",
            help="A robot moves for players who have not answered after this time.",
        ),
    ] = None,
    pace: Annotated[
        float | None,
        typer.Option(
            parser=parse_number,
            metavar="SECONDS",
            help="Every round lasts exactly this long, so that the clock tells nobody anything.",
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
    port: Annotated[
        int, typer.Option(parser=parse_whole, metavar="N", help="The port; 0 for a free one.")
    ] = 8000,
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
) -> None:
    """Run plays with real people: a private page per seat, and one for the operator.

    Prints the operator's link. There you create plays, make a private link for each seat, fill
    empty seats with robots, start, watch and export. Stop with Ctrl-C; the plays continue when you
    start the server again with the same database.

    \b
    Examples:
        accord serve chicken device
        accord serve runs/chicken --data chicken.db
        accord serve signalling device --data lab.db --pace 30 --host 0.0.0.0
    """
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(error.name or "starlette", "serve") from None

    if root_path and not root_path.startswith("/"):
        raise ArgumentError(f"--root-path must start with /; got {root_path!r}")
    if url is not None and not re.fullmatch(r"https?://[^/\s?#]+[^\s?#]*", url):
        raise ArgumentError(f"--url must be like https://example.org/lab; got {url!r}")
    referee = _prepare(*game_and_policy(game, policy), k, limit, pace)
    with _listen(host, port) as listener:
        _run(referee, listener, data, limit, pace, root_path, proxy, url)
    say(f"stopped; all plays are in {data}")


def _prepare(
    game: str | None, policy: str, k: float | None, limit: float | None, pace: float | None
) -> Referee:
    """The referee of the plays. Bad arguments are refused before the database is opened."""
    from accord.mediator.mediator import Mediator
    from accord.mediator.referee import Referee
    from accord.mediator.timing import TimingWarning
    from accord.serve.hall import check_times

    with announced_compilation(), warnings.catch_warnings():
        warnings.simplefilter("ignore", TimingWarning)
        mixture = load_policy(policy, game)
        referee = Referee(Mediator(mixture.form.game, mixture, k_of(policy) if k is None else k))
        check_times(referee, limit, pace)
        _say_whether_disobeying_pays(referee.mediator)
    return referee


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


def _run(
    referee: Referee,
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
    from accord.serve.connections import PromptConnection
    from accord.serve.hall import Hall
    from accord.serve.store import Store

    about = {what: str(value) for what, value in referee.mediator.identity.items()}
    hall = Hall(referee, Store(data, about), limit=limit, pace=pace)
    if os.name == "posix" and data.stat().st_mode & 0o077:
        say(f"warning: {data} is secret, but others can read it; use chmod 600 {data}")
    if hall.warning:
        say(f"warning: {hall.warning}")
    config = uvicorn.Config(
        make_app(hall, url), access_log=False, log_config=None, log_level="critical",
        server_header=False, http=PromptConnection,
        root_path=root_path.rstrip("/"), proxy_headers=True, forwarded_allow_ips=proxy,
        lifespan="on", timeout_graceful_shutdown=GRACE,
    )  # fmt: skip
    with hall.store.transaction():
        secret = hall.store.make_link(None, None, hall.clock())
    where = url or _address(listener, root_path)
    print_text(f"{hall.game.name}: open {where.rstrip('/')}/operator/{secret}")
    print_text("Whoever has this link is the operator. Stop the server with Ctrl-C.")
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
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        reason = str(error.strerror or error).split(" (while")[0]
        advice = {
            errno.EADDRINUSE: "; choose another port with --port, or 0 for a free one",
            errno.EADDRNOTAVAIL: "; --host must be an address of this computer",
            errno.EACCES: "; choose a port above 1023 with --port",
        }.get(error.errno or 0, "")
        raise ArgumentError(f"cannot listen at {host}, port {port}: {reason}{advice}") from None


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
    """Log every recommendation and move to standard error, but not which action it was."""
    handler: Any = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    log = logging.getLogger("accord")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
