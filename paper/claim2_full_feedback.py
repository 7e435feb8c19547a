"""K-EFR with full feedback: the theorem's bound, its rate, and the cost of a fixed gap.

The minimizer is WRHedge at the paper's learning rate. The rate depends on the number T of
iterations, so every T is a separate run; its gap is the exact gap of the uniform average of its T
policies.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from accord.deviations.notions import checked_k, clipped_k
from accord.interop.load import load_game
from accord.learning.theory.bounds import regret_bound
from accord.learning.theory.plan import plan
from accord.regret.rates import paper_learning_rate
from accord.reports.chart import decades, drawing, end_labels, margin
from accord.reports.colors import INK, SERIES
from accord.runs.solve import solve
from accord.treeplex.form import SequenceForm, sequence_form
from paper.frame import Finding, table, write_figure
from paper.scaling import (
    HALF_DECADE,
    TOLERANCE,
    Check,
    Series,
    bound_check,
    bound_line,
    bound_text,
    cost,
    curve,
    exponents,
    guide,
    heading,
    lengths,
    logarithmic,
    median,
    over_sizes,
    panels,
    slope_check,
    slope_text,
)

TITLE = "Full feedback: iterations"
CLAIM = r"""
*Theorem 5 (computing K-EFCE from full feedback).* If all players run K-EFR with WRHedge for $T$
iterations at the learning rate
$\eta=\sqrt{\binom H{K\wedge H}X_iA_i^{K\wedge H}\log A_i/(H^2T)}$, then the uniform average of
their policies has a $K$-EFCE gap of at most $\epsilon$ as long as

$$T\ge\mathcal O\Big(\binom H{K\wedge H}\max_iX_iA_i^{K\wedge H}\,\log\max_iA_i\,/\,
\epsilon^2\Big),$$

where factors polynomial in $H$ are hidden. So the gap is below a bound that falls like $T^{-1/2}$,
and the number of iterations to a fixed gap is below a bound that is linear in $X$ and in
$\binom HKA^K$. These are upper bounds: needing fewer iterations does not contradict them.
"""

TARGET = 0.1
"""The fixed gap; payoffs are in [0, 1), and the first policies have a gap of about 0.2."""

HORIZON, FIXED = 2, 260
"""H of the games with a fixed gap; X of those in which A grows."""

GAMES = {
    "kuhn": ("Kuhn poker", "kuhn_poker"),
    "stages": ("three stages, random payoffs", "balanced:infosets=21,horizon=3,ratio=1"),
    "goofspiel": (
        "Goofspiel, 4 cards",
        "goofspiel(imp_info=True,num_cards=4,points_order=descending)",
    ),
    "leduc": ("Leduc poker", "leduc_poker"),
}
FAST = "prm+"
"""A minimizer for comparison; no theorem of the paper covers it."""


def _gap_tasks(game: str, most: float) -> dict[str, dict[str, Any]]:
    runs = {"game": GAMES[game][1], "first": 10, "most": most, "step": HALF_DECADE}
    tasks: dict[str, dict[str, Any]] = {
        f"gap-{game}-k{k}": {**runs, "k": k} for k in (0, 1, 2, "inf")
    }
    tasks[f"gap-{game}-prm"] = {**runs, "k": 1, "most": min(most, 1e4), "method": FAST}
    return tasks


def _infosets_tasks(sizes: tuple[int, ...], seeds: int) -> dict[str, dict[str, Any]]:
    tasks: dict[str, dict[str, Any]] = {}
    for size in sizes:
        for seed in range(seeds):
            search = _search(size, 2, seed)
            tasks |= {f"infosets-{size}-k{k}-seed{seed}": {**search, "k": k} for k in (0, 1, 2)}
            tasks[f"infosets-{size}-prm-seed{seed}"] = {**search, "k": 1, "method": FAST}
    return tasks


def _actions_tasks(sizes: tuple[int, ...], infosets: int, seeds: int) -> dict[str, dict[str, Any]]:
    return {
        f"actions-{size}-k{k}-seed{seed}": {**_search(infosets, size, seed), "k": k}
        for size in sizes
        for seed in range(seeds)
        for k in (0, 1, 2)
    }


def _search(infosets: int, actions: int, seed: int) -> dict[str, Any]:
    sizes = f"infosets={infosets},horizon={HORIZON},actions={actions}"
    return {
        "game": f"balanced:{sizes},ratio=1,seed={seed}",
        "seed": seed,
        "first": 1,
        "most": 2**17,
        "step": 2,
        "target": TARGET,
    }


TASKS: dict[str, dict[str, Any]] = {
    **_gap_tasks("kuhn", 1e6),
    **_gap_tasks("stages", 1e5 * HALF_DECADE),
    **_gap_tasks("goofspiel", 1e4 * HALF_DECADE),
    **_gap_tasks("leduc", 1e4 * HALF_DECADE),
    **_infosets_tasks((20, 40, 80, 160, 320, 640), 3),
    **_actions_tasks((2, 3, 4, 6), FIXED, 3),
}
SMALL: dict[str, dict[str, Any]] = {
    **_gap_tasks("kuhn", 1e4),
    **_infosets_tasks((20, 40), 2),
    **_actions_tasks((2, 3), 20, 2),
}


def job(
    folder: Path,
    game: str,
    k: int | str,
    first: int,
    most: float,
    step: float,
    target: float = 0.0,
    method: str = "wrhedge",
    seed: int = 0,
) -> dict[str, Any]:
    """Runs of growing length until one has a gap of ``target``, each with the theorem's bound."""
    loaded, allowed = load_game(game), checked_k(k)
    form = sequence_form(loaded)
    times, gaps = [], []
    for time in lengths(first, most, step):
        run = solve(loaded, allowed, method=method, iterations=time, components=1, threads=1)
        times.append(time)
        gaps.append(run.average_gap)
        if run.average_gap <= target:
            break
    widest = max(form.plexes, key=lambda plex: plex.n_infosets)
    return {
        "k": k,
        "method": method,
        "seed": seed,
        "infosets": widest.n_infosets,
        "actions": widest.max_actions,
        "horizon": widest.horizon,
        "range": float(max(form.leaves.payoff_range)),
        "lengths": times,
        "gaps": gaps,
        "bounds": [_bound(form, allowed, time) for time in times],
        "plan": plan(loaded, allowed, target).iterations if target else None,
    }


