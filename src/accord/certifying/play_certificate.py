"""What plays prove about the K-EFCE gap of a policy; ``certifying/by_play.py`` computes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from accord._format import number
from accord.certifying.certificate import Witness
from accord.deviations.notions import Notion, written_k
from accord.game.labels import player_name


@dataclass(frozen=True, eq=False)
class PlayGap:
    """Bounds on the gap of one player, in payoff units."""

    player: str
    lower: float  # of the gap; at K = 0, where nobody may just obey, it can be negative
    upper: float  # of the gap
    vacuous: bool  # whether the upper bound says nothing about the plays
    gain: float  # mean gain of the deviation in fresh plays
    margin: float  # the true gain of this deviation is at most this much less
    witness: Witness  # the deviation; its gains are estimates from the plays that found it

    @property
    def deviation(self) -> str | None:
        """The deviation in words; None if the plays that searched found none that seemed to gain.

        That is no proof that there is none.
        """
        found = self.witness.first_deviations or self.witness.modification.tree.k == 0
        return str(self.witness) if found else None

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        return {
            "player": self.player,
            "lower": self.lower,
            "upper": self.upper,
            "vacuous": self.vacuous,
            "gain": self.gain,
            "margin": self.margin,
            "deviation": self.deviation,
        }


@dataclass(frozen=True, eq=False)
class PlayCertificate:
    """What plays prove about the K-EFCE gap of a policy."""

    name: str
    k: float
    confidence: float  # the probability with which all bounds hold
    episodes: int
    infosets: int  # of all players, seen in the policy or in plays
    values: tuple[float, ...]  # mean payoffs of fresh plays in which everybody obeys
    margins: tuple[float, ...]  # the true values are within these, as part of the confidence
    players: tuple[PlayGap, ...]

    @property
    def lower(self) -> float:
        """A lower bound on the gap, the maximum over players."""
        return max(player.lower for player in self.players)

    @property
    def upper(self) -> float:
        """An upper bound on the gap."""
        return max(player.upper for player in self.players)

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        return {
            "game": self.name,
            "k": written_k(self.k),
            "confidence": self.confidence,
            "episodes": self.episodes,
            "infosets": self.infosets,
            "lower": self.lower,
            "upper": self.upper,
            "values": list(self.values),
            "margins": list(self.margins),
            "players": [player.to_json() for player in self.players],
        }

    def __str__(self) -> str:
        best = max(self.players, key=lambda player: player.lower)
        lines = [
            f"{self.name}: with {100 * self.confidence:g}% confidence the {Notion(self.k)} "
            f"gap is at least {number(self.lower)} and at most {number(self.upper)}, by "
            f"{self.episodes:,} plays"
        ]
        if any(player.vacuous for player in self.players):
            names = [player_name(part.player) for part in self.players if part.vacuous]
            lines.append(
                f"the upper bound of {', '.join(names)} says only that nobody is paid more than "
                "the best payoff; play more"
            )
        if best.lower > 0.0:
            lines.append(f"{best.witness} (estimates; fresh plays gained {number(best.gain)})")
        else:
            lines.append("no deviation has been shown to gain")
        return "\n".join(lines)
