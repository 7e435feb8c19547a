"""Which learner plays next: the one who sees joint plays, or the players for themselves.

With few plays for its size a game is better learned by players who learn for themselves
(``learning/whole_plays.py``): the game that joint plays have shown is then mostly guessed, and its
solution exploits the guesses. Nobody knows in advance which case it is, so both learn, and the
plays of both are recorded in one tree of joint histories. After every round two mixtures are
measured in the game that *all* plays have shown by then:

    joint   the mixture that was computed *before* the round, which the round's plays have tested;
    own     the components of the players who learn for themselves.

The first is a validation: plays that explored against a mixture decide about it, and it was
computed without them. A bad mixture passes a test now and then, so the largest gap of the last
three rounds counts. The next round belongs to the joint learner if that is smaller than the gap of
*own*, or if the rest of the plays can cover the game: estimates of what is unseen are low at first,
so three times as many plays must be left. Else nine tenths of the round belong to the players.

Had the n own plays been all m plays so far, the gap of *own* would be smaller by about sqrt(n / m).
Once *joint* has at most half of that, or everything has been seen, the joint learner has all
further plays. In the end the mixture with the smaller measured gap is saved. No step looks at the
true game.

While much is unseen, the solutions of successive rounds may be good and bad in turn, and the last
one has not been tested. The *champion* is the best of those that whole rounds of the joint learner
have tested, measured in the game that all plays have shown. It is saved in place of the last
solution if one of the last three tests was more than three times as bad.

Some games are so large that no number of rounds helps: joint plays never meet again, and solving
what they have shown would cost far more than playing. If a game seems to have more than 30 ends for
each episode of the run, the players learn alone from the next round on, and theirs is saved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from accord._arrays import CHANCE, TERMINAL, Floats
from accord._jit import jit
from accord.deviations.notions import NotionLike
from accord.equilibrium.gap import RegretMeter
from accord.play.joint_tree import JointArrays
from accord.treeplex.form import Form
from accord.treeplex.values import immediate_loss, joint_reach

OWN_SHARE = 0.9
"""The share of a round that the players have for themselves, if it is theirs."""

DECIDED = 0.5
"""*Joint* has all further plays once its gap is at most this part of that of *own*."""

ROOM = 3.0
"""The rest of the plays can cover a game if there are this many for each unseen end."""

HOPELESS = 30.0
"""With more ends than this for each episode of the run the players learn alone."""

TESTS = 3
"""As many rounds must have tested joint mixtures well."""

STEADY = 3.0
"""The last solution is saved if no recent test was worse than this many times the champion."""

COVERED = 0.95
"""It is saved as well if plays have shown this share of the game: it is then better than before."""

MEASURED_COMPONENTS = 50
"""How many components of a mixture are measured, evenly spaced."""


class OwnLearning(Protocol):
    """Players who learn for themselves, from plays that are recorded for the joint learner."""

    @property
    def iteration(self) -> int:
        """How many iterations have been run."""

    @property
    def each(self) -> int:
        """How many episodes an iteration takes."""

    def learn(self, iterations: int, first: int) -> None:
        """Run ``iterations``; the first episode has the number ``first``."""

    def behaviors(self) -> list[Floats]:
        """``[n_components, n_sequences]`` behaviors of each player, in the joint numbers."""

    def state(self) -> dict[str, Any]:
        """Everything needed to continue, by name."""

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved state."""


class Choice:
    """Who has the next round.

    Attributes:
        settled: Whether the joint learner has all further plays.
        tests: The gaps of joint mixtures, each after the round that it was tested in.
    """

    def __init__(self) -> None:
        self.settled, self.tests = False, [math.inf] * TESTS

    @property
    def tested(self) -> float:
        """The largest gap of the last rounds."""
        return max(self.tests)

    def decide(self, joint: float, own: float, own_plays: int, plays: int) -> bool:
        """Whether the next round belongs to the players, given measured gaps."""
        self.tests = [*self.tests[1:], joint]
        if self.settled:
            return False
        if own_plays == 0:
            return True
        expected = own * math.sqrt(own_plays / plays)
        self.settled = self.tested <= DECIDED * expected
        return self.tested > own


def measured_gap(form: Form, k: NotionLike, behaviors: Sequence[Floats]) -> float:
    """The largest K-EFCE gap of any player, in normalized losses, of an even mixture in ``form``.

    ``behaviors`` are ``[n_components, n_sequences]`` of each player.
    """
    count = len(behaviors[0])
    index = np.unique(np.linspace(0, count - 1, min(count, MEASURED_COMPONENTS)).astype(int))
    meters = [RegretMeter(plex, k) for plex in form.plexes]
    for row in index.tolist():
        each = [part[row] for part in behaviors]
        reach = joint_reach(form.plexes, each)
        for i, meter in enumerate(meters):
            meter.observe(each[i], immediate_loss(form.leaves, i, reach))
    return max(meter.regret() for meter in meters) / len(index)


@jit
def estimate_ends(tree: JointArrays) -> float:
    """About how many ends the game has: one for each end seen, and at each node

        ends(d) = (number of actions / number of actions taken) * sum of ends(d, a) over these,

    as if actions that nobody has taken were like the others (Knuth 1975). Moves and outcomes of
    chance that no play has shown are not counted.
    """
    below = np.zeros(tree.size[1])
    for d in range(tree.size[0] - 1, -1, -1):
        node, ends, taken = tree.nodes[d], 0.0, 0
        for e in range(node.first_edge, node.first_edge + node.n_edges):
            ends += below[e]
            taken += tree.edges[e].count > 0
        if node.player == TERMINAL:
            ends = 1.0
        elif node.player != CHANCE:
            ends *= node.n_edges / taken
        below[node.edge] += ends
    return float(below[0])
