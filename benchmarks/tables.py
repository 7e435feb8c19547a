"""The tables of the benchmark page, as Markdown, and the sentences that sum them up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from accord._format import NOTHING
from accord._format import pretty as number
from benchmarks.ratios import (
    DEFAULT,
    EPISODES,
    GOAL,
    JOINT,
    LEARNER,
    MCCFR,
    SPEED,
    Part,
    catch_up_ratios,
    early_and_late,
    episode_ratios,
    feedback_ratios,
    gap_ratios,
    iteration_ratios,
    learning_ratios,
    median_gaps,
    other_k_ratios,
    worse_with_joint,
)


def iteration_ratio_table(part: Part) -> str:
    ratios = iteration_ratios(part)
    peers = list(dict.fromkeys(peer for row in ratios.values() for peer in row))
    return _table(
        ["game", *peers],
        ([game, *(_ratio(row.get(peer)) for peer in peers)] for game, row in ratios.items()),
    )


def gap_ratio_table(part: Part) -> str:
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


def episode_ratio_table(part: Part) -> str:
    return _table(
        ["game", *(f"`{method}`" for method in EPISODES)],
        (
            [game, *(_ratio(row[method]) for method in EPISODES)]
            for game, row in episode_ratios(part).items()
        ),
    )


def learning_table(part: Part, games: Sequence[Part]) -> str:
    """Gaps of the default and of MCCFR; ratios that reach the goals are bold."""
    early, late = early_and_late(part)
    header = ["game"]
    for episodes in (early, late):
        header += [f"`prm`, {episodes:,}", "MCCFR", "ratio"]
    rows = []
    ratios = learning_ratios(part, games)
    for game in games:
        row, gaps = [game["title"]], median_gaps(game)
        reached = ratios[game["title"]][0] < 1, ratios[game["title"]][1] <= GOAL
        for episodes, ratio, bold in zip(
            (early, late), ratios[game["title"]], reached, strict=True
        ):
            text = number(ratio, 2)
            row += [number(gaps[name, episodes], 2) for name in (LEARNER, MCCFR)]
            row.append(f"**{text}**" if bold else text)
        rows.append(row)
    return _table(header, rows)


def verdict(part: Part, games: Sequence[Part]) -> str:
    early, late = early_and_late(part)
    ratios = learning_ratios(part, games).values()
    count = len(ratios)
    return (
        f"The gap of `prm` is smaller than MCCFR's on {sum(r[0] < 1 for r in ratios)} of {count} "
        f"games after {early:,} episodes and on {sum(r[1] < 1 for r in ratios)} of {count} after "
        f"{late:,}. After {late:,} it is at most half of MCCFR's on "
        f"{sum(r[1] <= GOAL for r in ratios)} of {count}."
    )


def feedback_table(part: Part) -> str:
    """Median gaps with joint feedback over those with own feedback; bold where joint is better."""
    games = [*part["games"], *part["held_out"]]
    counts = part["settings"]["episodes"]
    ratios = feedback_ratios(games)
    rows = []
    for game in games:
        cells = [ratios.get((game["title"], episodes)) for episodes in counts]
        shown = [NOTHING if ratio is None else number(ratio, 2) for ratio in cells]
        bold = [ratio is not None and ratio < 1 for ratio in cells]
        row = [f"**{text}**" if heavy else text for text, heavy in zip(shown, bold, strict=True)]
        rows.append([game["title"], *row])
    return _table(["game", *(f"{episodes:,}" for episodes in counts)], rows)


def feedback_verdict(part: Part) -> str:
    games = [*part["games"], *part["held_out"]]
    ratios, worse = feedback_ratios(games), worse_with_joint(games)
    text = f"The median gap is smaller with joint feedback in {len(ratios) - len(worse)} of "
    text += f"{len(ratios)} cases."
    for beyond, what in ((False, "within"), (True, "beyond")):
        cases = [f"{title} after {n:,} episodes" for (title, n), far in worse.items()
                 if far == beyond]  # fmt: skip
        if cases:
            text += f" It is larger, but {what} the range of the seeds of own feedback, on "
            text += f"{', '.join(cases)}."
    return text.replace("but beyond", "and beyond")


def fewer_seeds(part: Part) -> str:
    """A sentence about games that joint feedback was not measured on with all seeds."""
    seeds = part["settings"]["seeds"]
    fewer = {
        game["title"]: len(point["gaps"])
        for game in [*part["games"], *part["held_out"]]
        for point in game["gaps"]
        if point["name"] == JOINT and len(point["gaps"]) < seeds
    }
    if not fewer:
        return ""
    games = ", ".join(f"{title} ({count})" for title, count in fewer.items())
    return f" With joint feedback there are fewer seeds on {games}."


def rate_table(part: Part) -> str:
    """The learning rates that were chosen for peers that need one."""
    names = list(dict.fromkeys(name for game in part["games"] for name in game["rates"]))
    if not names:
        return "LiteEFG was not installed, so its baselines are missing."
    return _table(
        ["", *(game["title"] for game in part["games"])],
        ([name, *(f"{game['rates'][name]:g}" for game in part["games"])] for name in names),
    )


def zero_sum_table(part: Part) -> str:
    """EFCE gap and exploitability of every entrant after each number of episodes."""
    counts, rows = part["settings"]["episodes"], []
    for game in part["games"]:
        cells = {
            (point["name"], point["episodes"]): " / ".join(
                number(point[what]["gap"], 2) for what in ("gap", "exploitability")
            )
            for point in game["points"]
        }
        rows += [
            [game["title"], name, *(cells.get((name, count), NOTHING) for count in counts)]
            for name in dict.fromkeys(point["name"] for point in game["points"])
        ]
    return _table(["game", "", *(f"{count:,}" for count in counts)], rows)


def catch_up_table(part: Part) -> str:
    header = [
        "game", "MCCFR's gap", "episodes of `learn`", "time of `learn`", "time of MCCFR", "ratio",
        "gaps of the timed runs",
    ]  # fmt: skip
    rows = []
    for game, ratio in zip(part["games"], catch_up_ratios(part).values(), strict=True):
        row = [game["title"], number(game["target"], 2)]
        if game["episodes"]:
            own, peer = game["learn"], game["peer"]
            row += [f"{game['episodes']:,}", _seconds(own["seconds"]), _seconds(peer["seconds"])]
            row += [_ratio(ratio), f"{number(own['gap'], 2)} and {number(peer['gap'], 2)}"]
        else:
            row += ["not reached", *(NOTHING for _ in header[3:])]
        rows.append(row)
    return _table(header, rows)


def catch_up_verdict(part: Part) -> str:
    ratios = catch_up_ratios(part).values()
    reached = sum(ratio is not None and ratio >= SPEED for ratio in ratios)
    return f"`learn` is at least {SPEED:g} times as fast on {reached} of {len(ratios)} games."


def other_k_table(part: Part) -> str:
    rows = []
    for k in ("0", "2", "inf"):
        for when, label in (("games", "`prm`"), ("before", "before")):
            found = {
                game["title"]: entry["gap"]
                for game in part[when]
                for entry in game["gaps"]
                if entry["k"] == k
            }
            cells = [
                number(found[game["title"]], 2) if game["title"] in found else NOTHING
                for game in part["games"]
            ]
            rows.append([on_page(f"K = {k}"), label, *cells])
    return _table(["", "", *(game["title"] for game in part["games"])], rows)


def other_k_verdict(part: Part) -> str:
    ratios = other_k_ratios(part)
    worse = [f"{game} at K = {k}" for (game, k), ratio in ratios.items() if ratio > 1]
    better = len(ratios) - len(worse)
    text = f"The median gap of `prm` is not larger in {better} of {len(ratios)} cases"
    return on_page(text + (f"; it is larger on {', '.join(worse)}." if worse else "."))


def gap_tables(part: Part) -> str:
    return "\n\n".join(
        f"Gap {share:g}:\n\n{by_entrant(part['games'], partial(_reached, rank))}"
        for rank, share in enumerate(part["settings"]["shares"])
    )


def time_taken(entry: Part) -> str:
    return _seconds(entry["seconds"]) + (" (once)" if entry["turns"] == 1 else "")


def _reached(rank: int, entry: Part) -> str:
    if rank < len(entry["reached"]):
        point = entry["reached"][rank]
        return f"{_seconds(point['seconds'])}, {point['iterations']:,}"
    return f"({number(entry['record'][-1][2], 2)})" if entry["record"] else NOTHING


def episode_gap_table(part: Part, games: Sequence[Part]) -> str:
    found = [median_gaps(game) for game in games]
    rows = [
        [on_page(name), f"{episodes:,}"]
        + [
            number(gaps[name, episodes], 2) if (name, episodes) in gaps else NOTHING
            for gaps in found
        ]
        for name in dict.fromkeys(name for gaps in found for name, _ in gaps)
        for episodes in part["settings"]["episodes"]
        if any((name, episodes) in gaps for gaps in found)
    ]
    return _table(["", "episodes", *(game["title"] for game in games)], rows)


def exponent_table(part: Part) -> str:
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


def episode_cost(part: Part) -> str:
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

The next table shows the time of an episode of `learn` on the balanced family at K = {part["k"]},
with the paper's method and with the default. *Confined* is the large game with nearly all
probability on as few deals as the small game has, so that the visited part fits into the caches.
Memory therefore does not explain the ratio of its time to that of the small game, which is the last
column.

{_table(header, rows)}"""


def by_entrant(games: Sequence[Part], cell: Callable[[Part], str]) -> str:
    """A row per entrant, a column per game; notes stand where there is nothing to show."""
    entries = [{entry["name"]: entry for entry in game["entrants"]} for game in games]
    rows = [
        [on_page(name)]
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


def _ratio(ratio: float | None) -> str:
    if ratio is None:
        return NOTHING
    text = number(ratio, 2 if ratio < 100 else 3)
    return f"**{text}**" if ratio > 1.0 else text


def _seconds(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1.0:
            return f"{number(seconds * factor, 3)} {unit}"
    return f"{number(seconds * 1e9, 3)} ns"


def on_page(name: str) -> str:
    """An entrant as it is called on the page."""
    return name.replace("inf", "∞").replace("K = ", "K\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
