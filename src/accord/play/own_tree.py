"""The infosets of one player that have been seen in plays.

Infosets are numbered in the order in which they were first seen, and so are their sequences: those
of infoset x are ``first_seq[x] + a``, after sequence 0, the empty one. An infoset is always seen
after the move that leads to it, so parents have smaller numbers than their children.

Everything that is seen is compared with what was seen before. The label of an infoset must contain
everything that the player has seen and done (perfect recall), and its actions never change.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord._arrays import NO_INFOSET, Floats
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import GameError, ImperfectRecallError
from accord.game.labels import player_name
from accord.play.environment import quoted
from accord.treeplex.treeplex import EMPTY_SEQUENCE, Treeplex

UNSEEN_SEQUENCE = -1
"""Stands for a sequence at an infoset that has no number yet."""

BYTES_PER_INFOSET = 200
"""About what Python's objects for an infoset take, without the text of its label."""


class OwnTree:
    """The known part of one player's treeplex.

    Attributes:
        player: The name of the player.
        number: The number of each infoset, by label.
        labels: The label of each infoset.
        actions: The actions at each infoset.
        first_seq: The first sequence of each infoset.
        parent_seq: The sequence that leads to each infoset.
        n_sequences: The number of sequences, with the empty one.
        n_bytes: About how much memory they take.
    """

    def __init__(self, player: str) -> None:
        self.player = player
        self.number: dict[str, int] = {}
        self.labels: list[str] = []
        self.actions: list[tuple[str, ...]] = []
        self.first_seq, self.parent_seq = array("q"), array("q")
        self.n_sequences = 1
        self.n_bytes = 0
        self._sets: dict[tuple[str, ...], tuple[str, ...]] = {}  # equal action sets are shared

    @classmethod
    def of(cls, player: str, plex: Treeplex) -> OwnTree:
        """The tree with all infosets of ``plex``, with its numbers."""
        tree = cls(player)
        for x, before in enumerate(plex.parent_seq.tolist()):
            tree.add(plex.infoset_labels[x], tuple(plex.action_labels[x]), before)
        return tree

    def state(self) -> dict[str, Any]:
        """Everything that :meth:`restored` needs, as arrays."""
        sets = list(self._sets)
        place = {actions: n for n, actions in enumerate(sets)}
        texts = [label.encode("utf-8", "surrogatepass") for label in self.labels]
        return {
            "labels": np.frombuffer(b"".join(texts), np.uint8),
            "lengths": np.array(list(map(len, texts)), np.int64),
            "parent_seq": np.array(self.parent_seq, np.int64),
            "action_sets": np.array(json.dumps(sets)),
            "actions": np.array([place[actions] for actions in self.actions], np.int64),
        }

    @classmethod
    def restored(cls, player: str, state: dict[str, Any]) -> OwnTree:
        """The tree whose :meth:`state` this is.

        Raises:
            ValueError: If it is not one.
        """
        tree, text = cls(player), state["labels"].tobytes()
        sets = list(map(tuple, json.loads(str(state["action_sets"]))))
        lengths, before, actions = (
            np.asarray(state[name]) for name in ("lengths", "parent_seq", "actions")
        )
        if (
            not all(one.ndim == 1 and one.dtype.kind == "i" for one in (lengths, before, actions))
            or not len(lengths) == len(before) == len(actions)
            or lengths.min(initial=0) < 0
            or lengths.sum() != len(text)
            or actions.min(initial=0) < 0
            or not all(one and all(isinstance(action, str) for action in one) for one in sets)
        ):
            raise ValueError("the infosets of a checkpoint must fit each other")
        ends, n_sequences = np.cumsum(lengths).tolist(), 1
        for x, end in enumerate(ends):
            label = text[end - int(lengths[x]) : end].decode("utf-8", "surrogatepass")
            if not 0 <= before[x] < n_sequences:
                raise ValueError("an infoset must follow an earlier one")
            tree.add(label, sets[actions[x]], int(before[x]))
            n_sequences += len(sets[actions[x]])
        return tree

    @property
    def n_infosets(self) -> int:
        """How many infosets are known."""
        return len(self.labels)

    def find(self, label: str, actions: Sequence[str], before: int) -> int:
        """The number of an infoset that was reached after the sequence ``before``.

        Returns ``NO_INFOSET`` if it has not been seen yet.

        Raises:
            GameError: If it was seen with other actions, or is not an infoset.
            ImperfectRecallError: If it was seen after another move.
        """
        x = self.number.get(label, NO_INFOSET) if isinstance(label, str) else NO_INFOSET
        if x == NO_INFOSET:
            self._check_new(label, actions)
        elif self.parent_seq[x] != before or self.actions[x] != actions:
            self._refuse(x, actions, before)
        return x

    def see(self, label: str, actions: Sequence[str], before: int) -> tuple[int, bool]:
        """Like :meth:`find`, but a new infoset gets a number; also return whether it is new."""
        x = self.find(label, actions, before)
        if x != NO_INFOSET:
            return x, False
        return self.add(label, tuple(actions), before), True

    def add(self, label: str, actions: tuple[str, ...], before: int) -> int:
        """Give a new infoset its number."""
        x = self.number[label] = len(self.labels)
        self.labels.append(label)
        self.actions.append(self._sets.setdefault(actions, actions))
        self.first_seq.append(self.n_sequences)
        self.parent_seq.append(before)
        self.n_sequences += len(actions)
        self.n_bytes += BYTES_PER_INFOSET + len(label)
        return x

    def infoset_of(self, seq: int) -> int:
        """The infoset of a sequence, which must not be the empty one."""
        return int(np.searchsorted(np.frombuffer(self.first_seq, np.int64), seq, side="right")) - 1

    def treeplex(self) -> Treeplex:
        """The treeplex of the known infosets, in the order of :meth:`ordered`."""
        return self.ordered()[0]

    def numbered(self) -> Treeplex:
        """The treeplex of the known infosets with their numbers, if they are those of one.

        Raises:
            GameError: If the infosets were not numbered layer by layer.
        """
        return self._treeplex(np.arange(self.n_infosets))[0]

    def ordered(self) -> tuple[Treeplex, NDArray[np.int64]]:
        """The treeplex, and the sequence here of each of its sequences.

        Its infosets come layer by layer, and after the same move in the order of their labels. So
        it does not matter in which order they were found.
        """
        below: dict[int, list[int]] = {}
        for x, before in enumerate(self.parent_seq):
            below.setdefault(before, []).append(x)
        order: list[int] = []
        layer = sorted(below.get(EMPTY_SEQUENCE, []), key=self.labels.__getitem__)
        while layer:
            order += layer
            seqs = (self.first_seq[x] + a for x in layer for a in range(len(self.actions[x])))
            layer = [
                x
                for seq in seqs
                if seq in below
                for x in sorted(below[seq], key=self.labels.__getitem__)
            ]
        return self._treeplex(np.array(order, np.int64))

    def _treeplex(self, index: NDArray[np.int64]) -> tuple[Treeplex, NDArray[np.int64]]:
        """The treeplex with the infosets ``index``, and the sequence here of each sequence."""
        order = index.tolist()
        counts = np.array([len(self.actions[x]) for x in order], np.int64)
        first = np.array(self.first_seq, np.int64)
        parent = np.array(self.parent_seq, np.int64)[index]
        place = np.zeros(len(order), np.int64)
        place[index] = np.arange(len(order))
        above = np.searchsorted(first, parent, side="right") - 1  # -1 before the first decision
        inner = above >= 0
        starts = np.cumsum(counts) - counts
        here = np.repeat(first[index] - starts, counts) + np.arange(counts.sum())
        plex = Treeplex.from_parents(
            counts,
            np.where(inner, place[above], NO_INFOSET) if len(order) else [],
            np.where(inner, parent - first[above], 0) if len(order) else [],
            [self.labels[x] for x in order],
            [self.actions[x] for x in order],
        )
        return plex, np.concatenate([[EMPTY_SEQUENCE], here]).astype(np.int64)

    def history(self, seq: int) -> tuple[tuple[str, str], ...]:
        """The player's own moves up to a sequence, as (infoset, action)."""
        moves: list[tuple[str, str]] = []
        while seq > EMPTY_SEQUENCE:
            x = self.infoset_of(seq)
            moves.append((self.labels[x], self.actions[x][seq - self.first_seq[x]]))
            seq = self.parent_seq[x]
        return tuple(reversed(moves))

    def _check_new(self, label: Any, actions: Sequence[str]) -> None:
        here = tuple(actions)
        if not isinstance(label, str) or not here or len(set(here)) < len(here):
            raise GameError(
                f"{player_name(self.player)}: an infoset must be a string with one or more "
                f"distinct actions; got {quoted(label)} with {quoted(here)}"
            )

    def _refuse(self, x: int, actions: Sequence[str], before: int) -> None:
        label = self.labels[x]
        if self.parent_seq[x] != before:
            unseen = (("an infoset that was never seen before", "some action"),)
            now = unseen if before == UNSEEN_SEQUENCE else self.history(before)
            raise ImperfectRecallError(self.player, label, (self.history(self.parent_seq[x]), now))
        if tuple(actions) != self.actions[x]:
            raise GameError(
                f"{player_name(self.player)}, infoset {quoted(label)}: the actions must always "
                f"be the same; got {quoted(tuple(actions))}, but {quoted(self.actions[x])} "
                "before"
            )


