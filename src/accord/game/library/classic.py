"""Small extensive games from the literature, each with the device that made it known.

EFCE is von Stengel and Forges' extensive-form correlated equilibrium, which is the 1-EFCE up to the
size of its gap; AFCE is their agent-form correlated equilibrium, in which a deviator deviates at
one infoset and obeys before and after.
"""

from __future__ import annotations

from accord.game.builder import GameBuilder
from accord.game.library.device import Device
from accord.game.library.naming import named
from accord.game.tree import Game


@named("signalling")
def signalling() -> Game:
    """A student, good or bad, signals X or Y to a professor who lets her in or refuses.

    Figure 1 of B. von Stengel and F. Forges, *Extensive-form correlated equilibrium: definition and
    computational complexity*, Mathematics of Operations Research 33, 2008. In every normal-form
    correlated equilibrium the professor refuses, and payoffs are (0, 6).
    """
    b = GameBuilder(players=["student", "professor"])
    b.chance({"good": 1 / 2, "bad": 1 / 2})
    b.move("good", player="student", infoset="good", actions="X Y")
    b.move("bad", player="student", infoset="bad", actions="X Y")
    for signal in "XY":
        nodes = [f"good {signal}", f"bad {signal}"]
        b.move(*nodes, player="professor", infoset=signal, actions="accept refuse")
        b.payoff(f"good {signal} accept", 4, 10)
        b.payoff(f"good {signal} refuse", 0, 6)
        b.payoff(f"bad {signal} accept", 6, 0)
        b.payoff(f"bad {signal} refuse", 0, 6)
    return b.build()


def signalling_device() -> Device:
    """The EFCE of Section 2.3 there, worth (3.5, 6.5).

    A signal is drawn for good students, and the professor accepts that one only. Bad students are
    told to send a signal drawn independently, and do not know which is accepted. In normal form
    they would: they would be told what they were to send if they were good.
    """
    return tuple(
        (
            1 / 4,
            (
                {"good": good, "bad": bad},
                {signal: "accept" if signal == good else "refuse" for signal in "XY"},
            ),
        )
        for good in "XY"
        for bad in "XY"
    )


@named("in_out")
def in_out() -> Game:
    """One player goes in or out, twice, and gets 1 for going in both times.

    Section 2.4 of B. von Stengel and F. Forges, *Extensive form correlated equilibrium: definition
    and computational complexity*, research report LSE-CDAM-2006-04.
    """
    b = GameBuilder(players=1)
    b.move(player="1", infoset="first", actions="in out")
    for first in ("in", "out"):
        b.move(first, player="1", infoset=f"after {first}", actions="in out")
        for second in ("in", "out"):
            b.payoff(f"{first} {second}", first == second == "in")
    return b.build()


def in_out_device() -> Device:
    """Always out: an AFCE, but no EFCE; who once disobeys can go on to gain 1."""
    return ((1.0, ({"first": "out", "after in": "out", "after out": "out"},)),)


@named("greenwald_sarfati_1")
def greenwald_sarfati_1() -> Game:
    """A game with an AFCE that is no EFCE, nor its coarse variant.

    The first of two examples of A. Greenwald and A. Sarfati, as kept among OpenSpiel's games.
    """
    return _greenwald_sarfati(
        "L A l1: 2 2, L A r1: 3 1, L B l1: 2 2, L B r1: 0 2,"
        "R A l2: 0 0, R A r2: 3 0, R B l2: 0 0, R B r2: 3 0"
    )


def greenwald_sarfati_1_device() -> Device:
    """Left, then l1: obeyed by who may deviate once, but R and then r2 always pays 3."""
    return (
        (1 / 2, ({"first": "L", "left": "l1", "right": "l2"}, {"second": "A"})),
        (1 / 2, ({"first": "L", "left": "l1", "right": "r2"}, {"second": "B"})),
    )


@named("greenwald_sarfati_2")
def greenwald_sarfati_2() -> Game:
    """A game with an EFCE that is no normal-form correlated equilibrium.

    The second of two examples of A. Greenwald and A. Sarfati, as kept among OpenSpiel's games.
    """
    return _greenwald_sarfati(
        "L A l1: 2 2, L A r1: 0 2, L B l1: 2 2, L B r1: 2 2,"
        "R A l2: 0 0, R A r2: 0 0, R B l2: 0 0, R B r2: 3 0"
    )


def greenwald_sarfati_2_device() -> Device:
    """Left for 2; who knew beforehand of the r2 on the right would know of B, and go for 3."""
    return (
        (1 / 2, ({"first": "L", "left": "l1", "right": "l2"}, {"second": "A"})),
        (1 / 4, ({"first": "L", "left": "l1", "right": "r2"}, {"second": "B"})),
        (1 / 4, ({"first": "L", "left": "r1", "right": "r2"}, {"second": "B"})),
    )


@named("extended_shapley")
def extended_shapley() -> Game:
    """Shapley's game in which the first player also bets on whether the second plays rock.

    D. Morrill et al., *Hindsight and sequential rationality of correlated play*, AAAI 2021. The row
    player chooses, then bets: 0.003 for a right bet on rock, 0.001 for a right bet against it. Its
    Section 6.1 follows CFR here: the iterates come close to an NFCCE, but not to an EFCE.
    """
    b = GameBuilder(players=["row", "col"])
    moves = ("rock", "paper", "scissors")
    b.move(player="row", infoset="choose", actions=moves)
    for mine in moves:
        b.move(mine, player="row", infoset=f"bet after {mine}", actions="rock other")
        for bet in ("rock", "other"):
            b.move((mine, bet), player="col", infoset="choose", actions=moves)
            for theirs in moves:
                right = (bet == "rock") == (theirs == "rock")
                bonus = {"rock": 0.003, "other": 0.001}[bet] if right else 0.0
                b.payoff((mine, bet, theirs), beats(mine, theirs) + bonus, beats(theirs, mine))
    return b.build()


def beats(mine: str, theirs: str) -> bool:
    """Whether ``mine`` wins at rock, paper, scissors."""
    return (mine, theirs) in {("rock", "scissors"), ("paper", "rock"), ("scissors", "paper")}


def _greenwald_sarfati(payoffs: str) -> Game:
    """Both examples have this tree: left or right; A or B, unseen and unseeing; l or r."""
    b = GameBuilder(players=2)
    b.move(player="1", infoset="first", actions="L R")
    b.move("L", "R", player="2", infoset="second", actions="A B")
    b.move("L A", "L B", player="1", infoset="left", actions="l1 r1")
    b.move("R A", "R B", player="1", infoset="right", actions="l2 r2")
    for line in payoffs.split(","):
        history, amounts = line.split(":")
        b.payoff(history, *map(float, amounts.split()))
    return b.build()
