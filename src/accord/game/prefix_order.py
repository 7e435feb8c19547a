"""Prefix order: a node, then all nodes below its first action, then below its second, and so on.

Files list nodes in this order; builders and generators use others. Every game is renumbered when it
is made. So the tree alone determines the numbers of nodes, and of infosets, which are numbered by
their first nodes. The digest of a game and the meaning of a policy file do not depend on how the
game was made.
"""

from __future__ import annotations

import numpy as np

from accord._arrays import Ints
from accord._jit import jit


def prefix_numbers(parent: Ints, action: Ints, n_children: Ints) -> Ints | None:
    """``[n_nodes]`` the number of each node in prefix order; ``None`` if nothing changes.

    Parents must come before their children, and the actions of a node must be ``0..n-1``, each
    once.
    """
    if _are_in_prefix_order(parent, action, n_children):
        return None
    number = np.zeros(len(parent), np.int32)
    _number_nodes(parent, action, n_children, number)
    return number


@jit
def _are_in_prefix_order(parent: Ints, action: Ints, n_children: Ints) -> bool:
    for node in range(1, len(parent)):
        above, a = node - 1, 0
        if n_children[above] == 0:  # next: a sibling of it, or of its first ancestor that has one
            while action[above] + 1 == n_children[parent[above]]:
                above = parent[above]
            above, a = parent[above], action[above] + 1
        if parent[node] != above or action[node] != a:
            return False
    return True


@jit
def _number_nodes(parent: Ints, action: Ints, n_children: Ints, number: Ints) -> None:
    """Overwrite ``number`` with the number of each node in prefix order; it must be zeros."""
    size = np.ones(len(parent), np.int32)  # of the subtree at each node
    for node in range(len(parent) - 1, 0, -1):
        size[parent[node]] += size[node]
    first = np.zeros(len(parent) + 1, np.int32)  # where a node's actions start among all actions
    for node in range(len(parent)):
        first[node + 1] = first[node] + n_children[node]
    ahead = np.empty(len(parent), np.int32)  # number of an action's child minus that of its node
    for node in range(1, len(parent)):
        ahead[first[parent[node]] + action[node]] = size[node]
    for node in range(len(parent)):
        total = 1
        for at in range(first[node], first[node + 1]):
            total, ahead[at] = total + ahead[at], total
    for node in range(1, len(parent)):
        number[node] = number[parent[node]] + ahead[first[parent[node]] + action[node]]
