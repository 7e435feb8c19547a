"""From results to the page of the documentation: tables and plots, put into ``template.md``.

``python -m benchmarks.pages`` writes the page again from the results that are there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from accord._format import NOTHING
from accord._format import pretty as number
from accord.reports.chart import to_svg
from benchmarks import plots
from benchmarks.results import OUT, load

Part = Mapping[str, Any]

TEMPLATE = Path(__file__).with_name("template.md")

LIKE_WITH_LIKE = {
    "OpenSpiel CFR": "K-EFR rm, K = 0",
    "OpenSpiel CFR+": "K-EFR rm+, K = 0",
    "OpenSpiel EFR csps": "K-EFR rm, K = 1",
    "OpenSpiel EFR tips": "K-EFR rm, K = 1",
    "LiteEFG CFR": "K-EFR rm, K = 0",
    "LiteEFG CFR+": "K-EFR rm+, K = 0",
}
"""For each peer K-EFR with the same minimizer, and the K whose deviations are nearest."""

DEFAULT = "K-EFR prm+, K = 1"
"""What ``solve`` does when nothing else is asked for."""

BANDIT = {"swrhedge": "Balanced K-EFR swrhedge, K = 1", "rm": "Balanced K-EFR rm, K = 1"}


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
        "iteration ratios": _iteration_ratio_table(iterations),
        "gap ratios": _gap_ratio_table(gap),
        "episode ratios": _episode_ratio_table(bandit),
        "iteration times": _by_entrant(games, _time),
        "infosets": ", ".join(f"{game['title']} ({sum(game['infosets']):,})" for game in games),
        "largest": f"{max(sum(game['infosets']) for game in games):,}",
        "peer seconds": f"{iterations['settings']['peer_seconds']:g}",
        "what an iteration is": "\n".join(
            f"- {name}: {what}" for name, what in iterations["settings"]["iteration"].items()
        ),
        "gap seconds": f"{gap['settings']['seconds']:g}",
        "metered seconds": f"{gap['settings']['metered_seconds']:g}",
        "gap times": _gap_tables(gap),
        "episode times": _by_entrant(bandit["games"], _time),
        "episode gaps": _episode_gap_table(bandit),
        "seeds": str(bandit["settings"]["seeds"]),
        "components": str(bandit["settings"]["components"]),
        "exponents": _exponent_table(parts["scaling"]),
        "episode cost": _episode_cost(parts["episodes"]),
        "machines": _machines(parts),
        "minutes": number(sum(part["cpu_seconds"] for part in parts.values()) / 60, 2),
    }
    return re.sub(r"\{\{(.+?)\}\}", lambda found: texts[found[1]], TEMPLATE.read_text())


def figures(parts: Mapping[str, Part]) -> dict[str, Figure]:
    """The plots, by the names of their files."""
    gap = "exact 1-EFCE gap, share of the payoff range"
    against_time = {
        game["title"]: {
            _written(entry["name"]): _curve(entry["record"], 1, 2) for entry in game["entrants"]
        }
        for game in parts["gap"]["games"]
    }
    against_episodes = {
        game["title"]: {
            name: _curve([e for e in game["gaps"] if e["name"] == name], "episodes", "gap")
            for name in dict.fromkeys(entry["name"] for entry in game["gaps"])
        }
        for game in parts["bandit"]["games"]
    }
    against_size: dict[str, dict[str, plots.Curve]] = {}
    for what, unit in (("seconds", "CPU seconds"), ("bytes", "bytes")):
        for curve in parts["scaling"]["curves"]:
            panel = against_size.setdefault(f"{curve['family']}, {unit}", {})
            panel[f"K = {curve['k']}"] = _curve(curve["points"], "size", what)
    return {
        "iterations.svg": plots.iteration_times(parts["iterations"], DEFAULT),
        "time-to-gap.svg": plots.panels(against_time, "CPU seconds", gap),
        "episodes-to-gap.svg": plots.panels(against_episodes, "episodes", gap),
        "scaling.svg": plots.panels(
            against_size, "infosets X, or horizon H", "an iteration against the size of the game"
        ),
    }


# Ratios


def iteration_ratios(part: Part) -> dict[str, dict[str, float]]:
    """Per game and peer: its time per iteration over that of its counterpart in K-EFR."""
    ratios: dict[str, dict[str, float]] = {}
    for game in part["games"]:
        times = _times(game["entrants"])
        ratios[game["title"]] = {
            peer: times[peer] / times[own] for peer, own in LIKE_WITH_LIKE.items() if peer in times
        }
    return ratios


def gap_ratios(part: Part) -> dict[str, list[tuple[float, str] | None]]:
    """Per game and gap: the time of the fastest peer over that of the default, and its name.

    None where one of them did not reach the gap.
    """
    ratios: dict[str, list[tuple[float, str] | None]] = {}
    for game in part["games"]:
        row: list[tuple[float, str] | None] = []
        for rank in range(len(part["settings"]["shares"])):
            times = {
                entry["name"]: entry["reached"][rank]["seconds"]
                for entry in game["entrants"]
                if len(entry["reached"]) > rank
            }
            rivals = [(t, name) for name, t in times.items() if name in LIKE_WITH_LIKE]
            if DEFAULT in times and rivals:
                fastest, name = min(rivals)
                row.append((fastest / times[DEFAULT], name))
            else:
                row.append(None)
        ratios[game["title"]] = row
    return ratios


def episode_ratios(part: Part) -> dict[str, dict[str, float]]:
    """Per game and method: MCCFR's time per episode over that of Balanced K-EFR with K = 1."""
    ratios = {}
    for game in part["games"]:
        times = _times(game["entrants"])
        peer = times["OpenSpiel OS-MCCFR"]
        ratios[game["title"]] = {method: peer / times[own] for method, own in BANDIT.items()}
    return ratios