def _bound(form: SequenceForm, k: float, iterations: int) -> float:
    """The theorem's bound on the gap after ``iterations``, with explicit constants."""
    bounds = []
    for plex, span in zip(form.plexes, form.leaves.payoff_range, strict=True):
        rate = paper_learning_rate(plex, clipped_k(plex, k)) / math.sqrt(iterations)
        bounds.append(span * regret_bound(plex, k, rate, iterations) / iterations)
    return float(max(bounds))


Results = dict[str, dict[str, Any]]
CostsByK = dict[Any, dict[float, dict[int, float]]]
"""Iterations to the fixed gap, by K (or ``FAST``), size and seed."""


def draw(results: Results, out: Path) -> Finding:
    """The gap against T, the cost of a fixed gap, and one verdict."""
    theorem = [result for result in results.values() if result["method"] != FAST]
    curves = _curves(results)
    by_infosets, by_actions = _costs(results, "infosets"), _costs(results, "actions")
    factors = _factors(by_actions)
    write_figure(_draw_gaps(curves), out / "claim2-gap.svg")
    write_figure(_draw_costs(by_infosets, factors), out / "claim2-cost.svg")
    checks = [
        bound_check(theorem),
        slope_check([series for series in theorem if not series["plan"]], "T"),
        *_infosets_checks(by_infosets),
    ]
    rows = [(what, found, "yes" if holds else "**no**") for what, found, holds in checks]
    plans = [result["plan"] / cost(result, TARGET) for result in theorem if result["plan"]]
    seeds = [len(next(iter(costs[0].values()))) for costs in (by_infosets, by_actions)]
    text = f"""
{table(("claim", "measured", "holds"), rows)}

A fitted exponent may exceed the claimed one by at most {TOLERANCE:g}.

### The gap against T

The minimizer is WRHedge at the paper's learning rate. This rate depends on $T$, so every point is a
separate run; its gap is the exact gap of the uniform average of all its policies. The bound is the
theorem's, with the [constants written out](../theory/constants.md). It is capped at the payoff
range, which no gap exceeds, and says nothing where it equals the range. Slopes are fitted over the
last two decades of $T$. They count for the verdict if the bound is below the payoff range on both
decades, and are in parentheses otherwise. The larger games would need longer runs to get there, so
their slopes do not test the theorem. Each K has its own learning rate, which is higher where the
theorem's $T$ is larger, so a larger K can end with a smaller gap. Predictive regret matching
(`{FAST}`, Accord's default, here at K = 1) is drawn for comparison; the theorem does not cover it.

![Gap against iterations and the theorem's bound, by game and K](claim2-gap.svg)

{table(("game", "X, A, H", "K", "T", "gap", "bound", "slope"), _gap_rows(curves))}

Where the bound is below the payoff range, it is {_looseness(theorem)} times the gap.

### The cost of a fixed gap

This experiment counts iterations until the gap is {TARGET:g} on Accord's balanced games. In these
games types are dealt, each meeting one type of the other player; then both players choose twice,
with random payoffs in [0, 1). The runs have 1, 2, 4, ... iterations, each with its own learning
rate; between the last two runs the gap is interpolated as a power of $T$. The charts show medians
and ranges over {seeds[0]} games on the left and {seeds[1]} on the right. On the left $X$ grows,
with $A=2$ and $H=2$ fixed. On the right $A$ grows, with $X$ fixed near {FIXED}; iterations at K = 1
and K = 2 are divided by those of the same game at K = 0. The theorem's $T$ grows by
$\\binom HKA^K$.

![Iterations to a fixed gap against X, and against the theorem's factor](claim2-cost.svg)

{table(("K", "X", "iterations", "guaranteed"), _cost_rows(results, by_infosets))}

The paper does not claim that K costs at most $\\binom HKA^K$ times as much as K = 0: it bounds both
costs from above, not their ratio. So the chart on the right does not count for the verdict.
{_factors_text(factors)}

The cost depends on $X$ for the following reason. Chance spreads over the types, so the losses at
one infoset are of order $1/X$. At a learning rate of order $\\sqrt{{X/T}}$ a policy then moves only
after $T\\sim X$ iterations. A minimizer that adapts to the scale of its losses avoids this cost:
`{FAST}` has exponent {exponents(by_infosets[FAST])[0]:.2f}.

The theorem guarantees the gap only after many more iterations than were needed: {min(plans):,.0f}
to {max(plans):,.0f} times as many. Random payoffs are not the worst case, so these data say nothing
about whether a factor of $A^K$ is needed. In $A$ alone, at K = 0, {_alone(by_actions)}.

The paper states no lower bound on the iterations of self-play. Its lower bound on the regret
against an adversary is on the page of [claim 4](claim-4.md).
"""
    return Finding(
        text,
        all(holds for _, _, holds in checks),
        "Consistent with the theorem: no gap above its bound, and no cost that grows faster in X "
        "than it allows.",
        bound_text(theorem),
    )


