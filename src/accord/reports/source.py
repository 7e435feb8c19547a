"""The run behind a report: the facts in its folder, and its saved mixture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from accord._activity import doing
from accord.certifying.footprint import (
    centered_bytes,
    derived_bytes,
    deviator_bytes,
    solving_bytes,
    trigger_counts,
)
from accord.deviations.counting import count_cells, count_rechistories
from accord.deviations.notions import LADDER, SHOWN_KS, Notion, NotionLike
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import AccordError, ArgumentError, BudgetError
from accord.game.tree import Game
from accord.interop.load import load_game
from accord.interop.python_files import names_python
from accord.optimal.binding import BindingConstraint
from accord.reports.view import (
    BestFacts,
    Option,
    RunFacts,
    how_found,
)
from accord.runs.checkpoint import Checkpoint
from accord.runs.folder import BOUNDS, RunFolder
from accord.runs.footprint import Parts, certify_memory
from accord.runs.reading import Bounds, Reached, SavedRun, read_run
from accord.runs.request import LearnRequest, OptimizeRequest
from accord.runs.result import Learned, Optimum, Solution
from accord.runs.run_file import AnyRequest, versions
from accord.treeplex.form import SequenceForm, sequence_form

Result = Solution | Learned | Optimum


QUICK = 1e8
"""Cells times components up to which the inspector shows a K that is not the run's own, and the
report has a notion that is not a K-EFCE."""

PAGE_BYTES = 2.0**25
"""Memory for the page, its plots and what draws them."""

LARGEST_WORK = 2e9
"""Cells times components that a report may add up for one K: a few seconds."""


@dataclass(frozen=True, eq=False)
class Source:
    """A run: the facts in its folder, and the mixture that it saved."""

    facts: RunFacts
    request: AnyRequest
    policy: CorrelatedPolicy
    reached: Reached = ()  # in an environment, from fresh plays

    @property
    def game(self) -> Game | None:
        """The game, or None if it is not known."""
        return self.policy.game

    def refusal(self, k: float) -> str | None:
        """Why the gaps at ``k`` would take too long for a report; None if they would not."""
        if (cells := self.work(k)) <= LARGEST_WORK:
            return None
        count = max(1, self.policy.n_components)
        return (
            f"{cells / count:.3g} entries for each of {count:,} components are more than a report "
            "adds up; use accord certify"
        )

    def work(self, k: NotionLike) -> float:
        """How many cells the gaps of a notion add up, over all components."""
        return count_cells(self.policy.plexes, k) * max(1, self.policy.n_components)


def report_memory(form: SequenceForm, k: float | None, components: int) -> Parts:
    """The memory that the report of a run with this K and this many components takes."""
    own = None if k is None else Notion(k)
    most = LARGEST_WORK / components
    ks = [one for one in shown_ks(own) if count_cells(form.plexes, one) <= most]
    notions, inspected = evaluated(form, own, components, ks)
    certified = certify_memory(form, notions, components)
    counts = [count_rechistories(plex, one) for one in notions for plex in form.plexes]
    seen = [count_rechistories(plex, one) for one in inspected for plex in form.plexes]
    counts += trigger_counts(form)
    needed = deviator_bytes(counts) + centered_bytes(form)
    needed += sum(8 * one.cells - 8 * one.nodes + 4 * one.rows for one in seen)  # when solved
    needed += derived_bytes(seen) + max(map(solving_bytes, counts))
    return certified | {"deviators": max(certified["deviators"], needed, PAGE_BYTES)}


def shown_ks(own: Notion | None) -> list[float]:
    """The numbers of deviations that the report of a run with the notion ``own`` has."""
    return sorted({*SHOWN_KS, *([] if own is None or own.k is None else [own.k])})


def evaluated(
    form: SequenceForm, own: Notion | None, components: int, ks: Sequence[float]
) -> tuple[list[Notion], list[float]]:
    """All notions of a report that has the gaps of ``ks``, and the K that its inspector shows."""

    def is_quick(one: Notion) -> bool:
        return one == own or count_cells(form.plexes, one) * components <= QUICK

    others = [one for one in LADDER if one.coarse or one.agent if is_quick(one)]
    return [*map(Notion, ks), *others], [k for k in ks if is_quick(Notion(k))]


def read_source(
    folder: Path, game: Game | None = None, known: dict[str, Game] | None = None
) -> Source:
    """Read the run in ``folder``; see :func:`read_folder`."""
    return source_of(read_folder(folder, game, known))


def read_folder(
    folder: Path, game: Game | None = None, known: dict[str, Game] | None = None
) -> SavedRun:
    """The run in ``folder``, or its last checkpoint.

    Args:
        folder: As ``accord solve --out`` or ``accord learn --out`` wrote it.
        game: The game, if it is not where the run found it. A run in an environment has none,
            unless it is given here.
        known: Games loaded before, by name; a game loaded here is added.

    Raises:
        AccordError: If there is no readable run in the folder, or it has no checkpoint yet.
    """
    files = RunFolder.open(folder)
    if game is None and (name := files.request.known_game) is not None:
        game = load_game_of(folder, name, known)
    with doing("reading the run"):
        return read_run(files, game)


def read_policy_in_game(folder: Path, game: Game | None = None) -> CorrelatedPolicy:
    """The policy of the run in ``folder``, which must know its game.

    Raises:
        ArgumentError: If the run was in an environment, and its game is not given.
        AccordError: If there is no readable run in the folder.
    """
    policy = read_folder(folder, game).policy
    if policy.game is None:
        raise ArgumentError(
            f"{folder} is a run in an environment, whose game is not known, so it has no device, "
            "no exact gaps and no tree; accord report shows it, and accord export writes its "
            "policy and its history; if you have its game, give it with --game"
        )
    return policy


def source_of(run: SavedRun) -> Source:
    """The source of a report about ``run``."""
    facts = facts_of(
        run.folder, run.request, run.policy.name, run.digest, run.game, run.result, run.history,
        run.bounds, finished=run.finished,
    )  # fmt: skip
    if isinstance(run.request, OptimizeRequest) and facts.best is None:
        what = "has no readable result" if run.finished else "has found no equilibrium yet"
        raise ArgumentError(f"{run.folder}: the run {what}; resume it")
    infosets = sum(plex.n_infosets for plex in run.policy.plexes)
    facts = replace(facts, versions=tuple(run.versions.items()), infosets=infosets)
    return Source(facts, run.request, run.policy, run.reached)


def facts_of(
    folder: Path,
    request: AnyRequest,
    name: str,
    digest: str,
    game: Game | None,
    result: Mapping[str, Any],
    history: Sequence[Checkpoint],
    bounds: Bounds | None,
    *,
    finished: bool,
) -> RunFacts:
    """The facts about a run that do not depend on its policy.

    Args:
        folder: Its folder.
        request: The request it was made from.
        name: The name of its game or environment.
        digest: Their digest.
        game: The game, or None if it is not known.
        result: Its result as printed by ``--json``, or those entries that are known already.
        history: Its checkpoints.
        bounds: The bounds on its gap, if there are any.
        finished: Whether the result is its last.
    """
    margins = result.get("margins")
    scale = () if game is None else tuple(sequence_form(game).leaves.loss_scale.tolist())
    return RunFacts(
        folder=str(folder),
        how=how_found(request),
        game=name,
        digest=digest,
        knows_game=game is not None,
        learned=isinstance(request, LearnRequest),
        notion=request.notion,
        method=request.method,
        requests=tuple(
            Option(name, _shown(value), name in request.LIMITS)
            for name, value in request.to_json().items()
            if value is not None and name not in BOUNDS
        ),
        iterations=result.get("iterations"),
        episodes=result.get("episodes"),
        seconds=result.get("seconds"),
        values=tuple(result.get("values", ())),
        margins=None
        if margins is None
        else tuple(math.nan if margin is None else margin for margin in margins),
        gap=result.get("gap"),
        player_gaps=tuple(result.get("players") or ()) if scale else (),
        average_gap=result.get("average_gap"),
        checkpoints=tuple(history),
        scale=scale,
        finished=finished,
        best=_best(request, result, history),
        bounds=bounds,
        refusal=result.get("refusal"),
        coverage=_share(result.get("coverage")),
        is_full=result.get("full") is True,
        bounds_estimated=result.get("bounds_estimated", getattr(request, "estimated", None))
        is True,
    )


def _share(value: Any) -> float | None:
    """A share of one in a result, if it has one."""
    return float(value) if isinstance(value, (int, float)) and 0.0 <= value <= 1.0 else None


def _shown(value: Any) -> Any:
    """The value of a request; a mapping, such as the weights of an objective, in words."""
    if not isinstance(value, Mapping):
        return value
    known = {name: one for name, one in value.items() if one is not None and one is not False}
    return ", ".join(
        f"{name} {one:g}" if isinstance(one, float) else f"{name} {one}"
        for name, one in known.items()
    )


def source_of_result(result: Result, *, certified: bool = True) -> Source:
    """The source of a report about a result, whether or not its run was kept in a folder.

    Args:
        result: The result.
        certified: Whether the gap of the saved mixture is needed. It may take a while to compute.
    """
    policy, fields = result.policy, ("iterations", "episodes", "seconds", "objective", "value")
    bounds = None
    if policy.game is None and result.certificate is not None:
        bounds = Bounds.from_json(result.certificate.to_json(), len(policy.player_labels))
    return source_of(
        SavedRun(
            folder=Path(policy.name),
            request=result.request,
            digest="" if policy.game is None else policy.game.digest,
            versions=versions(),
            result=result.to_json()
            if certified
            else {name: getattr(result, name, None) for name in (*fields, "bound", "optimal")},
            policy=policy,
            history=result.history,
            bounds=bounds,
            reached=getattr(result, "reached", ()) if policy.game is None else (),
        )
    )


def _best(
    request: AnyRequest, result: Mapping[str, Any], history: Sequence[Checkpoint]
) -> BestFacts | None:
    """The objective and its value, if the run had one and has found an equilibrium."""
    if not isinstance(request, OptimizeRequest):
        return None
    last = history[-1].best if history else None
    try:
        return BestFacts(
            objective=str(result["objective"]),
            value=float(result["value"]),
            bound=float(result["bound"]),
            optimal=bool(result["optimal"]),
            proof="" if last is None else last.proof,
            binding=tuple(map(_binding, result.get("binding", ()))),
            unique=result.get("unique"),
        )
    except (KeyError, TypeError, ValueError):
        return None


def _binding(content: Mapping[str, Any]) -> BindingConstraint:
    known = {name: value for name, value in content.items() if name != "text"}
    if known.get("rational") is not None:
        known["rational"] = Fraction(known["rational"])
    return BindingConstraint(**known)


def load_game_of(folder: Path, name: str, known: dict[str, Game] | None = None) -> Game:
    """The game of the run in ``folder``, by its name; ``known`` has those loaded before.

    Raises:
        ArgumentError: If it cannot be loaded.
    """
    known = {} if known is None else known
    refuse_code(folder, name)
    if name not in known:
        try:
            known[name] = load_game(name)
        except AccordError as error:
            if isinstance(error, BudgetError):
                raise
            raise ArgumentError(
                f"{folder} is a run of {name!r}, which cannot be loaded: {error}; if it is "
                "elsewhere now, give it with --game"
            ) from None
    return known[name]


def refuse_code(folder: Path, name: str) -> None:
    """Refuse to run the Python code that a folder names, because folders come from anywhere."""
    if names_python(name):
        raise ArgumentError(
            f"{folder} is a run of {name}, which is Python code; code is run only if you name it "
            f"yourself, as GAME or with --game: {name}"
        )
