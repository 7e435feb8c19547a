"""Balanced K-EFR, Algorithms 3 and 8 of Song, Mei, Bai 2022: a K-EFCE from bandit feedback.

Each iteration the players take turns (the round-robin protocol of the appendix): while everybody
else plays pi^t, player i plays the episodes of her sampling plan (``learning/estimators.py``) and
feeds what she lost to the minimizers at the infosets that the episodes were after.

Nothing is computed that no episode sees. The policy pi^t(. | x) depends on the minimizer at x and
on pi^t at x's ancestors, which an episode has passed before; it is computed when an episode first
gets to x, and kept for the rest of the iteration. An estimate is zero but at the infoset and
action that the episode played at its layer, and it concerns the rechistories that the episode
informs. So an episode does as much in a game of a million infosets as in a game of ten; what it
takes longer there is the time of the memory (``benchmarks/episode_cost.py``).

A minimizer changes only after its policy of this iteration was computed, so updating at once is
updating at the end of the iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Floats, Ints, aligned_concatenate
from accord._jit import jit
from accord.deviations.rechistory import RechistoryTree
from accord.errors import ArgumentError
from accord.learning.estimators import SamplingPlan, sampling_plan
from accord.regret.rates import LARGEST_RATE
from accord.regret.regret_matching import match_sampled, observe_sampled
from accord.regret.wrhedge import hedge_sampled, learn_sampled
from accord.treeplex.treeplex import EMPTY_SEQUENCE, Treeplex

SWRHEDGE, SAMPLED_RM = range(2)
"""Minimizers, as kernels know them."""

BASELINE_RATE = 0.02
"""How fast baselines follow the losses that are seen."""

AS_IS, NO_EPISODE = -1, -2
"""In place of the number of an episode: one that is played by pi^t, and none at all."""

INFOSET = np.dtype(
    [
        ("first_seq", np.int32),
        ("n_actions", np.int32),
        ("first_node", np.int32),  # SWAP rechistories from here,
        ("first_external", np.int32),  # EXTERNAL ones from here,
        ("end_node", np.int32),  # to before here
        ("first_cell", np.int32),  # of its first rechistory, to be loaded at the same time as that
        ("stamp", np.int64),  # the iteration that policy and rec_reach are of
    ],
    align=True,
)
"""What a learner knows of an infoset, in half a cache line."""

NODE = np.dtype(
    [
        ("rec_reach", np.float64),  # M_b, where the infoset's stamp is this iteration's
        ("weight", np.float64),  # w_b
        ("credit", np.float64),  # SWRHedge's sum of S_b <p, estimate>
        ("parent", np.int32),
        ("rec_seq", np.int32),
        ("first_cell", np.int32),
        ("episode", np.int32),  # the episode that informs it
    ],
    align=True,
)
"""What a learner knows of a rechistory."""


class BanditArrays(NamedTuple):
    """Everything one bandit learner has: its treeplex, its rechistories, its minimizers."""

    infosets: NDArray[np.void]  # [n_infosets] of INFOSET
    nodes: NDArray[np.void]  # [n_nodes] of NODE
    behavior: Floats  # [n_sequences] pi^t where the infoset's stamp is t
    regret: Floats  # [n_cells]
    baseline: Floats  # [n_sequences] running mean of the loss after each sequence
    descendants: Ints  # [n_sequences, horizon]
    episode_layer: Ints  # [n_episodes]
    explores: NDArray[np.bool_]  # [n_episodes, horizon]
    scratch: Floats  # [2 * max_actions ** 2 + max_actions]
    path: Ints  # [2, horizon] infoset and action at each layer of the episode being sampled


class BalancedKEFR:
    """One player's Balanced K-EFR learner.

    It knows its treeplex; in each episode it is asked to :meth:`act` at the infosets it reaches
    and is told what it lost in the end. It never sees anything else. Whoever runs the game calls,
    for every learner,

        begin_iteration()                   before each round of episodes,
        begin_episode(e) or begin_episode() her own episodes in turn; ``None`` while others sample,
        act(x, rng)                         whenever she is to move, at the infoset she sees,
        end_episode(loss)                   when the play is over.

    Args:
        plex: The player's treeplex.
        k: How many recommendations a deviator may disobey.
        learning_rate: eta for losses in [0, 1]; ignored by regret matching.
        method: ``SWRHEDGE``, the paper's, or ``SAMPLED_RM``: regret matching around baselines.
        budget: Bytes that the rechistories may take; by default what is free.

    Raises:
        ArgumentError: If an argument is out of range.
        BudgetError: If the rechistories do not fit into memory, or an iteration would take more
            than ten million episodes.
    """

    def __init__(
        self,
        plex: Treeplex,
        k: SupportsIndex | float,
        learning_rate: float,
        method: int = SWRHEDGE,
        *,
        budget: int | None = None,
    ) -> None:
        if not 0.0 < learning_rate <= LARGEST_RATE:
            raise ArgumentError(
                f"BalancedKEFR: learning_rate must be positive and at most {LARGEST_RATE:g}; "
                f"got {learning_rate}"
            )
        if method not in (SWRHEDGE, SAMPLED_RM):
            raise ArgumentError(
                f"BalancedKEFR: method must be SWRHEDGE or SAMPLED_RM; got {method!r}"
            )
        self.tree = RechistoryTree.build(plex, k, budget)
        self.plan = sampling_plan(self.tree)
        self.learning_rate, self.method = learning_rate, method
        self.iteration = 0
        self.arrays = _arrays(self.tree, self.plan)
        self._episode = NO_EPISODE
        self._seq = self._layer = 0
        self._followed = 1.0

    @property
    def n_episodes(self) -> int:
        """Episodes that this learner samples in each iteration."""
        return self.plan.n_episodes

    def begin_iteration(self) -> None:
        """Start iteration t + 1: policies may change from here on. An open episode is forgotten."""
        self.iteration += 1
        self._episode = NO_EPISODE

    def begin_episode(self, episode: int | None = None) -> None:
        """Start an episode: the given one of the sampling plan, or ``None`` to play pi^t."""
        if episode is not None and not 0 <= episode < self.n_episodes:
            raise ArgumentError(
                f"an episode of the sampling plan is one of 0, ..., {self.n_episodes - 1}; "
                f"got {episode}"
            )
        self._episode = AS_IS if episode is None else int(episode)
        self._seq, self._layer, self._followed = EMPTY_SEQUENCE, 0, 1.0

    def act(self, x: int, rng: np.random.Generator) -> int:
        """The action at infoset ``x``, which must follow what she did before in this episode."""
        plex, own = self.tree.plex, self.arrays
        self._must_be_playing()
        if not 0 <= x < plex.n_infosets or plex.parent_seq[x] != self._seq:
            raise ArgumentError(
                f"infoset {x} cannot come at decision {self._layer + 1} of this play: it does not "
                "follow what the player did before"
            )
        refresh(
            x, self.iteration, own.infosets, own.nodes, own.behavior, own.regret, own.scratch,
            self.method, self.learning_rate,
        )  # fmt: skip
        draw = rng.random()
        if self._episode == AS_IS:
            action = sample(x, draw, own.infosets, own.behavior)
        else:
            action, followed = explore(
                x, self._layer, draw, own.infosets, own.behavior, own.descendants,
                int(own.episode_layer[self._episode]), own.explores[self._episode],
            )  # fmt: skip
            self._followed *= followed
            own.path[0, self._layer] = x
            own.path[1, self._layer] = action
        self._seq = int(plex.first_seq[x]) + int(action)
        self._layer += 1
        return int(action)

    def end_episode(self, loss: float) -> None:
        """The episode is over and cost ``loss`` in [0, 1]."""
        self._must_be_playing()
        if not 0.0 <= loss <= 1.0:
            raise ArgumentError(f"the loss of a play must be in [0, 1]; got {loss}")
        if self._episode != AS_IS:
            own = self.arrays
            learn(
                self._episode, int(own.episode_layer[self._episode]), self._layer, float(loss),
                self._followed, own.path, own.infosets, own.nodes, own.behavior, own.regret,
                own.baseline, own.scratch, self.method,
            )  # fmt: skip
        self._episode = NO_EPISODE

    def policy(self) -> Floats:
        """pi^t at every infoset, as a copy."""
        own = self.arrays
        refresh_all(
            0, self.tree.plex.n_infosets, self.iteration, own.infosets, own.nodes, own.behavior,
            own.regret, own.scratch, self.method, self.learning_rate,
        )  # fmt: skip
        return own.behavior.copy()

    def _must_be_playing(self) -> None:
        if self._episode == NO_EPISODE:
            raise ArgumentError("no episode is being played; call begin_episode first")


def _arrays(tree: RechistoryTree, plan: SamplingPlan) -> BanditArrays:
    plex = tree.plex
    infosets = np.zeros(plex.n_infosets, INFOSET)
    infosets["first_seq"] = plex.first_seq[:-1]
    infosets["n_actions"] = plex.n_actions
    infosets["first_node"] = tree.arrays.first_node[:-1]
    infosets["first_external"] = tree.arrays.first_external
    infosets["end_node"] = tree.arrays.first_node[1:]
    infosets["first_cell"] = tree.arrays.first_cell[tree.arrays.first_node[:-1]]
    infosets["stamp"] = -1
    nodes = np.zeros(tree.n_nodes, NODE)
    nodes["rec_reach"][0] = 1.0
    nodes["weight"] = plan.node_weight
    nodes["parent"] = tree.arrays.parent
    nodes["rec_seq"] = tree.arrays.rec_seq
    nodes["first_cell"] = tree.arrays.first_cell[:-1]
    nodes["episode"] = plan.node_episode
    n = plex.max_actions
    return BanditArrays(
        infosets=infosets,
        nodes=nodes,
        behavior=np.ones(plex.n_sequences),
        regret=np.zeros(tree.n_cells),
        baseline=np.full(plex.n_sequences, 0.5),
        descendants=plan.descendants,
        episode_layer=plan.layer,
        explores=plan.explores,
        scratch=np.zeros(2 * n * n + n),
        path=np.zeros((2, max(1, plex.horizon)), np.int32),
    )


def join(parts: Sequence[BanditArrays]) -> BanditArrays:
    """Several learners in one set of arrays, so that a kernel need not choose between them.

    Indices are shifted, nothing is shared: what a kernel reaches from an infoset is what that
    infoset's learner has.
    """
    horizon = max(part.explores.shape[1] for part in parts)
    infosets, nodes = [], []
    seq = node = cell = episode = 0
    for part in parts:
        infosets.append(part.infosets.copy())
        nodes.append(part.nodes.copy())
        infosets[-1]["first_seq"] += seq
        infosets[-1]["first_cell"] += cell
        for name in ("first_node", "first_external", "end_node"):
            infosets[-1][name] += node
        nodes[-1]["parent"] += node
        nodes[-1]["rec_seq"] += seq
        nodes[-1]["first_cell"] += cell
        nodes[-1]["episode"] += episode
        seq += len(part.behavior)
        node += len(part.nodes)
        cell += len(part.regret)
        episode += len(part.episode_layer)

    def padded(arrays: list[Any]) -> Any:
        return np.concatenate([np.pad(a, ((0, 0), (0, horizon - a.shape[1]))) for a in arrays])

    return BanditArrays(
        infosets=aligned_concatenate(infosets),
        nodes=aligned_concatenate(nodes),
        behavior=aligned_concatenate([part.behavior for part in parts]),
        regret=aligned_concatenate([part.regret for part in parts]),
        baseline=aligned_concatenate([part.baseline for part in parts]),
        descendants=padded([part.descendants for part in parts]),
        episode_layer=np.concatenate([part.episode_layer for part in parts]),
        explores=padded([part.explores for part in parts]),
        scratch=max((part.scratch for part in parts), key=len),
        path=np.zeros((2, max(1, horizon)), np.int32),
    )


@jit
def refresh(
    x: int,
    t: int,
    infosets: Any,
    nodes: Any,
    behavior: Any,
    regret: Any,
    scratch: Any,
    method: int,
    learning_rate: float,
) -> None:
    """Compute pi^t and M_b at ``x`` if this iteration has not yet; ancestors must be fresh."""
    if infosets[x].stamp != t and decides(x, t, infosets, nodes, behavior):
        if method == SWRHEDGE:
            hedge_sampled(x, infosets, nodes, behavior, regret, scratch, learning_rate)
        else:
            match_sampled(x, infosets, nodes, behavior, regret, scratch)


@jit
def refresh_all(
    first: int,
    end: int,
    t: int,
    infosets: Any,
    nodes: Any,
    behavior: Any,
    regret: Any,
    scratch: Any,
    method: int,
    learning_rate: float,
) -> None:
    """:func:`refresh` at the infosets ``first .. end - 1`` of one player, all she has."""
    for x in range(first, end):
        refresh(x, t, infosets, nodes, behavior, regret, scratch, method, learning_rate)


@jit
def decides(x: int, t: int, infosets: Any, nodes: Any, behavior: Any) -> bool:
    """Compute M_b at ``x`` for iteration t, and say whether there is a policy to compute too."""
    at = infosets[x]
    at.stamp = t
    for node in range(at.first_node, at.end_node):
        nodes[node].rec_reach = nodes[nodes[node].parent].rec_reach * behavior[nodes[node].rec_seq]
    if at.n_actions == 1:
        behavior[at.first_seq] = 1.0
        return False
    return True


@jit
def sample(x: int, draw: float, infosets: Any, behavior: Any) -> int:
    """An action of pi^t at ``x`` by inverse CDF."""
    first = infosets[x].first_seq
    last = first + infosets[x].n_actions - 1
    for seq in range(first, last):
        draw -= behavior[seq]
        if draw < 0.0:
            return seq - first  # type: ignore[no-any-return]
    while behavior[last] == 0.0:  # rounding must not draw what cannot be
        last -= 1
    return last - first  # type: ignore[no-any-return]


@jit
def explore(
    x: int,
    layer: int,
    draw: float,
    infosets: Any,
    behavior: Any,
    descendants: Any,
    target: int,
    explores: Any,
) -> Any:
    """An action of the sampling policy at ``x``, and pi^t(a | x) if it was pi^t's, on the way."""
    first, n = infosets[x].first_seq, infosets[x].n_actions
    if layer > target or not explores[layer]:
        a = sample(x, draw, infosets, behavior)
        return a, behavior[first + a] if layer < target else 1.0
    total = 0
    if layer < target:
        for seq in range(first, first + n):
            total += descendants[seq, target]
    if total == 0:
        return min(int(draw * n), n - 1), 1.0
    rest = int(draw * total)
    for a in range(n):
        rest -= descendants[first + a, target]
        if rest < 0:
            return a, 1.0
    return n - 1, 1.0


