"""``python -m paper``: redraw the pages about the paper's claims, or measure them again."""

from __future__ import annotations

import argparse
import sys

from accord.errors import AccordError
from paper.frame import BUILD, DATA, PAGES, compute, find_claims, redraw


def main() -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m paper", description=__doc__)
    parser.add_argument("--full", action="store_true", help="measure the data again first")
    parser.add_argument("--only", metavar="START", default="", help="only tasks that begin so")
    parser.add_argument("--ray", metavar="ADDRESS", help="compute on a Ray cluster, or `local`")
    claims = find_claims()
    parser.add_argument(
        "claims", metavar="N", type=int, nargs="*", help="with --full: only these claims"
    )
    asked = parser.parse_args()
    if unknown := set(asked.claims) - claims.keys():
        parser.error(f"claims are {', '.join(map(str, claims))}; got {min(unknown)}")
    try:
        for number in (asked.claims or claims) if asked.full else ():
            compute(
                claims[number], claims[number].TASKS, BUILD, DATA, only=asked.only, ray=asked.ray
            )
        findings = redraw(claims, DATA, PAGES)
    except AccordError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for number, finding in findings.items():
        print(f"{number}. {claims[number].TITLE}: {finding.verdict}")
    print(f"pages: {PAGES}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
