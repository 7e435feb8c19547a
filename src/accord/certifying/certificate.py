"""How far a correlated policy is from equilibrium, and the deviations that prove it.

For each notion asked for, a certificate holds a gap of every player in payoff units and the best
deviation found, both as a modification phi and in words. Notions are the K-EFCE, of which K = 0 is
the NFCCE, K = 1 the EFCE and K = infinity the behavioral (BCE) one, and the coarse and agent-form
ones of ``deviations/notions.py``.

*The game is known* (``certifying/exact.py``). Gaps are exact, and the deviations attain them. Every
number has an error bound: the exact one differs from it by no more (``equilibrium/rounding.py``). A
gap or value that its error bound cannot tell from 0 is 0 here, so that files, terminal and reports
agree on what is zero. Gaps are not clamped: they cannot be negative, because phi may obey, except
at K = 0. Two related gaps come with them: the trigger gap, Equation (6) of Song, Mei, Bai 2022, and
the normal-form (NFCE) gap.

*The game is not known* (``certifying/by_play.py``). Plays give a lower and an upper bound on each
gap, which hold together with a stated confidence. The gap itself is NaN in Python and null in JSON,
and so is everything else that only the game could tell.

Except at K = 0, the gain of phi splits into its *first* deviations: obey up to infoset x, be told r
there, play something else and continue with phi. Each such event has a probability and a gain, and
the gains add up to the gap (this is the decomposition behind Proposition 3). A coarse deviator
leaves at x before being told r.

*Credible advice.* What is recommended where nobody comes who obeys does not change these gaps. It
counts if the others' hands tremble (``equilibrium/evaluation.py``): the *trembled* gap is the gain
against them, and a *threat* is a recommendation off the path that its receiver would disobey.

*Commitment.* A player who commits follows the recommendations whether or not that is best for them.
Nothing that they could gain counts, so their gap is 0, and the certificate says who they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from accord._above import DISPLAY, FRAMES, LATEX, call_above
from accord._format import number
from accord.deviations.modification import Modification
from accord.deviations.notions import Notion, NotionLike, as_notion
from accord.equilibrium.linear_gap import LinearDeviation
from accord.game.labels import player_name
from accord.game.tree import Game

FAMILIAR = 0.5
"""Share of decisions at known infosets below which a certificate warns that little was learned."""


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
    planned: float | None = None  # this probability if no hand trembles; None if none can
    asks: str | None = None  # a linear deviator, who may ask about this infoset instead of playing

    @property
    def is_off_path(self) -> bool:
        """Whether only a trembling hand leads there."""
        return self.planned == 0.0

    @property
    def gain_there(self) -> float:
        """The expected gain of a player who has come there."""
        return self.gain / self.probability if self.probability else math.nan

    def __str__(self) -> str:
        if self.asks is not None:
            heard = "" if self.told is None else f"told {self.told!r} "
            does = f"{heard}asks the mediator about {self.asks!r}"
        elif self.told is None:
            does = f"plays {self.plays!r} before being told anything"
        elif self.plays == self.told:
            does = f"told {self.told!r} obeys, then ignores the mediator"
        else:
            does = f"told {self.told!r} plays {self.plays!r} instead"
        place = f"{player_name(self.player)} at {self.infoset!r} {does}: gains"
        if self.is_off_path:
            return f"{place} {self.gain_there:.4g} (nobody who obeys gets there)"
        return f"{place} {self.gain:.4g}; reached with probability {self.probability:.3g}"


@dataclass(frozen=True, eq=False, repr=False)
class Witness:
    """A player's best deviation: the modification, its gain, and where it starts.

    In a known game it attains the player's gap. Otherwise it is the best that plays have found:
    ``gain`` is its mean gain in fresh plays, and those of its first deviations are estimates from
    the plays that found it.
    """

    player: str
    gain: float
    modification: Modification | LinearDeviation
    first_deviations: tuple[FirstDeviation, ...]  # by gain, largest first; empty at K = 0
    margin: float | None = None  # the true gain is at most this much less; None in a known game
    commits: bool = False  # whether the player commits, so that nothing they could gain counts

    @property
    def is_found(self) -> bool:
        """Whether there is a deviation that gains or, from plays, seems to gain.

        At K = 0, where nobody may just obey, there is always one.
        """
        return bool(self.first_deviations) or (self._plan is not None and not self.commits)

    @property
    def _plan(self) -> Modification | None:
        """The modification if it is a plan, at K = 0."""
        phi = self.modification
        return phi if isinstance(phi, Modification) and phi.tree.k == 0 else None

    def to_json(self) -> dict[str, Any]:
        """One JSON object; ``text`` is null if plays found no deviation, which proves nothing."""
        return {
            "player": self.player,
            "gain": self.gain,
            "margin": self.margin,
            "text": str(self) if self.is_found or self.margin is None else None,
            "deviations": [vars(event) for event in self.first_deviations],
        }

    def __str__(self) -> str:
        name = player_name(self.player)
        if not self.modification.plex.n_infosets:
            return f"{name} never decides"
        if self.commits:
            return f"{name} commits to what is recommended"
        if self._plan is not None:
            return f"{name} {_plan_in_words(self._plan)}: gains {self.gain:.4g}"
        if not self.first_deviations:
            if self.margin is not None:
                return f"no deviation of {name} has been found that gains"
            return f"{name} cannot gain by deviating"
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
    """The gap of one notion, exact or bounded by plays.

    The gap of player i is between ``player_lower[i]`` and ``player_upper[i]``. If it is exact,
    these are ``player_gaps[i]`` minus and plus ``player_errors[i]``; else the latter are NaN.
    """

    notion: Notion
    player_gaps: tuple[float, ...]  # in payoff units
    player_errors: tuple[float, ...]  # the exact gaps differ from these by at most this much
    player_lower: tuple[float, ...]  # at K = 0, where nobody may just obey, they can be negative
    player_upper: tuple[float, ...]
    vacuous: tuple[bool, ...]  # whether a player's upper bound says nothing about the plays
    relative: float  # the largest gap in units of that player's payoff range
    witnesses: tuple[Witness, ...]  # one per player; none for the NFCE

    @property
    def k(self) -> float | None:
        """K, if the notion is a K-EFCE."""
        return self.notion.k

    @property
    def gap(self) -> float:
        """The paper's K-EFCE gap: the maximum over players. NaN if it is only bounded."""
        return max(self.player_gaps)

    @property
    def error(self) -> float:
        """The exact ``gap`` differs from this one by at most this much."""
        return max(self.player_errors)

    @property
    def lower(self) -> float:
        """The gap, the maximum over players, is at least this."""
        return max(self.player_lower)

    @property
    def upper(self) -> float:
        """The gap, the maximum over players, is at most this."""
        return max(self.player_upper)

    @property
    def sum(self) -> float:
        """The sum over players, which OpenSpiel reports."""
        return math.fsum(self.player_gaps)

    @property
    def is_exact(self) -> bool:
        """Whether the gap is known and not only bounded."""
        return not math.isnan(self.gap)

    def to_json(self) -> dict[str, Any]:
        """One JSON object; ``k`` is a number, ``"inf"`` or null, and unknown numbers are null."""
        return {
            "notion": self.notion.name,
            "k": None if self.k is None else self.notion.written,
            "gap": _known(self.gap),
            "error": _known(self.error),
            "lower": self.lower,
            "upper": self.upper,
            "relative": _known(self.relative),
            "sum": _known(self.sum),
            "players": list(map(_known, self.player_gaps)),
            "player_errors": list(map(_known, self.player_errors)),
            "player_lower": list(self.player_lower),
            "player_upper": list(self.player_upper),
            "vacuous": list(self.vacuous),
            "witness": [witness.to_json() for witness in self.witnesses],
        }

    def __repr__(self) -> str:
        if self.is_exact:
            return f"Gap({self.notion}, gap={self.gap:.4g}, relative={self.relative:.4g})"
        return f"Gap({self.notion}, lower={self.lower:.4g}, upper={self.upper:.4g})"


