"""Bandit learners driven from outside: one play at a time, with every draw chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from accord._arrays import CHANCE, NO_INFOSET, TERMINAL
from accord.deviations.notions import EFCE
from accord.deviations.rechistory import (
    EXTERNAL,
    ROOT,
    SWAP,
    RechistoryArrays,
    RechistoryTree,
)
from accord.game.tree import Game
from accord.learning.episode_learner import EpisodeLearner
from accord.learning.estimators import sampling_sets
from accord.regret.swrhedge import SWRHedge
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import Treeplex
from tests import reference


def minimizer(method: str, rate: float) -> str | SWRHedge:
    """The method called ``method``, with this learning rate if it has one."""
    return SWRHedge(rate) if method == "swrhedge" else method


class Scripted:
    """A generator that draws what it is told to."""

    def __init__(self, draws: Iterable[float]) -> None:
        self.draws = iter(draws)

    def random(self) -> float:
        return next(self.draws)


def as_rng(draws: Iterable[float]) -> Any:
    return Scripted(draws)


def own_path(game: Game, i: int, end: reference.Terminal) -> list[tuple[int, int]]:
    """The infosets and actions of player i on the way to a terminal."""
    if end.seqs[i] == 0:
        return []
    last = reference.pair(game, i, end.seqs[i])
    return [*reference.path(game, i, last[0]), last]


def tree_of(learner: EpisodeLearner) -> RechistoryTree:
    """The player's rechistories, from what the learner's tables have.

    For a K-EFCE they are built anew. For other notions they are those that the tables have, as if
    they were all SWAP or EXTERNAL.
    """
    own = learner.tables
    n, before = own.n_infosets, own.parent_seq[: own.n_infosets]
    above = np.where(before > 0, own.seq_infoset[before], NO_INFOSET)
    action = before - own.arrays.infosets["first_seq"][above] if n else []
    plex = Treeplex.from_parents(own.arrays.infosets["n_actions"][:n], above, action)
    if not (own.rule.coarse or own.rule.agent):
        return RechistoryTree.build(plex, own.rule.k)
    records, nodes = own.arrays.infosets[:n], own.arrays.nodes[: own.n_nodes]
    ends = np.append(records["first_node"], own.n_nodes).astype(np.int32)
    swap = records["first_external"] > records["first_node"]
    sizes = np.where(swap, plex.n_actions**2, plex.n_actions)
    cells = np.concatenate([[0, 1], 1 + np.cumsum(np.repeat(sizes, np.diff(ends)))])
    arrays = RechistoryArrays(
        ends, records["first_external"].copy(), nodes["parent"].copy(), nodes["rec_seq"].copy(),
        np.zeros(own.n_nodes, np.int32), cells.astype(np.int32), np.array([SWAP, EXTERNAL]),
    )  # fmt: skip
    return RechistoryTree(plex, own.rule.k, arrays, EFCE)


def replay(learner: EpisodeLearner, law: list[float], path: Sequence[tuple[int, int]]) -> None:
    """Make the learner, in an episode that plays ``law``, take the actions of ``path``.

    The draws lie in the middle of what ``law`` gives to each action, so this fails if the learner
    plays something else.
    """
    for x, a in path:
        first, n = (int(learner.state.infosets[name][x]) for name in ("first_seq", "n_actions"))
        here = law[first : first + n]
        assert learner.act(x, as_rng([sum(here[:a]) + here[a] / 2])) == a


def naive_episodes(game: Game, i: int, k: float) -> list[reference.Episode]:
    """Player i's episodes as ``reference`` writes them, in the order of the sampling plan."""
    known = {
        (episode[0], tuple(sorted(reference.balanced_layers(episode)))): episode
        for episode in reference.episodes(game, i, k)
    }
    sets = sampling_sets(reference.horizon(game, i), reference.clip(game, i, k))
    assert len(sets) == len(set(sets)) == len(known)
    return [known[key] for key in sets]


def nodes_of(learner: EpisodeLearner) -> list[tuple[int, int, reference.Rechistory]]:
    """``(node, infoset, rechistory)`` of every node but the root."""
    tree = tree_of(learner)
    return [
        (node, int(tree.node_infoset[node]), tree.rechistory(node))
        for node in range(ROOT + 1, tree.n_nodes)
    ]


def assert_sums_are_unbiased(
    game: Game, i: int, k: float, learner: EpisodeLearner, behaviors: list[list[float]],
    regret: np.ndarray, credit: np.ndarray,
) -> None:  # fmt: skip
    """Compare what an iteration adds in the mean to SWRHedge's sums with S_b times the losses.

    ``regret`` has the mean of each cell, ``credit`` that of each rechistory.
    """
    tree = tree_of(learner)
    losses = reference.counterfactual_losses(game, i, behaviors)
    for node, x, b in nodes_of(learner):
        if (n := int(tree.plex.n_actions[x])) == 1:
            continue  # nothing is learned where nothing is decided
        seqs = [reference.sequence(game, i, x, a) for a in range(n)]
        p, loss = np.array(behaviors[i])[seqs], np.array(losses)[seqs]
        S = reference.time_selection(game, i, behaviors[i], x, b)
        S *= reference.sampling_weight(game, i, k, x, b)
        cells = slice(tree.arrays.first_cell[node], tree.arrays.first_cell[node + 1])
        wanted = S * (np.outer(p, loss).ravel() if tree.is_swap[node] else loss)
        np.testing.assert_allclose(regret[cells], wanted, rtol=0, atol=1e-12)
        np.testing.assert_allclose(credit[node], S * (p @ loss), rtol=0, atol=1e-12)


EVERYBODY = -1


def play_round(
    game: Game,
    learners: Sequence[EpisodeLearner],
    rng: np.random.Generator,
    begun: Callable[[], object] | None = None,
) -> dict[tuple[int, int], int]:
    """One iteration of shared episodes and of the round-robin protocol; ``begun`` comes first.

    Returns where each ``(player, episode)`` ended; ``EVERYBODY`` is the player of shared ones.

    Everything a learner is told goes through ``act`` and ``end_episode``. Draws are taken in the
    order of the moves, as compiled self-play takes them.
    """
    leaves = sequence_form(game).leaves
    children = reference.node_children(game)
    payoffs = {end.node: end.payoffs for end in reference.terminals(game)}
    ends = {}
    for learner in learners:
        learner.begin_iteration()
    if begun is not None:
        begun()
    shared = learners[0].n_shared
    rounds = [(EVERYBODY, episode) for episode in range(shared)]
    for active, sampler in enumerate(learners):
        rounds += [(active, episode) for episode in range(shared, sampler.n_episodes)]
    for active, episode in rounds:
        for i, learner in enumerate(learners):
            learner.begin_episode(episode if active in (i, EVERYBODY) else None)
        node = 0
        while game.player[node] != TERMINAL:
            if game.player[node] == CHANCE:
                law = np.cumsum([game.chance_prob[child] for child in children[node]])
                law[-1] = 1.0
                action = int(np.searchsorted(law, rng.random(), side="right"))
            else:
                mover = learners[game.player[node]]
                action = mover.act(int(game.infoset[node]), rng)
            node = children[node][action]
        for i, learner in enumerate(learners):
            loss = (leaves.best[i] - payoffs[node][i]) * leaves.loss_scale[i]
            learner.end_episode(float(np.clip(loss, 0.0, 1.0)))
        ends[active, episode] = node

    return ends
