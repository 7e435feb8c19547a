"""``python -m benchmarks [--small] [--out DIR] [part ...]``: measure, write results and pages."""

from __future__ import annotations

import argparse
from pathlib import Path
from time import process_time

from benchmarks import bandit, episodes, iterations, scaling, time_to_gap
from benchmarks.measure import machine
from benchmarks.pages import write_pages
from benchmarks.results import OUT, load, save

PARTS = {
    "iterations": iterations,
    "gap": time_to_gap,
    "bandit": bandit,
    "scaling": scaling,
    "episodes": episodes,
}
"""Modules with ``measure(effort, say)``, whose result can be written as JSON, and two efforts."""


def main(arguments: list[str] | None = None) -> None:
    """Run the parts that are asked for, by default all; keep what is there of the others."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--small", action="store_true", help="a tenth of a minute, for the tests")
    parser.add_argument("--out", type=Path, default=OUT, help="folder of results and pages")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    if asked.small and asked.out == OUT:
        parser.error("--small is no benchmark; give it another folder with --out")
    parts = load(asked.out)
    for name in asked.parts or PARTS:
        print(f"== {name}", flush=True)
        start = process_time()
        part = PARTS[name]
        measured = part.measure(part.SMALL if asked.small else part.FULL, _say)
        spent = process_time() - start
        parts[name] = {"machine": machine(), "cpu_seconds": spent, **measured}
        save(asked.out, parts)
    if missing := set(PARTS) - set(parts):
        print(f"no page without {', '.join(sorted(missing))}")
    else:
        write_pages(asked.out)
    print(f"written to {asked.out}")


def _say(text: str) -> None:
    print(f"   {text}", flush=True)


if __name__ == "__main__":
    main()
