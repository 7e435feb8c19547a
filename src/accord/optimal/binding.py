"""Which constraints hold the optimum back, and what each is worth.

The bound on all equilibria comes with multipliers (``optimal/program.py``): for every player a flow
y on the deviator's tree, and one nu for a floor of their payoff. The flow of a *first* deviation,
to play a when told r at x after obeying so far, is the dual of the constraint that this must not
pay. In payoffs it is the *price*

    y[x, r, a] scale / unit_i :

by how much the objective would improve, at the margin, per unit of payoff that the player left on
the table by obeying there. If value and bound meet, a constraint with a positive price binds: the
deviation gains exactly nothing. Constraints without a price may bind, too, but can be dropped all
together. A coarse deviator leaves x before being told r, and at K = 0 there is one constraint per
player. Where several multipliers prove the same bound, one of them is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from accord._arrays import Floats
from accord.deviations.rechistory import COARSE, ROOT, SWAP
from accord.game.labels import player_name
from accord.optimal.incentives import Incentives
from accord.optimal.pricing import Multipliers

LEAST_PRICE = 1e-7
"""Smaller prices, of a constraint measured in losses and an objective in its scale, are dust."""


@dataclass(frozen=True)
class BindingConstraint:
    """A constraint that holds the optimum back: a deviation that must not pay, or a floor."""

    player: str
    price: float  # what the objective would improve by, per payoff unit
    infoset: str | None = None  # None if it is about the whole play: at K = 0, and of a floor
    told: str | None = None  # None if the player would leave before being told anything
    plays: str | None = None
    floor: float | None = None  # what the player must get at least

    @property
    def what(self) -> str:
        """The constraint in words, without its price."""
        name = player_name(self.player)
        if self.floor is not None:
            return f"{name} gets at least {self.floor:g}"
        if self.infoset is None:
            return f"{name} would ignore all recommendations"
        if self.told is None:
            return f"{name} at {self.infoset!r}, before being told, would play {self.plays!r}"
        return f"{name} at {self.infoset!r} told {self.told!r}, would play {self.plays!r}"

    def to_json(self) -> dict[str, Any]:
        """The constraint as JSON data, with ``text``, the same in words."""
        return {**vars(self), "text": str(self)}

    def __str__(self) -> str:
        return f"{self.what}: binding, price {self.price:.4g}"


def binding_constraints(
    incentives: Incentives,
    prices: Multipliers,
    scale: float,
    floor: tuple[float, ...] | None = None,
) -> tuple[BindingConstraint, ...]:
    """The constraints with a positive price, dearest first."""
    found: list[BindingConstraint] = []
    labels = incentives.form.game.player_labels
    for i, (flow, label) in enumerate(zip(prices.flow, labels, strict=True)):
        worth = scale / float(incentives.unit[i])
        if i not in incentives.commits:
            found += _deviations(incentives, i, label, flow, worth)
        nu = 0.0 if prices.floor is None else float(prices.floor[i])
        if floor is not None and nu > LEAST_PRICE:
            found.append(BindingConstraint(label, nu * worth, floor=floor[i]))
    return tuple(sorted(found, key=lambda one: -one.price))


def _deviations(
    incentives: Incentives, i: int, label: str, flow: Floats, worth: float
) -> list[BindingConstraint]:
    tree = incentives.trees[i]
    plex, first_cell = tree.plex, tree.arrays.first_cell
    if tree.notion.k == 0:
        alone = BindingConstraint(label, float(flow[ROOT]) * worth)
        return [alone] if flow[ROOT] > LEAST_PRICE and plex.n_infosets else []
    found = []
    for x, node in enumerate(incentives.obedient[i].tolist()):
        place, actions = plex.infoset_labels[x], plex.action_labels[x]
        n, first = len(actions), int(first_cell[node])
        cells: dict[tuple[int | None, int], int]
        if tree.kind[node] == COARSE:
            cells = {(None, a): first + 1 + a for a in range(n)}
        elif tree.kind[node] == SWAP:
            cells = {(r, a): first + r * n + a for r in range(n) for a in range(n) if a != r}
        else:
            continue
        for (r, a), cell in cells.items():
            if flow[cell] > LEAST_PRICE:
                told = None if r is None else actions[r]
                price = float(flow[cell]) * worth
                found.append(BindingConstraint(label, price, place, told, actions[a]))
    return found
