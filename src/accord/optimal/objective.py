"""What to maximize over the equilibria: a concave function of the players' expected payoffs.

With u_i the expected payoff of player i when everybody obeys, the objectives are

* ``"welfare"``: the sum of the u_i;
* weights ``[1, 0, -1]``, one per player, or ``{"row": 1, "col": "-1/2"}``, zero for the others: the
  sum of weight_i u_i, so that ``{"row": 1}`` is one player's payoff;
* ``"egalitarian"``: min_i u_i, the payoff of the worst-off player;
* ``"keep"``: minus the distance sum_i |u_i - v_i| / range_i from given payoffs v. It is 0 if the
  payoffs are exactly v.

Players may have a *floor*: only equilibria count that pay them at least this much.

All are linear, or the minimum of linear functions sum_i g_i (u_i - v_i) over a polytope of
*gradients* g. So every gradient bounds the objective from above, which is where proofs of
optimality start (``optimal/column_generation.py``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from accord._arrays import Floats
from accord._check import Number, as_number
from accord._format import listed
from accord.equilibrium.rounding import UNIT, rounded_up
from accord.errors import ArgumentError
from accord.game.labels import as_players
from accord.optimal.free_play import most_above_worst
from accord.treeplex.form import SequenceForm
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
    floor: tuple[float, ...] | None = None  # the least payoff of each player; -inf for any

    def written(self, players: Sequence[str]) -> Written:
        """The objective in a file, for players with these labels."""
        if self.weights is None:
            return EGALITARIAN if self.target is None else KEEP
        if set(self.weights) == {1.0}:
            return WELFARE
        return dict(zip(players, self.weights, strict=True))

    @property
    def sign(self) -> float:
        """1, or -1 if the objective is minimized."""
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
        """The gradient nearest to ``gradient`` that bounds the maximized objective from above."""
        if self.weights is not None:
            return self.sign * np.array(self.weights)
        if self.target is None:
            clipped = np.maximum(gradient, 0.0)
            total = float(clipped.sum())
            return clipped / total if total > 0 else np.full(len(clipped), 1.0 / len(clipped))
        unit = 1.0 / np.where(payoff_range > 0, payoff_range, 1.0)
        return np.clip(gradient, -unit, unit)

    def largest_losses(self, worst: Floats, unit: Floats) -> Floats:
        """``[n_players]`` the largest losses (worst - payoff) / unit that leave everybody their
        floor, rounded up; infinite without a floor. Losses are between -1 and 0, so that limits
        beyond 2 need not be told apart."""
        if self.floor is None:
            return np.full(len(worst), np.inf)
        limits = []
        for least, most, own in zip(self.floor, worst.tolist(), unit.tolist(), strict=True):
            if least == -math.inf:
                limits.append(math.inf)
                continue
            limit = (Fraction(most) - Fraction(least)) / Fraction(own)
            limits.append(rounded_up(max(Fraction(-2), min(limit, Fraction(2)))))
        return np.array(limits)

    def shortfalls(self, payoffs: Sequence[float] | Floats) -> Floats:
        """``[n_players]`` by how much payoffs are below their floor, or not: then it is negative,
        and minus infinity without a floor."""
        floor = np.array(self.floor or (-np.inf,) * len(payoffs))
        return np.asarray(floor - np.asarray(payoffs))

    def center(self, leaves: LeafTable) -> Fraction:
        """The objective is measured from here, so that no digits are lost to what all payoffs have
        in common."""
        if self.target is not None:
            return Fraction(0)
        worst = [Fraction(float(payoff)) for payoff in leaves.worst]
        if self.weights is None:
            return min(worst)
        terms = (Fraction(w) * u for w, u in zip(self.weights, worst, strict=True))
        return Fraction(self.sign) * sum(terms, start=Fraction(0))

    def offsets(self, leaves: LeafTable) -> Floats:
        """``[n_players]`` what to add to payoffs above the worst before the objective is taken of
        them, so that it is measured from ``center``."""
        if self.weights is not None:
            return np.zeros(leaves.n_players)
        if self.target is not None:
            return np.asarray(leaves.worst - np.array(self.target))
        return np.asarray(leaves.worst - leaves.worst.min())

    def above_center(self, above_worst: Floats, leaves: LeafTable) -> float:
        """The maximized objective minus ``center``, from payoffs minus the worst."""
        payoffs = above_worst + self.offsets(leaves)
        own = self if self.target is None else replace(self, target=(0.0,) * len(payoffs))
        return self.sign * own.value(payoffs, leaves.payoff_range)

    def scale(self, form: SequenceForm) -> float:
        """The spread of the expected objective, or 1 if it is constant."""
        if self.target is not None:
            return 1.0
        most = most_above_worst(form, np.eye(form.n_players))
        if self.weights is None:
            return float(most.max(initial=0.0)) or 1.0
        weights = np.array(self.weights)
        spread = float(most_above_worst(form, np.array([weights, -weights])).sum())
        return spread if spread > CONSTANT * float(np.abs(weights) @ most) else 1.0

    def most(self, form: SequenceForm) -> float:
        """No joint policy, in equilibrium or not, has a larger objective above ``center``."""
        if self.target is not None:
            return 0.0
        if self.weights is not None:
            return float(most_above_worst(form, self.sign * np.array([self.weights]))[0])
        offsets = self.offsets(form.leaves)
        ends = most_above_worst(form, np.eye(form.n_players)) + offsets
        return float((ends + 4 * UNIT * (ends + offsets)).min())


ObjectiveLike = str | Sequence[Number] | Mapping[str, Number] | Objective
"""An objective as users give it: a name, weights, or an :class:`Objective`."""


def as_objective(
    given: ObjectiveLike,
    players: Sequence[str],
    *,
    minimize: bool = False,
    target: Sequence[float] | None = None,
    at_least: Mapping[str, Number] | None = None,
) -> Objective:
    """The objective that ``given`` stands for, for players with these labels.

    Args:
        given: One of the forms in the module's docstring.
        players: The players' labels.
        minimize: Whether to minimize it.
        target: The payoffs that ``"keep"`` keeps.
        at_least: The least payoffs of some players.

    Raises:
        ArgumentError: If it is not an objective, or not one for these players.
    """
    objective = _objective(given, players, minimize, target)
    return replace(objective, floor=_floor(at_least, players)) if at_least else objective


def _objective(
    given: ObjectiveLike,
    players: Sequence[str],
    minimize: bool,
    target: Sequence[float] | None,
) -> Objective:
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
        raise ArgumentError("an Objective says itself whether it is minimized; leave out minimize")
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
            f"the objective {name!r} can only be maximized; to hurt one player, minimize that "
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


def _floor(given: Mapping[str, Number], players: Sequence[str]) -> tuple[float, ...]:
    least = dict.fromkeys(players, -math.inf)
    for player, payoff in given.items():
        (i,) = as_players(str(player), players)
        least[players[i]] = as_number(f"the least payoff of {player!r}", payoff)
        if not math.isfinite(least[players[i]]):
            raise ArgumentError(f"the least payoff of {player!r} must be finite; got {payoff}")
    return tuple(least.values())


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