def _times(entrants: Iterable[Part]) -> dict[str, float]:
    return {entry["name"]: entry["seconds"] for entry in entrants if "seconds" in entry}


# Tables


def _iteration_ratio_table(part: Part) -> str:
    ratios = iteration_ratios(part)
    peers = list(dict.fromkeys(peer for row in ratios.values() for peer in row))
    return _table(
        ["game", *peers],
        ([game, *(_ratio(row.get(peer)) for peer in peers)] for game, row in ratios.items()),
    )


def _gap_ratio_table(part: Part) -> str:
    limit = f"in {part['settings']['seconds']:g} s"
    rows = []
    for game, (title, row) in zip(part["games"], gap_ratios(part).items(), strict=True):
        own = next(e["reached"] for e in game["entrants"] if e["name"] == DEFAULT)
        cells = [
            f"{_ratio(found[0])} {found[1]}"
            if found
            else (f"no peer {limit}" if rank < len(own) else f"not {limit}")
            for rank, found in enumerate(row)
        ]
        rows.append([title, *cells])
    return _table(["game", *(f"gap {share:g}" for share in part["settings"]["shares"])], rows)


def _episode_ratio_table(part: Part) -> str:
    return _table(
        ["game", *(f"`{method}`" for method in BANDIT)],
        (
            [game, *(_ratio(row[method]) for method in BANDIT)]
            for game, row in episode_ratios(part).items()
        ),
    )


def _gap_tables(part: Part) -> str:
    return "\n\n".join(
        f"Gap {share:g}:\n\n{_by_entrant(part['games'], partial(_reached, rank))}"
        for rank, share in enumerate(part["settings"]["shares"])
    )


def _time(entry: Part) -> str:
    return _seconds(entry["seconds"]) + (" (once)" if entry["turns"] == 1 else "")


def _reached(rank: int, entry: Part) -> str:
    if rank < len(entry["reached"]):
        point = entry["reached"][rank]
        return f"{_seconds(point['seconds'])}, {point['iterations']:,}"
    return f"({number(entry['record'][-1][2], 2)})" if entry["record"] else NOTHING


