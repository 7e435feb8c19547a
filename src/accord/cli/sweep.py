"""``accord sweep``: many runs, side by side in one folder."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from accord._format import count, number
from accord.cli.arguments import (
    AsJson,
    Payoffs,
    StepSeconds,
    complete_game,
    notion_option,
    whole_option,
)
from accord.cli.terminal import (
    INTERRUPTED,
    announced_compilation,
    print_json,
    print_table,
    print_text,
    say,
)
from accord.deviations.notions import EFCE, Notion
from accord.errors import ArgumentError, ParseError
from accord.play.feedback import FEEDBACKS, JOINT, OWN
from accord.regret.methods import DEFAULT, METHODS, SAMPLED_DEFAULT, SAMPLED_METHODS


def sweep(
    games: Annotated[
        list[str],
        typer.Argument(
            metavar="GAME...",
            help="Library names, OpenSpiel names, .efg or .nfg files, or Python code that makes a "
            "game or an environment (FILE.py:NAME).",
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
        list[Notion] | None,
        notion_option(
            "How many recommendations a deviator may see and disobey: 0 (nfcce), 1 (efce), 2, ..., "
            "inf (bce); or efcce, afce or afcce; by default 1. May be repeated."
        ),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            metavar="M",
            help="Regret minimizer, with the default of solve or learn. May be repeated.",
        ),
    ] = None,
    iterations: Annotated[
        int | None,
        whole_option("N", "Solve with N iterations each."),
    ] = None,
    episodes: Annotated[
        int | None,
        whole_option("N", "Learn from N episodes each."),
    ] = None,
    seeds: Annotated[
        int | None,
        whole_option("N", "Learn with seeds 0 to N-1; by default only 0."),
    ] = None,
    feedback: Annotated[
        list[str] | None,
        typer.Option(
            "--feedback",
            metavar="F",
            help="What learners see of a play, own or joint, as in accord learn; by default own. "
            "May be repeated.",
        ),
    ] = None,
    payoffs: Payoffs = None,
    step_seconds: StepSeconds = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run on a Ray cluster: HOST:PORT, `auto` for the one that this machine is part "
            "of, or `local` for all cores of this machine. Needs ray.",
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
        accord sweep leduc_poker --feedback own --feedback joint --episodes 30000 --out runs/both
    """
    given = {"payoffs": payoffs, "step_seconds": step_seconds}
    how = {name: value for name, value in given.items() if value is not None}
    tasks = _tasks(games, ks or [EFCE], methods, iterations, episodes, seeds, feedback, how)

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


def run_task(
    folder: Path,
    game: str,
    k: int | str,
    method: str,
    how: dict[str, Any] | None = None,
    **limit: Any,
) -> dict[str, Any]:
    """Solve, or learn if ``limit`` has episodes; resume if ``folder`` holds a run.

    ``how`` has the options with which an environment is loaded.
    """
    from accord.cli.loading import load_playable
    from accord.runs.learn import learn
    from accord.runs.solve import solve

    loaded, record = load_playable(game, **how or {})
    asked: dict[str, Any] = {"k": k, **limit}
    if "feedback" not in limit:  # joint plays have one method
        asked["method"] = method
    if "episodes" in limit:
        return learn(loaded, folder=folder, resume=True, source=record, **asked).to_json()
    return solve(loaded, folder=folder, resume=True, **asked).to_json()


def _tasks(
    games: list[str],
    ks: list[Notion],
    methods: list[str] | None,
    iterations: int | None,
    episodes: int | None,
    seeds: int | None,
    feedback: list[str] | None,
    how: dict[str, Any],
) -> dict[str, dict[str, Any]]:
    """Every combination by its name."""
    if (iterations is None) == (episodes is None):
        raise ArgumentError("give either --iterations, to solve, or --episodes, to learn")
    if seeds is not None and episodes is None:
        raise ArgumentError("--seeds needs --episodes: solving has no randomness")
    for option, value in (("iterations", iterations), ("episodes", episodes), ("seeds", seeds)):
        if value is not None and value < 1:
            raise ArgumentError(f"--{option} must be at least 1; got {value}")

    if feedback and episodes is None:
        raise ArgumentError("--feedback needs --episodes: solving plays no episodes")
    for one in feedback or ():
        if one not in FEEDBACKS:
            raise ArgumentError(f"--feedback must be one of {', '.join(FEEDBACKS)}; got {one!r}")
    if methods and JOINT in (feedback or ()):
        raise ArgumentError(
            "--method is for --feedback own; leave it out, or sweep joint plays by themselves"
        )
    known, default = (METHODS, DEFAULT) if episodes is None else (SAMPLED_METHODS, SAMPLED_DEFAULT)
    for method in methods or ():
        if method not in known:
            raise ArgumentError(f"--method must be one of {', '.join(known)}; got {method!r}")
    limits: list[dict[str, Any]] = [{"iterations": iterations}]
    if episodes is not None:
        limits = [
            {"seed": seed, "episodes": episodes, **({"feedback": JOINT} if one == JOINT else {})}
            for one in feedback or [OWN]
            for seed in range(seeds or 1)
        ]
    tasks: dict[str, dict[str, Any]] = {}
    for game in games:
        for k in ks:
            for method in methods or [default]:
                for limit in limits:
                    task = {"game": game, "k": k.written, "method": method, **limit}
                    if "feedback" in limit:
                        task["method"] = DEFAULT  # which solves the game that plays have shown
                    task |= {"how": how} if how else {}
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
    feedback = f"-{task['feedback']}" if "feedback" in task else ""
    return f"{game or 'game'}-k{task['k']}-{task['method']}{feedback}{seed}"
