"""Several runs side by side.

Runs that differ in nothing but their seed are one group: one curve, with a band from the best to
the worst of them. Gaps are compared in payoff units if all runs are of one game, and else as
shares of each game's payoff range.
"""

from __future__ import annotations

import json
from typing import Any

from accord.report.page import figure, fill_template, table
from accord.report.runs import LIMITS, Run
from accord.report.words import NOTHING, duration, escape, k_key, k_name, number, percent
from accord.treeplex.form import sequence_form

AXES = ("iteration", "episodes", "seconds")
TITLES = {"iteration": "By iterations", "episodes": "By episodes", "seconds": "By time"}


def compare(runs: list[Run]) -> dict[str, Any]:
    """The curves of all runs, grouped, and a row about each."""
    grouped: dict[str, list[Run]] = {}
    for run in runs:
        same = {name: value for name, value in run.asked.items() if name != "seed"}
        key = json.dumps([run.command, run.game.digest, same], sort_keys=True)
        grouped.setdefault(key, []).append(run)
    one_game = len({run.game.digest for run in runs}) == 1
    names = _names([group[0] for group in grouped.values()])
    groups = [
        {
            "label": name,
            "runs": [_curve(run) for run in group],
            "axes": ["episodes" if group[0].learned else "iteration", "seconds"],
        }
        for name, group in zip(names, grouped.values(), strict=True)
    ]
    used = {axis for group in groups for axis in group["axes"]}
    return {
        "game": runs[0].game.name if one_game else None,
        "unit": "gap" if one_game else "relative",
        "axes": [axis for axis in AXES if axis in used],
        "groups": groups,
        "rows": [
            _row(run, name)
            for name, group in zip(names, grouped.values(), strict=True)
            for run in group
        ],
    }


def comparison_page(comparison: dict[str, Any], pictures: dict[str, str]) -> str:
    """The page about several runs."""
    game = comparison["game"]
    rows = comparison["rows"]
    title = f"{len(rows)} runs" + (f" of {game}" if game else "")
    body = [
        f'<header><p class="kicker">Comparison</p><h1>{escape(title)}</h1>'
        f'<p class="lead">{_lead(rows)}</p></header>'
    ]
    unit = (
        "Exact gaps, in payoff units."
        if game
        else "Exact gaps. The runs are of several games, so gaps are shares of the payoff range."
    )
    for axis in comparison["axes"]:
        if axis in pictures:
            caption = f"{unit} A band spans all seeds of a group; its line is their median."
            body.append(
                f"<section><h2>{TITLES[axis]}</h2>{figure(pictures, axis, caption)}</section>"
            )
    header = ["run", "game", "K", "method", "seed", "length", "gap", "share of range", "time"]
    cells = [
        [
            f'<th scope="row">{escape(row["folder"])}</th>',
            *(
                f"<td{' class=left' if rank in (0, 2) else ''}>{cell}</td>"
                for rank, cell in enumerate(
                    (
                        escape(row["game"]),
                        escape(row["k"]),
                        escape(row["method"]),
                        "" if row["seed"] is None else escape(row["seed"]),
                        row["length"],
                        number(row["gap"]) if row["gap"] is not None else NOTHING,
                        percent(row["relative"]) if row["relative"] is not None else NOTHING,
                        "" if row["seconds"] is None else duration(row["seconds"]),
                    )
                )
            ),
        ]
        for row in rows
    ]
    best = _best(rows)
    body.append(f"<section><h2>All runs</h2>{table(header, cells, best, stacked=True)}</section>")
    return fill_template(title, "\n".join(body), {})


def _best(rows: list[dict[str, Any]]) -> int | None:
    """The run with the smallest gap, where gaps of one notion can be compared."""
    if len({row["k"] for row in rows}) > 1 or any(row["relative"] is None for row in rows):
        return None
    return min(range(len(rows)), key=lambda rank: float(rows[rank]["relative"]))


def _lead(rows: list[dict[str, Any]]) -> str:
    best = _best(rows)
    if best is None:
        return "Each curve is the exact gap at its own K; a larger K is a stronger test."
    row = rows[best]
    return (
        f"The smallest gap, {number(row['gap'])}, is that of {escape(row['name'])} "
        f"({escape(row['folder'])})."
    )


def _curve(run: Run) -> list[dict[str, Any]]:
    scale = [float(unit) for unit in sequence_form(run.game).leaves.loss_scale]
    return [
        {
            "iteration": point.iteration,
            "episodes": point.episodes,
            "seconds": point.seconds,
            "gap": point.gap,
            "relative": max(g * s for g, s in zip(point.players, scale, strict=True)),
        }
        for point in run.record
    ]


def _row(run: Run, name: str) -> dict[str, Any]:
    scale = [float(unit) for unit in sequence_form(run.game).leaves.loss_scale]
    players = run.result.get("players")
    episodes, iterations = run.result.get("episodes"), run.result.get("iterations")
    length = (
        f"{episodes:,} episodes" if run.learned and episodes else f"{iterations or 0:,} iterations"
    )
    return {
        "name": name,
        "folder": str(run.folder),
        "game": run.game.name,
        "k": k_name(run.k),
        "method": run.method,
        "seed": run.asked.get("seed"),
        "length": length,
        "gap": run.result.get("gap"),
        "relative": max(g * s for g, s in zip(players, scale, strict=True)) if players else None,
        "seconds": run.result.get("seconds"),
    }


def _names(runs: list[Run]) -> list[str]:
    """What tells the groups apart, and no more than that: the first options that do."""
    facts = []
    for run in runs:
        how = "learned" if run.learned else "solved"
        main = {"game": run.game.name, "K": k_key(run.k), "method": run.method, "how": how}
        taken = ("game", "k", "method", "seed")
        facts.append({**main, **{n: v for n, v in run.asked.items() if n not in taken}})
    keys = list(dict.fromkeys(key for fact in facts for key in fact))
    differ = [key for key in keys if len({json.dumps(fact.get(key)) for fact in facts}) > 1]
    used: list[str] = [key for key in ("game", "K", "method") if key in differ] or ["method"]
    names = [_joined(fact, used) for fact in facts]
    for key in differ:
        if len(set(names)) == len(names):
            break
        if key not in used:
            used.append(key)
            names = [_joined(fact, used) for fact in facts]
    return names


def _joined(fact: dict[str, Any], keys: list[str]) -> str:
    parts = []
    for key in keys:
        if fact.get(key) is None:
            continue
        if key == "K":
            parts.append(f"K = {'∞' if fact[key] == 'inf' else fact[key]}")
        elif key in ("game", "method", "how"):
            parts.append(str(fact[key]))
        else:
            when = " asked first" if key in LIMITS else ""
            parts.append(f"{key.replace('_', ' ')} {fact[key]}{when}")
    return ", ".join(parts)
