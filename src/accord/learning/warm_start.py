"""Learning that starts from a policy instead of from nothing.

Regret matching plays in proportion to regrets. A *warm start* gives every rechistory at an infoset
the regrets of somebody who wishes to have played p, the mean of the given policy there:

    R(r, a) = w p(a | x) for all recommendations r and actions a != r.

The stationary distribution of these rates is p, so the first iterates play the given policy, until
the regrets of plays outweigh w. The regrets are bounded by what they are without a warm start plus
a constant, w times the square root of the number of actions, so the rate of T^(-1/2) stays, however
bad the given policy is. Correlation is not taken over: p is the mean of each player alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from accord._arrays import Floats
from accord._jit import jit
from accord.equilibrium.policy import CorrelatedPolicy, Solved, policy_in
from accord.errors import ArgumentError, MismatchError
from accord.learning.exploration import needs_treeplexes
from accord.learning.tables import Tables
from accord.regret.sampled import Infosets, SampledMinimizer
from accord.regret.sampled_matching import SampledRegretMatching
from accord.treeplex.strategy import average_behavior

WEIGHT = 30.0
"""The regrets of a warm start at an infoset, in units of losses. Of 1, 3, 10, 30 and 100 it gave
the smallest gaps on Kuhn and Leduc poker after 30,000 episodes from a policy of 100,000."""


class WarmStart:
    """A policy to start from.

    Attributes:
        name: The name of its game.
        digest: What a run folder remembers of it.
        plexes: The treeplexes of its players.
        behaviors: The mean behavior of each player.
    """

    def __init__(self, given: CorrelatedPolicy | Solved, players: Sequence[str]) -> None:
        policy = policy_in(given)
        if len(policy.plexes) != len(players):
            raise MismatchError(
                f"the policy to start from must be for {len(players)} players; it is for "
                f"{len(policy.plexes)}"
            )
        self.name, self.plexes = policy.name, tuple(policy.plexes)
        if policy.plan is not None:
            means = policy.split(policy.mean_behavior())
        else:
            means = tuple(
                average_behavior(plex, part, policy.weights)
                for plex, part in zip(policy.plexes, policy.split(policy.behavior), strict=True)
            )
        self.behaviors = tuple(np.ascontiguousarray(mean) for mean in means)
        content = b"".join(mean.tobytes() for mean in self.behaviors)
        self.digest = hashlib.sha256(content).hexdigest()


def check_startable(minimizer: SampledMinimizer, exploration: str | None) -> None:
    """Refuse a method that has no regrets to start with, or that counts all infosets first."""
    matches = isinstance(minimizer, SampledRegretMatching)
    if not matches or exploration is None or needs_treeplexes(minimizer, exploration):
        raise ArgumentError(
            "a warm start is for prm and rm with spread or uniform exploration and own feedback; "
            "leave start out, or choose these"
        )


def start_tables(tables: Tables, behavior: Floats) -> None:
    """Write the regrets of a warm start into the tables of the treeplex that ``behavior`` is of."""
    own = tables.arrays
    write_regrets(own.infosets[: tables.n_infosets], behavior, WEIGHT, own.regret)


@jit
def write_regrets(infosets: Infosets, behavior: Floats, weight: float, regret: Floats) -> None:
    """Cell c has its regret at 2c, as in ``regret/sampled_matching.py``."""
    for x in range(len(infosets)):
        at = infosets[x]
        first, n, place = at.first_seq, at.n_actions, 2 * at.first_cell
        for _ in range(at.first_node, at.first_external):
            for r in range(n):
                for a in range(n):
                    if a != r:
                        regret[place] = weight * behavior[first + a]
                    place += 2
        for _ in range(at.first_external, at.end_node):
            for a in range(n):
                regret[place] = weight * behavior[first + a]
                place += 2