def _episode_gap_table(part: Part) -> str:
    games = part["games"]
    found = [{(e["name"], e["episodes"]): e["gap"] for e in game["gaps"]} for game in games]
    rows = [
        [_written(name), f"{episodes:,}"]
        + [
            number(gaps[name, episodes], 2) if (name, episodes) in gaps else NOTHING
            for gaps in found
        ]
        for name in dict.fromkeys(name for name, _ in found[0])
        for episodes in part["settings"]["episodes"]
    ]
    return _table(["", "episodes", *(game["title"] for game in games)], rows)


def _exponent_table(part: Part) -> str:
    header = (
        "family", "K", "sizes", "exponent of time", "of memory", "expected",
        "time at the largest", "memory there",
    )  # fmt: skip
    rows = []
    for curve in part["curves"]:
        first, last = curve["points"][0], curve["points"][-1]
        rows.append(
            [
                curve["family"],
                curve["k"],
                f"{first['size']:,} to {last['size']:,}",
                f"{curve['fitted']['seconds']:.2f}",
                f"{curve['fitted']['bytes']:.2f}",
                f"{curve['expected']:g}",
                _seconds(last["seconds"]),
                f"{number(last['bytes'] / 2**20, 3)} MiB",
            ]
        )
    return _table(header, rows)


def _episode_cost(part: Part) -> str:
    small, large = (f"{size:,} infosets" for size in part["sizes"])
    rows = [
        [
            f"`{method}`",
            *(_seconds(found[game]["nanoseconds"] / 1e9) for game in ("small", "large")),
            _ratio(found["ratio"]),
            _seconds(found["confined"]["nanoseconds"] / 1e9),
            _ratio(found["ratio_beyond_memory"]),
        ]
        for method, found in part["methods"].items()
    ]
    header = ["", small, large, "ratio", "confined", "ratio beyond memory"]
    return f"""

The next table shows the time of an episode of Balanced K-EFR on the balanced family at
K = {part["k"]}. *Confined* is the large game with nearly all probability on as few deals as the
small game has, so that the visited part fits into the caches. Memory therefore does not explain the
ratio of its time to that of the small game, which is the last column.

{_table(header, rows)}"""


def _machines(parts: Mapping[str, Part]) -> str:
    """What was measured where; parts that were measured on one machine together."""
    machines: dict[str, list[str]] = {}
    for name, part in parts.items():
        facts = part["machine"]
        packages = [f"{name} {found}" for name, found in facts["packages"].items() if found]
        text = (
            f"{facts['date']}, {facts['processor']}, {facts['cores']} cores, "
            f"{facts['memory'] / 2**30:.0f} GiB, {facts['system']}, Python {facts['python']}, "
            f"{', '.join(packages)}"
        )
        machines.setdefault(text, []).append(name)
    return "\n".join(f"- {', '.join(names)}: {text}" for text, names in machines.items())


def _by_entrant(games: Sequence[Part], cell: Callable[[Part], str]) -> str:
    """A row per entrant, a column per game; notes stand where there is nothing to show."""
    entries = [{entry["name"]: entry for entry in game["entrants"]} for game in games]
    rows = [
        [_written(name)]
        + [
            NOTHING if name not in found else found[name].get("note") or cell(found[name])
            for found in entries
        ]
        for name in dict.fromkeys(name for found in entries for name in found)
    ]
    return _table(["", *(game["title"] for game in games)], rows)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---", *("---:" for _ in header[1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _curve(points: Iterable[Any], x: Any, y: Any) -> plots.Curve:
    """What of some points fits on logarithmic axes."""
    kept = [point for point in points if point[x] > 0 and point[y] > 0]
    return [point[x] for point in kept], [point[y] for point in kept]


def _ratio(ratio: float | None) -> str:
    return NOTHING if ratio is None else f"**{number(ratio, 2 if ratio < 100 else 3)}**"


def _seconds(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1.0:
            return f"{number(seconds * factor, 3)} {unit}"
    return f"{number(seconds * 1e9, 3)} ns"


def _written(name: str) -> str:
    """An entrant as it is called on the page."""
    return name.replace("inf", "∞").replace("K = ", "K\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")


if __name__ == "__main__":
    write_pages(OUT)
