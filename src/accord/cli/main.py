"""The command ``accord``.

Exit codes: 0 for success; 1 if the target was not reached or the result not proved; 2 for bad usage
or bad input, with one message on standard error; 70 for an error in Accord itself; 130 if
interrupted, by Ctrl-C, SIGTERM or SIGHUP; 141 if nobody reads the output any more. Names become
objects here and nowhere deeper. Nothing heavy is imported before a command runs.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from accord.cli.arguments import parse_whole
from accord.cli.certify import certify
from accord.cli.convert import convert
from accord.cli.device import device
from accord.cli.export import export
from accord.cli.games import games
from accord.cli.info import info
from accord.cli.learn import learn
from accord.cli.optimize import optimize, reduce
from accord.cli.play import play
from accord.cli.region import region
from accord.cli.report import report
from accord.cli.serve import serve
from accord.cli.solve import solve
from accord.cli.sweep import sweep
from accord.cli.terminal import INTERRUPTED, say
from accord.cli.watch import watch
from accord.errors import AccordError

BAD_INPUT = 2
INTERNAL_ERROR = 70
BROKEN_PIPE = 141

GARBAGE = 200_000
"""New objects after which Python looks for garbage. With the usual 700 a short command spends a
fifth of its time on looking."""

DEBUG = "ACCORD_DEBUG"
"""The environment variable that shows the traceback of an error in Accord itself."""


class Commands(TyperGroup):
    """All commands; turns their errors into one message and an exit code."""

    def main(self, *args: Any, **extra: Any) -> Any:
        standalone = extra.get("standalone_mode", True)
        extra["standalone_mode"] = False
        try:
            code = super().main(*args, **extra)
            sys.stdout.flush()
        except AccordError as error:
            code = _refuse(str(error))
        except BrokenPipeError:
            code = BROKEN_PIPE
        except MemoryError as error:
            code = _refuse(f"out of memory: {error}" if str(error) else "out of memory")
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            code = _refuse(f"{place}{error.strerror or error}")
        except (KeyboardInterrupt, typer.Abort):
            code = INTERRUPTED
        except Exception as error:
            if hasattr(error, "format_message"):  # a usage error
                code = _refuse(error.format_message())
            elif os.environ.get(DEBUG):
                raise
            else:
                code = _apologise(error)
        if code == INTERRUPTED:
            say("interrupted")
        if code == BROKEN_PIPE and standalone:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python flushes once more at its end
        if standalone:
            sys.exit(code or 0)
        return code

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # click would exit with 1
            raise typer.Exit(BROKEN_PIPE) from None


def _refuse(message: str) -> int:
    say(f"error: {message}")
    return BAD_INPUT


def _apologise(error: Exception) -> int:
    """One line about an error that nobody expected."""
    message = " ".join(f"{type(error).__name__}: {error}".split())
    say(
        f"error in Accord itself: {message[:300]}; please report it to the maintainers, with this "
        f"command and what it prints after {DEBUG}=1"
    )
    return INTERNAL_ERROR


def _show_version(wanted: bool) -> None:
    if wanted:
        import accord

        typer.echo(f"accord {accord.__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=Commands,
    name="accord",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def accord(
    ctx: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
    max_nodes: Annotated[
        int | None,
        typer.Option(
            parser=parse_whole,
            metavar="N",
            help="Load OpenSpiel games of up to N nodes; by default two million.",
        ),
    ] = None,
) -> None:
    """Correlated equilibria of extensive-form games: computed, certified, explained.

    \b
    Example:
        accord solve kuhn_poker -k 1

    A game is given as a library name (separation:k=1), an OpenSpiel name (leduc_poker,
    "kuhn_poker(players=3)") or the path of an .efg or .nfg file; `accord games` lists the known
    games.
    """
    if max_nodes is not None:
        from accord.interop.openspiel import default_max_nodes

        before = default_max_nodes.set(max_nodes)
        ctx.call_on_close(lambda: default_max_nodes.reset(before))
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


app.command(short_help="List the known games.")(games)
app.command(short_help="Describe a game and the cost of solving it.")(info)
app.command(short_help="Compute a K-EFCE.")(solve)
app.command(short_help="Find the best K-EFCE, exactly.")(optimize)
app.command(short_help="Find and draw the payoffs of all K-EFCE.")(region)
app.command(short_help="Turn a saved mixture into a small exact one.")(reduce)
app.command(short_help="Learn a K-EFCE from played episodes.")(learn)
app.command(short_help="Solve or learn many combinations.")(sweep)
app.command(short_help="Measure how far a policy is from equilibrium.")(certify)
app.command(short_help="List what a policy recommends to all players together.")(device)
app.command(short_help="Follow a run in the browser while it goes.")(watch)
app.command(short_help="Write a table or picture of a run, a policy or a game.")(export)
app.command(short_help="Play with the mediator, or simulate plays.")(play)
app.command(short_help="Run plays with real people, on web pages.")(serve)
app.command(short_help="Write a run as a page with plots and an inspector.")(report)
app.command(short_help="Write a game or a policy in another format.")(convert)


def main() -> None:
    """Run the command line; the console script calls this."""
    gc.set_threshold(GARBAGE)
    for name in ("SIGTERM", "SIGHUP"):  # save and end like Ctrl-C, unless nohup ignores them
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # for labels the terminal cannot show
    app(prog_name="accord")


if __name__ == "__main__":
    main()
