"""From results to the page of the documentation: tables and plots, put into ``template.md``.

``python -m benchmarks.pages`` writes the page again from the results that are there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from accord._format import pretty as number
from accord.reports.chart import to_svg
from benchmarks import plots, tables
from benchmarks.ratios import DEFAULT, Part
from benchmarks.results import OUT, load

TEMPLATE = Path(__file__).with_name("template.md")


def write_pages(folder: Path) -> None:
    """Write the page and its plots from the results in ``folder``."""
    parts = load(folder)
    for name, figure in figures(parts).items():
        (folder / name).write_text(to_svg(figure))
    (folder / "index.md").write_text(page(parts))


def page(parts: Mapping[str, Part]) -> str:
    """The page, as Markdown."""
    iterations, gap, bandit = parts["iterations"], parts["gap"], parts["bandit"]
    games = iterations["games"]
    texts = {
        "iteration ratios": tables.iteration_ratio_table(iterations),
        "gap ratios": tables.gap_ratio_table(gap),
        "episode ratios": tables.episode_ratio_table(bandit),
        "learning tuned": tables.learning_table(bandit, bandit["games"]),
        "learning held out": tables.learning_table(bandit, bandit["held_out"]),
        "verdict tuned": tables.verdict(bandit, bandit["games"]),
        "verdict held out": tables.verdict(bandit, bandit["held_out"]),
        "feedback": tables.feedback_table(bandit),
        "feedback verdict": tables.feedback_verdict(bandit),
        "floor": f"{plots.FLOOR:g}",
        "fewer seeds": tables.fewer_seeds(bandit),
        "zero-sum": tables.zero_sum_table(parts["zero-sum"]),
        "rates": tables.rate_table(parts["zero-sum"]),
        **_settings("zero-sum", parts["zero-sum"]),
        "catch up": tables.catch_up_table(parts["catch-up"]),
        "catch up verdict": tables.catch_up_verdict(parts["catch-up"]),
        "other k": tables.other_k_table(parts["other-k"]),
        "other k verdict": tables.other_k_verdict(parts["other-k"]),
        **_settings("catch-up", parts["catch-up"]),
        **_settings("other-k", parts["other-k"]),
        **_settings("bandit", bandit),
        "iteration times": tables.by_entrant(games, tables.time_taken),
        "infosets": _infosets(games),
        "largest": f"{max(sum(game['infosets']) for game in games):,}",
        "peer seconds": f"{iterations['settings']['peer_seconds']:g}",
        "what an iteration is": "\n".join(
            f"- {name}: {what}" for name, what in iterations["settings"]["iteration"].items()
        ),
        "gap seconds": f"{gap['settings']['seconds']:g}",
        "metered seconds": f"{gap['settings']['metered_seconds']:g}",
        "gap times": tables.gap_tables(gap),
        "episode times": tables.by_entrant(bandit["games"], tables.time_taken),
        "episode gaps tuned": tables.episode_gap_table(bandit, bandit["games"]),
        "episode gaps held out": tables.episode_gap_table(bandit, bandit["held_out"]),
        "held out infosets": _infosets(bandit["held_out"]),
        "exponents": tables.exponent_table(parts["scaling"]),
        "episode cost": tables.episode_cost(parts["episodes"]),
        "machines": _machines(parts),
        "minutes": number(sum(part["cpu_seconds"] for part in parts.values()) / 60, 2),
    }
    return re.sub(r"\{\{(.+?)\}\}", lambda found: texts[found[1]], TEMPLATE.read_text())


def figures(parts: Mapping[str, Part]) -> dict[str, Figure]:
    """The plots, by the names of their files."""
    gap = "exact EFCE gap, share of the payoff range"
    against_time = {
        game["title"]: {
            tables.on_page(entry["name"]): _curve(entry["record"], 1, 2)
            for entry in game["entrants"]
        }
        for game in parts["gap"]["games"]
    }
    bandit = parts["bandit"]
    points = [point for game in [*bandit["games"], *bandit["held_out"]] for point in game["gaps"]]
    least = max(plots.FLOOR, min(point["low"] for point in points))
    limits = least, max(point["high"] for point in points)
    against_size: dict[str, dict[str, plots.Curve]] = {}
    for what, unit in (("seconds", "CPU seconds"), ("bytes", "bytes")):
        for curve in parts["scaling"]["curves"]:
            panel = against_size.setdefault(f"{curve['family']}, {unit}", {})
            panel[f"K = {curve['k']}"] = _curve(curve["points"], "size", what)
    return {
        "iterations.svg": plots.iteration_times(parts["iterations"], DEFAULT),
        "time-to-gap.svg": plots.panels(against_time, "CPU seconds", gap),
        "episodes-to-gap.svg": plots.learning(bandit["games"], limits),
        "episodes-to-gap-held-out.svg": plots.learning(bandit["held_out"], limits),
        "zero-sum.svg": plots.panels(
            _zero_sum_curves(parts["zero-sum"]), "episodes", "share of the payoff range, medians"
        ),
        "scaling.svg": plots.panels(
            against_size, "infosets X, or horizon H", "an iteration against the size of the game"
        ),
    }


def _zero_sum_curves(part: Part) -> dict[str, dict[str, plots.Curve]]:
    """Per game a panel of EFCE gaps and one of exploitabilities, with a curve per entrant."""
    panels: dict[str, dict[str, plots.Curve]] = {}
    for game in part["games"]:
        names = list(dict.fromkeys(point["name"] for point in game["points"]))
        for what, title in (("gap", "EFCE gap"), ("exploitability", "exploitability")):
            panels[f"{game['title']}, {title}"] = {
                name: _curve(
                    ((p["episodes"], p[what]["gap"]) for p in game["points"] if p["name"] == name),
                    0, 1,
                )
                for name in names
            }  # fmt: skip
    return panels


def _infosets(games: Iterable[Part]) -> str:
    return ", ".join(f"{game['title']} ({sum(game['infosets']):,})" for game in games)


def _settings(name: str, part: Part) -> dict[str, str]:
    """How a part was measured, by names such as ``bandit seeds``."""
    settings = part["settings"]
    return {
        **{f"{name} {key}": _shown(value) for key, value in settings.items()},
        f"{name} last seed": str(settings["seeds"] - 1),
    }


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"`{name} = {_shown(item)}`" for name, item in value.items())
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def _machines(parts: Mapping[str, Part]) -> str:
    """What was measured where; parts that were measured on one machine together."""
    machines: dict[str, list[str]] = {}
    for name, part in parts.items():
        text = _machine(part["machine"])
        machines.setdefault(text, []).append(name)
        if "again" in part:
            again = f"{', '.join(part['again']['entrants'])} of {name}"
            machines.setdefault(_machine(part["again"]["machine"]), []).append(again)
    return "\n".join(f"- {', '.join(names)}: {text}" for text, names in machines.items())


def _machine(facts: Part) -> str:
    packages = [f"{name} {found}" for name, found in facts["packages"].items() if found]
    return (
        f"{facts['date']}, {facts['processor']}, {facts['cores']} cores, "
        f"{facts['memory'] / 2**30:.0f} GiB, {facts['system']}, Python {facts['python']}, "
        f"{', '.join(packages)}"
    )


def _curve(points: Iterable[Any], x: Any, y: Any) -> plots.Curve:
    """What of some points fits on logarithmic axes."""
    kept = [point for point in points if point[x] > 0 and point[y] > 0]
    return [point[x] for point in kept], [point[y] for point in kept]


if __name__ == "__main__":
    write_pages(OUT)
