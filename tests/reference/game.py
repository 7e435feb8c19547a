"""The game and its infosets: the twin of ``accord.game.tree`` and ``accord.treeplex.treeplex``."""

from __future__ import annotations

from typing import Any

from tests.reference.types import CHANCE, TERMINAL, Terminal, once_per_game, remember


def n_players(game: Any) -> int:
    return len(game.n_actions)


def infosets(game: Any, i: int) -> range:
    return range(len(game.n_actions[i]))


def actions(game: Any, i: int, x: int) -> range:
    return range(int(game.n_actions[i][x]))


def max_actions(game: Any, i: int) -> int:
    return max((len(actions(game, i, x)) for x in infosets(game, i)), default=1)


@remember
def sequence(game: Any, i: int, x: int, a: int) -> int:
    """The number of the sequence (x, a)."""
    return 1 + sum(int(n) for n in game.n_actions[i][:x]) + a


@remember
def n_sequences(game: Any, i: int) -> int:
    return 1 + sum(int(n) for n in game.n_actions[i])


@remember
def pair(game: Any, i: int, seq: int) -> tuple[int, int]:
    """The (x, a) of a sequence other than the empty one."""
    for x in infosets(game, i):
        for a in actions(game, i, x):
            if sequence(game, i, x, a) == seq:
                return x, a
    raise KeyError(seq)


@remember
def path(game: Any, i: int, x: int) -> tuple[tuple[int, int], ...]:
    """The unique (x_1, a_1), ..., (x_{h-1}, a_{h-1}) that leads to x."""
    above = int(game.parent_infoset[i][x])
    if above < 0:
        return ()
    return (*path(game, i, above), (above, int(game.parent_action[i][x])))


def layer(game: Any, i: int, x: int) -> int:
    """h, such that x is in X_{i,h}."""
    return len(path(game, i, x)) + 1


@remember
def horizon(game: Any, i: int) -> int:
    """H: the longest chain of own decisions."""
    return max((layer(game, i, x) for x in infosets(game, i)), default=0)


def clip(game: Any, i: int, K: float) -> int:
    return int(min(K, horizon(game, i)))


@remember
def descendants(game: Any, i: int, h: int, x: int, a: int | None = None) -> tuple[int, ...]:
    """C_h(x, a), or C_h(x) without a: the infosets of layer h that can be reached from there."""
    return tuple(
        y
        for y in infosets(game, i)
        if layer(game, i, y) == h
        and any(xk == x and a in (None, ak) for xk, ak in path(game, i, y))
    )


@remember
def children(game: Any, i: int, x: int, a: int) -> tuple[int, ...]:
    """C(x, a): the infosets that may come next."""
    return descendants(game, i, layer(game, i, x) + 1, x, a)


def first_infosets(game: Any, i: int) -> list[int]:
    return [x for x in infosets(game, i) if layer(game, i, x) == 1]


@once_per_game
def node_children(game: Any) -> tuple[tuple[int, ...], ...]:
    """Per node the nodes below it, in the order of actions."""
    below: list[list[tuple[int, int]]] = [[] for _ in game.player]
    for node in range(1, len(game.player)):
        below[int(game.parent[node])].append((int(game.action[node]), node))
    return tuple(tuple(node for _, node in sorted(pairs)) for pairs in below)


@once_per_game
def node_rewards(game: Any) -> tuple[tuple[float, ...], ...]:
    """Per node the reward of each player for passing it."""
    rewards = [tuple(0.0 for _ in range(n_players(game))) for _ in game.player]
    for row, node in enumerate(game.reward_node):
        rewards[int(node)] = tuple(float(r) for r in game.reward[row])
    return tuple(rewards)


@remember
def node_sequences(game: Any, node: int) -> tuple[int, ...]:
    """Per player the last sequence before ``node``."""
    if node == 0:
        return tuple(0 for _ in range(n_players(game)))
    above = int(game.parent[node])
    seqs = list(node_sequences(game, above))
    i = int(game.player[above])
    if i >= 0:
        seqs[i] = sequence(game, i, int(game.infoset[above]), int(game.action[node]))
    return tuple(seqs)


@remember
def node_chance(game: Any, node: int) -> float:
    """Probability of the chance moves before ``node``: p_{1:h}(s)."""
    if node == 0:
        return 1.0
    above = int(game.parent[node])
    p = float(game.chance_prob[node]) if game.player[above] == CHANCE else 1.0
    return node_chance(game, above) * p


@once_per_game
def terminals(game: Any) -> tuple[Terminal, ...]:
    """All terminal histories."""

    def payoffs(node: int) -> tuple[float, ...]:
        here = node_rewards(game)[node]
        if node == 0:
            return here
        return tuple(r + s for r, s in zip(payoffs(int(game.parent[node])), here, strict=True))

    return tuple(
        Terminal(node, node_sequences(game, node), node_chance(game, node), payoffs(node))
        for node in range(len(game.player))
        if game.player[node] == TERMINAL
    )


@remember
def payoff_range(game: Any, i: int) -> tuple[float, float]:
    """The worst and the best payoff of any play."""
    payoffs = [z.payoffs[i] for z in terminals(game)]
    return min(payoffs), max(payoffs)


def normalized_loss(game: Any, i: int, payoff: float) -> float:
    """Loss of player i, in [0, 1], over a play that pays ``payoff``."""
    worst, best = payoff_range(game, i)
    return (best - payoff) / (best - worst) if best > worst else 0.0
