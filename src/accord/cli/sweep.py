"""``accord sweep``: many runs, side by side in one folder."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from accord._format import count, number
from accord.cli.arguments import AsJson, complete_game, k_option, parse_whole
from accord.cli.terminal import (
    INTERRUPTED,
    announced_compilation,
    print_json,
    print_table,
    print_text,
    say,
)
from accord.deviations.notions import checked_k, written_k
from accord.errors import ArgumentError, ParseError
from accord.regret.methods import DEFAULT, METHODS, SAMPLED_DEFAULT, SAMPLED_METHODS

if TYPE_CHECKING:
    from accord.runs.result import Learned, LearnedByPlay, Solution


def sweep(
    games: Annotated[
        list[str],
        typer.Argument(
            metavar="GAME...",
            help="Library names, OpenSpiel names, or .efg or .nfg files.",
            autocompletion=complete_game,
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="Folder for the runs, with one folder each.", show_default=False
        ),
    ],
    ks: Annotated[
        list[float] | None,
        k_option(
            "How many recommendations a deviator may see and disobey: 0 (nfcce), 1 (efce), 2, ..., "
            "inf (bce); by default 1. May be repeated."
        ),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            metavar="M",
            help="Regret minimizer, with the default of solve or learn. May be repeated.",
            show_default=False,
        ),
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option(parser=parse_whole, metavar="N", help="Solve with N iterations each."),
    ] = None,
    episodes: Annotated[
        int | None,
        typer.Option(parser=parse_whole, metavar="N", help="Learn from N episodes each."),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            parser=parse_whole, metavar="N", help="Learn with seeds 0 to N-1; by default only 0."
        ),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run on a Ray cluster: HOST:PORT, `auto` for the one that this machine is part "
            "of, or `local` for all cores of this machine. Needs accord[ray].",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Solve or learn every combination of games, K, methods and seeds.

    Finished runs are skipped and unfinished ones resumed, so the same command continues a sweep
    that was stopped or has failed. More combinations can be added to the same DIR.

    \b
    Examples:
        accord sweep kuhn_poker separation:k=1 -k 0 -k 1 -k inf --iterations 200 --out runs/solved
        accord sweep kuhn_poker -k 1 --method prm --seeds 3 --episodes 10000 --out runs/learned
    """
    tasks = _tasks(games, ks or [1.0], methods, iterations, episodes, seeds)

    from accord.runs.sweep import sweep as sweep_tasks

    done = 0
    limit = "iterations" if episodes is None else "episodes"

    def show(name: str, result: dict[str, Any]) -> None:
        nonlocal done
        done += 1
        _check(out / name, result, limit)
        say(f"{done} of {len(tasks)}: {name}, gap {_gap(result)}")

    try:
        with announced_compilation():
            results = sweep_tasks(run_task, tasks, out, ray=ray, progress=show)
    except KeyboardInterrupt:
        say("finished runs are kept; repeat the command to continue")
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        runs = [{"folder": str(out / name), **tasks[name], **results[name]} for name in tasks]
        print_json({"runs": runs})
        return
    print_table(
        ("game", "K", "method", "seed", limit, "gap"),
        [
            (
                task["game"],
                task["k"],
                task["method"],
                task.get("seed", ""),
                count(results[name][limit]),
                _gap(results[name]),
            )
            for name, task in tasks.items()
        ],
    )
    print_text(f"\nCompare them: accord report {out}/*")


def _check(folder: Path, result: Any, limit: str) -> None:
    """Refuse a result that was kept but is not one of a run."""
    from accord.runs.sweep import RESULT

    known = result if isinstance(result, dict) else {}
    bounded = known.get("gap") is None and "lower" in known  # and "upper", in an environment
    names = ("lower", "upper", limit) if bounded else ("gap", limit)
    numbers = [known.get(name) for name in names]
    if bounded and numbers[:2] == [None, None]:  # there were too few plays for bounds
        numbers = numbers[2:]
    if not all(isinstance(one, (int, float)) and math.isfinite(one) for one in numbers):
        raise ParseError(
            str(folder / RESULT), 0, 0,
            f'"result" must be an object with finite numbers "gap", or "lower" and "upper", and '
            f'"{limit}"; remove the file, and the run will be resumed',
        )  # fmt: skip


def run_task(folder: Path, game: str, k: int | str, method: str, **limit: int) -> dict[str, Any]:
    """Solve, or learn if ``limit`` has episodes; resume if ``folder`` holds a run."""
    from accord.cli.loading import load_playable
    from accord.runs.learn import learn, resume_learn
    from accord.runs.learn_env import learn_env, resume_learn_env
    from accord.runs.solve import resume_solve, solve

    begun = (folder / "run.json").exists()
    asked: dict[str, Any] = {"k": checked_k(k), "method": method, **limit}
    loaded, record = load_playable(game, play=False, payoffs=None)
    if record is not None:
        played: LearnedByPlay = (
            resume_learn_env(loaded, folder)
            if begun
            else learn_env(loaded, folder=folder, source=record, **asked)
        )
        return played.to_json()
    outcome: Solution | Learned
    if "episodes" in limit:
        outcome = resume_learn(loaded, folder) if begun else learn(loaded, folder=folder, **asked)
    else:
        outcome = resume_solve(loaded, folder) if begun else solve(loaded, folder=folder, **asked)
    return outcome.to_json()


def _tasks(
    games: list[str],
    ks: list[float],
    methods: list[str] | None,
    iterations: int | None,
    episodes: int | None,
    seeds: int | None,
) -> dict[str, dict[str, Any]]:
    """Every combination by its name."""
    if (iterations is None) == (episodes is None):
        raise ArgumentError("give either --iterations, to solve, or --episodes, to learn")
    if seeds is not None and episodes is None:
        raise ArgumentError("--seeds needs --episodes: solving has no randomness")
    for option, value in (("iterations", iterations), ("episodes", episodes), ("seeds", seeds)):
        if value is not None and value < 1:
            raise ArgumentError(f"--{option} must be at least 1; got {value}")

    known, default = (METHODS, DEFAULT) if episodes is None else (SAMPLED_METHODS, SAMPLED_DEFAULT)
    for method in methods or ():
        if method not in known:
            raise ArgumentError(f"--method must be one of {', '.join(known)}; got {method!r}")
    limits: list[dict[str, Any]] = [{"iterations": iterations}]
    if episodes is not None:
        limits = [{"seed": seed, "episodes": episodes} for seed in range(seeds or 1)]
    tasks: dict[str, dict[str, Any]] = {}
    for game in games:
        for k in ks:
            for method in methods or [default]:
                for limit in limits:
                    task = {"game": game, "k": written_k(k), "method": method, **limit}
                    name = _name(task)
                    if tasks.setdefault(name, task) != task:
                        raise ArgumentError(
                            f"games must have different names; {tasks[name]['game']!r} and "
                            f"{game!r} would both be kept in {name!r}"
                        )
    return tasks


def _gap(result: dict[str, Any]) -> str:
    """The gap, or its bounds in an environment."""
    if result["gap"] is not None:
        return number(result["gap"])
    if result["lower"] is None:
        return "unknown"
    return f"{number(result['lower'])} to {number(result['upper'])}"


def _name(task: dict[str, Any]) -> str:
    game = re.sub(r"[^\w.,=]+", "-", task["game"], flags=re.ASCII).strip("-._,=")
    seed = f"-seed{task['seed']}" if "seed" in task else ""
    return f"{game or 'game'}-k{task['k']}-{task['method']}{seed}"
