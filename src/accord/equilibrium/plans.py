"""The pure plans that a correlated policy draws, the likeliest first.

A correlated policy draws component c with probability w_c, and then at each infoset x an action
from pi_c(. | x), independently. Together these are one pure policy per player. If everybody obeys,
plays depend only on a part of it: the recommendations at infosets *on the path*, which obedient
players reach with positive probability. Such a part, s, is a *plan*. Its probability is

    P(s) = sum_c w_c prod_{(x, a) in s} pi_c(a | x),

so draws that differ only where nobody gets are one plan. Plans determine the distribution of plays
and all payoffs, but not what a deviation earns: that depends on recommendations *off the path*,
which players get after another player has deviated. On request a plan has these too. It is then
what is known as a reduced plan: a recommendation at every infoset to which the player's own earlier
ones lead. The gaps at K = 0 and K = 1 are determined by the probabilities of reduced plans, because
there a deviator gets no further recommendations.

The recommendations so far determine the infosets that come next. So partial plans form a tree: at
each the first undecided infoset is decided in every way that the policy may. Its leaves are the
plans, each once, and the probability never rises along a branch. Best-first search therefore finds
the plans in the order of their probabilities, and adds up the components without comparing plans.

A correlation plan (``equilibrium/correlation_plan.py``) has no components. In a game without chance
moves the plans on the path are simply the plays, and their probabilities the xi of leaves.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from accord._arrays import CHANCE, TERMINAL, Floats
from accord.equilibrium.correlation_plan import CorrelationPlan
from accord.errors import ArgumentError
from accord.treeplex.form import SequenceForm
from accord.treeplex.treeplex import EMPTY_SEQUENCE

SEARCH_STEPS = 4_000_000
"""Steps of the search, a few seconds' worth. A policy that mixes at many infosets draws from
more plans than any search could list."""

Place = tuple[int, int]
"""A player and one of their infosets."""


class Told(NamedTuple):
    """One recommendation of a plan, in numbers."""

    player: int
    infoset: int
    action: int
    on_path: bool  # whether obedient players get here


class DrawnPlan(NamedTuple):
    """One plan, with the recommendations of all players in the order of their infosets."""

    probability: float
    told: tuple[Told, ...]


class DrawnPlans(NamedTuple):
    """The likeliest plans, and what is known about the others."""

    plans: tuple[DrawnPlan, ...]  # sorted by probability, the largest first
    rest: float  # probability of all other plans; 0 if there are none
    rest_most: float  # no other plan has a larger probability


def drawn_plans(
    form: SequenceForm,
    weights: Floats,
    behavior: Floats,
    most: int,
    *,
    off_path: bool = False,
    least: float = 0.0,
    work: int | None = None,
) -> DrawnPlans:
    """The likeliest plans of a correlated policy.

    Args:
        form: The game.
        weights: Of the components.
        behavior: Of the components.
        most: How many plans to find.
        off_path: Whether a plan also has what players are told after another has deviated.
        least: Leave out plans of a smaller probability.
        work: Steps after which the search ends, with the plans that it has found by then.
    """
    search = _PlanSearch(form, behavior, SEARCH_STEPS if work is None else work, off_path=off_path)
    search.put(np.arange(len(weights)), weights, None, search.first)
    plans: list[DrawnPlan] = []
    while search.has_more(least) and len(plans) < most:
        if (plan := search.advance()) is not None:
            plans.append(plan)
    left = [-entry[0] for entry in search.heap]
    return DrawnPlans(tuple(plans), math.fsum(left), max(left, default=0.0))


def drawn_paths(
    plan: CorrelationPlan,
    most: int,
    *,
    off_path: bool = False,
    least: float = 0.0,
    work: int | None = None,
) -> DrawnPlans:
    """The likeliest plans of a correlation plan in a game without chance moves.

    Args:
        plan: The correlation plan.
        most: How many plans to find.
        off_path: Must be False.
        least: Leave out plans of a smaller probability.
        work: Not needed; there are no more plans than plays.

    Raises:
        ArgumentError: If recommendations off the path are wanted, or chance moves in the game: then
            the plans of a correlation plan cannot be listed.
    """
    game = plan.form.game
    if off_path or (game.player == CHANCE).any():
        why = "what is told off the path" if off_path else f"{game.name}, in which chance moves,"
        raise ArgumentError(
            f"the joint plans of a correlation plan cannot be listed with {why}; list those of a "
            "sample: policy.sampled(1000).device()"
        )
    prob = plan.leaf_probabilities()
    order = np.argsort(-prob, kind="stable")
    told = order[(prob[order] > 0.0) & (prob[order] >= least)][:most]
    others = np.ones(len(prob), np.bool_)
    others[told] = False
    plans = (DrawnPlan(float(prob[leaf]), _path(plan.form, leaf)) for leaf in told)
    rest = math.fsum(prob[others].tolist())
    return DrawnPlans(tuple(plans), rest, float(prob[others].max(initial=0.0)))


def _path(form: SequenceForm, leaf: int) -> tuple[Told, ...]:
    """What everybody is told on the way to a leaf."""
    told = []
    for i, plex in enumerate(form.plexes):
        seq = int(form.leaves.seqs[leaf, i])
        while seq != EMPTY_SEQUENCE:
            x = int(plex.seq_infoset[seq])
            told.append(Told(i, x, seq - int(plex.first_seq[x]), True))
            seq = int(plex.parent_seq[x])
    return tuple(sorted(told))


# Linked lists of (item, the items after it), which partial plans share: those of what is told have
# the last one first. Those of what is still to visit hold nodes, then infosets off the path.
_Chain = tuple[Any, Any] | None


class _PlanSearch:
    """Partial plans, the likeliest first: each with the components that draw it."""

    def __init__(self, form: SequenceForm, behavior: Floats, limit: int, *, off_path: bool) -> None:
        self.form, self.behavior, self.limit = form, behavior, limit
        self.heap: list[tuple[float, int, NDArray[np.int64], Floats, _Chain, _Chain]] = []
        self.pushed = self.work = 0
        parent = form.game.parent
        self.below = np.argsort(parent[1:], kind="stable") + 1  # by parent, then by action
        self.first_below = np.searchsorted(parent[1:][self.below - 1], np.arange(len(parent) + 1))
        roots: list[Place] = []
        if off_path:
            for i, plex in enumerate(form.plexes):
                roots += [(i, x) for x in plex.children(EMPTY_SEQUENCE)]
        self.first: _Chain = _pushed([0], _pushed(roots, None))

    def has_more(self, least: float) -> bool:
        """Whether there may be another plan of at least this probability, and time to find it."""
        return bool(self.heap) and -self.heap[0][0] >= least and self.work < self.limit

    def put(self, drawn: NDArray[np.int64], mass: Floats, told: _Chain, pending: _Chain) -> None:
        """Add a partial plan that the components ``drawn`` draw with probabilities ``mass``."""
        self.pushed += 1  # plans of equal probability stay in the order of the tree
        self.work += len(mass)
        entry = -math.fsum(mass.tolist()), self.pushed, drawn, mass, told, pending
        heapq.heappush(self.heap, entry)

    def advance(self) -> DrawnPlan | None:
        """Take the likeliest partial plan: return it if it is complete, else branch."""
        negative, _, drawn, mass, told, pending = heapq.heappop(self.heap)
        actions: dict[Place, int] = {(one.player, one.infoset): one.action for one in _items(told)}
        self.work += len(actions)
        while pending is not None:
            self.work += 1
            if self.work >= self.limit:
                self.put(drawn, mass, told, pending)
                return None
            item, later = pending
            place = self._place(item)
            if place is None:  # nobody decides at this node
                pending = _pushed(self._outcomes(item), later)
                continue
            if (action := actions.get(place)) is not None:
                pending = _pushed(self._next(item, place, action), later)
                continue
            i, x = place
            first = int(self.form.leaves.first_reach[i] + self.form.plexes[i].first_seq[x])
            count = int(self.form.plexes[i].n_actions[x])
            parts = mass[:, None] * self.behavior[drawn, first : first + count]
            possible = np.flatnonzero((parts > 0.0).any(axis=0)).tolist()
            for a in possible:
                kept = parts[:, a] > 0.0
                longer = Told(i, x, a, isinstance(item, int)), told
                if len(possible) > 1:
                    self.put(drawn[kept], parts[kept, a], longer, pending)
                else:
                    drawn, mass, told, actions[place] = drawn[kept], parts[kept, a], longer, a
            if len(possible) != 1:
                return None
        return DrawnPlan(-negative, tuple(sorted(_items(told))))

    def _place(self, item: int | Place) -> Place | None:
        if not isinstance(item, int):
            return item
        game = self.form.game
        player = int(game.player[item])
        return None if player in (CHANCE, TERMINAL) else (player, int(game.infoset[item]))

    def _outcomes(self, node: int) -> list[int]:
        """The nodes that chance may choose after ``node``; none after a terminal."""
        nodes: list[int] = self.below[self.first_below[node] : self.first_below[node + 1]].tolist()
        return nodes

    def _next(self, item: int | Place, place: Place, action: int) -> list[int] | list[Place]:
        """Where plays, or the player off the path, may come after taking ``action``."""
        if isinstance(item, int):
            return [int(self.below[self.first_below[item] + action])]
        i, x = place
        plex = self.form.plexes[i]
        return [(i, child) for child in plex.children(int(plex.first_seq[x]) + action)]


def _pushed(items: Iterable[Any], chain: _Chain) -> _Chain:
    """``items``, then those of ``chain``."""
    for item in reversed(list(items)):
        chain = item, chain
    return chain


def _items(chain: _Chain) -> Iterable[Any]:
    while chain is not None:
        item, chain = chain
        yield item
