"""The game."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

from tests.reference.types import (
    CHANCE,
    TERMINAL,
    Behavior,
    Behaviors,
    CorrelatedPolicy,
    once_per_game,
    remember,
)


class Terminal(NamedTuple):
    """A terminal history."""

    node: int
    seqs: tuple[int, ...]  # per player: the sequence she has played
    chance: float  # probability of the chance moves
    payoffs: tuple[float, ...]  # per player: the rewards on the way, summed


def n_players(game: Any) -> int:
    return len(game.n_actions)


def infosets(game: Any, i: int) -> range:
    return range(len(game.n_actions[i]))


def actions(game: Any, i: int, x: int) -> range:
    return range(int(game.n_actions[i][x]))


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
    """Per node what each player gets on passing it."""
    rewards = [tuple(0.0 for _ in range(n_players(game))) for _ in game.player]
    for row, node in enumerate(game.reward_node):
        rewards[int(node)] = tuple(float(r) for r in game.reward[row])
    return tuple(rewards)


@remember
def node_sequences(game: Any, node: int) -> tuple[int, ...]:
    """Per player the sequence she has played before ``node``."""
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


def prob(game: Any, i: int, behavior: Behavior, x: int, a: int) -> float:
    """pi_i(a | x)."""
    return float(behavior[sequence(game, i, x, a)])


def reach(game: Any, i: int, behavior: Behavior, seq: int) -> float:
    """pi_{i,1:h}(x, a), eq. (eqn:sequence-form-policy)."""
    if seq == 0:
        return 1.0
    x, a = pair(game, i, seq)
    total = prob(game, i, behavior, x, a)
    for xk, ak in path(game, i, x):
        total *= prob(game, i, behavior, xk, ak)
    return total


def sequence_form(game: Any, i: int, behavior: Behavior) -> list[float]:
    return [reach(game, i, behavior, seq) for seq in range(n_sequences(game, i))]


def expected_values(game: Any, behaviors: Behaviors) -> list[float]:
    """V_i of every player, by walking the tree."""

    def walk(node: int) -> list[float]:
        value = list(node_rewards(game)[node])
        i = int(game.player[node])
        for a, child in enumerate(node_children(game)[node]):
            if i == CHANCE:
                p = float(game.chance_prob[child])
            else:
                p = prob(game, i, behaviors[i], int(game.infoset[node]), a)
            value = [v + p * w for v, w in zip(value, walk(child), strict=True)]
        return value

    return walk(0)


def correlated_values(game: Any, policy: CorrelatedPolicy) -> list[float]:
    """V_i of a correlated policy, of every player."""
    values = [0.0] * n_players(game)
    for weight, behaviors in policy:
        component = expected_values(game, behaviors)
        values = [v + weight * c for v, c in zip(values, component, strict=True)]
    return values


@remember
def payoff_range(game: Any, i: int) -> tuple[float, float]:
    """The worst and the best payoff of any play."""
    payoffs = [z.payoffs[i] for z in terminals(game)]
    return min(payoffs), max(payoffs)


def normalized_loss(game: Any, i: int, payoff: float) -> float:
    """What player i loses over a play that pays ``payoff``, in [0, 1]."""
    worst, best = payoff_range(game, i)
    return (best - payoff) / (best - worst) if best > worst else 0.0


def others_reach(game: Any, i: int, behaviors: Behaviors, seqs: tuple[int, ...]) -> float:
    """prod_{j != i} pi_{j,1:h}."""
    total = 1.0
    for j, seq in enumerate(seqs):
        if j != i:
            total *= reach(game, j, behaviors[j], seq)
    return total


def opponent_reach(game: Any, i: int, behaviors: Behaviors, x: int) -> float:
    """p^{pi_-i}_{1:h}(x), eq. (eqn:pi-i(x))."""
    return sum(
        node_chance(game, node) * others_reach(game, i, behaviors, node_sequences(game, node))
        for node in range(len(game.player))
        if game.player[node] == i and game.infoset[node] == x
    )


def immediate_payoffs(game: Any, i: int, behaviors: Behaviors) -> list[float]:
    """Over sequences: expected payoff of the plays that end there, if i plays to end there."""
    total = [0.0] * n_sequences(game, i)
    for z in terminals(game):
        total[z.seqs[i]] += z.chance * others_reach(game, i, behaviors, z.seqs) * z.payoffs[i]
    return total


def immediate_losses(game: Any, i: int, behaviors: Behaviors) -> list[float]:
    """l over sequences, eq. (equation:l-definition): a play's whole loss falls at its end."""
    total = [0.0] * n_sequences(game, i)
    for z in terminals(game):
        loss = normalized_loss(game, i, z.payoffs[i])
        total[z.seqs[i]] += z.chance * others_reach(game, i, behaviors, z.seqs) * loss
    return total


def counterfactual_losses(game: Any, i: int, behaviors: Behaviors) -> list[float]:
    """L over sequences, eq. (equation:L-definition); entry 0 is the expected loss."""
    loss = immediate_losses(game, i, behaviors)
    total = list(loss)
    form = sequence_form(game, i, behaviors[i])
    total[0] = sum(p * ell for p, ell in zip(form, loss, strict=True))
    for x in infosets(game, i):
        h = layer(game, i, x)
        for a in actions(game, i, x):
            for later in range(h + 1, horizon(game, i) + 1):
                for y in descendants(game, i, later, x, a):
                    between = 1.0  # pi_{i,(h+1):(h'-1)}
                    for xk, ak in path(game, i, y)[h:]:
                        between *= prob(game, i, behaviors[i], xk, ak)
                    for c in actions(game, i, y):
                        seq = sequence(game, i, y, c)
                        total[sequence(game, i, x, a)] += between * behaviors[i][seq] * loss[seq]
    return total


def uniform_behavior(game: Any, i: int) -> Behavior:
    return [
        1.0,
        *(1 / len(actions(game, i, x)) for x in infosets(game, i) for _ in actions(game, i, x)),
    ]


def pure_behavior(game: Any, i: int, choice: Iterable[int]) -> Behavior:
    """The policy that takes ``choice[x]`` at each infoset x."""
    behavior = [1.0] + [0.0] * (n_sequences(game, i) - 1)
    for x, a in enumerate(choice):
        behavior[sequence(game, i, x, a)] = 1.0
    return behavior


def pure_choices(game: Any, i: int, limit: int = 300_000) -> Iterator[tuple[int, ...]]:
    """All pure policies, as the action taken at each infoset."""
    count = math.prod(len(actions(game, i, x)) for x in infosets(game, i))
    if count > limit:
        raise ValueError(f"{count} pure policies, more than {limit}")
    return product(*(actions(game, i, x) for x in infosets(game, i)))
