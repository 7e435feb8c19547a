"""The command ``accord``.

Exit codes: 0 for success; 1 if the target was not reached or the result not proved; 2 for bad usage
or bad input, with one message on standard error; 70 for an error in Accord itself; 130 if
interrupted, by Ctrl-C, SIGTERM or SIGHUP; 141 if nobody reads the output any more. Names become
objects here and nowhere deeper. Nothing heavy is imported before a command runs.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from accord.cli.arguments import parse_whole
from accord.cli.terminal import INTERRUPTED, json_only, say
from accord.errors import AccordError, ArgumentError

COMMANDS = {
    "games": "List the known games.",
    "info": "Describe a game and the cost of solving it.",
    "solve": "Compute a K-EFCE.",
    "optimize": "Find the best K-EFCE, exactly.",
    "region": "Find and draw the payoffs of all K-EFCE.",
    "curve": "Find the best K-EFCE against a parameter of the game.",
    "reduce": "Turn a saved mixture into a small exact one.",
    "learn": "Learn a K-EFCE from played episodes.",
    "sweep": "Solve or learn many combinations.",
    "certify": "Measure how far a policy is from equilibrium.",
    "device": "List what a policy recommends to all players together.",
    "watch": "Follow a run in the browser while it goes.",
    "export": "Write a table or picture of a run, a policy or a game.",
    "play": "Play with the mediator, or simulate plays.",
    "serve": "Run plays with real people, on web pages.",
    "mcp": "Give an agent of a language model a seat, as tools.",
    "report": "Write a run as a page with plots and an inspector.",
    "convert": "Write a game or a policy in another format.",
}
"""Each is a function of that name in the module of that name; ``reduce`` is in ``optimize``."""

BAD_INPUT = 2
INTERNAL_ERROR = 70
BROKEN_PIPE = 141

MAX_NODES_OPTION = "--max-nodes"

GARBAGE = 200_000
"""New objects after which Python looks for garbage. With the usual 700 a short command spends a
twentieth of its time on looking."""

DEBUG = "ACCORD_DEBUG"
"""The environment variable that shows the traceback of an error in Accord itself."""


class Modules(Mapping[str, Any]):
    """The commands by name. Each is imported when it is asked for: one needs only one of them."""

    def __getitem__(self, name: str) -> Any:
        short_help = COMMANDS[name]
        module = importlib.import_module(f"accord.cli.{'optimize' if name == 'reduce' else name}")
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(short_help=short_help, cls=Command)(getattr(module, name))
        return typer.main.get_command(alone)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class Command(TyperCommand):
    """One command. Its help calls arguments by their names alone; an option is given only once."""

    params: list[Any]

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        arguments = [one for one in self.params if _is_argument(one)]
        names = [one.metavar if one.required else f"[{one.metavar}]" for one in arguments]
        return [str(self.options_metavar), *names]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for one in self.get_params(ctx):
            name, text = one.get_help_record(ctx) or ("", "")
            if _is_argument(one):
                sections["Arguments"].append((str(one.metavar), text))
            else:
                sections["Options"].append((name, text))
        for title, lines in sections.items():
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)

    def invoke(self, ctx: Any) -> Any:
        with json_only() if ctx.params.get("as_json") else nullcontext():
            return super().invoke(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            _check_given_once(self, ctx, args)
        except Exception as error:
            name = getattr(error, "option_name", None)
            if name == "--k":
                raise ArgumentError("there is no option --k; did you mean -k?") from None
            if name != MAX_NODES_OPTION:
                raise
            raise ArgumentError(
                f"{MAX_NODES_OPTION} must come before the command: accord {MAX_NODES_OPTION} N "
                f"{self.name}"
            ) from None
        return super().parse_args(ctx, args)


def _check_given_once(command: Any, ctx: Any, args: list[str]) -> None:
    """Refuse several values of an option that takes one, of which click would take the last."""
    _, _, given = command.make_parser(ctx).parse_args(args=list(args))
    for one in command.params:
        if (times := given.count(one)) > 1 and not (
            one.multiple or one.is_flag or ctx.resilient_parsing  # a command that is being typed
        ):
            raise typer.BadParameter(
                f"must be given once, but was given {times} times; run the command once for each "
                "value",
                param=one,
            )


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


class Commands(TyperGroup):
    """All commands; turns their errors into one message and an exit code."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands: Any = Modules()

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
                code = _apologize(error)
        if code == INTERRUPTED:
            say("interrupted")
        if code == BROKEN_PIPE and standalone:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python flushes once more at its end
        if standalone:
            sys.exit(code or 0)
        return code

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _check_given_once(self, ctx, args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # click would exit with 1
            raise typer.Exit(BROKEN_PIPE) from None


def _refuse(message: str) -> int:
    say(f"error: {message}")
    return BAD_INPUT


def _apologize(error: Exception) -> int:
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
            MAX_NODES_OPTION,
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
    "kuhn_poker(players=3)"), the path of an .efg or .nfg file, or Python code that makes it
    (FILE.py:NAME); `accord games` lists the known games.
    """
    if max_nodes is not None:
        from accord.interop.openspiel import default_max_nodes

        before = default_max_nodes.set(max_nodes)
        ctx.call_on_close(lambda: default_max_nodes.reset(before))
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


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
    try:
        app(prog_name="accord")
    finally:
        gc.freeze()  # else Python, at its end, looks at every object: a tenth of a short command


if __name__ == "__main__":
    main()
