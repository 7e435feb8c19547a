"""The paper in plain Python: slow reference functions, the oracles of every kernel.

Everything here is written from Song, Mei, Bai 2022 as literally as its definitions allow, with
lists, dictionaries and loops, and reads of the package nothing but the attributes of a ``Game``. To
be read beside the paper; labels of its source stand where a definition or equation is used.

Conventions. ``i`` is a player, ``x`` one of her infosets (numbered as in ``Game``), ``a`` an action
there, ``h`` a layer: h - 1 is how many decisions she has made before, so uneven trees are no
exception. Her horizon H is the last layer, and K is read as min(K, H). Action sets may differ. A
*behavior* of a player is a list over her sequences: entry 0 is 1 (the empty sequence), and the
entry ``sequence(game, i, x, a)`` is pi_i(a | x). ``behaviors``, one per player, are a product
policy. A *correlated policy* is a list of ``(weight, behaviors)``.

Losses are normalised: over a whole play player i loses (best_i - u) / (best_i - worst_i), 0 if her
payoff is constant. Gaps are in payoffs, and nothing is clamped at 0.

The paper is mended in three places. A Type-II rechistory ends with its K-th mismatch,
``a_{h'} != b_{h'}``; for K = 0 there is one, the empty one, at every infoset. The second sum of
lemma general-balancing-mu runs over b_{1:h-1}: over b_{1:h} it would count everything A times. And
the opponents' reach of a state, eq. (eqn:pi-i(x)), has only their actions before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

CHANCE = -1
TERMINAL = -2

once_per_game = lru_cache(maxsize=50)  # bounded, so that games of long test runs can go
remember = lru_cache(maxsize=50_000)

Behavior = list[float]
Behaviors = list[Behavior]
CorrelatedPolicy = list[tuple[float, Behaviors]]
Rechistory = tuple[int, ...]
Modification = dict[tuple[Any, ...], int]  # (x, b, recommended) or (x, b) -> action


# --- 1. The game ----------------------------------------------------------------------------------


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


# --- 2. Rechistories ------------------------------------------------------------------------------


def mismatches(game: Any, i: int, x: int, b: Rechistory) -> list[int]:
    """{k : a_k != b_k}, counted from 1, where a is the path to x."""
    return [k for k, (ak, bk) in enumerate(zip(_moves(game, i, x), b, strict=False), 1) if ak != bk]


def _moves(game: Any, i: int, x: int) -> list[int]:
    return [a for _, a in path(game, i, x)]


def _action_sequences(game: Any, i: int, x: int, length: int) -> Iterator[Rechistory]:
    """All b_{1:length} that may be recommended on the way to x."""
    return product(*(actions(game, i, xk) for xk, _ in path(game, i, x)[:length]))


@remember
def type_one(game: Any, i: int, K: float, x: int) -> tuple[Rechistory, ...]:
    """Omega^(I)(x): all b_{1:h-1} with at most K - 1 mismatches."""
    K = clip(game, i, K)
    h = layer(game, i, x)
    return tuple(
        b for b in _action_sequences(game, i, x, h - 1) if len(mismatches(game, i, x, b)) <= K - 1
    )


@remember
def type_two(game: Any, i: int, K: float, x: int) -> tuple[Rechistory, ...]:
    """Omega^(II)(x): all b_{1:h'}, h' < h, whose K-th mismatch is at h'."""
    K = clip(game, i, K)
    if K == 0:
        return ((),)
    found = []
    for length in range(1, layer(game, i, x)):
        for b in _action_sequences(game, i, x, length):
            where = mismatches(game, i, x, b)
            if len([k for k in where if k <= length - 1]) == K - 1 and length in where:
                found.append(b)
    return tuple(found)


def rechistories(game: Any, i: int, K: float) -> list[tuple[int, Rechistory]]:
    """All (x, b) of player i, at each x first Type I, then Type II."""
    return [
        (x, b)
        for x in infosets(game, i)
        for b in (*type_one(game, i, K, x), *type_two(game, i, K, x))
    ]


def rechistory_counts(game: Any, i: int, K: float) -> list[tuple[int, int]]:
    """Per infoset how many are Type I and Type II."""
    return [(len(type_one(game, i, K, x)), len(type_two(game, i, K, x))) for x in infosets(game, i)]


def time_selection(game: Any, i: int, behavior: Behavior, x: int, b: Rechistory) -> float:
    """S_b at x (or M_b under bandit feedback): the product of pi(b_k | x_k) over b."""
    total = 1.0
    for (xk, _), bk in zip(path(game, i, x), b, strict=False):
        total *= prob(game, i, behavior, xk, bk)
    return total


# --- 3. Strategy modifications --------------------------------------------------------------------


def slots(game: Any, i: int, K: float) -> list[tuple[Any, ...]]:
    """What a modification must answer: (x, b, recommended) for Type I, (x, b) for Type II."""
    keys: list[tuple[Any, ...]] = []
    for x in infosets(game, i):
        for b in type_one(game, i, K, x):
            keys += [(x, b, recommended) for recommended in actions(game, i, x)]
        keys += [(x, b) for b in type_two(game, i, K, x)]
    return keys


def n_modifications(game: Any, i: int, K: float) -> int:
    """The size of Phi_i^K."""
    return math.prod(len(actions(game, i, key[0])) for key in slots(game, i, K))


def modifications(game: Any, i: int, K: float, limit: int = 300_000) -> Iterator[Modification]:
    """All of Phi_i^K (definition:strategy-modification)."""
    count = n_modifications(game, i, K)
    if count > limit:
        raise ValueError(f"Phi has {count} modifications, more than {limit}")
    keys = slots(game, i, K)
    for choice in product(*(actions(game, i, key[0]) for key in keys)):
        yield dict(zip(keys, choice, strict=True))


def random_modification(game: Any, i: int, K: float, rng: np.random.Generator) -> Modification:
    return {key: int(rng.integers(len(actions(game, i, key[0])))) for key in slots(game, i, K)}


def identity_modification(game: Any, i: int, K: float) -> Modification:
    """Follows every recommendation it sees; takes action 0 where it sees none."""
    return {key: key[2] if len(key) == 3 else 0 for key in slots(game, i, K)}


def execute(
    game: Any,
    i: int,
    K: float,
    phi: Modification,
    behaviors: Behaviors,
    *,
    rng: np.random.Generator,
) -> tuple[int, Rechistory]:
    """Algorithm 1: play phi o pi_i against the others once; the terminal node and the final b."""
    b: Rechistory = ()
    node = 0
    while game.player[node] != TERMINAL:
        below = node_children(game)[node]
        j, x = int(game.player[node]), int(game.infoset[node])
        if j == CHANCE:
            a = _sample([float(game.chance_prob[child]) for child in below], rng)
        elif j != i:
            a = _sample([prob(game, j, behaviors[j], x, c) for c in actions(game, j, x)], rng)
        elif b in type_one(game, i, K, x):
            bh = _sample([prob(game, i, behaviors[i], x, c) for c in actions(game, i, x)], rng)
            a = phi[x, b, bh]
            b = (*b, bh)
        else:
            assert b in type_two(game, i, K, x)
            a = phi[x, b]
        node = below[a]
    return node, b


def _sample(weights: list[float], rng: np.random.Generator) -> int:
    u = rng.random() * sum(weights)
    for a, p in enumerate(weights):
        u -= p
        if u < 0:
            return a
    return max(a for a, p in enumerate(weights) if p > 0)


def execution_law(
    game: Any, i: int, K: float, phi: Modification, behaviors: Behaviors
) -> dict[int, float]:
    """The exact law of Algorithm 1: the probability of every terminal node."""
    law = {z.node: 0.0 for z in terminals(game)}

    def walk(node: int, b: Rechistory, p: float) -> None:
        if game.player[node] == TERMINAL:
            law[node] += p
            return
        below = node_children(game)[node]
        j, x = int(game.player[node]), int(game.infoset[node])
        if j == CHANCE:
            for child in below:
                walk(child, b, p * float(game.chance_prob[child]))
        elif j != i:
            for a in actions(game, j, x):
                walk(below[a], b, p * prob(game, j, behaviors[j], x, a))
        elif b in type_one(game, i, K, x):
            for bh in actions(game, i, x):
                walk(below[phi[x, b, bh]], (*b, bh), p * prob(game, i, behaviors[i], x, bh))
        else:
            walk(below[phi[x, b]], b, p)

    walk(0, (), 1.0)
    return law


def modified_reach(
    game: Any, i: int, K: float, phi: Modification, behavior: Behavior
) -> list[float]:
    """(phi o pi_i)_{1:h} over sequences, by following Algorithm 1 through her infosets."""
    form = [1.0] + [0.0] * (n_sequences(game, i) - 1)

    def take(x: int, a: int, b: Rechistory, p: float) -> None:
        form[sequence(game, i, x, a)] += p
        for y in children(game, i, x, a):
            visit(y, b, p)

    def visit(x: int, b: Rechistory, p: float) -> None:
        if b in type_one(game, i, K, x):
            for bh in actions(game, i, x):
                take(x, phi[x, b, bh], (*b, bh), p * prob(game, i, behavior, x, bh))
        else:
            take(x, phi[x, b], b, p)

    for x in first_infosets(game, i):
        visit(x, (), 1.0)
    return form


def lemma_reach(game: Any, i: int, K: float, phi: Modification, behavior: Behavior) -> list[float]:
    """(phi o pi_i)_{1:h} over sequences, by the two sums of lemma general-balancing-mu (mended)."""
    K = clip(game, i, K)
    form = [1.0] + [0.0] * (n_sequences(game, i) - 1)
    for x in infosets(game, i):
        for ah in actions(game, i, x):
            way = [*path(game, i, x), (x, ah)]
            h = len(way)
            for b in product(*(actions(game, i, xk) for xk, _ in way)):
                if len(mismatches(game, i, x, b[: h - 1])) <= K - 1:
                    term = 1.0
                    for k, (xk, ak) in enumerate(way, 1):
                        term *= phi[xk, b[: k - 1], b[k - 1]] == ak
                        term *= prob(game, i, behavior, xk, b[k - 1])
                    form[sequence(game, i, x, ah)] += term
            for b in _action_sequences(game, i, x, h - 1):
                where = mismatches(game, i, x, b)
                if len(where) == K:
                    tau = where[-1] if K else 0  # the K-th mismatch
                    term = 1.0
                    for k, (xk, ak) in enumerate(way, 1):
                        if k <= tau:
                            term *= phi[xk, b[: k - 1], b[k - 1]] == ak
                            term *= prob(game, i, behavior, xk, b[k - 1])
                        else:
                            term *= phi[xk, b[:tau]] == ak
                    form[sequence(game, i, x, ah)] += term
    return form


def modified_value(
    game: Any, i: int, K: float, phi: Modification, policy: CorrelatedPolicy
) -> float:
    """V_i^{phi o policy}."""
    payoffs = {z.node: z.payoffs[i] for z in terminals(game)}
    total = 0.0
    for weight, behaviors in policy:
        law = execution_law(game, i, K, phi, behaviors)
        total += weight * sum(p * payoffs[node] for node, p in law.items())
    return total


# --- 4. Gaps --------------------------------------------------------------------------------------


def efce_gap(game: Any, i: int, K: float, policy: CorrelatedPolicy, limit: int = 300_000) -> float:
    """Player i's K-EFCE gap (definition:kefce), by trying every modification."""
    components = [(w, bs[i], immediate_payoffs(game, i, bs)) for w, bs in policy]

    def gain(phi: Modification) -> float:
        total = 0.0
        for weight, behavior, payoff in components:
            form = modified_reach(game, i, K, phi, behavior)
            total += weight * sum(p * u for p, u in zip(form, payoff, strict=True))
        return total

    best = max(gain(phi) for phi in modifications(game, i, K, limit))
    return best - correlated_values(game, policy)[i]


def best_deviation(
    game: Any, i: int, K: float, policy: CorrelatedPolicy
) -> tuple[float, Modification]:
    """Player i's K-EFCE gap and a modification that attains it, by recursion over (x, b).

    ``alive[c]`` is the weight of component c times the probability that it recommended b.
    """
    budget = clip(game, i, K)
    payoff = [immediate_payoffs(game, i, behaviors) for _, behaviors in policy]
    phi: Modification = {}

    def best_action(
        x: int, b: Rechistory, deviations: Callable[[int], int], alive: list[float]
    ) -> tuple[float, int]:
        values = []
        for a in actions(game, i, x):
            value = sum(w * u[sequence(game, i, x, a)] for w, u in zip(alive, payoff, strict=True))
            value += sum(visit(y, b, deviations(a), alive) for y in children(game, i, x, a))
            values.append(value)
        best = max(values)
        return best, values.index(best)

    def visit(x: int, b: Rechistory, deviations: int, alive: list[float]) -> float:
        if deviations == budget:
            value, phi[x, b] = best_action(x, b, lambda _: budget, alive)
            return value
        total = 0.0
        for r in actions(game, i, x):
            told = [
                w * prob(game, i, behaviors[i], x, r)
                for w, (_, behaviors) in zip(alive, policy, strict=True)
            ]
            value, phi[x, b, r] = best_action(
                x, (*b, r), lambda a, r=r: deviations + (a != r), told
            )
            total += value
        return total

    weights = [weight for weight, _ in policy]
    total = sum(w * u[0] for w, u in zip(weights, payoff, strict=True))
    total += sum(visit(x, (), 0, weights) for x in first_infosets(game, i))
    return total - correlated_values(game, policy)[i], phi


def trigger_value(
    game: Any, i: int, trigger: tuple[int, int], plan: dict[int, int], behaviors: Behaviors
) -> float:
    """V_i of the trigger policy: pi_i, but ``plan`` from x on once a is recommended there."""

    def walk(node: int, triggered: bool) -> float:
        value = node_rewards(game)[node][i]
        below = node_children(game)[node]
        j, y = int(game.player[node]), int(game.infoset[node])
        if j == CHANCE:
            for child in below:
                value += float(game.chance_prob[child]) * walk(child, triggered)
        elif j == i and triggered:
            value += walk(below[plan[y]], True)
        elif j >= 0:
            for c in actions(game, j, y):
                p = prob(game, j, behaviors[j], y, c)
                if j == i and (y, c) == trigger:
                    value += p * walk(below[plan[y]], True)
                else:
                    value += p * walk(below[c], triggered)
        return value

    return walk(0, False)


def trigger_gap(game: Any, i: int, policy: CorrelatedPolicy, limit: int = 300_000) -> float:
    """Player i's part of the trigger gap, eq. (equation:trigger-def), by trying every plan."""
    value = correlated_values(game, policy)[i]
    best = -math.inf if infosets(game, i) else 0.0
    for x in infosets(game, i):
        later = [x] + [y for y in infosets(game, i) if x in [xk for xk, _ in path(game, i, y)]]
        count = math.prod(len(actions(game, i, y)) for y in later)
        if count > limit:
            raise ValueError(f"{count} continuations, more than {limit}")
        for a in actions(game, i, x):
            for choice in product(*(actions(game, i, y) for y in later)):
                plan = dict(zip(later, choice, strict=True))
                total = sum(w * trigger_value(game, i, (x, a), plan, bs) for w, bs in policy)
                best = max(best, total - value)
    return best


def best_trigger(game: Any, i: int, policy: CorrelatedPolicy) -> float:
    """The trigger gap again: for each trigger, the best plan by recursion over infosets."""
    payoff = [immediate_payoffs(game, i, behaviors) for _, behaviors in policy]

    def respond(x: int, weights: list[float]) -> float:
        return max(
            sum(w * u[sequence(game, i, x, a)] for w, u in zip(weights, payoff, strict=True))
            + sum(respond(y, weights) for y in children(game, i, x, a))
            for a in actions(game, i, x)
        )

    def follow(x: int, a: int, weights: list[float]) -> float:
        total = sum(w * u[sequence(game, i, x, a)] for w, u in zip(weights, payoff, strict=True))
        for y in children(game, i, x, a):
            for c in actions(game, i, y):
                onward = [
                    w * prob(game, i, behaviors[i], y, c)
                    for w, (_, behaviors) in zip(weights, policy, strict=True)
                ]
                total += follow(y, c, onward)
        return total

    gains = [0.0] if not infosets(game, i) else []
    for x in infosets(game, i):
        for a in actions(game, i, x):
            told = [w * reach(game, i, bs[i], sequence(game, i, x, a)) for w, bs in policy]
            gains.append(respond(x, told) - follow(x, a, told))
    return max(gains)


def nfcce_gap(game: Any, i: int, policy: CorrelatedPolicy) -> float:
    """Player i's NFCCE gap, by trying every pure policy."""
    payoff = [0.0] * n_sequences(game, i)
    for weight, behaviors in policy:
        component = immediate_payoffs(game, i, behaviors)
        payoff = [u + weight * v for u, v in zip(payoff, component, strict=True)]
    return _best_pure(game, i, payoff) - correlated_values(game, policy)[i]


def _best_pure(game: Any, i: int, payoff: list[float]) -> float:
    return max(
        sum(
            p * u
            for p, u in zip(
                sequence_form(game, i, pure_behavior(game, i, choice)), payoff, strict=True
            )
        )
        for choice in pure_choices(game, i)
    )


def nfce_gap(game: Any, i: int, policy: CorrelatedPolicy) -> float:
    """Player i's NFCE gap (definition:nfce-strategy-modification).

    Each component is expanded into the pure policies of player i; the others stay as they are. Who
    is told a pure policy answers best against all components that may have told it.
    """
    told: dict[tuple[int, ...], list[float]] = {}
    for weight, behaviors in policy:
        payoff = immediate_payoffs(game, i, behaviors)
        for choice in pure_choices(game, i):
            p = weight
            for x, a in enumerate(choice):
                p *= prob(game, i, behaviors[i], x, a)
            if p > 0:
                total = told.setdefault(choice, [0.0] * len(payoff))
                told[choice] = [u + p * v for u, v in zip(total, payoff, strict=True)]
    best = sum(_best_pure(game, i, payoff) for payoff in told.values())
    return best - correlated_values(game, policy)[i]


# --- 5. Wide-range regret minimizers --------------------------------------------------------------

Matrix = list[list[float]]


def stationary(rates: Matrix) -> list[float]:
    """A stationary distribution of the chain that goes from r to a at rate ``rates[r][a]``.

    The Markov chain tree theorem in exact integers: the probability of a is proportional to the sum
    over spanning trees towards a, which is a minor of the Laplacian. With several closed classes
    each gets the same share, so without any rates the answer is uniform.
    """
    classes = _closed_classes(rates)
    p = [0.0] * len(rates)
    for states in classes:
        trees = []
        for root in states:
            rest = [s for s in states if s != root]
            trees.append(_determinant(_laplacian(rates, states, rest)))
        for s, t in zip(states, trees, strict=True):
            p[s] = t / sum(trees) / len(classes)  # exact integers, one rounding
    return p


def _closed_classes(rates: Matrix) -> list[list[int]]:
    states = range(len(rates))
    reaches = [[r == a or rates[r][a] > 0 for a in states] for r in states]
    for k in states:
        for r in states:
            for a in states:
                reaches[r][a] = reaches[r][a] or (reaches[r][k] and reaches[k][a])
    classes = []
    for r in states:
        ahead = [a for a in states if reaches[r][a]]
        if all(reaches[a][r] for a in ahead) and ahead[0] == r:
            classes.append(ahead)
    return classes


def _laplacian(rates: Matrix, states: list[int], rest: list[int]) -> list[list[int]]:
    """Rows and columns ``rest`` of the Laplacian among ``states``, scaled to integers."""
    ratios = {(r, a): float(rates[r][a]).as_integer_ratio() for r in states for a in states}
    scale = max(denominator for _, denominator in ratios.values())  # all are powers of two
    rate = {key: n * (scale // d) for key, (n, d) in ratios.items()}
    return [
        [sum(rate[r, s] for s in states if s != r) if r == a else -rate[r, a] for a in rest]
        for r in rest
    ]


def _determinant(matrix: list[list[int]]) -> int:
    """Of integers, by fraction-free elimination (Bareiss)."""
    m = [list(row) for row in matrix]
    sign, last = 1, 1
    for k in range(len(m) - 1):
        if m[k][k] == 0:
            swap = next((r for r in range(k + 1, len(m)) if m[r][k] != 0), None)
            if swap is None:
                return 0
            m[k], m[swap], sign = m[swap], m[k], -sign
        for r in range(k + 1, len(m)):
            for c in range(k + 1, len(m)):
                m[r][c] = (m[r][c] * m[k][k] - m[r][k] * m[k][c]) // last
        last = m[k][k]
    return sign * m[-1][-1] if m else 1


def imbalance(p: Iterable[float], rates: Matrix, floor: float = 1e-6) -> float:
    """How far p is from a stationary distribution, relative to the largest rate (or ``floor``)."""
    p = [float(v) for v in p]
    states = range(len(p))
    worst = max(abs(sum(p) - 1), -min(p))
    scale = max([floor] + [rates[r][a] for r in states for a in states if r != a])
    for a in states:
        inflow = sum(p[r] * rates[r][a] for r in states if r != a)
        outflow = p[a] * sum(rates[a][s] for s in states if s != a)
        worst = max(worst, abs(inflow - outflow) / scale)
    return worst


def is_stationary(p: Iterable[float], rates: Matrix, tol: float = 1e-9) -> bool:
    return imbalance(p, rates) <= tol


def swap_maps(n_actions: int) -> list[tuple[int, ...]]:
    """Psi^s: all maps from actions to actions."""
    return list(product(range(n_actions), repeat=n_actions))


def constant_maps(n_actions: int) -> list[tuple[int, ...]]:
    """Psi^e."""
    return [(a,) * n_actions for a in range(n_actions)]


def swapped_loss(psi: tuple[int, ...], p: list[float], loss: list[float]) -> float:
    """<psi o p, loss>."""
    return sum(p[r] * loss[psi[r]] for r in range(len(p)))


class WRHedge:
    """Algorithm 5, with every expert (b, psi) kept. Weights are kept as logarithms."""

    def __init__(
        self,
        n_actions: int,
        swap: Iterable[Rechistory],
        external: Iterable[Rechistory],
        learning_rate: float,
    ) -> None:
        self.n_actions = n_actions
        self.eta = learning_rate
        psi_s, psi_e = swap_maps(n_actions), constant_maps(n_actions)
        self.log_q: dict[tuple[Rechistory, tuple[int, ...]], float] = {}
        for b in swap:
            self.log_q |= {(b, psi): math.log(len(psi_e)) for psi in psi_s}
        for b in external:
            self.log_q |= {(b, psi): math.log(len(psi_s)) for psi in psi_e}
        self.S: dict[Rechistory, float] = dict.fromkeys((b for b, _ in self.log_q), 0.0)
        self.p = [1 / n_actions] * n_actions
        self._normalize()

    def _normalize(self) -> None:
        top = max(self.log_q.values())
        log_total = top + math.log(sum(math.exp(v - top) for v in self.log_q.values()))
        self.log_q = {key: v - log_total for key, v in self.log_q.items()}

    @property
    def q(self) -> dict[tuple[Rechistory, tuple[int, ...]], float]:
        return {key: math.exp(v) for key, v in self.log_q.items()}

    def observe_time_selection(self, S: dict[Rechistory, float]) -> None:
        self.S = dict(S)

    def rates(self) -> Matrix:
        """sum S_b q(b, psi) M_psi / sum S_b q(b, psi)."""
        logs = {
            (b, psi): math.log(self.S[b]) + v for (b, psi), v in self.log_q.items() if self.S[b] > 0
        }
        top = max(logs.values())
        total = sum(math.exp(v - top) for v in logs.values())
        matrix = [[0.0] * self.n_actions for _ in range(self.n_actions)]
        for (_, psi), v in logs.items():
            for r in range(self.n_actions):
                matrix[r][psi[r]] += math.exp(v - top) / total
        return matrix

    def recommend(self) -> list[float]:
        self.p = stationary(self.rates())
        return self.p

    def observe_loss(self, loss: list[float]) -> None:
        sup = max(loss)
        for (b, psi), v in self.log_q.items():
            kept = math.exp(-self.eta * sup) * self.S[b] * _dot(self.p, loss)
            self.log_q[b, psi] = v + self.eta * (kept - self.S[b] * swapped_loss(psi, self.p, loss))
        self._normalize()


class SWRHedge(WRHedge):
    """Algorithm 6: a loss estimate for each b, and a bound on S_b times any of them."""

    def __init__(
        self,
        n_actions: int,
        swap: Iterable[Rechistory],
        external: Iterable[Rechistory],
        learning_rate: float,
        *,
        loss_bound: float = 1.0,
    ) -> None:
        super().__init__(n_actions, swap, external, learning_rate)
        self.loss_bound = loss_bound

    def observe_losses(self, losses: dict[Rechistory, list[float]]) -> None:
        for (b, psi), v in self.log_q.items():
            kept = math.exp(-self.eta * self.loss_bound) * self.S[b] * _dot(self.p, losses[b])
            swapped = self.S[b] * swapped_loss(psi, self.p, losses[b])
            self.log_q[b, psi] = v + self.eta * (kept - swapped)
        self._normalize()


class RegretMatching:
    """Regret matching over the same pairs: SWAP (b, r -> a) and EXTERNAL (b, a).

    ``kind`` is "rm" (regrets add up), "rm+" (they are cut at 0) or "prm+" (as rm+, and the last
    regret is expected once more).
    """

    def __init__(
        self,
        n_actions: int,
        swap: Iterable[Rechistory],
        external: Iterable[Rechistory],
        kind: str = "rm",
    ) -> None:
        if kind not in {"rm", "rm+", "prm+"}:
            raise ValueError(kind)
        self.n_actions = n_actions
        self.kind = kind
        self.swap, self.external = list(swap), list(external)
        A = range(n_actions)
        keys = [(b, r, a) for b in self.swap for r in A for a in A]
        self.regret: dict[tuple[Any, ...], float] = dict.fromkeys(keys, 0.0)
        self.regret |= {(b, a): 0.0 for b in self.external for a in A}
        self.last = dict.fromkeys(self.regret, 0.0)
        self.S = dict.fromkeys([*self.swap, *self.external], 0.0)
        self.p = [1 / n_actions] * n_actions

    def observe_time_selection(self, S: dict[Rechistory, float]) -> None:
        self.S = dict(S)

    def weight(self, key: tuple[Any, ...]) -> float:
        if self.kind == "prm+":
            return max(self.regret[key] + self.last[key], 0.0)
        return max(self.regret[key], 0.0)

    def rates(self) -> Matrix:
        A = range(self.n_actions)
        matrix = [[0.0] * self.n_actions for _ in A]
        for r in A:
            for a in A:
                if r != a:
                    matrix[r][a] = sum(self.S[b] * self.weight((b, r, a)) for b in self.swap)
                    matrix[r][a] += sum(self.S[b] * self.weight((b, a)) for b in self.external)
        return matrix

    def recommend(self) -> list[float]:
        self.p = stationary(self.rates())
        return self.p

    def observe_loss(self, loss: list[float]) -> None:
        A = range(self.n_actions)
        for b in self.swap:
            for r in A:
                for a in A:
                    self.last[b, r, a] = self.S[b] * self.p[r] * (loss[r] - loss[a])
        for b in self.external:
            for a in A:
                self.last[b, a] = self.S[b] * (_dot(self.p, loss) - loss[a])
        for key, regret in self.last.items():
            total = self.regret[key] + regret
            self.regret[key] = total if self.kind == "rm" else max(total, 0.0)


def _dot(u: Iterable[float], v: Iterable[float]) -> float:
    return sum(a * b for a, b in zip(u, v, strict=True))


WideRangeRound = tuple[dict[Rechistory, float], list[float], list[float]]  # S, p, loss


def wide_range_regrets(
    rounds: list[WideRangeRound], swap: Iterable[Rechistory], external: Iterable[Rechistory]
) -> dict[Rechistory, float]:
    """For each b: max over psi of sum_t S_b (<p, loss> - <psi o p, loss>)."""
    A = len(rounds[0][1])
    maps = dict.fromkeys(swap, swap_maps(A)) | dict.fromkeys(external, constant_maps(A))
    return {
        b: max(
            sum(S[b] * (_dot(p, loss) - swapped_loss(psi, p, loss)) for S, p, loss in rounds)
            for psi in psis
        )
        for b, psis in maps.items()
    }


def wide_range_bounds(
    rounds: list[WideRangeRound],
    swap: Iterable[Rechistory],
    external: Iterable[Rechistory],
    learning_rate: float,
) -> dict[Rechistory, float]:
    """What lemma regret-with-time-selection promises of WRHedge for each b."""
    swap, external = list(swap), list(external)
    A = len(rounds[0][1])
    sizes = dict.fromkeys(swap, A**A) | dict.fromkeys(external, A)
    return {
        b: sum(learning_rate * max(loss) * S[b] * _dot(p, loss) for S, p, loss in rounds)
        + math.log(len(sizes) * size) / learning_rate
        for b, size in sizes.items()
    }


# --- 6. K-EFR, full feedback ----------------------------------------------------------------------

Make = Callable[[int, int, tuple[Rechistory, ...], tuple[Rechistory, ...]], Any]
"""Makes a minimizer from player, number of actions, Type-I and Type-II rechistories."""


def full_feedback_rate(game: Any, i: int, K: float, iterations: int) -> float:
    """Eq. (equation:learning-rate-full-feedback), for losses in [0, 1]."""
    K, H, A = clip(game, i, K), horizon(game, i), _max_actions(game, i)
    return math.sqrt(math.comb(H, K) * len(infosets(game, i)) * A**K * math.log(A) / iterations)


def _max_actions(game: Any, i: int) -> int:
    return max((len(actions(game, i, x)) for x in infosets(game, i)), default=1)


def _minimizers(game: Any, K: float, make: Make) -> list[list[Any]]:
    return [
        [
            make(i, len(actions(game, i, x)), type_one(game, i, K, x), type_two(game, i, K, x))
            for x in infosets(game, i)
        ]
        for i in range(n_players(game))
    ]


def _time_selections(
    game: Any, i: int, K: float, x: int, behavior: Behavior
) -> dict[Rechistory, float]:
    both = [*type_one(game, i, K, x), *type_two(game, i, K, x)]
    return {b: time_selection(game, i, behavior, x, b) for b in both}


def _at(game: Any, i: int, x: int, vector: list[float]) -> list[float]:
    return [float(vector[sequence(game, i, x, a)]) for a in actions(game, i, x)]


def kefr(game: Any, K: float, iterations: int, make: Make) -> list[Behaviors]:
    """Algorithm 2 for all players together; the product policy of every iteration."""
    minimizers = _minimizers(game, K, make)
    iterates = []
    for _ in range(iterations):
        behaviors = [[1.0] * n_sequences(game, i) for i in range(n_players(game))]
        for i, behavior in enumerate(behaviors):
            for x in infosets(game, i):  # layer by layer
                minimizers[i][x].observe_time_selection(_time_selections(game, i, K, x, behavior))
                for a, p in enumerate(minimizers[i][x].recommend()):
                    behavior[sequence(game, i, x, a)] = p
        _observe_losses(game, minimizers, behaviors)
        iterates.append(behaviors)
    return iterates


def _observe_losses(game: Any, minimizers: list[list[Any]], behaviors: Behaviors) -> None:
    for i in range(n_players(game)):
        losses = counterfactual_losses(game, i, behaviors)
        for x in infosets(game, i):
            minimizers[i][x].observe_loss(_at(game, i, x, losses))


def replay_kefr(game: Any, K: float, iterates: list[Behaviors], make: Make) -> float:
    """Feed the iterates of another implementation to the minimizers; the worst ``imbalance``.

    Zero, to rounding, exactly if every policy is a stationary distribution of the rates that the
    iterates before it imply, whichever one was chosen where several exist.
    """
    minimizers = _minimizers(game, K, make)
    worst = 0.0
    for behaviors in iterates:
        for i, behavior in enumerate(behaviors):
            for x in infosets(game, i):
                minimizer = minimizers[i][x]
                minimizer.observe_time_selection(_time_selections(game, i, K, x, behavior))
                minimizer.p = _at(game, i, x, behavior)
                worst = max(worst, imbalance(minimizer.p, minimizer.rates()))
        _observe_losses(game, minimizers, behaviors)
    return worst


# --- 7. Regret and its decomposition --------------------------------------------------------------


class Round(NamedTuple):
    """What one iteration means to one player."""

    behavior: Behavior
    loss: list[float]  # L over sequences


def rounds_of(game: Any, i: int, iterates: list[Behaviors]) -> list[Round]:
    return [Round(bs[i], counterfactual_losses(game, i, bs)) for bs in iterates]


def efce_regret(game: Any, i: int, K: float, iterates: list[Behaviors]) -> float:
    """R_{i,K}^T, eq. (equation:kefce-regret), in normalised losses."""
    worst, best = payoff_range(game, i)
    regret, _ = best_deviation(game, i, K, [(1.0, bs) for bs in iterates])
    return regret / (best - worst) if best > worst else 0.0


def local_swap_regret(game: Any, i: int, x: int, b: Rechistory, rounds: list[Round]) -> float:
    """Eq. (equation:local-swap-regret)."""
    return max(
        _local_regret(game, i, x, b, psi=psi, rounds=rounds)
        for psi in swap_maps(len(actions(game, i, x)))
    )


def local_external_regret(game: Any, i: int, x: int, b: Rechistory, rounds: list[Round]) -> float:
    """Eq. (equation:local-external-regret)."""
    return max(
        _local_regret(game, i, x, b, psi=psi, rounds=rounds)
        for psi in constant_maps(len(actions(game, i, x)))
    )


def _local_regret(
    game: Any, i: int, x: int, b: Rechistory, *, psi: tuple[int, ...], rounds: list[Round]
) -> float:
    total = 0.0
    for behavior, losses in rounds:
        p, loss = _at(game, i, x, behavior), _at(game, i, x, losses)
        S = time_selection(game, i, behavior, x, b)
        total += S * (_dot(p, loss) - swapped_loss(psi, p, loss))
    return total


Score = Callable[[int, Rechistory], float]


def layer_sum(game: Any, i: int, K: float, phi: Modification, h: int, *, score: Score) -> float:
    """Sum over x in layer h and b there of prod_{k<h} mu^phi(a_k | x_k, b) score(x, b).

    With local regrets as scores: eq. (eqn:G1_in_K_CE) and (eqn:G2_in_K_CE).
    """
    total = 0.0
    for x in infosets(game, i):
        if layer(game, i, x) == h:
            for b in (*type_one(game, i, K, x), *type_two(game, i, K, x)):
                taken = 1
                for k, (xk, ak) in enumerate(path(game, i, x), 1):
                    key = (xk, b[: k - 1], b[k - 1]) if k <= len(b) else (xk, b)
                    taken *= phi[key] == ak
                if taken:
                    total += score(x, b)
    return total


def max_layer_sum(game: Any, i: int, K: float, h: int, score: Score) -> float:
    """The maximum of ``layer_sum`` over all modifications, by recursion over (x, b)."""

    def visit(x: int, b: Rechistory) -> float:
        if layer(game, i, x) == h:
            return score(x, b)
        if b in type_two(game, i, K, x):
            return best(x, b)
        return sum(best(x, (*b, r)) for r in actions(game, i, x))

    def best(x: int, b: Rechistory) -> float:
        return max(sum(visit(y, b) for y in children(game, i, x, a)) for a in actions(game, i, x))

    return sum(visit(x, ()) for x in first_infosets(game, i))


def swap_score(game: Any, i: int, K: float, rounds: list[Round]) -> Score:
    """The local swap regret at Type-I rechistories, 0 at Type-II: the terms of G^swap."""
    return cache(
        lambda x, b: (
            local_swap_regret(game, i, x, b, rounds) if b in type_one(game, i, K, x) else 0.0
        )
    )


def external_score(game: Any, i: int, K: float, rounds: list[Round]) -> Score:
    """The local external regret at Type-II rechistories, 0 at Type-I: the terms of G^ext."""
    return cache(
        lambda x, b: (
            local_external_regret(game, i, x, b, rounds) if b in type_two(game, i, K, x) else 0.0
        )
    )


def decomposition(
    game: Any, i: int, K: float, iterates: list[Behaviors]
) -> list[tuple[float, float]]:
    """Per layer h the two maxima of lemma k-ce-regret_decomposition, of G^swap and of G^ext.

    Their sum over all layers bounds ``efce_regret``.
    """
    rounds = rounds_of(game, i, iterates)
    swap, external = swap_score(game, i, K, rounds), external_score(game, i, K, rounds)
    return [
        (max_layer_sum(game, i, K, h, swap), max_layer_sum(game, i, K, h, external))
        for h in range(1, horizon(game, i) + 1)
    ]


# --- 8. Bandit feedback ---------------------------------------------------------------------------

Episode = tuple[Any, ...]  # (h, W) of Algorithm 7, (h, h', W) of Algorithm 4; W is sorted


def balanced_behavior(game: Any, i: int, h: int) -> Behavior:
    """pi^{*,h}_i (definition:balanced-policy); uniform where layer h is out of reach."""
    behavior = uniform_behavior(game, i)
    for x in infosets(game, i):
        ahead = descendants(game, i, h, x)
        if layer(game, i, x) < h and ahead:
            for a in actions(game, i, x):
                share = len(descendants(game, i, h, x, a)) / len(ahead)
                behavior[sequence(game, i, x, a)] = share
    return behavior


def fill(indices: Iterable[int], size: int) -> tuple[int, ...]:
    """Eq. (equation:fill): the smallest numbers added until there are ``size``."""
    chosen = set(indices)
    k = 1
    while len(chosen) < size:
        chosen.add(k)
        k += 1
    return tuple(sorted(chosen))


def type_one_episodes(H: int, K: float) -> list[Episode]:
    """The (h, W) of Algorithm 7; none for K = 0."""
    K = int(min(K, H))
    if K == 0:
        return []
    return [(h, W) for h in range(1, H + 1) for W in combinations(range(1, h), min(K, h) - 1)]


def type_two_episodes(H: int, K: float) -> list[Episode]:
    """The (h, h', W) of Algorithm 4; for K = 0 the (h, 0, empty)."""
    K = int(min(K, H))
    if K == 0:
        return [(h, 0, ()) for h in range(1, H + 1)]
    return [
        (h, last, (*W, last))
        for last in range(K, H)
        for h in range(last + 1, H + 1)
        for W in combinations(range(1, last), K - 1)
    ]


def episodes(game: Any, i: int, K: float) -> list[Episode]:
    """All episodes that player i plays in one iteration, Type I first."""
    H = horizon(game, i)
    return type_one_episodes(H, K) + type_two_episodes(H, K)


def balanced_layers(episode: Episode) -> set[int]:
    """The layers in which an episode explores: W and h, or W and h'+1, ..., h."""
    if len(episode) == 2:
        h, W = episode
        return {*W, h}
    h, last, W = episode
    return {*W, *range(last + 1, h + 1)}


def sampling_behavior(game: Any, i: int, behavior: Behavior, episode: Episode) -> Behavior:
    """pi_i^{t,(h,W)} or pi_i^{t,(h,h',W)}."""
    star = balanced_behavior(game, i, episode[0])
    mixed = list(behavior)
    for x in infosets(game, i):
        if layer(game, i, x) in balanced_layers(episode):
            for a in actions(game, i, x):
                mixed[sequence(game, i, x, a)] = star[sequence(game, i, x, a)]
    return mixed


def episode_of(game: Any, i: int, K: float, x: int, b: Rechistory) -> Episode:
    """The episode that estimates the losses of (x, b)."""
    K, h, W = clip(game, i, K), layer(game, i, x), mismatches(game, i, x, b)
    if b in type_one(game, i, K, x):
        return h, fill(W, min(K - 1, h - 1))
    return h, len(b), tuple(W)


@remember
def sampling_weight(game: Any, i: int, K: float, x: int, b: Rechistory) -> float:
    """w_b(x), eq. (equation:wb-i) and (equation:wb-ii)."""
    h = layer(game, i, x)
    star = balanced_behavior(game, i, h)
    total = 1.0
    for k, (xk, ak) in enumerate((*path(game, i, x), (x, 0)), 1):  # uniform at x: any action
        if k in balanced_layers(episode_of(game, i, K, x, b)):
            total *= prob(game, i, star, xk, ak)
    return total


def loss_estimate(game: Any, i: int, x: int, behavior: Behavior, *, play: Terminal) -> list[float]:
    """Eq. (equation:pil-estimator-i) and (-ii) over actions at x, from one play of ``behavior``."""
    h = layer(game, i, x)
    estimate = [0.0] * len(actions(game, i, x))
    if play.seqs[i] != 0:
        last = pair(game, i, play.seqs[i])
        own = [*path(game, i, last[0]), last]
        if len(own) >= h and own[h - 1][0] == x:
            a = own[h - 1][1]
            loss = normalized_loss(game, i, play.payoffs[i])
            estimate[a] = loss / reach(game, i, behavior, sequence(game, i, x, a))
    return estimate


def loss_estimates(
    game: Any, i: int, K: float, behaviors: Behaviors, plays: dict[Episode, int]
) -> dict[tuple[int, Rechistory], list[float]]:
    """Algorithms 4 and 7 after their episodes ended at the terminal nodes ``plays``."""
    ends = {z.node: z for z in terminals(game)}
    estimates = {}
    for x, b in rechistories(game, i, K):
        episode = episode_of(game, i, K, x, b)
        sampling = sampling_behavior(game, i, behaviors[i], episode)
        estimates[x, b] = loss_estimate(game, i, x, sampling, play=ends[plays[episode]])
    return estimates


def play_law(game: Any, behaviors: Behaviors) -> list[tuple[float, Terminal]]:
    """Every terminal history with its probability."""
    return [(z.chance * others_reach(game, -1, behaviors, z.seqs), z) for z in terminals(game)]


def estimator_facts(
    game: Any, i: int, K: float, behaviors: Behaviors
) -> dict[tuple[int, Rechistory], tuple[list[float], float]]:
    """For every (x, b), over all plays: the expected estimate of each action, and the largest
    M_b w_b times an estimate (assumption (i) of lemma regret-with-time-selection-bandit)."""
    facts = {}
    for x, b in rechistories(game, i, K):
        sampling = sampling_behavior(game, i, behaviors[i], episode_of(game, i, K, x, b))
        law = play_law(game, [sampling if j == i else bs for j, bs in enumerate(behaviors)])
        mean = [0.0] * len(actions(game, i, x))
        largest = 0.0
        scale = time_selection(game, i, behaviors[i], x, b) * sampling_weight(game, i, K, x, b)
        for p, z in law:
            if p > 0:
                estimate = loss_estimate(game, i, x, sampling, play=z)
                mean = [m + p * e for m, e in zip(mean, estimate, strict=True)]
                largest = max(largest, scale * max(estimate))
        facts[x, b] = mean, largest
    return facts


def bandit_rate(game: Any, i: int, K: float, iterations: int, failure_prob: float) -> float:
    """Eq. (equation:learningrate-bandit), for losses in [0, 1]; the loss bound is then 1."""
    K, H, A = clip(game, i, K), horizon(game, i), _max_actions(game, i)
    players = range(n_players(game))
    pairs = sum(len(infosets(game, j)) * _max_actions(game, j) for j in players)
    iota = math.log(8 * pairs / failure_prob)
    X = len(infosets(game, i))
    return math.sqrt(math.comb(H, K) * X * A ** (K + 1) * iota / (H * iterations))


def sample_play(game: Any, behaviors: Behaviors, rng: np.random.Generator) -> int:
    """Play once; the terminal node."""
    law = play_law(game, behaviors)
    return law[_sample([p for p, _ in law], rng)][1].node


def balanced_kefr(
    game: Any,
    K: float,
    iterations: int,
    make: Make,
    play: Callable[[int, int, Episode, Behaviors], int],
) -> list[Behaviors]:
    """Algorithm 8 for all players together; the product policy of every iteration.

    ``make`` makes an :class:`SWRHedge`. ``play(t, i, episode, behaviors)`` plays the episode, in
    which ``behaviors[i]`` already is the sampling policy, and returns the terminal node.
    """
    minimizers = _minimizers(game, K, make)
    iterates = []
    for t in range(iterations):
        behaviors = [[1.0] * n_sequences(game, i) for i in range(n_players(game))]
        for i, behavior in enumerate(behaviors):
            for x in infosets(game, i):
                M = _time_selections(game, i, K, x, behavior)
                S = {b: m * sampling_weight(game, i, K, x, b) for b, m in M.items()}
                minimizers[i][x].observe_time_selection(S)
                for a, p in enumerate(minimizers[i][x].recommend()):
                    behavior[sequence(game, i, x, a)] = p
        for i in range(n_players(game)):  # one after the other, the rest keep their policies
            plays = {}
            for episode in episodes(game, i, K):
                joint = list(behaviors)
                joint[i] = sampling_behavior(game, i, behaviors[i], episode)
                plays[episode] = play(t, i, episode, joint)
            estimates = loss_estimates(game, i, K, behaviors, plays)
            for x in infosets(game, i):
                losses = {b: loss for (y, b), loss in estimates.items() if y == x}
                minimizers[i][x].observe_losses(losses)
        iterates.append(behaviors)
    return iterates
