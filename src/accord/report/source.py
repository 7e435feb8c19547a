"""The run behind a report. No other module here knows how run folders are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from accord.equilibrium.correlated import CorrelatedPolicy
from accord.game.tree import Game
from accord.report.runs import LIMITS, Run, read_run, too_much, work
from accord.report.view import Moment, Request, RunFacts
from accord.treeplex.form import sequence_form


@dataclass(frozen=True, eq=False)
class Source:
    """A finished run: what its folder says, its game and the mixture that it saved."""

    facts: RunFacts
    game: Game
    policy: CorrelatedPolicy

    def refusal(self, k: float) -> str | None:
        """Why the gaps at ``k`` would take too long for a report; None if they would not."""
        return too_much(self.policy, k)

    def work(self, k: float) -> float:
        """How many cells the gaps at ``k`` add up, over all components."""
        return work(self.policy, k)


def read_source(
    folder: Path, game: str | None = None, known: dict[str, Game] | None = None
) -> Source:
    """Read the run in ``folder``.

    Args:
        folder: As ``accord solve --out`` or ``accord learn --out`` wrote it.
        game: Where the game is now, if not where the run found it.
        known: Games loaded before, by name; a game loaded here is added.

    Raises:
        AccordError: If there is no readable, finished run in the folder.
    """
    return source_of(read_run(folder, game, known))


def source_of(run: Run) -> Source:
    """What a report needs of ``run``."""
    result, players = run.result, run.result.get("players")
    history = tuple(
        Moment(
            iteration=point.iteration,
            episodes=point.episodes,
            seconds=point.seconds,
            player_gaps=point.players,
            relative=_relative(run.game, point.players),
        )
        for point in run.record
    )
    facts = RunFacts(
        folder=str(run.folder),
        game=run.game.name,
        digest=run.game.digest,
        learned=run.learned,
        k=run.k,
        method=run.method,
        requests=tuple(
            Request(name, value, name in LIMITS)
            for name, value in run.asked.items()
            if value is not None
        ),
        versions=tuple(run.versions.items()),
        iterations=result.get("iterations"),
        episodes=result.get("episodes"),
        seconds=result.get("seconds"),
        gap=result.get("gap"),
        relative=_relative(run.game, players) if players else None,
        saved_gap=result.get("gap" if run.learned else "saved_gap"),
        history=history,
    )
    return Source(facts, run.game, run.policy)


def _relative(game: Game, gaps: Sequence[float]) -> float:
    """The largest of the players' gaps, each as a share of that player's payoff range."""
    scale: list[float] = sequence_form(game).leaves.loss_scale.tolist()
    return max(gap * unit for gap, unit in zip(gaps, scale, strict=True))
