"""Strategy modifications phi and their execution.

A K-EFCE strategy modification phi (Definition strategy-modification of Song, Mei, Bai 2022) swaps
the recommendation at every SWAP rechistory and picks an action at every EXTERNAL one. It is a
vector over the rows of a :class:`~accord.deviations.rechistory.RechistoryTree`:
``choice[first_row[node] + r]`` is phi(x, b, r) at a SWAP node, and ``choice[first_row[node]]`` is
phi(x, b) at an EXTERNAL one.

:meth:`Modification.execute` follows Algorithm 1 literally. :meth:`Modification.sequence_form` is
the exact policy that it induces, by Lemma general-balancing-mu:

    (phi o pi)_{1:h}(x, a) = sum over rechistories b at x of S_b * [phi took the path to x]
                             * sum_r pi(r | x) [phi(x, b, r) = a]        (SWAP), or [phi(x, b) = a].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from accord._arrays import Floats, Ints
from accord._jit import jit
from accord.deviations.rechistory import RechistoryArrays, RechistoryTree
from accord.errors import ArgumentError
from accord.treeplex.treeplex import EMPTY_SEQUENCE, TreeplexArrays


@dataclass(frozen=True, eq=False, repr=False)
class Modification:
    """One player's strategy modification phi."""

    tree: RechistoryTree
    choice: Ints  # [n_rows] the action at each (rechistory, recommendation)

    def __post_init__(self) -> None:
        limit = np.repeat(self.tree.plex.n_actions[self.tree.node_infoset[1:]], self._rows[1:])
        chosen = self.choice[1:]
        if len(self.choice) != self.tree.first_row[-1] or ((chosen < 0) | (chosen >= limit)).any():
            raise ArgumentError(
                f"a modification must choose a valid action in each of the "
                f"{self.tree.first_row[-1]} rows of its rechistory tree; got {len(self.choice)} "
                "choices"
            )

    @classmethod
    def obey(cls, tree: RechistoryTree) -> Modification:
        """Follow every recommendation; take the first action where there is none."""
        choice = np.zeros(int(tree.first_row[-1]), np.int32)
        swap = np.repeat(tree.is_swap, np.diff(tree.first_row))
        row = np.arange(len(choice)) - np.repeat(tree.first_row[:-1], np.diff(tree.first_row))
        choice[swap] = row[swap]
        return cls(tree, choice)

    @property
    def _rows(self) -> Ints:
        return np.diff(self.tree.first_row)

    def execute(
        self, infosets: Iterable[int], recommend: Callable[[int], int]
    ) -> Iterator[tuple[int, int]]:
        """Algorithm 1: play phi o pi.

        Args:
            infosets: The player's infosets in the order in which the game reveals them. Each may
                depend on the action yielded before it.
            recommend: Draws the recommendation of pi at an infoset. Called only while b is Type I.

        Yields:
            ``(infoset, action taken)`` for each of the ``infosets``.
        """
        tree, plex = self.tree, self.tree.plex
        seq = EMPTY_SEQUENCE  # the player's last move
        b: list[int] = []  # the recommendation history
        taken: list[int] = []  # the actions, to count the mismatches with b
        for x in infosets:
            if not 0 <= x < plex.n_infosets or plex.parent_seq[x] != seq:
                raise ArgumentError(
                    f"infoset {x} does not follow the infosets and actions before it"
                )
            mismatches = [k for k, (r, a) in enumerate(zip(b, taken, strict=False)) if r != a]
            node = self._find(x, tuple(b))
            row = int(tree.first_row[node])
            if len(mismatches) < tree.k:  # b is Type I
                recommended = recommend(x)
                if not 0 <= recommended < plex.n_actions[x]:
                    raise ArgumentError(
                        f"a recommendation at infoset {x} must be one of its {plex.n_actions[x]} "
                        f"actions; got {recommended}"
                    )
                action = int(self.choice[row + recommended])
                b.append(recommended)
            else:  # b is Type II: its last mismatch was the K-th
                action = int(self.choice[row])
            taken.append(action)
            seq = int(plex.first_seq[x]) + action
            yield x, action

    def _find(self, x: int, b: tuple[int, ...]) -> int:
        arrays = self.tree.arrays
        for node in range(int(arrays.first_node[x]), int(arrays.first_node[x + 1])):
            if self.tree.rechistory(node) == b:
                return node
        raise AssertionError(f"no rechistory {b} at infoset {x}")

    def sequence_form(self, behavior: Floats) -> Floats:
        """``[n_sequences]`` the reach of phi o pi, where pi has this ``behavior``."""
        reach = np.zeros(self.tree.plex.n_sequences)
        visits = np.zeros(self.tree.n_nodes)
        _modify(
            self.tree.plex.arrays, self.tree.arrays, self.tree.node_infoset, self.tree.first_row,
            self.choice, behavior, visits, reach,
        )  # fmt: skip
        return reach

    def __repr__(self) -> str:
        return f"Modification(k={self.tree.k}, rows={len(self.choice)})"


@jit
def _modify(
    plex: TreeplexArrays,
    tree: RechistoryArrays,
    node_infoset: Ints,
    first_row: Ints,
    choice: Ints,
    behavior: Floats,
    visits: Floats,
    reach: Floats,
) -> None:
    """Overwrite ``visits`` with the probability that phi reaches each node, given that the game
    leads there, and ``reach`` with the sequence form of phi o pi."""
    visits[0] = 1.0
    reach[:] = 0.0
    reach[0] = 1.0
    for x in range(len(plex.parent_seq)):
        first = plex.first_seq[x]
        n = plex.first_seq[x + 1] - first
        for node in range(tree.first_node[x], tree.first_node[x + 1]):
            above = tree.parent[node]
            chance = visits[above]
            if above != 0 and chance > 0.0:
                # The recommendation gives the parent's row, whose choice must lead to x.
                y_first = plex.first_seq[node_infoset[above]]
                seq = tree.rec_seq[node]
                row = first_row[above] if seq == 0 else first_row[above] + seq - y_first
                if y_first + choice[row] != plex.parent_seq[x]:
                    chance = 0.0
                chance *= behavior[seq]
            visits[node] = chance
            if chance == 0.0:
                continue
            if node < tree.first_external[x]:
                for r in range(n):
                    reach[first + choice[first_row[node] + r]] += chance * behavior[first + r]
            else:
                reach[first + choice[first_row[node]]] += chance
