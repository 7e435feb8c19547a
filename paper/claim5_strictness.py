"""What a larger K changes in a few games, and what CFR finds.

Leduc poker, Sheriff and Goofspiel are solved for every K, and the gap of each result is measured
for every K'. In Shapley's game with a side bet, CFR (OpenSpiel's, and K-EFR at K = 0 with regret
matching, which is CFR) is compared with K-EFR at K = 1.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from accord._arrays import Floats
from accord.deviations.notions import checked_k, written_k
from accord.equilibrium.gap import RegretMeter, efce_gaps
from accord.game.tree import Game
from accord.interop.efg import write_efg
from accord.interop.load import load_game
from accord.interop.openspiel import load_openspiel
from accord.learning.kefr import KEFR
from accord.regret.regret_matching import RegretMatching
from accord.reports.chart import DASHES, HALF, chart, decades, drawing, end_labels, margin
from accord.reports.colors import MUTED, SERIES
from accord.runs.solve import solve
from accord.treeplex.form import SequenceForm, sequence_form
from accord.treeplex.strategy import random_behavior
from accord.treeplex.values import immediate_loss, joint_reach
from paper.frame import Finding, heat_map, log_slope, table, write_figure

TITLE = "A larger K in practice"
CLAIM = r"""
*Proposition 4 (containment)* says that a larger $K$ gives a stricter equilibrium, in the worst case
by a constant: no gap falls as $K$ grows. The paper does not claim how much stricter it is in games
that people play. The amounts below are measurements of particular solutions, not tests of a claim.

*Related work*: CFR, which learns an NFCCE ($K=0$), need not come close to an EFCE ($K=1$). Morrill
et al. 2021, whose EFR the paper improves upon, show this in an extended Shapley game.
"""

KS = (0, 1, 2, 3, math.inf)
GAMES = {
    "leduc": "leduc_poker",
    "sheriff": "sheriff(max_bribe=2,max_items=3,num_rounds=3)",
    "goofspiel": "goofspiel(imp_info=True,num_cards=4,points_order=descending)",
}
METHODS = ("rm", "prm+")
NOTIONS = {"0": "NFCCE", "1": "EFCE"}
FALLS, STAYS = -0.3, -0.1
"""Exponents of T below which a gap counts as falling, and above which as constant."""

LEARNERS = {
    "openspiel": "CFR (OpenSpiel's)",
    "kefr0": "CFR (K-EFR, K = 0)",
    "kefr1": "K-EFR, K = 1",
}


def _tasks(games: dict[str, str], iterations: int, long: int, short: int) -> Any:
    solved = {
        f"{key}-{method}-k{written_k(k)}": {
            "game": game,
            "method": method,
            "k": written_k(k),
            "iterations": iterations,
        }
        for key, game in games.items()
        for method in METHODS
        for k in KS
    }
    shapley = {
        f"shapley-{learner}": {
            "learner": learner,
            "iterations": short if learner == "openspiel" else long,
        }
        for learner in LEARNERS
    }
    return {**solved, **shapley}


TASKS: dict[str, dict[str, Any]] = _tasks(GAMES, 1000, 30_000, 5000)
SMALL: dict[str, dict[str, Any]] = _tasks({"goofspiel": GAMES["goofspiel"]}, 20, 300, 100)


def job(folder: Path, iterations: int, **task: Any) -> dict[str, Any]:
    """The gaps of one solved game for all K', or the gaps of one learner as it runs."""
    if "learner" in task:
        learn = {"openspiel": _openspiel, "kefr0": _kefr, "kefr1": _kefr}[task["learner"]]
        return learn(folder, iterations, int(task["learner"] == "kefr1"))
    game, k = load_game(task["game"]), checked_k(task["k"])
    solution = solve(game, k, method=task["method"], iterations=iterations, components=iterations)
    span = sequence_form(game).leaves.payoff_range
    gaps = [float((efce_gaps(solution.policy, other) / span).max()) for other in KS]
    return {"gaps": gaps}


