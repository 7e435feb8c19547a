"""The reduced normal form of a small game, for notions whose deviators see everything beforehand.

In a normal-form correlated equilibrium (NFCE) players are told their whole plan before the play. So
the NFCE of a game are the correlated equilibria of its normal form, a game in which every player
decides once, among all plans. There deviators see and disobey one recommendation, so that it is the
EFCE of that game, and everything that finds an EFCE finds an NFCE. Reduced plans suffice: what a
plan says at infosets that its own earlier actions exclude matters to nobody.

The number of plans is exponential in the size of the game, so only small games have one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accord._arrays import Floats, Ints
from accord.deviations.rechistory import RechistoryTree
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import BudgetError
from accord.game.labels import player_name
from accord.game.library.matrix import matrix_game
from accord.optimal.enumeration import all_plans, count_plans
from accord.optimal.polygon import hull
from accord.treeplex.form import SequenceForm, sequence_form
from accord.treeplex.strategy import behavior_to_reach
from accord.treeplex.treeplex import Treeplex

PROFILES, WORK, ROOM = 1e6, 1e9, 2e7
"""A game is small up to this many profiles; profiles times leaves; and the same without the last
player, which is the size of the largest array."""

FLAT = 1e-9
"""Corners that stand out by at most this part of the payoff ranges are rounding."""

MOST_PROFILES = 20_000
"""The most profiles of a normal form whose equilibria are looked for."""


@dataclass(frozen=True, eq=False)
class Plans:
    """All reduced plans of all players, and what they pay."""

    plans: tuple[Ints, ...]  # [n_plans, n_infosets] of each player
    payoffs: Floats  # [n_plans of player 1, ..., n_players]
    sizes: Floats  # [n_plans of player 1, ..., n_players] the same for the sizes of payoffs

    @classmethod
    def of(cls, form: SequenceForm) -> Plans | None:
        """Those of a game; None if it is not small."""
        counts, size = plan_counts(form), len(form.leaves)
        count = float(np.prod(counts))
        if count > PROFILES or count * size > WORK or count / counts[-1] * size > ROOM:
            return None
        leaves, n = form.leaves, form.n_players
        plans = tuple(all_plans(tree) for tree in _trees(form))
        *others, last = (
            _reaches(plex, own)[:, leaves.seqs[:, i]]
            for i, (plex, own) in enumerate(zip(form.plexes, plans, strict=True))
        )
        weight = np.ones((1, len(leaves)))  # whether each profile so far allows each leaf
        for reach in others:
            weight = (weight[:, None, :] * reach[None]).reshape(-1, len(leaves))
        shape = [len(own) for own in plans]
        payoffs, sizes = np.empty((2, *shape, n))
        for i in range(n):
            paid = weight * leaves.payoff[:, i]
            payoffs[..., i] = (paid @ last.T).reshape(shape)
            sizes[..., i] = (np.abs(paid) @ last.T).reshape(shape)
        return cls(plans, payoffs, sizes)


def feasible_payoffs(form: SequenceForm, pair: tuple[int, int]) -> Floats | None:
    """``[n, 2]`` the corners, counterclockwise, of what all lotteries over joint plans pay to two
    players, in equilibrium or not; None for a large game."""
    table = Plans.of(form)
    if table is None:
        return None
    span = form.leaves.payoff_range[list(pair)]
    unit = np.where(span > 0, span, 1.0)
    points = table.payoffs.reshape(-1, form.n_players)[:, list(pair)]
    _, first = np.unique(np.round(points / unit, 12), axis=0, return_index=True)
    points = points[first]
    return np.asarray(points[hull(points / unit, FLAT)])


@dataclass(frozen=True, eq=False)
class NormalForm:
    """The normal form of a game, itself a game, and how to play its policies in the original."""

    original: SequenceForm
    plans: tuple[Ints, ...]
    form: SequenceForm

    @classmethod
    def of(cls, form: SequenceForm) -> NormalForm:
        """Build it.

        Raises:
            BudgetError: If there are too many profiles of plans.
        """
        counts = plan_counts(form)
        profiles = float(np.prod(counts))
        found = Plans.of(form) if profiles <= MOST_PROFILES else None
        if found is None:
            each = " and ".join(
                f"{player_name(label)} {count:.4g}"
                for label, count in zip(form.game.player_labels, counts, strict=True)
            )
            raise BudgetError(
                f"an NFCE needs every profile of plans, at most {MOST_PROFILES:,}; "
                f"{form.game.name} has {profiles:.4g} ({each}); every NFCE is a BCE, so try "
                "k = infinity: no NFCE is better than the best BCE",
                required=int(min(profiles, 2**63)),
                available=MOST_PROFILES,
            )
        table = matrix_game(
            np.moveaxis(found.payoffs, -1, 0),
            players=form.game.player_labels,
            actions=list(map(_in_words, form.plexes, found.plans)),
            name=form.game.name,
        )
        return cls(form, found.plans, sequence_form(table))

    def played(self, policy: CorrelatedPolicy) -> CorrelatedPolicy:
        """A mixture of profiles of plans, as a policy of the original game."""
        parts = []
        for plex, plans, chosen in zip(
            self.original.plexes, self.plans, self.form.split(policy.behavior), strict=True
        ):
            behavior = np.ones((policy.n_components, plex.n_sequences))
            if plex.n_infosets:
                behavior[:, 1:] = 0.0
                rows = np.arange(policy.n_components)[:, np.newaxis]
                behavior[rows, plex.first_seq[:-1] + plans[chosen[:, 1:].argmax(axis=1)]] = 1.0
            parts.append(behavior)
        return CorrelatedPolicy(self.original.game, policy.weights, np.hstack(parts))


def _in_words(plex: Treeplex, plans: Ints) -> list[str]:
    """What each plan does where its own earlier actions allow it, such as ``X at good``."""
    words = []
    for plan in plans.tolist():
        told, taken = [], {0}
        for x, action in enumerate(plan):
            if int(plex.parent_seq[x]) in taken:
                taken.add(int(plex.first_seq[x]) + action)
                told.append(f"{plex.action_labels[x][action]} at {plex.infoset_labels[x]}")
        words.append(", ".join(told))
    return words


def plan_counts(form: SequenceForm) -> list[float]:
    """The numbers of reduced plans of the players, at most 1e18 each."""
    return [min(count_plans(tree), 1e18) for tree in _trees(form)]


def _trees(form: SequenceForm) -> list[RechistoryTree]:
    return [RechistoryTree.build(plex, 0) for plex in form.plexes]


def _reaches(plex: Treeplex, plans: Ints) -> Floats:
    """``[n_plans, n_sequences]`` the sequence forms of pure plans."""
    reaches = np.zeros((len(plans), plex.n_sequences))
    for row, actions in enumerate(plans):
        behavior = np.zeros(plex.n_sequences)
        behavior[0] = 1.0
        behavior[plex.first_seq[:-1] + actions] = 1.0
        reaches[row] = behavior_to_reach(plex, behavior)
    return reaches
