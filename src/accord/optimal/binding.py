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
player. Where several multipliers prove the same bound, one of them is shown; where there is a proof
in rational numbers (``optimal/proof.py``), its prices.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from accord._arrays import Floats
from accord._format import fraction, number
from accord.deviations.rechistory import COARSE, ROOT, SWAP
from accord.game.labels import player_name
from accord.game.rationals import as_rational
from accord.optimal.incentives import Incentives
from accord.optimal.pricing import Multipliers
from accord.treeplex.form import SequenceForm

LONGEST_PRICE = 12
"""Letters of a price; longer fractions are rounded."""

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
    rational: Fraction | None = None  # the price, if it is known exactly

    @property
    def what(self) -> str:
        """The constraint in words, without its price."""
        name = player_name(self.player)
        if self.floor is not None:
            return f"{name} gets at least {fraction(as_rational(self.floor))}"
        if self.infoset is None:
            return f"{name} would ignore all recommendations"
        if self.told is None:
            return f"{name} at {self.infoset!r}, before being told, would play {self.plays!r}"
        return f"{name} at {self.infoset!r} told {self.told!r}, would play {self.plays!r}"

    def to_json(self) -> dict[str, Any]:
        """The constraint as JSON data, with ``text``, the same in words."""
        exact = None if self.rational is None else str(self.rational)
        return {**vars(self), "rational": exact, "text": str(self)}

    @property
    def shown_price(self) -> str:
        """The price for people: exactly if it is known and not long, else four digits."""
        text = "" if self.rational is None else fraction(self.rational, LONGEST_PRICE)
        return text if text and Fraction(text) == self.rational else number(self.price)

    def __str__(self) -> str:
        return f"{self.what}: binding, price {self.shown_price}"


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


def proved_constraints(form: SequenceForm, proof: dict[str, Any]) -> tuple[BindingConstraint, ...]:
    """The constraints with a positive price in a proof, dearest first."""
    found: list[BindingConstraint] = []
    labels = form.game.player_labels
    for i, start, mass, flow in proof["prices"]:
        if start is None:
            prices = [(None, None, None, Fraction(mass))]
        else:
            x, r = start
            actions = form.plexes[i].action_labels[form.plexes[i].infoset_labels.index(x)]
            told = None if r is None else actions[r]
            prices = [(x, told, actions[a], Fraction(y)) for (at, a), y in flow if at == x]
        for place, told, plays, price in prices:
            if price > 0:
                one = BindingConstraint(labels[i], float(price), place, told, plays, rational=price)
                found.append(one)
    for i, least, price in proof["floors"]:
        if Fraction(price) > 0:
            floor, worth = float(Fraction(least)), Fraction(price)
            found.append(BindingConstraint(labels[i], float(worth), floor=floor, rational=worth))
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
