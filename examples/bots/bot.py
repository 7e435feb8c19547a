"""A program that plays in a session of ``accord serve``: obedient, but for some of the time.

    python bot.py http://192.168.1.20:8000/join/K7QM2P --name bot-1 --disobey 0.2

It prints what it was told, what it played and what it earned. Write your own ``decide`` to play
otherwise: it gets an ``accord.serve.Situation``, which has what a person would see on the
page of the same seat, and returns one of its actions.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable

import accord
from accord.serve import Situation


def sometimes_disobedient(share: float, rng: random.Random) -> Callable[[Situation], str]:
    """Follow the mediator, but play another action in this share of decisions."""

    def decide(now: Situation) -> str:
        told = now.recommendation
        others = [action for action in now.actions if action != told]
        if told is not None and not (others and rng.random() < share):
            return told
        return rng.choice(others or list(now.actions))

    return decide


def main() -> None:
    """Play to the end of the session."""
    parser = argparse.ArgumentParser(description="Play in a session of accord serve.")
    parser.add_argument("link", help="the common link, .../join/CODE, or that of a seat")
    parser.add_argument("--name", default="", help="the name or number that the session asks for")
    parser.add_argument("--disobey", type=float, default=0.0, help="share of decisions, 0 to 1")
    given = parser.parse_args()
    decide = sometimes_disobedient(given.disobey, random.Random())

    def say_and_decide(now: Situation) -> str:
        action = decide(now)
        told = "nothing" if now.recommendation is None else now.recommendation
        print(f"round {now.round}, {now.role} at {now.infoset}: told {told}, plays {action}")
        return action

    end = accord.seat(given.link, given.name).play(say_and_decide)
    print(f"earned {end.points:g} points")


if __name__ == "__main__":
    main()
