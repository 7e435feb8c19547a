"""Prefix order: a node, then all below its first action, then all below its second, and so on.

Files have their nodes in this order, builders and generators in others. A game is renumbered when
it is made, so the tree alone says what number a node has, and the infosets, which are numbered by
their first nodes: one game has one digest, and one meaning of a policy file, whatever made it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from accord._arrays import Ints
from accord._jit import jit


def prefix_numbers(parent: Ints, action: Ints, n_children: Ints) -> Ints | None:
    """``[n_nodes]`` the number of each node in prefix order; ``None`` if all have it already.

    Parents must come before their children, and the actions of a node be ``0..n-1``, each once.
    """
    if _are_in_prefix_order(parent, action, n_children):
        return None
    number = np.zeros(len(parent), np.int32)
    _number_nodes(parent, action, n_children, number)
    return number


@jit
def _are_in_prefix_order(parent: Any, action: Any, n_children: Any) -> bool:
    for node in range(1, len(parent)):
        above, a = node - 1, 0
        if n_children[above] == 0:  # go on beside it, or beside the first above it that is not last
            while action[above] + 1 == n_children[parent[above]]:
                above = parent[above]
            above, a = parent[above], action[above] + 1
        if parent[node] != above or action[node] != a:
            return False
    return True


@jit
def _number_nodes(parent: Any, action: Any, n_children: Any, number: Any) -> None:
    """Write the number of each node in prefix order; ``number`` must be zeros."""
    size = np.ones(len(parent), np.int32)  # of the subtree at each node
    for node in range(len(parent) - 1, 0, -1):
        size[parent[node]] += size[node]
    first = np.zeros(len(parent) + 1, np.int32)  # of the actions of each node among all actions
    for node in range(len(parent)):
        first[node + 1] = first[node] + n_children[node]
    ahead = np.empty(len(parent), np.int32)  # how far each action leads ahead of the node it is at
    for node in range(1, len(parent)):
        ahead[first[parent[node]] + action[node]] = size[node]
    for node in range(len(parent)):
        total = 1
        for at in range(first[node], first[node + 1]):
            total, ahead[at] = total + ahead[at], total
    for node in range(1, len(parent)):
        number[node] = number[parent[node]] + ahead[first[parent[node]] + action[node]]
