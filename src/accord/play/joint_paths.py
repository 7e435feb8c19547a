"""From the tree of joint histories to the players' sequences.

Infosets and sequences of all players are numbered one player after the other, in *joint* vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from accord._arrays import CHANCE, Floats, Ints
from accord._jit import jit
from accord.play.episodes import Episode
from accord.play.joint_tree import START, JointArrays, JointMove, JointTree
from accord.play.own_tree import OwnTree
from accord.treeplex.treeplex import EMPTY_SEQUENCE


class Places(NamedTuple):
    """Where the infosets and sequences of all players are in joint vectors."""

    first_infoset: NDArray[np.int64]  # [n_players + 1] where the infosets of each player start
    first_seq: NDArray[np.int64]  # [all infosets] the joint number of the first action
    n_actions: NDArray[np.int64]  # [all infosets]
    first_reach: NDArray[np.int64]  # [n_players + 1] where the sequences of each player start

    @classmethod
    def of(cls, trees: Sequence[OwnTree]) -> Places:
        """The places of the infosets that these trees know, with their numbers."""
        sizes = [tree.n_sequences for tree in trees]
        first_reach = np.cumsum([0, *sizes])
        first_seq = [np.array(tree.first_seq, np.int64) for tree in trees]
        return cls(
            np.cumsum([0, *(tree.n_infosets for tree in trees)]),
            np.concatenate([first_seq[i] + first_reach[i] for i in range(len(sizes))]),
            np.concatenate(
                [np.diff(first, append=size) for first, size in zip(first_seq, sizes, strict=True)]
            ),
            first_reach,
        )

    def uniform(self) -> Floats:
        """The joint behavior that takes every action with the same probability."""
        behavior = np.ones(int(self.first_reach[-1]))
        share = np.repeat(1.0 / self.n_actions, self.n_actions)
        starts = np.cumsum(self.n_actions) - self.n_actions
        at = np.repeat(self.first_seq - starts, self.n_actions) + np.arange(len(share))
        behavior[at] = share
        return behavior


def record_episodes(tree: JointTree, trees: Sequence[OwnTree], episodes: Sequence[Episode]) -> None:
    """Record plays of an environment; infosets that are new get numbers in ``trees``."""
    if not episodes:
        return
    plays = [_numbered(trees, episode) for episode in episodes]
    told = [law for one in episodes for shown in one.shown for law, _ in shown]
    tree.record(plays, np.array([episode.losses for episode in episodes]), told)


def _numbered(trees: Sequence[OwnTree], episode: Episode) -> list[JointMove]:
    """The moves of an episode, whose infosets all get numbers."""
    last = [EMPTY_SEQUENCE] * len(trees)
    moves: list[JointMove] = []
    for shown, (i, _, label, actions, action) in zip(episode.shown, episode.moves, strict=False):
        moves += (JointMove(CHANCE, 0, len(law), drawn) for law, drawn in shown)
        x, _ = trees[i].see(label, actions, last[i])
        last[i] = trees[i].first_seq[x] + action
        moves.append(JointMove(i, x, len(actions), action))
    moves += (JointMove(CHANCE, 0, len(law), drawn) for law, drawn in episode.shown[-1])
    return moves


@jit
def walk_down(tree: JointArrays, places: Places, law: Floats, prob: Floats, seqs: Ints) -> None:
    """Overwrite ``prob`` with c(d), and ``seqs`` with all players' sequences at each node."""
    for d in range(tree.size[0]):
        node = tree.nodes[d]
        e = node.edge
        prob[d] = node.count / tree.edges[e].count
        if e == START:
            seqs[d] = 0
            continue
        above = tree.edges[e].node
        prob[d] *= prob[above] * law[e]
        seqs[d] = seqs[above]
        i, x = tree.nodes[above].player, tree.nodes[above].place
        if i != CHANCE:
            first = places.first_seq[places.first_infoset[i] + x] - places.first_reach[i]
            seqs[d, i] = first + e - tree.nodes[above].first_edge
