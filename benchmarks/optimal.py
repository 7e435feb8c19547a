"""``python -m benchmarks.optimal``: the best equilibria of large games, against CPU time.

The games are those of Farina, Ling, Fang and Sandholm 2019 that OpenSpiel has: Sheriff and
Battleship, with general sums. ``optimize`` maximizes welfare at K = 1, with a limit of CPU time per
game; beside it HiGHS solves the full program over correlation plans by its interior-point method.
Results, curves and the page are written to ``docs/benchmarks``.
"""

from __future__ import annotations

import json
import signal
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import accord
from accord.equilibrium.relevant import count_tuples
from accord.optimal.incentives import Incentives
from accord.optimal.objective import as_objective
from accord.optimal.polytope import Relaxation
from accord.optimal.tuples import Tuples
from accord.runs.checkpoint import Checkpoint
from accord.treeplex.form import sequence_form

OUT = Path(__file__).parent.parent / "docs" / "benchmarks"
NAME = "optimal-equilibria"

BATTLESHIP = (
    "battleship(allow_repeated_shots=False,board_height={},board_width={},loss_multiplier=2.0,"
    "num_shots={},ship_sizes=[1],ship_values=[1.0])"
)

GAMES = {
    "Sheriff, 3 rounds": ("sheriff(num_rounds=3)", 60.0),
    "Sheriff": ("sheriff", 90.0),
    "Sheriff, 5 rounds": ("sheriff(num_rounds=5)", 140.0),
    "Battleship 2x2, 2 shots": (BATTLESHIP.format(2, 2, 2), 60.0),
    "Battleship 2x2, 3 shots": (BATTLESHIP.format(2, 2, 3), 240.0),
    "Battleship 3x2, 2 shots": (BATTLESHIP.format(3, 2, 2), 90.0),
    "Battleship 3x2, 3 shots": (BATTLESHIP.format(3, 2, 3), 240.0),
}
"""What they are called, what :func:`accord.load_game` knows them by, and the CPU seconds."""

HIGHS_SECONDS = 120.0
HIGHS_TUPLES = 40_000


def measure(name: str, limit: float) -> dict[str, Any]:
    """The sizes of a game, the curve of ``optimize`` and its result, and HiGHS."""
    game = accord.load_game(name)
    form = sequence_form(game)
    found: dict[str, Any] = {
        "game": name,
        "leaves": len(form.leaves),
        "sequences": [plex.n_sequences for plex in form.plexes],
        "tuples": count_tuples(form),
        "scale": as_objective("welfare", game.player_labels).scale(form),
    }
    curve: list[dict[str, Any]] = []
    stopped: list[float] = []
    accord.optimize(accord.load_game("sheriff(num_rounds=1)"), 1)  # compiles
    begun = time.process_time()

    def watch(point: Checkpoint) -> None:
        now = time.process_time() - begun
        if point.best is not None:
            curve.append(
                {
                    "cpu": now,
                    "value": point.best.value,
                    "gap": point.gap,
                    "bound": point.best.bound,
                }
            )
        if now > limit and not stopped:
            stopped.append(now)  # once: the last point is told when nobody waits for signals
            signal.raise_signal(signal.SIGINT)

    best = accord.optimize(game, 1, progress=watch)
    found |= {
        "cpu": time.process_time() - begun,
        "value": best.value,
        "gap": best.gap,
        "bound": best.bound,
        "optimal": best.optimal,
        "components": best.policy.n_components,
        "curve": curve,
    }
    if found["tuples"] <= HIGHS_TUPLES:
        begun = time.process_time()
        tuples = Tuples(Incentives.build(form, 1), found["tuples"])
        objective = as_objective("welfare", game.player_labels)
        solved = Relaxation(tuples, objective, 0.0).solve(HIGHS_SECONDS)
        found["highs"] = {"cpu": time.process_time() - begun, "solved": solved is not None}
    return found