def policy_of(
    name: str, rows: Sequence[Sequence[Floats]], trees: Sequence[OwnTree]
) -> CorrelatedPolicy:
    """The policy with these components, equally likely, over the infosets of all ``trees``."""
    plexes, order = zip(*(tree.ordered() for tree in trees), strict=True)
    weights = np.full(len(rows), 1.0 / len(rows))
    players = [tree.player for tree in trees]
    behavior = filled(rows, trees, order)
    behavior.flags.writeable = False  # nobody else has it
    return CorrelatedPolicy.of_players(name, players, plexes, weights, behavior)


def filled(
    rows: Sequence[Sequence[Floats]], trees: Sequence[OwnTree], order: Sequence[NDArray[np.int64]]
) -> Floats:
    """``[n_components, n_sequences]`` joint behaviors, uniform where a row says nothing.

    ``order[i]`` is the sequence in ``trees[i]`` of each of player i's columns.
    """
    columns = []
    for i, tree in enumerate(trees):
        counts = np.array([len(actions) for actions in tree.actions], np.int64)
        uniform = np.concatenate([[1.0], np.repeat(1.0 / counts, counts)])
        known = np.tile(uniform, (len(rows), 1))
        for c, row in enumerate(rows):
            known[c, : len(row[i])] = row[i]
        columns.append(known[:, order[i]])
    return np.concatenate(columns, axis=1)
