"""Payoffs and losses of policies: the twin of ``accord.treeplex.values`` and ``leaves``."""

from __future__ import annotations

from typing import Any

from tests.reference.game import (
    actions,
    descendants,
    horizon,
    infosets,
    layer,
    n_players,
    n_sequences,
    node_children,
    node_rewards,
    normalized_loss,
    path,
    sequence,
)
from tests.reference.policies import plays_against, prob, sequence_form
from tests.reference.types import CHANCE, Behaviors, CorrelatedPolicy


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


def immediate_payoffs(game: Any, i: int, behaviors: Behaviors) -> list[float]:
    """Over sequences: expected payoff of the plays that end there, if i plays to end there."""
    total = [0.0] * n_sequences(game, i)
    for p, z in plays_against(game, i, behaviors):
        total[z.seqs[i]] += p * z.payoffs[i]
    return total


def immediate_losses(game: Any, i: int, behaviors: Behaviors) -> list[float]:
    """l over sequences, Equation (4): a play's whole loss falls at its end."""
    total = [0.0] * n_sequences(game, i)
    for p, z in plays_against(game, i, behaviors):
        total[z.seqs[i]] += p * normalized_loss(game, i, z.payoffs[i])
    return total


def counterfactual_losses(game: Any, i: int, behaviors: Behaviors) -> list[float]:
    """L over sequences, Equation (5); entry 0 is the expected loss."""
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
