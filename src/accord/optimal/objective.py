"""What to maximise over the equilibria: a concave function of the players' expected payoffs.

With u_i the expected payoff of player i when everybody obeys, the objectives are

* ``"welfare"``: the sum of the u_i;
* weights ``[1, 0, -1]``, one per player, or ``{"row": 1, "col": "-1/2"}``, zero for the others: the
  sum of weight_i u_i, so that ``{"row": 1}`` is one player's payoff;
* ``"egalitarian"``: min_i u_i, the payoff of the worst-off player;
* ``"keep"``: minus the distance sum_i |u_i - v_i| / range_i from given payoffs v. It is 0 if the
  payoffs are exactly v.

All are linear, or the minimum of linear functions sum_i g_i u_i - offset(g) over a polytope of
*gradients* g. So every gradient bounds the objective from above, which is where proofs of
optimality start (``optimal/column_generation.py``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from accord._arrays import Floats
from accord._check import Number, as_number
from accord._format import listed
from accord.errors import ArgumentError
from accord.treeplex.leaves import LeafTable

WELFARE = "welfare"
EGALITARIAN = "egalitarian"
KEEP = "keep"
CONSTANT = 1e-12
"""An objective is constant if it varies by at most this part of the payoffs that it adds up."""

Written = str | Mapping[str, float]
"""An objective in a file: its name, or the weight of each player."""


@dataclass(frozen=True)
class Objective:
    """A concave function of the players' payoffs; :func:`as_objective` makes the usual ones."""

    weights: tuple[float, ...] | None  # of the players' payoffs if it is linear
    minimize: bool = False
    target: tuple[float, ...] | None = None  # the payoffs to keep

    def written(self, players: Sequence[str]) -> Written:
        """The objective in a file, for players with these labels."""
        if self.weights is None:
            return EGALITARIAN if self.target is None else KEEP
        if set(self.weights) == {1.0}:
            return WELFARE
        return dict(zip(players, self.weights, strict=True))

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


ObjectiveLike = str | Sequence[Number] | Mapping[str, Number] | Objective
"""An objective as users give it: a name, weights, or an :class:`Objective`."""


def as_objective(
    given: ObjectiveLike,
    players: Sequence[str],
    *,
    minimize: bool = False,
    target: Sequence[float] | None = None,
) -> Objective:
    """The objective that ``given`` stands for, for players with these labels.

    Args:
        given: One of the forms in the module's docstring.
        players: The players' labels.
        minimize: Whether to minimise it.
        target: The payoffs that ``"keep"`` keeps.

    Raises:
        ArgumentError: If it is not an objective, or not one for these players.
    """
    if isinstance(given, Objective):
        return _fitting(given, players, minimize)
    if isinstance(given, str):
        return _named(given, players, minimize, target)
    if isinstance(given, Mapping):
        return Objective(_weights_by_name(given, players), minimize)
    if isinstance(given, Sequence | np.ndarray):
        return Objective(_weights(list(given), players), minimize)
    raise _refusal(given)


def objective_text(written: Written, *, minimize: bool = False) -> str:
    """An objective as the command line writes it: ``player=row``, ``minimize weights=1,-1``."""
    if isinstance(written, str):
        text = written
    else:
        weighty = {player: weight for player, weight in written.items() if weight}
        if list(weighty.values()) == [1.0]:
            text = f"player={next(iter(weighty))}"
        else:
            text = f"weights={','.join(f'{weight:g}' for weight in written.values())}"
    return f"minimize {text}" if minimize else text


def _fitting(given: Objective, players: Sequence[str], minimize: bool) -> Objective:
    sizes = {len(part) for part in (given.weights, given.target) if part is not None}
    if sizes - {len(players)}:
        raise ArgumentError(
            f"the objective must be for {len(players)} players; got one for {max(sizes)}"
        )
    if minimize and not given.minimize:
        raise ArgumentError("an Objective says itself whether it is minimised; leave out minimize")
    return given


def _named(
    name: str, players: Sequence[str], minimize: bool, target: Sequence[float] | None
) -> Objective:
    if name == WELFARE:
        return Objective((1.0,) * len(players), minimize)
    if name not in (EGALITARIAN, KEEP):
        raise _refusal(name)
    if minimize:
        raise ArgumentError(
            f"the objective {name!r} can only be maximised; to hurt one player, minimise that "
            "player's payoff"
        )
    if name == EGALITARIAN:
        return Objective(None)
    if target is None:
        raise ArgumentError(
            "the objective 'keep' keeps the payoffs of a saved mixture; name its run with "
            "--from RUN (in Python: start=policy)"
        )
    return Objective(None, target=tuple(map(float, target)))


def _weights(given: Sequence[Number], players: Sequence[str]) -> tuple[float, ...]:
    weights = tuple(as_number("a weight", weight) for weight in given)
    if len(weights) != len(players) or not all(map(math.isfinite, weights)):
        raise ArgumentError(
            f"weights must be {len(players)} finite numbers, one per player; got "
            f"{listed(list(map(str, given)), separator=', ') or 'none'}"
        )
    return weights


def _weights_by_name(given: Mapping[str, Number], players: Sequence[str]) -> tuple[float, ...]:
    weights = {str(player): weight for player, weight in given.items()}
    known = ", ".join(map(repr, players))
    if unknown := [player for player in weights if player not in players]:
        raise ArgumentError(f"there is no player {unknown[0]!r}; the players are {known}")
    if not weights:
        raise ArgumentError(f"an objective must have the weight of some player of {known}")
    return _weights([weights.get(player, 0.0) for player in players], players)


def _refusal(given: object) -> ArgumentError:
    return ArgumentError(
        f"objective must be {WELFARE!r}, {EGALITARIAN!r} or {KEEP!r}, the players' weights, such "
        f"as [1, 0], or a mapping from players to weights; got {given!r}"
    )
