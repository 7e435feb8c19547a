"""Policies of one player as vectors over the player's sequences.

``behavior[seq]`` is the probability of the action at its infoset; ``reach[seq]`` is the product of
the behaviors from the first decision to that one, Equation (3) of Song, Mei, Bai 2022. Both are 1
at sequence 0.
"""

from __future__ import annotations

import numpy as np

from accord._arrays import Floats, Ints
from accord._jit import jit, part
from accord.errors import PolicyError
from accord.treeplex.treeplex import Treeplex, TreeplexArrays


def uniform_behavior(plex: Treeplex) -> Floats:
    """The policy that takes all actions of an infoset with equal probability."""
    behavior = np.ones(plex.n_sequences)
    behavior[1:] = np.repeat(1.0 / plex.n_actions, plex.n_actions)
    return behavior


def random_behavior(plex: Treeplex, rng: np.random.Generator) -> Floats:
    """A policy whose action distribution at each infoset is drawn uniformly from the simplex."""
    behavior = np.ones(plex.n_sequences)
    behavior[1:] = rng.exponential(size=plex.n_sequences - 1)
    if plex.n_infosets:
        totals = np.add.reduceat(behavior[1:], plex.first_seq[:-1] - 1)
        behavior[1:] /= np.repeat(totals, plex.n_actions)
    return behavior


def pure_behavior(plex: Treeplex, actions: Ints) -> Floats:
    """The policy that takes ``actions[x]`` at each infoset ``x``."""
    if len(actions) != plex.n_infosets or ((actions < 0) | (actions >= plex.n_actions)).any():
        raise PolicyError("a pure policy must choose one action at each infoset")
    behavior = np.zeros(plex.n_sequences)
    behavior[0] = 1.0
    behavior[plex.first_seq[:-1] + actions] = 1.0
    return behavior


def behavior_to_reach(plex: Treeplex, behavior: Floats) -> Floats:
    """The sequence form of a policy."""
    reach = np.ones(plex.n_sequences)
    compute_reach(plex.arrays, behavior, reach)
    return reach


def reach_to_behavior(plex: Treeplex, reach: Floats) -> Floats:
    """The policy with this sequence form; uniform at infosets that it never reaches."""
    behavior = uniform_behavior(plex)
    above = np.repeat(reach[plex.parent_seq], plex.n_actions)
    np.divide(reach[1:], above, out=behavior[1:], where=above > 0)
    return behavior


def average_behavior(plex: Treeplex, behaviors: Floats, weights: Floats) -> Floats:
    """The average of policies by their reach probabilities; uniform where none of them goes."""
    reach = np.zeros(plex.n_sequences)
    for behavior, weight in zip(behaviors, weights.tolist(), strict=True):
        reach += weight * behavior_to_reach(plex, np.ascontiguousarray(behavior))
    return reach_to_behavior(plex, reach)


def spread_behavior(plex: Treeplex) -> Floats:
    """A single policy over sequences that spreads plays over all ends of the treeplex.

    It takes each action in proportion to 1 plus the number of childless infosets below it.
    """
    ends = np.ones(plex.n_sequences)  # 1 + the childless infosets below each sequence
    for h in range(plex.horizon - 1, -1, -1):
        layer = slice(plex.layers[h], plex.layers[h + 1])
        first, end = plex.first_seq[layer.start], plex.first_seq[layer.stop]
        below = np.add.reduceat(ends[first:end] - 1.0, plex.first_seq[layer] - first)
        np.add.at(ends, plex.parent_seq[layer], np.maximum(below, 1.0))
    behavior = np.ones(plex.n_sequences)
    if plex.n_infosets:
        totals = np.add.reduceat(ends, plex.first_seq[:-1])
        behavior[1:] = ends[1:] / np.repeat(totals, plex.n_actions)
    return behavior


@part
def draw_sequence(behavior: Floats, first: int, end: int, draw: float) -> int:
    """The sequence from ``first`` to ``end - 1`` that ``draw`` selects, as ``_draws.py`` does."""
    chosen = seq = first
    while draw >= 0.0 and seq < end:
        draw -= behavior[seq]
        if behavior[seq] > 0.0:
            chosen = seq
        seq += 1
    return chosen


@jit
def compute_reach(plex: TreeplexArrays, behavior: Floats, reach: Floats) -> None:
    """Overwrite ``reach`` with the sequence form of ``behavior``."""
    reach[0] = 1.0
    for x in range(len(plex.parent_seq)):
        above = reach[plex.parent_seq[x]]
        for seq in range(plex.first_seq[x], plex.first_seq[x + 1]):
            reach[seq] = above * behavior[seq]


@jit
def compute_reaches(plex: TreeplexArrays, behaviors: Floats, first: int, reaches: Floats) -> None:
    """Write the sequence forms of the rows of ``behaviors`` into those of ``reaches``.

    ``reaches`` is over the sequences of all players; those of this player start at ``first``.
    """
    for t in range(len(behaviors)):
        compute_reach(plex, behaviors[t], reaches[t, first : first + behaviors.shape[1]])
