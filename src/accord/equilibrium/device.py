"""A correlated policy as a table of the actions that it recommends together.

Each line is one plan of ``equilibrium/plans.py``: its probability, and for each player the
recommendation at every infoset that obedient players reach under this plan. If the table is narrow
enough, each infoset has its own column:

                 student    professor
    probability  good  bad  X       Y
    0.25         X     X    accept
    0.25         X     Y    accept  refuse

Otherwise each recommendation has its own line, with its player, infoset and action. Recommendations
off the path are in parentheses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from accord._above import DISPLAY, FRAMES, call_above
from accord._format import number, one_line, shares, small_fraction
from accord.equilibrium.plans import DrawnPlan, DrawnPlans
from accord.equilibrium.tables import PAGE_LETTERS, TextTable, as_csv, as_latex, as_text
from accord.game.labels import player_name
from accord.treeplex.form import SequenceForm

TEXT_WIDTH = 100
"""Letters in a line of a printed table."""

MANY = 4
"""Recommendations to a player in one plan that are better read in rows of their own."""

UNNAMED = "(no label)"

RARE = 1e-4
"""Probability below which several plans are not listed in papers and on pages."""


@dataclass(frozen=True)
class JointPlan:
    """The recommendations that all players get together, and the probability that they do."""

    probability: float
    told: tuple[Mapping[str, str], ...]  # per player: action by infoset
    off_path: tuple[frozenset[str], ...]  # per player: infosets that obedient players never reach

    @property
    def exact(self) -> str | None:
        """The probability as a fraction, such as ``1/3``, if it is one up to rounding."""
        found = small_fraction(self.probability)
        return None if found is None else str(found)


@dataclass(frozen=True, eq=False, repr=False)
class Device:
    """The plans that a correlated policy draws; :meth:`accord.CorrelatedPolicy.device` finds them.

    ``print(device)`` shows them as a table.
    """

    game: str
    players: tuple[str, ...]
    infosets: tuple[tuple[str, ...], ...]  # per player: those in the plans, in the game's order
    plans: tuple[JointPlan, ...]  # the largest probability first
    rest: float  # probability of all plans that are not listed; 0 if there are none
    rest_most: float  # no plan that is not listed has a larger probability
    policy: Any  # the correlated policy

    @classmethod
    def of(cls, form: SequenceForm, drawn: DrawnPlans, policy: Any) -> Device:
        """The device with these plans of a correlated policy."""
        places = sorted({(one.player, one.infoset) for plan in drawn.plans for one in plan.told})
        return cls(
            game=form.game.name,
            players=tuple(form.game.player_labels),
            infosets=tuple(
                tuple(plex.infoset_labels[x] for player, x in places if player == i)
                for i, plex in enumerate(form.plexes)
            ),
            plans=tuple(_with_labels(form, plan) for plan in drawn.plans),
            rest=drawn.rest,
            rest_most=drawn.rest_most,
            policy=policy,
        )

    @property
    def is_complete(self) -> bool:
        """Whether all plans are listed."""
        return self.rest == 0.0

    def likely(self) -> Device:
        """The device with its rare plans, if they are several, counted among those not listed."""
        rare = [plan.probability for plan in self.plans if plan.probability < RARE]
        if not 1 < len(rare) < len(self.plans):
            return self
        plans = self.plans[: -len(rare)]
        return replace(
            self,
            plans=plans,
            infosets=tuple(
                tuple(x for x in infosets if any(x in plan.told[i] for plan in plans))
                for i, infosets in enumerate(self.infosets)
            ),
            rest=self.rest + sum(rare),
            rest_most=max(self.rest_most, rare[0]),
        )

    def to_text(self, width: int = TEXT_WIDTH) -> str:
        """A table in plain text whose lines have at most ``width`` letters, if words allow that."""
        return as_text(self._table(width), width)

    def to_latex(self) -> str:
        r"""A LaTeX ``tabular`` for ``\input``, without rare plans. It needs booktabs."""
        return as_latex(self.likely()._table(PAGE_LETTERS))

    def to_csv(self) -> str:
        """CSV with one line per plan and one column per infoset, and probabilities in full: as
        decimals and, where they are such up to rounding, as fractions.

        A cell is empty where a plan recommends nothing. Parentheses do not mark what is off the
        path. If plans are missing, a last line, called ``other``, has their total probability.
        """
        places = self._places()
        names = (f"{self.players[i]}: {infoset}" for i, infoset in places)
        rows: list[tuple[object, ...]] = [("plan", "probability", "exact", *names)]
        for rank, plan in enumerate(self.plans, 1):
            actions = (plan.told[i].get(infoset, "") for i, infoset in places)
            rows.append((rank, repr(plan.probability), plan.exact or "", *actions))
        if not self.is_complete:
            rows.append(("other", repr(self.rest), "", *("" for _ in places)))
        return as_csv(rows)

    def to_json(self) -> dict[str, Any]:
        """The plans as JSON data, with labels as the game has them."""
        return {
            "game": self.game,
            "players": list(self.players),
            "plans": [
                {
                    "probability": plan.probability,
                    "exact": plan.exact,
                    "told": [dict(told) for told in plan.told],
                    "off_path": [
                        [infoset for infoset in told if infoset in off]
                        for told, off in zip(plan.told, plan.off_path, strict=True)
                    ],
                }
                for plan in self.plans
            ],
            "rest": self.rest,
            "rest_most": self.rest_most,
        }

    def to_frame(self) -> Any:
        """A pandas data frame with one row per plan.

        The first column is ``probability``. The others are the infosets, each a pair of player and
        infoset; a cell is missing where a plan recommends nothing. It needs the extra
        ``pandas``.
        """
        return call_above(FRAMES, "device_frame", self)

    def _places(self) -> list[tuple[int, str]]:
        """Player and infoset of each column."""
        return [(i, infoset) for i, infosets in enumerate(self.infosets) for infoset in infosets]

    def _table(self, width: int) -> TextTable:
        """Plans as rows or, if that is too wide, as columns; else a row per recommendation."""
        for table in (self._by_infoset(), self._by_plan()):
            if table.width <= width:
                return table
        return self._by_recommendation()

    def _by_infoset(self) -> TextTable:
        places = self._places()
        named = [(heading(self.players[i]), len(own)) for i, own in enumerate(self.infosets) if own]
        return TextTable(
            header=("probability", *(_shown(infoset) for _, infoset in places)),
            rows=tuple(
                (shown, *(_cell(plan, i, infoset) for i, infoset in places))
                for shown, plan in zip(self.probabilities(), self.plans, strict=True)
            ),
            groups=(("", 1), *named) if named else (),
            last=self._last(),
        )

    def _by_plan(self) -> TextTable:
        rows, before = [], None
        for i, infoset in self._places():
            told = (_cell(plan, i, infoset) for plan in self.plans)
            name = heading(self.players[i]) if i != before else ""
            rows.append((name, _shown(infoset), *told))
            before = i
        header = ("", "probability", *self.probabilities())
        return TextTable(header, tuple(rows), last=self._last(), numbers=len(self.plans))

    def _by_recommendation(self) -> TextTable:
        rows: list[tuple[str, ...]] = []
        for shown, plan in zip(self.probabilities(), self.plans, strict=True):
            if rows:
                rows.append(())
            probability = shown
            for i, told in enumerate(plan.told):
                name = heading(self.players[i])
                for infoset in told:
                    rows.append((probability, name, _shown(infoset), _cell(plan, i, infoset)))
                    probability = name = ""
        header = ("probability", "player", "infoset", "told")
        return TextTable(header, tuple(rows), last=self._last())

    def probabilities(self) -> list[str]:
        """The probabilities of the plans as all tables show them."""
        return shares([plan.probability for plan in self.plans])

    @property
    def is_tall(self) -> bool:
        """Whether a table with infosets as rows and plans as columns is shorter than a list of
        many recommendations for each plan, and not too wide."""
        longest = [max(map(len, plan.told), default=0) for plan in self.plans]
        shorter = max(longest, default=0) >= MANY and len(self._places()) < sum(longest)
        return shorter and self._by_plan().width <= TEXT_WIDTH

    def _last(self) -> tuple[str, str] | None:
        if self.is_complete:
            return None
        which = "other plans" if self.plans else "plans"
        return number(self.rest), f"{which}, each at most {number(self.rest_most)}"

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"Device({self.game!r}, plans={len(self.plans)}, rest={number(self.rest)})"

    def _repr_html_(self) -> str:
        return str(call_above(DISPLAY, "device_html", self))

    def _repr_latex_(self) -> str:
        return self.to_latex()


def heading(player: str) -> str:
    """The label of a player in a table; with the word ``player`` if it has no letters."""
    return _shown(player if any(map(str.isalpha, player)) else player_name(player))


def _shown(label: str) -> str:
    """A label in one line."""
    return " ".join(one_line(label).split()) or UNNAMED


def _cell(plan: JointPlan, i: int, infoset: str) -> str:
    action = plan.told[i].get(infoset)
    if action is None:
        return ""
    return f"({_shown(action)})" if infoset in plan.off_path[i] else _shown(action)


def _with_labels(form: SequenceForm, plan: DrawnPlan) -> JointPlan:
    told: list[dict[str, str]] = [{} for _ in form.plexes]
    off_path: list[set[str]] = [set() for _ in form.plexes]
    for i, x, action, on_path in plan.told:
        plex = form.plexes[i]
        infoset = plex.infoset_labels[x]
        told[i][infoset] = plex.action_labels[x][action]
        if not on_path:
            off_path[i].add(infoset)
    return JointPlan(plan.probability, tuple(told), tuple(map(frozenset, off_path)))