def write_page(results: dict[str, Any]) -> None:
    """The page and its picture, which has the games whose curve is known."""
    _draw({title: one for title, one in results.items() if len(one["curve"]) > 1})
    sizes = [["game", "leaves", "sequences", "tuples"]]
    outcome = [
        ["game", "value", "gap", "bound", "[value, bound]", "plans", "CPU s", "HiGHS, CPU s"]
    ]
    for title, one in results.items():
        sequences = " + ".join(f"{count:,}" for count in one["sequences"])
        sizes.append([title, f"{one['leaves']:,}", sequences, f"{one['tuples']:,}"])
        value, gap = one["value"], one["gap"]
        width = f"{max(0.0, one['bound'] - value) / one['scale']:.1e}"
        highs = one.get("highs")
        outcome.append(
            [
                title,
                f"{value:.6g}",
                f"{gap:.1e}" if gap > 1e-12 else "0",
                f"{one['bound']:.6g}",
                "proved" if one["optimal"] else width,
                f"{one['components']:,}" if one["components"] else "by tuples",
                f"{one['cpu']:.0f}",
                "not run"
                if highs is None
                else f"{highs['cpu']:.0f}"
                if highs["solved"]
                else f"not in {highs['cpu']:.0f}",
            ]
        )
    limits = ", ".join(f"{GAMES[title][1]:.0f} s ({title})" for title in results)
    text = _PAGE.format(
        sizes=_table(sizes), outcome=_table(outcome), name=NAME,
        limits=textwrap.fill(f"`optimize` was interrupted, as by Ctrl-C, after {limits}.", 100),
        clock=HIGHS_SECONDS,
    )  # fmt: skip
    (OUT / f"{NAME}.md").write_text(text)


def _table(rows: list[list[str]]) -> str:
    head, *body = rows
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _draw(results: dict[str, Any]) -> None:
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    figure = Figure(figsize=(9, 2.6 * ((len(results) + 1) // 2)), layout="constrained")
    axes = figure.subplots((len(results) + 1) // 2, 2, squeeze=False).ravel()
    for one in axes[len(results) :]:
        one.axis("off")
    for place, (title, one) in zip(axes, results.items(), strict=False):
        known = [point for point in one["curve"] if point["value"] is not None]
        cpu = [max(0.1, point["cpu"]) for point in known]
        value, bound = ([point[key] for point in known] for key in ("value", "bound"))
        gap = [point["gap"] for point in known]
        place.fill_between(cpu, value, bound, alpha=0.15, color="#1f6f8b")
        place.plot(cpu, bound, color="#1f6f8b", label="bound")
        place.plot(cpu, value, color="#c1502e", label="value")
        place.set_xscale("log")
        place.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        place.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        place.xaxis.set_minor_formatter(NullFormatter())
        place.set_title(title, fontsize=9)
        place.set_xlabel("CPU seconds", fontsize=8)
        place.tick_params(labelsize=8)
        other = place.twinx()
        other.plot(cpu, [max(one, 1e-9) for one in gap], color="#777777", lw=0.8, label="gap")
        other.set_yscale("log")
        other.tick_params(labelsize=7, colors="#777777")
    axes[0].legend(fontsize=8, loc="upper right")
    figure.savefig(OUT / f"{NAME}.svg", metadata={"Date": None})


_PAGE = """# Optimal equilibria

`python -m benchmarks.optimal` made these measurements and wrote this page. `optimize` maximizes the
sum of payoffs over the EFCEs of games of Farina, Ling, Fang and Sandholm (2019), with OpenSpiel's
rules and, unless the title says otherwise, its default parameters; Battleship has ships of size 1
and `loss_multiplier=2`. [More deviations change no
outcome](../theory/k-efce.md#more-deviations-change-no-outcome), so the results hold for every K of
at least 1.

{sizes}

*[value, bound]* is the width of the interval that is left, as a part of the objective's spread.
*plans* are the joint plans of the mixture. Where no mixture of few joint plans was found, the
device is the averaged correlation plan, which has a number for every tuple, and *plans* says "by
tuples". The last column is the time that HiGHS takes for the same optimum from the full program
over correlation plans, with its interior-point method, at most {clock:.0f} s by the clock; it gives
nothing before. Times are CPU time on one core of a busy machine: where HiGHS was "not in 10", it
had got 10 CPU seconds when its time by the clock was over, which says little.

{limits}

{outcome}

The curves are value (red), bound (blue) and, on the right axis, the gap (grey) against CPU time.
Values are drawn once the gap is below 2 % of what a player can win.

![Value, gap and bound against CPU time]({name}.svg)
"""


def main() -> None:
    """Measure the games that are named, by default all, and write what is known."""
    path = OUT / f"{NAME}.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    for title in sys.argv[1:] or GAMES:
        print(title, flush=True)
        results[title] = measure(*GAMES[title])
        ordered = {one: results[one] for one in GAMES if one in results}
        path.write_text(json.dumps(ordered, indent=1) + "\n")
        write_page(ordered)


if __name__ == "__main__":
    main()