@dataclass(frozen=True)
class TriggerGap:
    """The gap of trigger policies, and the best trigger; NaN if plays made the certificate, or if
    there are too many triggers."""

    gap: float
    trigger: FirstDeviation | None
    error: float  # the exact gap differs by at most this much


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """The gaps of a correlated policy.

    :func:`accord.certify` computes them in a known game, :func:`accord.certify_by_play` bounds them
    by playing. ``certificate[k]`` is the :class:`Gap` of a notion: of a K or a name.
    """

    game: str
    players: tuple[str, ...]  # their labels
    infosets: int  # of all players; if the game is not known, seen in the policy or in plays
    confidence: float | None  # the probability with which all bounds hold; None if all are exact
    plays: int | None  # how many plays the bounds are from; None if all are exact
    values: tuple[float, ...]  # expected payoffs when everybody obeys; from plays, their means
    value_errors: tuple[float, ...]  # the exact values differ from these by at most this much
    stakes: tuple[float, ...]  # expected gain of each player if they saw the component drawn and
    # played for what is above their value; no gap is much larger, whatever payoffs are never paid
    gaps: tuple[Gap, ...]  # one per notion asked for, without the NFCE
    trigger: TriggerGap
    nfce: Gap | None  # None if it was refused
    nfce_refusal: str | None  # the reason
    upper_refusal: str | None = None  # why plays gave no upper bound, except for the best payoff
    coverage: float | None = None  # share of decisions in obedient plays at infosets that the
    # policy knows; None if the game is known, or nobody decided anything
    tremble: float = 0.0  # how often the others' hands tremble
    trembled: tuple[Gap, ...] = ()  # the gaps against them, in the order of ``gaps``
    commits: tuple[str, ...] = ()  # the players who commit: their gaps count as 0
    bounds_estimated: bool = False  # whether payoff bounds are the payoffs that plays have shown;
    # all bounds are then for a game in which nothing else is paid

    @property
    def threats(self) -> tuple[FirstDeviation, ...]:
        """Recommendations that no obedient player ever hears, and that a player would disobey if
        somebody else's hand trembled. Those that tempt most come first."""
        found: dict[tuple[str, str, str | None], FirstDeviation] = {}
        for gap in self.trembled:
            for witness in gap.witnesses:
                for event in witness.first_deviations:
                    if event.is_off_path:
                        place = (event.player, event.infoset, event.told)
                        found[place] = max(found.get(place, event), event, key=_tempting)
        return tuple(sorted(found.values(), key=_tempting, reverse=True))

    @property
    def is_credible(self) -> bool | None:
        """Whether there are no :attr:`threats`; None if no hand trembled, or nobody was advised."""
        if all(gap.notion.deviations == 0 for gap in self.trembled):
            return None
        return not self.threats

    def threat_moves(self, game: Game) -> dict[tuple[int, int, int], FirstDeviation]:
        """The :attr:`threats` that name an action, by player, infoset and action of ``game``."""
        found = {}
        for threat in self.threats:
            if threat.told is not None:
                player = game.player_labels.index(threat.player)
                x = game.infoset_labels[player].index(threat.infoset)
                found[player, x, game.action_labels[player][x].index(threat.told)] = threat
        return found

    @property
    def is_exact(self) -> bool:
        """Whether the gaps are known and not only bounded by plays."""
        return self.confidence is None

    @property
    def all_gaps(self) -> tuple[Gap, ...]:
        """The gaps asked for and, if there is one, that of the NFCE."""
        return self.gaps if self.nfce is None else (*self.gaps, self.nfce)

    @property
    def nfce_gap(self) -> float | None:
        """The NFCE gap; None if it was refused."""
        return None if self.nfce is None else self.nfce.gap

    def __getitem__(self, k: NotionLike) -> Gap:
        wanted = as_notion(k)
        found = {gap.notion: gap for gap in self.all_gaps}
        if wanted not in found:
            raise KeyError(f"there is no gap of {wanted}; there are: {', '.join(map(str, found))}")
        return found[wanted]

    def to_json(self) -> dict[str, Any]:
        """The certificate as one JSON object, in which unknown numbers are null.

        ``confidence`` and ``plays`` are null if the gaps are exact.
        """
        return {
            "game": self.game,
            "infosets": self.infosets,
            "confidence": self.confidence,
            "plays": self.plays,
            "upper_refusal": self.upper_refusal,
            "coverage": self.coverage,
            "bounds_estimated": self.bounds_estimated,
            "values": list(self.values),
            "value_errors": list(self.value_errors),
            "gaps": [gap.to_json() for gap in self.gaps],
            "trigger_gap": _known(self.trigger.gap),
            "trigger_error": _known(self.trigger.error),
            "trigger": None if self.trigger.trigger is None else vars(self.trigger.trigger),
            "nfce_gap": self.nfce_gap,
            "nfce_error": None if self.nfce is None else self.nfce.error,
            "nfce_players": None if self.nfce is None else list(self.nfce.player_gaps),
            "nfce_refusal": self.nfce_refusal,
            "tremble": self.tremble,
            "trembled": [gap.to_json() for gap in self.trembled],
            "credible": self.is_credible,
            "commits": list(self.commits),
        }

    def to_frame(self) -> Any:
        """A pandas data frame with one row per notion and player.

        Its columns are ``notion``, ``k`` (NaN where there is none), ``player``, ``gap`` (NaN if it
        is only bounded), ``lower``, ``upper``, ``value`` and ``deviation``, the best one in words.
        It needs pandas (the extra ``pandas``).
        """
        return call_above(FRAMES, "certificate_frame", self)

    def __str__(self) -> str:
        return "\n".join(self._exact_lines() if self.is_exact else self._bounded_lines())

    def _exact_lines(self) -> list[str]:
        """One line with all gaps, and the deviation that attains the largest in another."""
        shown = ", ".join(f"{gap.notion} {number(gap.gap)}" for gap in self.all_gaps)
        lines = [f"{self.game}: {f'exact gaps {shown}' if shown else 'no gap was asked for'}"]
        found = [witness for gap in self.gaps for witness in gap.witnesses]
        best = max(found, key=lambda witness: witness.gain, default=None)
        if best is not None:
            lines.append(str(best) if best.gain > 0.0 else self.nobody_gains())
        return [*lines, *self.credibility()]

    def nobody_gains(self) -> str:
        """That no player can gain by deviating, in words which name those who commit."""
        if not self.commits:
            return "no player can gain by deviating"
        names = " and ".join(map(player_name, self.commits))
        verb = "commits" if len(self.commits) == 1 else "commit"
        return f"{names} {verb}; no other player can gain by deviating"

    def credibility(self) -> list[str]:
        """Whether the advice off the path is credible, in a sentence; nothing if nobody trembled.

        If it is not, the threats follow, a line each, at most five.
        """
        if self.is_credible is None:
            return []
        if self.is_credible:
            return [
                "credible: following advice that is given only after a slip of others (probability "
                f"{self.tremble:g}) is a best reply"
            ]
        threats = self.threats
        more = [f"and {len(threats) - 5} more"] if len(threats) > 5 else []
        return [
            "not credible: after a slip of somebody else, this advice would be disobeyed",
            *(f"  {threat}" for threat in threats[:5]),
            *more,
        ]

    def _bounded_lines(self) -> list[str]:
        """The bounds of each gap, whether they say anything, and the deviation that proves most."""
        lines, confidence = [], f"with {100 * (self.confidence or 0.0):g}% confidence"
        for gap in self.gaps:
            lines.append(
                f"{self.game}: {confidence} the {gap.notion} gap is at least {number(gap.lower)} "
                f"and at most {number(gap.upper)}, by {self.plays:,} plays"
            )
            idle = [name for name, empty in zip(self.players, gap.vacuous, strict=True) if empty]
            if idle:
                lines.append(
                    f"the upper bound for {' and '.join(map(player_name, idle))} says only that "
                    "nobody is paid more than the best payoff; "
                    f"{self.upper_refusal or 'play more'}"
                )
            best = gap.witnesses[int(np.argmax(gap.player_lower))]
            lines.append(
                f"{best} (estimates; fresh plays gained {number(best.gain)})"
                if gap.lower > 0.0
                else "no deviation has been shown to gain"
            )
        if self.bounds_estimated:
            lines.append(ESTIMATED)
        return lines if self.is_familiar else [*lines, coverage_advice(self.coverage or 0.0)]

    @property
    def is_familiar(self) -> bool:
        """Whether the policy knows the infosets of at least half of the decisions in plays."""
        return self.coverage is None or self.coverage >= FAMILIAR

    def __repr__(self) -> str:
        gaps = ", ".join(
            f"{gap.notion}: "
            + (f"{gap.gap:.4g}" if gap.is_exact else f"{gap.lower:.4g} to {gap.upper:.4g}")
            for gap in self.gaps
        )
        return f"Certificate({self.game!r}, gaps={{{gaps}}})"

    def _repr_html_(self) -> str:
        return str(call_above(DISPLAY, "certificate_html", self))

    def _repr_latex_(self) -> str:
        return str(call_above(LATEX, "certificate_latex", self))


ESTIMATED = (
    "payoff bounds were estimated from plays: all bounds hold only if no play pays less or more "
    "than those so far; state payoff_bounds if you know them"
)
"""What a certificate says if the payoff bounds are estimated."""


def coverage_advice(coverage: float) -> str:
    """What it means that a policy knows only this share of decisions, and what to do about it."""
    return (
        f"the policy knows the infosets of only {coverage:.0%} of the decisions in fresh "
        "plays and plays uniformly at all others, so little was learned, and bounds say little; "
        "play more episodes, or let labels tell less apart (observe= or label=)"
    )


def _tempting(event: FirstDeviation) -> float:
    return event.gain_there


def _plan_in_words(phi: Modification) -> str:
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


def _known(value: float) -> float | None:
    """A number in JSON, which has no NaN."""
    return None if math.isnan(value) else value
