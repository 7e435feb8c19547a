"""The LCE gap, exactly, and the deviation that attains it.

In a *linear correlated equilibrium* (Farina and Pipis 2023) no player gains by replacing the plan
that was drawn for them, a vector q in the polytope Q of their sequence form, by A q, for any linear
map A from Q to Q. Zhang, Farina and Sandholm (2024) show what such a deviator does: before each
move, and as often as they like, they *ask* the mediator for the recommendation at some infoset,
which need not be the one where they are. The mediator answers along one path of the deviator's own
tree: having answered r at y, it answers next about an infoset that follows (y, r).

So a deviator is at an infoset x and has asked along a sequence tau, which their plan plays with
probability q[tau]. With the weights w_t of the mixture and the immediate counterfactual losses l^t,

    M[tau, sigma] = sum_t w_t pi^t_{1:h}(tau) l^t(sigma)

is all that is needed of the mixture, and the least loss from (x, tau) onward is

    Z(x, tau) = min( min_a  M[tau, (x, a)] + sum_{x' follows (x, a)} Z(x', tau),      play a
                     min_{y follows tau}  sum_r Z(x, (y, r)) ).                       ask about y

What arrives before the first decision is the least loss of any linear deviation. Asking about the
true infoset and playing the answer is obedience; to deviate once and never ask again is a deviation
of K = 1. Hence EFCE <= LCE, and LCE <= NFCE, whose deviator sees the whole plan.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accord._arrays import Floats, Ints
from accord._jit import jit
from accord.treeplex.strategy import compute_reaches
from accord.treeplex.treeplex import EMPTY_SEQUENCE, Treeplex, TreeplexArrays


@dataclass(frozen=True, eq=False, repr=False)
class LinearDeviation:
    """A linear map from a player's sequence form to itself, by what its deviator does.

    ``choice[x, tau]`` says what the deviator does at infoset x who has asked along sequence tau:
    a number a >= 0 plays action a, and -1 - y asks about infoset y, which follows tau.
    """

    plex: Treeplex
    choice: Ints  # [n_infosets, n_sequences]

    def obedient(self) -> LinearDeviation:
        """The map that changes nothing: ask about the infoset where one is, and play the answer."""
        plex, choice = self.plex, np.zeros_like(self.choice)
        for x in range(plex.n_infosets):
            here = np.arange(plex.first_seq[x], plex.first_seq[x + 1])
            choice[x, plex.parent_seq[x]] = -1 - x
            choice[x, here] = here - plex.first_seq[x]
        return LinearDeviation(plex, choice)

    def matrix(self) -> Floats:
        """``[n_sequences, n_sequences]`` the map A: if the plan is q, the deviator plays A q."""
        plex = self.plex
        mapped = np.zeros((plex.n_sequences, plex.n_sequences))
        mapped[EMPTY_SEQUENCE, EMPTY_SEQUENCE] = 1.0
        _follow(plex.arrays, self.choice, mapped)
        return mapped

    def sequence_form(self, behavior: Floats) -> Floats:
        """``[n_sequences]`` the reach of the deviator, where the plan has this ``behavior``."""
        reach = np.empty((1, self.plex.n_sequences))
        compute_reaches(self.plex.arrays, behavior[np.newaxis], 0, reach)
        return np.asarray(self.matrix() @ reach[0])

    def __repr__(self) -> str:
        return f"LinearDeviation(infosets={self.plex.n_infosets})"


class LinearDeviator:
    """One player's sums M, to which policies are added one by one."""

    def __init__(self, plex: Treeplex) -> None:
        self.plex = plex
        self.total = np.zeros((plex.n_sequences, plex.n_sequences))  # M

    def add(self, behaviors: Floats, losses: Floats, weights: Floats) -> None:
        """Add policies and the immediate counterfactual ``losses`` they met, a row for each."""
        reach = np.empty_like(behaviors)
        compute_reaches(self.plex.arrays, behaviors, 0, reach)
        _add_products(reach, losses, weights, self.total)