class _Record:
    """The gaps of the average of all iterates at K = 0 and 1, at growing intervals."""

    def __init__(self, form: SequenceForm) -> None:
        self.form = form
        self.meters = [[RegretMeter(plex, int(k)) for plex in form.plexes] for k in NOTIONS]
        self.iteration, self.next = 0, 1
        self.record: dict[str, list[float]] = {"iteration": [], **{k: [] for k in NOTIONS}}

    def add(self, behaviors: list[Floats]) -> list[Floats]:
        """Add a product policy and return the losses it met."""
        reach = joint_reach(self.form.plexes, behaviors)
        losses = [immediate_loss(self.form.leaves, i, reach) for i in range(len(behaviors))]
        for meters in self.meters:
            for meter, behavior, loss in zip(meters, behaviors, losses, strict=True):
                meter.observe(behavior, loss)
        self.iteration += 1
        if self.iteration == self.next:
            self.next += max(1, self.next // 10)
            self.record["iteration"].append(self.iteration)
            for k, meters in zip(NOTIONS, self.meters, strict=True):
                regrets = np.array([meter.regret() for meter in meters])
                gaps = regrets * self.form.leaves.payoff_range / self.iteration
                self.record[k].append(float(gaps.max()))
        return losses


def _kefr(folder: Path, iterations: int, k: int) -> dict[str, Any]:
    """K-EFR with regret matching; a random first policy keeps it from staying uniform."""
    form = sequence_form(load_game("extended_shapley"))
    learners = [KEFR(plex, k, RegretMatching(plus=False, predictive=False)) for plex in form.plexes]
    record, rng = _Record(form), np.random.default_rng(0)
    first = [random_behavior(plex, rng) for plex in form.plexes]
    for t in range(iterations):
        behaviors = [learner.recommend() for learner in learners]
        losses = record.add(behaviors)
        if t == 0:
            reach = joint_reach(form.plexes, first)
            losses = [immediate_loss(form.leaves, i, reach) for i in range(len(first))]
        for learner, loss in zip(learners, losses, strict=True):
            learner.observe(loss)
    return record.record


def _openspiel(folder: Path, iterations: int, k: int) -> dict[str, Any]:
    """OpenSpiel's CFR with its default alternating updates."""
    import pyspiel
    from open_spiel.python.algorithms.cfr import CFRSolver

    path = folder / "extended_shapley.efg"
    write_efg(load_game("extended_shapley"), path)
    played = pyspiel.load_game(f"efg_game(filename={path})")
    form = sequence_form(load_openspiel(played))
    solver, record = CFRSolver(played), _Record(form)
    for _ in range(iterations):
        policy = solver.current_policy()
        record.add([_behavior(form.game, i, policy) for i in range(form.n_players)])
        solver.evaluate_and_update_policy()
    return record.record


def _behavior(game: Game, player: int, policy: Any) -> Floats:
    """An OpenSpiel policy over Accord's sequences."""
    rows = [np.ones(1)]
    for label in game.infoset_labels[player]:
        row = policy.state_lookup[label]
        legal = policy.legal_actions_mask[row] > 0
        rows.append(policy.action_probability_array[row][legal])
    return np.concatenate(rows)


def draw(results: dict[str, dict[str, Any]], out: Path) -> Finding:
    """Heat maps of all games, curves of the learners, and the verdict on order and CFR."""
    maps = _maps(results)
    pictures: dict[str, list[str]] = {}
    for (game, method), gaps in maps.items():
        name = f"claim5-{game}-{method.replace('+', 'plus')}.svg"
        labels = [f"K = {_shown(k)}" for k in KS]
        title = f"{game} by {method}: K' gap, share of the payoff range"
        write_figure(heat_map(gaps, labels, [f"K' = {_shown(k)}" for k in KS], title), out / name)
        pictures.setdefault(game, []).append(f"![K' gaps of K-EFCE of {game}]({name})")
    curves = {key: results[f"shapley-{key}"] for key in LEARNERS}
    write_figure(_draw_curves(curves), out / "claim5-cfr.svg")
    worst_step = min(float(np.diff(gaps, axis=1).min()) for gaps in maps.values())
    checks = [
        (
            "no gap falls as K' grows",
            f"smallest step {worst_step:.1e} of the payoff range",
            worst_step >= -1e-12,
        ),
        *_cfr_checks(curves),
    ]
    rows = [
        (
            game,
            method,
            *(f"{gaps[i][i]:.2g}" for i in (0, 1)),
            *(f"{gaps[i][-1] / gaps[i][i]:.2f}" for i in range(3)),
        )
        for (game, method), gaps in maps.items()
    ]
    factor = [max(gaps[i][-1] / gaps[i][i] for gaps in maps.values()) for i in (0, 1)]
    header = ("game", "method", "0-gap", "1-gap", "factor, K = 0", "factor, K = 1", "factor, K = 2")
    text = f"""
Each game was solved for K = 0, 1, 2, 3 and ∞, by regret matching (`rm`, uniform average) and by
predictive regret matching plus (`prm+`, Accord's default). Each row of a map is one solved K-EFCE,
and each column is the K' with which it is tested. The table shows how much larger the gap is for
unlimited deviations than for the K that was solved:

{table(header, rows)}

So in these solutions the gap of one for K = 1 (EFCE) grows by a factor of at most {factor[1]:.2f}
when deviations are unlimited (BCE), and that of one for K = 0 (NFCCE) by at most {factor[0]:.2f}.
These factors belong to these games, methods and numbers of iterations: another solution of the same
game may have others. In each map the largest gap is the darkest.

{_as_grid(pictures)}

In the extended Shapley game, the average of CFR's iterates is tested as an NFCCE (dashed) and as an
EFCE, and compared with the average of K-EFR at K = 1. Negative gaps, at which no player can gain,
are not drawn.

![NFCCE and EFCE gaps against iterations, for CFR and K-EFR](claim5-cfr.svg)

{table(("claim", "measured", "holds"), [(a, b, "yes" if c else "**no**") for a, b, c in checks])}
"""
    games = len({game for game, _ in maps})
    return Finding(
        text,
        all(holds for _, _, holds in checks),
        f"Shown on {games} games: no gap of a solution falls as K grows. Shown on one game: CFR "
        "comes close to an NFCCE but not to an EFCE. The paper claims no amount.",
    )


def _maps(results: dict[str, dict[str, Any]]) -> dict[tuple[str, str], list[list[float]]]:
    """By game and method: ``[K][K']``."""
    found: dict[tuple[str, str], list[list[float]]] = {}
    for name, result in results.items():
        if "gaps" in result:
            game, method, _ = name.rsplit("-", 2)
            found.setdefault((game, method), []).append(result["gaps"])
    return found


def _cfr_checks(curves: dict[str, dict[str, Any]]) -> list[tuple[str, str, bool]]:
    """Which gaps fall over the last decade of iterations, and which stay."""
    checks = []
    for key, curve in curves.items():
        coarse, fine = (_trend(curve, k) for k in NOTIONS)
        said = f"NFCCE gap {_trend_text(*coarse)}; EFCE gap {_trend_text(*fine)}"
        if key == "kefr1":
            what, holds = "comes close to an EFCE", fine[1] < FALLS
        else:
            what = "comes close to an NFCCE, not to an EFCE"
            holds = coarse[1] < FALLS and fine[1] > STAYS and fine[0] > 10 * coarse[0]
        checks.append((f"{LEARNERS[key]} {what}", said, holds))
    return checks


def _trend(curve: dict[str, Any], k: str) -> tuple[float, float]:
    """The final gap and its exponent; minus infinity if no player can gain."""
    late = curve["iteration"][-1] / 10
    times, gaps = zip(
        *((t, gap) for t, gap in zip(curve["iteration"], curve[k], strict=True) if t >= late),
        strict=True,
    )
    return gaps[-1], log_slope(times, gaps) if min(gaps) > 0 else -math.inf


def _trend_text(gap: float, exponent: float) -> str:
    return f"{gap:.2g}" + ("" if math.isinf(exponent) else f", exponent {exponent:.2f}")


def _shown(k: float) -> str:
    return "∞" if math.isinf(k) else str(int(k))


def _as_grid(pictures: dict[str, list[str]]) -> str:
    return table(METHODS, list(pictures.values()))


def _draw_curves(curves: dict[str, dict[str, Any]]) -> Any:
    width, height = HALF
    shown = [
        (f"{LEARNERS[key]}: {notion}", rank, dash, curve["iteration"], curve[k])
        for rank, (key, curve) in enumerate(curves.items())
        for (k, notion), dash in zip(NOTIONS.items(), DASHES[1::-1], strict=True)
        if curve[k][-1] > 0  # a negative gap has no logarithm
    ]
    with drawing():
        figure, axes = chart((width * 1.6, height * 1.2), margin(name for name, *_ in shown))
        axes.set_xscale("log")
        axes.set_yscale("log")
        for _, rank, dash, times, gaps in shown:
            axes.plot(times, gaps, color=SERIES[rank], ls=dash, lw=1.8)
        labels = [(gaps[-1], name, SERIES[rank]) for name, rank, _, _, gaps in shown]
        every = [gap for *_, gaps in shown for gap in gaps[10:] if gap > 0]
        axes.set_xlim(10, max(curve["iteration"][-1] for curve in curves.values()))
        axes.set_ylim(min(every) / 2, max(every) * 2)
        decades(axes)
        axes.set_xlabel("iterations")
        axes.set_title("gap of the average, payoff units", loc="left", fontsize=10, color=MUTED)
        end_labels(axes, labels)
        return figure
