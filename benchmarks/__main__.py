"""``python -m benchmarks [--small] [--out DIR] [--game TITLE ...] [--only NAME ...] [part ...]``:
measure, and write results and pages.

Games are measured one by one and saved at once, so that a run that ends early keeps what it has.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks import (
    bandit,
    catch_up,
    episodes,
    iterations,
    other_k,
    scaling,
    time_to_gap,
    zero_sum,
)
from benchmarks.games import GAMES, HELD_OUT
from benchmarks.measure import machine
from benchmarks.pages import write_pages
from benchmarks.results import OUT, load, save

PARTS: dict[str, Any] = {
    "iterations": iterations,
    "gap": time_to_gap,
    "bandit": bandit,
    "zero-sum": zero_sum,
    "catch-up": catch_up,
    "other-k": other_k,
    "scaling": scaling,
    "episodes": episodes,
}
"""Modules with ``measure(effort, say)``, whose result can be written as JSON, and two efforts."""

GROUPS = ("games", "held_out")
"""Of games, in efforts and in results."""


def main(arguments: list[str] | None = None) -> None:
    """Run the parts that are asked for, by default all; keep what is there of the others."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--small", action="store_true", help="a tenth of a minute, for the tests")
    parser.add_argument("--out", type=Path, default=OUT, help="folder of results and pages")
    parser.add_argument("--game", action="append", help="measure only games with this title")
    parser.add_argument(
        "--only", action="append", metavar="NAME",
        help="measure the gaps of this entrant again, and keep the others (part bandit)",
    )  # fmt: skip
    asked = parser.parse_args(arguments)
    if unknown := set(asked.parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    if asked.small and asked.out == OUT:
        parser.error("--small is no benchmark; give it another folder with --out")
    if unknown := set(asked.game or []) - set(GAMES) - set(HELD_OUT):
        parser.error(f"no game {', '.join(sorted(unknown))}; see benchmarks/games.py")
    if asked.only and asked.parts != ["bandit"]:
        parser.error("--only is for the part bandit")
    parts = load(asked.out)
    for name in asked.parts or PARTS:
        print(f"== {name}", flush=True)
        part = PARTS[name]
        effort = part.SMALL if asked.small else part.FULL
        if asked.only:
            effort = replace(effort, only=tuple(asked.only))
        for piece in _pieces(effort, asked.game):
            start = process_time()
            measured = part.measure(piece, _say)
            _keep(parts, name, effort, measured, process_time() - start)
            save(asked.out, parts)
    if missing := set(PARTS) - set(parts):
        print(f"no page without {', '.join(sorted(missing))}")
    else:
        write_pages(asked.out)
    print(f"written to {asked.out}")


def _pieces(effort: Any, titles: list[str] | None) -> Iterator[Any]:
    """The effort game by game; as a whole if it has no games."""
    groups = {group: getattr(effort, group) for group in GROUPS if hasattr(effort, group)}
    if not groups:
        yield effort
    for group, games in groups.items():
        for title, game in games.items():
            if titles is None or title in titles:
                nothing: dict[str, Any] = {other: {} for other in groups}
                yield replace(effort, **nothing | {group: {title: game}})


def _keep(
    parts: dict[str, Any], name: str, effort: Any, measured: dict[str, Any], seconds: float
) -> None:
    """Put a measurement beside those of other games, in the order of the effort.

    If only some entrants were measured, they replace themselves, and the others stay.
    """
    before, after = parts.get(name, {}), dict(measured)
    only = getattr(effort, "only", ())
    for group in set(GROUPS) & set(measured):
        found = {game["title"]: game for game in before.get(group, [])}
        for game in measured[group]:
            game["cpu_seconds"] = seconds
            if only:
                _replace_entrants(game, found[game["title"]])
            found[game["title"]] = game
        after[group] = [found[title] for title in getattr(effort, group) if title in found]
    timed = [game.get("cpu_seconds", 0.0) for group in GROUPS for game in after.get(group, [])]
    where = {"machine": machine()}
    if only:
        where = {"machine": before["machine"], "again": {"entrants": only, **where}}
    parts[name] = {**where, "cpu_seconds": sum(timed) or seconds, **after}


def _replace_entrants(game: dict[str, Any], before: dict[str, Any]) -> None:
    """Add to ``game`` what was measured ``before`` of entrants that it does not have."""
    names = {point["name"] for point in game["gaps"]}
    game["gaps"] += [point for point in before["gaps"] if point["name"] not in names]
    game["cpu_seconds"] += before["cpu_seconds"]
    for key, value in before.items():
        game.setdefault(key, value)


def _say(text: str) -> None:
    print(f"   {text}", flush=True)


if __name__ == "__main__":
    main()