@dataclass(frozen=True, eq=False, repr=False)
class BestLinearDeviation:
    """A player's best linear deviation, and its loss from every state onward.

    Losses are multiplied by the probability of the state.
    """

    phi: LinearDeviation
    loss: Floats  # [n_infosets, n_sequences] Z
    least_loss: float  # the expected loss of the deviation over a whole play
    obeying: Floats  # [n_sequences] loss from each recommended sequence onward of obeying

    @classmethod
    def of(cls, deviator: LinearDeviator) -> BestLinearDeviation:
        """Solve for the best deviation."""
        plex, total = deviator.plex, deviator.total
        loss = np.zeros((plex.n_infosets, plex.n_sequences))
        choice = np.zeros((plex.n_infosets, plex.n_sequences), np.int32)
        obeying = np.diagonal(total).copy()
        least = _solve(plex.arrays, total, loss, choice, obeying)
        return cls(LinearDeviation(plex, choice), loss, least, obeying)


@jit
def _add_products(reach: Floats, losses: Floats, weights: Floats, total: Floats) -> None:
    """Add to ``total`` the products of the reach and the losses of each policy.

    Most of them are zero: pure plans play few sequences, and the others allow few.
    """
    met = np.empty(losses.shape[1], np.int64)
    for t in range(len(weights)):
        n = 0
        for seq in range(losses.shape[1]):
            if losses[t, seq] != 0.0:
                met[n] = seq
                n += 1
        for told in range(reach.shape[1]):
            weight = weights[t] * reach[t, told]
            if weight != 0.0:
                for place in range(n):
                    total[told, met[place]] += weight * losses[t, met[place]]


@jit
def _solve(
    plex: TreeplexArrays, total: Floats, loss: Floats, choice: Ints, obeying: Floats
) -> float:
    """Overwrite ``loss`` with Z and ``choice`` with a best deviation, which obeys where it can.

    Adds to each sequence of ``obeying`` what follows it. Returns the least loss of a whole play.
    Both are added up in the same order, so that deviating never seems worse than obeying.
    """
    n_infosets, n_sequences = loss.shape
    for x in range(n_infosets - 1, -1, -1):
        above, first, end = plex.parent_seq[x], plex.first_seq[x], plex.first_seq[x + 1]
        for told in range(n_sequences - 1, -1, -1):
            # what an obedient player would do here, if they can be here, comes first
            best, least = 0, np.inf
            if first <= told < end:
                best = told - first
                least = _play(plex, total, loss, told, told)
            elif told == above:
                best = -1 - x
                least = _ask(plex, loss, x, x)
            for seq in range(first, end):
                value = _play(plex, total, loss, told, seq)
                if value < least:
                    best, least = seq - first, value
            for y in range(plex.first_child[told], plex.first_child[told + 1]):
                value = _ask(plex, loss, x, y)
                if value < least:
                    best, least = -1 - y, value
            loss[x, told] = least
            choice[x, told] = best
        value = 0.0
        for seq in range(first, end):
            value += obeying[seq]
        obeying[above] += value
    whole: float = total[0, 0]
    for x in range(plex.first_child[1] - 1, -1, -1):
        whole += loss[x, 0]
    return whole


@jit
def _play(plex: TreeplexArrays, total: Floats, loss: Floats, told: int, seq: int) -> float:
    """The loss of playing ``seq`` for a player who has asked along ``told``."""
    value: float = total[told, seq]
    for x in range(plex.first_child[seq + 1] - 1, plex.first_child[seq] - 1, -1):
        value += loss[x, told]
    return value


@jit
def _ask(plex: TreeplexArrays, loss: Floats, x: int, y: int) -> float:
    """The loss of asking about ``y`` at infoset ``x``."""
    value = 0.0
    for seq in range(plex.first_seq[y], plex.first_seq[y + 1]):
        value += loss[x, seq]
    return value


@jit
def _follow(plex: TreeplexArrays, choice: Ints, mapped: Floats) -> None:
    """Set the entries of ``mapped`` that the choices lead to, infoset by infoset, parents first."""
    n_infosets, n_sequences = choice.shape
    comes = np.zeros((n_infosets, n_sequences), np.bool_)
    for x in range(n_infosets):
        for told in range(n_sequences):
            if mapped[plex.parent_seq[x], told] != 0.0:
                comes[x, told] = True
            if not comes[x, told]:
                continue
            chosen = choice[x, told]
            if chosen >= 0:
                mapped[plex.first_seq[x] + chosen, told] = 1.0
                continue
            y = -1 - chosen
            for seq in range(plex.first_seq[y], plex.first_seq[y + 1]):
                comes[x, seq] = True  # later: answers have larger numbers than questions