@jit
def learn(
    episode: int,
    target: int,
    length: int,
    loss: float,
    followed: float,
    path: Any,
    infosets: Any,
    nodes: Any,
    behavior: Any,
    regret: Any,
    baseline: Any,
    scratch: Any,
    method: int,
) -> None:
    """Feed what an episode cost to the minimizer at the infoset that it was after.

    ``length`` is the number of the player's decisions; ``followed`` the probability with which
    pi^t took the actions before the target layer at which the episode did not explore.
    """
    if length <= target:
        return  # the play ended before the player got to that layer
    x, a = path[0, target], path[1, target]
    if method == SWRHEDGE:
        learn_sampled(x, a, episode, loss / followed, infosets, nodes, behavior, regret)
    else:
        observe_sampled(
            x, a, episode, loss, followed, infosets, nodes, behavior, regret, baseline, scratch
        )
        follow_losses(target, length, loss, path, infosets, baseline)


@jit
def follow_losses(
    target: int, length: int, loss: float, path: Any, infosets: Any, baseline: Any
) -> None:
    """Move the baselines of what was played, from the target on, where the play was pi^t's."""
    for layer in range(target, length):
        seq = infosets[path[0, layer]].first_seq + path[1, layer]
        baseline[seq] += BASELINE_RATE * (loss - baseline[seq])