def _curves(results: Results) -> dict[str, Results]:
    """By game and name of the task."""
    curves: dict[str, Results] = defaultdict(dict)
    for name, result in results.items():
        if name.startswith("gap-"):
            curves[name.split("-")[1]][name] = result
    return curves


def _costs(results: Results, part: str) -> CostsByK:
    """By X or by A, in the tasks in which it grows."""
    costs: CostsByK = defaultdict(lambda: defaultdict(dict))
    for name, result in results.items():
        if name.startswith(f"{part}-"):
            key = FAST if result["method"] == FAST else result["k"]
            costs[key][result[part]][result["seed"]] = cost(result, TARGET)
    return costs


def _factors(by_actions: CostsByK) -> CostsByK:
    """By K and the theorem's C(H, K) A^K: iterations relative to K = 0."""
    return {
        k: {
            math.comb(HORIZON, k) * width**k: {
                seed: value / by_actions[0][width][seed] for seed, value in by_seed.items()
            }
            for width, by_seed in costs.items()
        }
        for k, costs in by_actions.items()
        if k
    }


def _infosets_checks(by_infosets: CostsByK) -> list[Check]:
    checks = []
    for k, costs in by_infosets.items():
        middle, low, high = exponents(costs)
        if k != FAST:
            checks.append(
                (
                    f"at K = {k} the cost of a fixed gap is at most linear in $X$",
                    f"exponent {middle:.2f}; {low:.2f} to {high:.2f} by seed",
                    middle <= 1 + TOLERANCE,
                )
            )
    return checks


def _factors_text(factors: CostsByK) -> str:
    """How the cost at each K, relative to that at K = 0, compares with the theorem's factor."""
    found = []
    for k, growth in factors.items():
        largest = max(ratio / factor for factor, by in growth.items() for ratio in by.values())
        middle, low, high = exponents(growth)
        found.append(
            f"K = {k} costs at most {largest:.2f} of that factor, and grows like its power "
            f"{middle:.2f} ({low:.2f} to {high:.2f} by seed)"
        )
    return f"{'; '.join(found)}."


def _looseness(theorem: Sequence[Series]) -> str:
    ratios = [
        bound / gap
        for series in theorem
        for gap, bound in zip(series["gaps"], series["bounds"], strict=True)
        if bound < series["range"]
    ]
    return f"{min(ratios, default=math.nan):.1f} to {max(ratios, default=math.nan):,.0f}"


