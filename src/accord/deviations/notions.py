"""Equilibrium notions: what a deviator may see, when they may disobey, and what follows.

A *K-EFCE* lets the deviator see and disobey K recommendations, after which the mediator is silent.
K = 0 is the normal-form coarse correlated equilibrium (NFCCE), K = 1 the extensive-form one (EFCE),
K = infinity the behavioral one (BCE). Nobody can disobey more often than they decide, so every
algorithm works with ``min(K, H)``.

Around K = 1 there are three more. Each changes the deviator in one or both of two ways:

    ========  ===========================  ===========================
              then the mediator is silent  then the deviator obeys
    ========  ===========================  ===========================
    sees r    EFCE                         AFCE   (agent form)
    is blind  EFCCE  (coarse)              AFCCE  (agent form, coarse)
    ========  ===========================  ===========================

A *coarse* deviator decides at an infoset, before seeing the recommendation there, whether to leave.
An *agent-form* deviator deviates at one infoset; the recommendations continue, and the deviator
obeys them. In the *normal form* (NFCE) the deviator sees all recommendations before the play. In a
*linear* correlated equilibrium (LCE) the deviator may ask the mediator about any infoset, along one
path of their own tree, as often as they like before each move (``equilibrium/linear_gap.py``).

Whatever a deviator of one notion can do, a deviator of every later notion in these chains can too,
so that gaps do not decrease along them (``docs/theory/k-efce.md`` has the proofs):

    NFCCE <= EFCCE <= EFCE <= 2-EFCE <= ... <= BCE <= NFCE,
    EFCE <= LCE <= NFCE      and      AFCCE <= AFCE <= 2-EFCE.

Files, tables and the command line write K as a number or ``"inf"``, and other notions by name.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, SupportsIndex

from accord.errors import ArgumentError

if TYPE_CHECKING:  # for the command line, which must start quickly
    from accord.treeplex.treeplex import Treeplex

SHOWN_KS = (0, 1, 2, math.inf)
"""The numbers of deviations that ``accord info`` and every report show."""


@dataclass(frozen=True)
class Notion:
    """One equilibrium notion, by what its deviators may do."""

    deviations: float  # how often a deviator may disobey
    coarse: bool = False  # each time before seeing the recommendation
    agent: bool = False  # after that the deviator obeys; else the mediator is silent
    foresight: bool = False  # the deviator sees all recommendations before the play
    linear: bool = False  # the deviator asks about any infosets along a path of their own tree

    def __post_init__(self) -> None:
        if (self.coarse or self.agent) and (self.deviations != 1 or self.has_no_tree):
            raise ArgumentError(
                "a coarse or agent-form deviator deviates once and has no foresight; got "
                f"{self.deviations} deviations, foresight={self.foresight}, linear={self.linear}"
            )

    @property
    def has_no_tree(self) -> bool:
        """Whether the deviator knows more, or other things, than a rechistory."""
        return self.foresight or self.linear

    @property
    def k(self) -> float | None:
        """K, if this is a K-EFCE."""
        return None if self.coarse or self.agent or self.has_no_tree else self.deviations

    @property
    def name(self) -> str:
        """The usual name: ``"EFCE"``, ``"EFCCE"``; ``"2-EFCE"`` where there is no other."""
        return _NAME_OF.get(self) or f"{written_k(self.deviations)}-EFCE"

    @property
    def written(self) -> int | str:
        """The notion in files and on the command line: K, or else the name in lower case."""
        return self.name.lower() if self.k is None else written_k(self.k)

    @property
    def symbol(self) -> str:
        """The notion in a formula or a table: K, or else the name."""
        return self.name if self.k is None else k_symbol(self.k)

    def is_bounded_by(self, other: Notion) -> bool:
        """Whether the gap of this notion is at most that of ``other``, for every policy."""
        if self == other or other.foresight:
            return True
        if other.linear:  # an agent-form deviator hears what the mediator tells no liar
            return not self.agent and self.deviations <= 1
        if other.k is not None:  # an agent-form deviator still listens, so one more is needed
            return not self.has_no_tree and self.deviations + self.agent <= other.k
        return self.agent == other.agent and (self.coarse or self.k == 0)

    def __str__(self) -> str:
        return self.name


NFCCE = Notion(0)
EFCE = Notion(1)
BCE = Notion(math.inf)
EFCCE = Notion(1, coarse=True)
AFCE = Notion(1, agent=True)
AFCCE = Notion(1, coarse=True, agent=True)
LCE = Notion(math.inf, linear=True)
NFCE = Notion(math.inf, foresight=True)

NAMES = {
    "NFCCE": NFCCE,
    "EFCCE": EFCCE,
    "EFCE": EFCE,
    "AFCCE": AFCCE,
    "AFCE": AFCE,
    "BCE": BCE,
    "LCE": LCE,
    "NFCE": NFCE,
}
"""The notions that have a name, weaker ones first."""

KS = [name for name, notion in NAMES.items() if notion.k is not None]
"""The names of notions that are a K-EFCE for some K."""

MOST_DIGITS = 300
"""Digits of a K that fits a float. A longer K counts as infinity: nobody decides that often."""

_NAME_OF = {notion: name for name, notion in NAMES.items()}

LADDER = (NFCCE, EFCCE, EFCE, AFCCE, AFCE, Notion(2), BCE, LCE, NFCE)
"""The notions that a certificate of a small game has; none is bounded by an earlier one."""

NotionLike = SupportsIndex | float | str | Notion
"""A notion as users give it: a :class:`Notion`, a K (``2``, ``math.inf``, ``"inf"``), or a name in
upper or lower case (``"EFCE"``, ``"2-EFCE"``)."""


def as_notion(given: NotionLike) -> Notion:
    """The notion that ``given`` stands for.

    Raises:
        ArgumentError: If it is neither a K nor the name of a notion.
    """
    notion = _find(given)
    if notion is None:
        raise ArgumentError(f"k must be {_forms(NAMES)}; got {given!r:.100}")
    return notion


def check_tree(notion: Notion) -> None:
    """Refuse a notion whose deviators know other recommendations than those on their way.

    Raises:
        ArgumentError: If it is LCE or NFCE.
    """
    if notion.has_no_tree:
        raise ArgumentError(
            f"k must be a K, or 'efcce', 'afce' or 'afcce'; got {notion.written!r}, whose "
            "deviators know more than the recommendations on their way; certify can measure it in "
            "a loaded game"
        )


def checked_k(given: NotionLike) -> float:
    """The K that ``given`` stands for: a whole number of deviations, or ``math.inf``.

    Raises:
        ArgumentError: If it is neither a K nor the name of a notion that has one.
    """
    notion = _find(given)
    if notion is None or notion.k is None:
        raise ArgumentError(f"k must be {_forms(KS)}; got {given!r:.100}")
    return notion.k


def _find(given: NotionLike) -> Notion | None:
    if isinstance(given, Notion):
        return given
    if isinstance(given, str):
        text = given.strip().upper()
        if text in NAMES:
            return NAMES[text]
        return _with_k(_number(text.removesuffix("-EFCE")))
    if isinstance(given, bool):
        return None
    try:
        return _with_k(operator.index(given))  # type: ignore[arg-type]
    except TypeError:
        return _with_k(float(given)) if isinstance(given, Real) else None


def _number(text: str) -> float:
    """The number written as ``text``; NaN if it is not one. Infinity if it is far too long."""
    if text == "∞":
        return math.inf
    try:
        return int(text) if len(text) <= MOST_DIGITS and text.isdecimal() else float(text)
    except ValueError:
        return math.nan


def _with_k(k: float) -> Notion | None:
    """The K-EFCE; None if ``k`` is negative, fractional or NaN."""
    if k >= 10**MOST_DIGITS:
        return BCE
    return Notion(int(k)) if k >= 0 and k == int(k) else None


def _forms(names: Iterable[str]) -> str:
    return (
        "a whole number of deviations, 0 or more, or infinity, or one of "
        f"{', '.join(names).lower()}"
    )


def outcome_notion(notion: Notion) -> Notion:
    """The weakest notion with the same outcomes: the EFCE for every K of at least 1.

    What an EFCE does on the path can be done by a mixture that says nothing new to a deviator, so
    that more deviations gain nothing (B. H. Zhang and T. Sandholm, *On the outcome equivalence of
    extensive-form and behavioral correlated equilibria*, 2024; ``docs/theory/k-efce.md``).
    """
    return EFCE if notion.k is not None and notion.k > 1 else notion


def bounding_k(notion: Notion) -> float:
    """The least K whose gap bounds that of ``notion``, for every policy (it has a tree)."""
    return notion.deviations + notion.agent


def chains(shown: Iterable[Notion]) -> list[list[Notion]]:
    """Those of ``shown`` that bound each other, as chains in which gaps do not decrease."""
    order = sorted(
        dict.fromkeys(shown), key=lambda one: (one.foresight, one.deviations, not one.coarse)
    )
    main = [one for one in order if not one.agent and not one.linear]
    linear = [one for one in order if one.linear]
    if linear:  # after the last that it bounds, before the first that bounds it
        below = [one for one in main if one.is_bounded_by(linear[0])]
        above = [one for one in main if linear[0].is_bounded_by(one)]
        linear = [*below[-1:], *linear, *above[:1]]
    agent = [one for one in order if one.agent]
    if agent:
        agent += [one for one in main if agent[-1].is_bounded_by(one)][:1]
    if set(main) < set(linear):
        main = []  # the longer chain says it
    return [chain for chain in (main, linear, agent) if len(chain) > 1]


def clipped_k(plex: Treeplex, k: NotionLike) -> int:
    """min(K, H): a player cannot deviate more often than they decide."""
    return int(min(checked_k(k), plex.horizon))


def written_k(k: float) -> int | str:
    """``k`` in files, tables and the command line, where :func:`checked_k` reads it again.

    JSON has no infinity.
    """
    return "inf" if math.isinf(k) else int(k)


def k_symbol(k: float) -> str:
    """``k`` in a formula."""
    return "∞" if math.isinf(k) else str(int(k))
