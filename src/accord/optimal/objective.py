"""What to maximise over the equilibria: a concave function of the players' expected payoffs.

With u_i the expected payoff of player i when everybody obeys, the objectives are

* ``welfare``: the sum of the u_i;
* ``player=NAME``: one player's payoff;
* ``weights=1,0,-1``: the sum of weight_i u_i, one weight per player;
* ``egalitarian``: min_i u_i, the payoff of the worst-off player;
* ``keep``: minus the distance sum_i |u_i - v_i| / range_i from given payoffs v. It is 0 if the
  payoffs are exactly v.

All are linear, or the minimum of linear functions sum_i g_i u_i - offset(g) over a polytope of
*gradients* g. So every gradient bounds the objective from above, which is where proofs of
optimality start (``optimal/column_generation.py``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from accord._arrays import Floats
from accord.errors import ArgumentError
from accord.treeplex.leaves import LeafTable

WELFARE = "welfare"
EGALITARIAN = "egalitarian"
KEEP = "keep"
CONSTANT = 1e-12
"""An objective is constant if it varies by at most this part of the payoffs that it adds up."""

FORMS = "welfare, egalitarian, player=NAME, weights=1,0,-1 (one number per player) or keep"


@dataclass(frozen=True)
class Objective:
    """An objective for players with these names. Make one with :func:`parsed_objective`."""

    name: str  # as it was written
    weights: tuple[float, ...] | None  # of the players' payoffs if it is linear
    minimize: bool = False
    target: tuple[float, ...] | None = None  # the payoffs to keep

    @property
    def sign(self) -> float:
        """1, or -1 if the objective is minimised."""
        return -1.0 if self.minimize else 1.0

    @property
    def linear(self) -> bool:
        """Whether it is linear in the payoffs."""
        return self.weights is not None

    def value(self, payoffs: Sequence[float] | Floats, payoff_range: Floats) -> float:
        """The objective at these expected payoffs."""
        if self.weights is not None:
            return math.fsum(f * u for f, u in zip(self.weights, payoffs, strict=True))
        if self.target is None:
            return float(min(payoffs))
        distances = (
            abs(u - v) / (span or 1.0)
            for u, v, span in zip(payoffs, self.target, payoff_range, strict=True)
        )
        return -math.fsum(distances)

    def valid_gradient(self, gradient: Floats, payoff_range: Floats) -> Floats:
        """The gradient nearest to ``gradient`` that bounds the maximised objective from above."""
        if self.weights is not None:
            return self.sign * np.array(self.weights)
        if self.target is None:
            clipped = np.maximum(gradient, 0.0)
            total = float(clipped.sum())
            return clipped / total if total > 0 else np.full(len(clipped), 1.0 / len(clipped))
        unit = 1.0 / np.where(payoff_range > 0, payoff_range, 1.0)
        return np.clip(gradient, -unit, unit)

    def offset(self, gradient: Floats) -> float:
        """What to subtract from sum_i g_i u_i."""
        return 0.0 if self.target is None else float(gradient @ np.array(self.target))

    def scale(self, leaves: LeafTable) -> float:
        """The spread of the objective over all plays, or 1 if it is constant."""
        if self.target is not None:
            return 1.0
        if self.weights is None:
            return float(leaves.payoff_range.max(initial=0.0)) or 1.0
        weights = np.array(self.weights)
        payoff = leaves.payoff @ weights / leaves.prob
        spread = float(payoff.max() - payoff.min())
        largest = float(np.abs(weights) @ np.maximum(np.abs(leaves.best), np.abs(leaves.worst)))
        return spread if spread > CONSTANT * largest else 1.0


def parsed_objective(
    text: str,
    players: Sequence[str],
    *,
    minimize: bool = False,
    target: Sequence[float] | None = None,
) -> Objective:
    """The objective written as ``text`` for players with these labels.

    Args:
        text: One of the forms in the module's docstring.
        players: The players' labels.
        minimize: Whether to minimise it.
        target: The payoffs that ``keep`` keeps.

    Raises:
        ArgumentError: If it is not an objective, or not one for these players.
    """
    if not isinstance(text, str):
        raise ArgumentError(f"objective must be a text, {FORMS}; got {text!r}")
    kind, given, argument = text.strip().partition("=")
    if kind == WELFARE and not given:
        return Objective(text, (1.0,) * len(players), minimize)
    if kind in (EGALITARIAN, KEEP) and not given:
        if minimize:
            raise ArgumentError(
                f"the objective {kind!r} can only be maximised; to hurt one player, minimise "
                "player=NAME"
            )
        if kind == EGALITARIAN:
            return Objective(text, None)
        if target is None:
            raise ArgumentError(
                "the objective 'keep' keeps the payoffs of a saved mixture; name its run with "
                "--from RUN (in Python: start=policy)"
            )
        return Objective(text, None, target=tuple(map(float, target)))
    if kind == "player" and given:
        if argument not in players:
            known = ", ".join(map(repr, players))
            raise ArgumentError(f"there is no player {argument!r}; the players are {known}")
        index = list(players).index(argument)
        return Objective(text, tuple(float(i == index) for i in range(len(players))), minimize)
    if kind == "weights" and given:
        return Objective(text, _weights(argument, len(players)), minimize)
    raise ArgumentError(f"objective must be {FORMS}; got {text!r}")


def _weights(text: str, n_players: int) -> tuple[float, ...]:
    try:
        weights = tuple(float(part) for part in text.split(","))
    except ValueError:
        weights = ()
    if len(weights) != n_players or not all(map(math.isfinite, weights)):
        raise ArgumentError(
            f"weights must be {n_players} finite numbers with commas between them, one per player; "
            f"got {text!r}"
        )
    return weights