def _alone(by_actions: CostsByK) -> str:
    """How the cost changes with A at K = 0."""
    (few, first), *_, (many, last) = by_actions[0].items()
    costs = median(first), median(last)
    return f"it takes {costs[0]:,.0f} iterations with {few} actions, {costs[1]:,.0f} with {many}"


def _gap_rows(curves: dict[str, Results]) -> list[tuple[object, ...]]:
    return [
        (
            GAMES[game][0],
            f"{result['infosets']}, {result['actions']}, {result['horizon']}",
            _k_text(result),
            f"{result['lengths'][-1]:,}",
            f"{result['gaps'][-1]:.3g}",
            f"{result['bounds'][-1]:.3g}",
            slope_text(result),
        )
        for game, found in curves.items()
        for result in found.values()
        if result["method"] != FAST
    ]


def _cost_rows(results: Results, by_infosets: CostsByK) -> list[tuple[object, ...]]:
    plans = {
        (result["k"], result["infosets"]): result["plan"]
        for name, result in results.items()
        if name.startswith("infosets-") and result["method"] != FAST
    }
    return [
        (k, size, f"{median(by_seed):,.0f}", f"{plans[k, size]:,}")
        for k, costs in by_infosets.items()
        if k != FAST
        for size, by_seed in costs.items()
        if size in (min(costs), max(costs))
    ]


def _k_text(result: Series) -> str:
    return "∞" if result["k"] == "inf" else str(result["k"])


def _draw_gaps(curves: dict[str, Results]) -> Figure:
    with drawing():
        columns = min(2, len(curves))
        figure, charts = panels(-(-len(curves) // columns), columns, margin(["K = 2, ∞"]))
        for axes, (game, found) in zip(charts, curves.items(), strict=False):
            logarithmic(axes)
            paper = [result for result in found.values() if result["method"] != FAST]
            floor = min(result["gaps"][-1] for result in paper) / 4
            ends: dict[float, tuple[list[str], str]] = {}  # where K exceeds H, curves coincide
            for rank, result in enumerate(paper):
                times, gaps = result["lengths"], result["gaps"]
                axes.plot(times, gaps, color=SERIES[rank], lw=1.8, marker="o", ms=3)
                bound_line(axes, result, SERIES[rank])
                ends.setdefault(gaps[-1], ([], SERIES[rank]))[0].append(_k_text(result))
            for result in found.values():
                if result["method"] == FAST:
                    _draw_fast(axes, result, floor)
            axes.set_xlim(paper[0]["lengths"][0], paper[0]["lengths"][-1])
            axes.set_ylim(floor, 2 * paper[0]["range"])
            heading(axes, f"{GAMES[game][0]}: gap, and bound dashed", "iterations T")
            decades(axes)
            end_labels(
                axes, [(end, f"K = {', '.join(ks)}", color) for end, (ks, color) in ends.items()]
            )
        return figure


def _draw_fast(axes: Any, result: Series, floor: float) -> None:
    """The minimizer for comparison, labeled where it leaves the chart."""
    axes.plot(result["lengths"], result["gaps"], color=INK, lw=1.2, marker="o", ms=2)
    shown = [at for at in zip(result["lengths"], result["gaps"], strict=True) if at[1] > floor]
    if shown:
        axes.annotate(
            FAST, shown[-1], xytext=(6, 0), textcoords="offset points", color=INK, fontsize=9
        )


def _draw_costs(by_infosets: CostsByK, factors: CostsByK) -> Figure:
    with drawing():
        figure, (left, right) = panels(1, 2, margin(["K = 0"]))
        for axes in (left, right):
            logarithmic(axes)
        labels = []
        for rank, (key, costs) in enumerate(by_infosets.items()):
            label, color, dash = (FAST, INK, 1) if key == FAST else (f"K = {key}", SERIES[rank], 0)
            labels.append((curve(left, costs, color, dash), label, color))
        sizes = list(by_infosets[0])
        start = 3 * median(by_infosets[0][sizes[0]])
        guide(left, sizes, [start * size / sizes[0] for size in sizes], "slope 1")
        over_sizes(left, sizes)
        heading(left, f"iterations to a gap of {TARGET:g}", "infosets X of each player")
        ends = [
            (curve(right, growth, SERIES[k]), f"K = {k}", SERIES[k])
            for k, growth in factors.items()
        ]
        every = sorted({factor for growth in factors.values() for factor in growth})
        guide(right, every, every, "equal")
        right.set_xlim(every[0], every[-1])
        heading(right, "relative to K = 0, at fixed X", "C(H, K) Aᴷ")
        decades(left, x=False)
        decades(right)
        end_labels(left, labels)
        end_labels(right, ends)
        return figure
