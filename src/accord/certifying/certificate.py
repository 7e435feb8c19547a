"""How far a correlated policy is from equilibrium, exactly, and the deviation that proves it.

For each notion asked for, a certificate holds every player's gap in payoff units and the best
deviation that attains it, both as a modification phi and in words. Notions are the K-EFCE, of which
K = 0 is the NFCCE, K = 1 the EFCE and K = infinity the behavioural (BCE) one, and the coarse and
agent-form ones of ``deviations/notions.py``. Gaps are not clamped: they cannot be negative, because
phi may obey, except at K = 0. Two related gaps come with them: the trigger gap, Equation (6) of
Song, Mei, Bai 2022, and the normal-form (NFCE) gap. ``certifying/exact.py`` computes them.

Every number has an error bound: the exact one differs from it by no more
(``equilibrium/rounding.py``). A gap or value that its error bound cannot tell from 0 is 0 here, so
that files, terminal and reports agree on what is zero.

Except at K = 0, the gain of phi splits into its *first* deviations: obey up to infoset x, be told r
there, play something else and continue with phi. Each such event has a probability and a gain, and
the gains add up to the gap (this is the decomposition behind Proposition 3). A coarse deviator
leaves at x before being told r.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from accord._above import DISPLAY, FRAMES, call_above
from accord.deviations.modification import Modification
from accord.deviations.notions import Notion, NotionLike, as_notion
from accord.game.labels import player_name


@dataclass(frozen=True)
class FirstDeviation:
    """One way to leave the mediator: told ``told`` at ``infoset``, play ``plays`` instead.

    A coarse deviator plays it before being told, and ``told`` is None. In the best trigger
    ``plays`` may equal ``told``: it ignores the mediator only afterwards.
    """

    player: str
    infoset: str
    told: str | None
    plays: str
    gain: float  # added to the player's expected payoff
    probability: float  # of getting there by obeying and, unless coarse, being told this

    def __str__(self) -> str:
        if self.told is None:
            does = f"plays {self.plays!r} before being told anything"
        elif self.plays == self.told:
            does = f"told {self.told!r} obeys, then ignores the mediator"
        else:
            does = f"told {self.told!r} plays {self.plays!r} instead"
        return (
            f"{player_name(self.player)} at {self.infoset!r} {does}: gains {self.gain:.4g}; "
            f"reached with probability {self.probability:.3g}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Witness:
    """A player's best deviation: the modification, its gain, and where it starts."""

    player: str
    gain: float
    modification: Modification
    first_deviations: tuple[FirstDeviation, ...]  # by gain, largest first; empty at K = 0

    def __str__(self) -> str:
        if not self.modification.tree.plex.n_infosets:
            return f"{player_name(self.player)} never decides"
        if self.modification.tree.k == 0:
            return f"{player_name(self.player)} {_plan(self.modification)}: gains {self.gain:.4g}"
        if not self.first_deviations:
            return f"{player_name(self.player)} cannot gain by deviating"
        more = len(self.first_deviations) - 1
        places = "place" if more == 1 else "places"
        return str(self.first_deviations[0]) + (f" (and {more} more such {places})" if more else "")

    def __repr__(self) -> str:
        return (
            f"Witness({self.player!r}, gain={self.gain:.4g}, "
            f"first_deviations={len(self.first_deviations)})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Gap:
    """The gap of one notion."""

    notion: Notion
    player_gaps: tuple[float, ...]  # in payoff units
    player_errors: tuple[float, ...]  # the exact gaps differ from these by at most this much
    relative: float  # the largest gap in units of that player's payoff range
    witnesses: tuple[Witness, ...]  # one per player; none for the NFCE

    @property
    def k(self) -> float | None:
        """K, if the notion is a K-EFCE."""
        return self.notion.k

    @property
    def gap(self) -> float:
        """The paper's K-EFCE gap: the maximum over players."""
        return max(self.player_gaps)

    @property
    def error(self) -> float:
        """The exact ``gap`` differs from this one by at most this much."""
        return max(self.player_errors)

    @property
    def sum(self) -> float:
        """The sum over players, which OpenSpiel reports."""
        return math.fsum(self.player_gaps)

    def __repr__(self) -> str:
        return f"Gap({self.notion}, gap={self.gap:.4g}, relative={self.relative:.4g})"


@dataclass(frozen=True)
class TriggerGap:
    """The gap of trigger policies, and the best trigger."""

    gap: float
    trigger: FirstDeviation | None
    error: float  # the exact gap differs by at most this much


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """The exact gaps of a correlated policy. Made by :func:`accord.certify`."""

    game: str
    players: tuple[str, ...]  # their labels
    values: tuple[float, ...]  # expected payoffs when everybody obeys
    value_errors: tuple[float, ...]  # the exact values differ from these by at most this much
    stakes: tuple[float, ...]  # expected gain of each player if they saw the component drawn and
    # played for what is above their value; no gap is much larger, whatever payoffs are never paid
    gaps: tuple[Gap, ...]  # one per notion asked for, without the NFCE
    trigger: TriggerGap
    nfce: Gap | None  # None if it was refused
    nfce_refusal: str | None  # the reason

    @property
    def nfce_gap(self) -> float | None:
        """The NFCE gap; None if it was refused."""
        return None if self.nfce is None else self.nfce.gap

    def __getitem__(self, k: NotionLike) -> Gap:
        wanted = as_notion(k)
        found = {gap.notion: gap for gap in (*self.gaps, self.nfce) if gap is not None}
        if wanted not in found:
            raise KeyError(f"there is no gap of {wanted}; there are: {', '.join(map(str, found))}")
        return found[wanted]

    def to_json(self) -> dict[str, Any]:
        """The certificate as one JSON object; ``k`` is a number, ``"inf"`` or null."""
        return {
            "game": self.game,
            "values": list(self.values),
            "value_errors": list(self.value_errors),
            "gaps": [
                {
                    "notion": gap.notion.name,
                    "k": None if gap.k is None else gap.notion.written,
                    "gap": gap.gap,
                    "error": gap.error,
                    "relative": gap.relative,
                    "sum": gap.sum,
                    "players": list(gap.player_gaps),
                    "player_errors": list(gap.player_errors),
                    "witness": [_witness_to_json(w) for w in gap.witnesses],
                }
                for gap in self.gaps
            ],
            "trigger_gap": self.trigger.gap,
            "trigger_error": self.trigger.error,
            "trigger": None if self.trigger.trigger is None else vars(self.trigger.trigger),
            "nfce_gap": self.nfce_gap,
            "nfce_error": None if self.nfce is None else self.nfce.error,
            "nfce_players": None if self.nfce is None else list(self.nfce.player_gaps),
            "nfce_refusal": self.nfce_refusal,
        }

    def to_frame(self) -> Any:
        """A pandas data frame with one row per notion and player.

        Its columns are ``notion``, ``k`` (NaN where there is none), ``player``, ``gap``, ``value``
        and ``deviation``, the best one in words. It needs the extra ``accord[pandas]``.
        """
        return call_above(FRAMES, "certificate_frame", self)

    def __repr__(self) -> str:
        gaps = ", ".join(f"{gap.notion}: {gap.gap:.4g}" for gap in self.gaps)
        return f"Certificate({self.game!r}, gaps={{{gaps}}})"

    def _repr_html_(self) -> str:
        return str(call_above(DISPLAY, "certificate_html", self))


def _plan(phi: Modification) -> str:
    """A K = 0 modification in words: its actions at the infosets that it can reach."""
    plex = phi.tree.plex
    steps = []
    reached = np.zeros(plex.n_sequences, bool)
    reached[0] = True
    for x in range(plex.n_infosets):
        if reached[plex.parent_seq[x]]:
            a = int(phi.choice[phi.tree.first_row[phi.tree.arrays.first_node[x]]])
            reached[plex.first_seq[x] + a] = True
            steps.append(f"{plex.action_labels[x][a]!r} at {plex.infoset_labels[x]!r}")
    shown = ", ".join(steps[:4]) + (f" and {len(steps) - 4} more" if len(steps) > 4 else "")
    return f"ignores every recommendation and plays {shown}"


def _witness_to_json(witness: Witness) -> dict[str, Any]:
    return {
        "player": witness.player,
        "gain": witness.gain,
        "text": str(witness),
        "deviations": [vars(event) for event in witness.first_deviations],
    }
