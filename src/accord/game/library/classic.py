"""Small extensive-form games from the literature, each with the device it is known for.

EFCE is the extensive-form correlated equilibrium of von Stengel and Forges. It is the 1-EFCE,
except that its gap is measured differently. AFCE is their agent-form correlated equilibrium: a
deviator deviates at one infoset and obeys before and after.
"""

from __future__ import annotations

from accord.errors import ArgumentError
from accord.game.builder import GameBuilder
from accord.game.library.entries import Draws, named
from accord.game.rationals import as_rational
from accord.game.tree import Game


@named("signalling")
def signalling() -> Game:
    """A student, good or bad, signals X or Y to a professor, who accepts or refuses.

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


def signalling_device() -> Draws:
    """The EFCE of Section 2.3 of that paper, worth (3.5, 6.5).

    A signal is drawn for good students, and the professor accepts only that one. Bad students are
    told to send a signal drawn independently, so they do not know which one is accepted. In normal
    form they would know, because they would also see the recommendation for good students.
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


@named("persuasion")
def persuasion(prior: float = 0.3) -> Game:
    """A prosecutor reports on a defendant, guilty or innocent, to a judge, who convicts or acquits.

    The first example of E. Kamenica and M. Gentzkow, *Bayesian persuasion*, American Economic
    Review 101, 2011. The judge wants to decide rightly, the prosecutor to convict. A prosecutor who
    commits to what they report has the defendant convicted twice as often as there is guilt.

    Args:
        prior: The probability that the defendant is guilty.
    """
    if not 0.0 < prior < 1.0:
        raise ArgumentError(f"prior must be a probability between 0 and 1; got {prior}")
    b = GameBuilder(players=["prosecutor", "judge"])
    b.chance({"guilty": prior, "innocent": 1 - as_rational(prior)})
    for state in ("guilty", "innocent"):
        b.move(state, player="prosecutor", infoset=state, actions="accuse clear")
    for report in ("accuse", "clear"):
        nodes = [f"guilty {report}", f"innocent {report}"]
        b.move(*nodes, player="judge", infoset=report, actions="convict acquit")
        for state, right in (("guilty", "convict"), ("innocent", "acquit")):
            for verdict in ("convict", "acquit"):
                history = f"{state} {report} {verdict}"
                b.payoff(history, verdict == "convict", verdict == right)
    return b.build()


@named("in_out")
def in_out() -> Game:
    """One player chooses in or out, twice, and gets 1 for choosing in both times.

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


def in_out_device() -> Draws:
    """Always out: an AFCE but not an EFCE, because disobeying twice gains 1."""
    return ((1.0, ({"first": "out", "after in": "out", "after out": "out"},)),)


@named("greenwald_sarfati_1")
def greenwald_sarfati_1() -> Game:
    """A game with an AFCE that is neither an EFCE nor an EFCCE, its coarse variant.

    The first of two examples of A. Greenwald and A. Sarfati, as included in OpenSpiel.
    """
    return _greenwald_sarfati(
        "L A l1: 2 2, L A r1: 3 1, L B l1: 2 2, L B r1: 0 2,"
        "R A l2: 0 0, R A r2: 3 0, R B l2: 0 0, R B r2: 3 0"
    )


def greenwald_sarfati_1_device() -> Draws:
    """Left, then l1: no single deviation gains, but R followed by r2 always pays 3."""
    return (
        (1 / 2, ({"first": "L", "left": "l1", "right": "l2"}, {"second": "A"})),
        (1 / 2, ({"first": "L", "left": "l1", "right": "r2"}, {"second": "B"})),
    )


@named("greenwald_sarfati_2")
def greenwald_sarfati_2() -> Game:
    """A game with an EFCE that is not a normal-form correlated equilibrium.

    The second of two examples of A. Greenwald and A. Sarfati, as included in OpenSpiel.
    """
    return _greenwald_sarfati(
        "L A l1: 2 2, L A r1: 0 2, L B l1: 2 2, L B r1: 2 2,"
        "R A l2: 0 0, R A r2: 0 0, R B l2: 0 0, R B r2: 3 0"
    )


def greenwald_sarfati_2_device() -> Draws:
    """Left pays 2. A player who knew of the recommendation r2 would infer B and go right for 3."""
    return (
        (1 / 2, ({"first": "L", "left": "l1", "right": "l2"}, {"second": "A"})),
        (1 / 4, ({"first": "L", "left": "l1", "right": "r2"}, {"second": "B"})),
        (1 / 4, ({"first": "L", "left": "r1", "right": "r2"}, {"second": "B"})),
    )


@named("extended_shapley")
def extended_shapley() -> Game:
    """Shapley's game in which the first player also bets on whether the second plays rock.

    D. Morrill et al., *Hindsight and sequential rationality of correlated play*, AAAI 2021. The row
    player chooses, then bets: 0.003 for a correct bet on rock, 0.001 for a correct bet against it.
    Section 6.1 of that paper runs CFR on this game: its iterates approach an NFCCE (K = 0), but not
    an EFCE (K = 1).
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
    """The tree of both examples: player 1 chooses L or R, player 2 chooses A or B without seeing
    that, and player 1 chooses l or r without seeing A or B."""
    b = GameBuilder(players=2)
    b.move(player="1", infoset="first", actions="L R")
    b.move("L", "R", player="2", infoset="second", actions="A B")
    b.move("L A", "L B", player="1", infoset="left", actions="l1 r1")
    b.move("R A", "R B", player="1", infoset="right", actions="l2 r2")
    for line in payoffs.split(","):
        history, amounts = line.split(":")
        b.payoff(history, *map(float, amounts.split()))
    return b.build()
