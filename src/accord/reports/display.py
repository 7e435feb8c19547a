"""Results in notebooks: each as a piece of HTML with its own colours, light and dark.

The methods ``_repr_html_`` and ``plot`` of games, policies, certificates and results call these
functions (``accord/_above.py``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from markupsafe import Markup
from matplotlib.figure import Figure

from accord._arrays import CHANCE
from accord._format import counted, duration, pretty
from accord.certifying.certificate import Certificate, Gap
from accord.equilibrium.device import Device
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError
from accord.game.labels import player_name
from accord.game.tree import Game
from accord.reports import plots
from accord.reports.chart import to_inline, to_svg
from accord.reports.marginals import marginals
from accord.reports.page import render
from accord.reports.progress import progress_of_bounds
from accord.reports.region import picture
from accord.reports.source import Result, source_of_result
from accord.reports.summary import bound_of, players_of, small_device
from accord.reports.tree import tree_view
from accord.reports.view import Course, Picture, PlayerView, goal
from accord.runs.region import Region
from accord.runs.result import LearnedByPlay, Optimum, Solution
from accord.treeplex.form import sequence_form


def game_html(game: Game) -> str:
    """The tree of a small game; the facts about a larger one."""
    form = sequence_form(game)
    players = players_of(form, [0.0] * form.n_players)
    return render(
        "display_game.html",
        game=game,
        tree=tree_view(game),
        players=list(zip(players, form.plexes, strict=True)),
        has_chance=bool((game.player == CHANCE).any()),
    )


def policy_html(policy: CorrelatedPolicy) -> str:
    """Payoffs and device; the recommendations at each infoset if there are too many plans.

    All of these need the game. Without it there is only the number of components.
    """
    players: tuple[PlayerView, ...] = ()
    device = chart = None
    if policy.game is not None:
        players = players_of(policy.form, policy.values().tolist())
        device = small_device(policy)
        chart = marginals(policy) if device is None else None
    return render(
        "display_policy.html",
        title=policy.name,
        count=counted(policy.n_components, "component"),
        players=players,
        named=players,
        device=device,
        marginals=None if chart is None else _inline(chart, "Recommendations"),
    )


def device_html(device: Device) -> str:
    """The likeliest plans."""
    return render(
        "display_policy.html",
        title=device.game,
        count=counted(len(device.plans), "plan"),
        players=(),
        named=_named(device.players),
        device=device,
        marginals=None,
    )


def certificate_html(certificate: Certificate) -> str:
    """The ladder of gaps, and the best deviation for each notion with one."""
    return render(
        "display_certificate.html",
        certificate=certificate,
        players=_named(certificate.players),
        gaps=certificate.all_gaps,
        deviations=[
            (gap.notion, _best_deviation(gap)) for gap in certificate.all_gaps if gap.witnesses
        ],
    )


def result_html(result: Result) -> str:
    """Payoffs, gap and device, and how the run went."""
    form = sequence_form(result.game)
    best = None
    if isinstance(result, Optimum):
        notion, how = result.notion, goal(result.objective)
        best = f"The value {pretty(result.value, 7)} of its objective is " + (
            "proved to be the best."
            if result.optimal
            else f"not proved to be the best; no equilibrium exceeds {pretty(result.bound, 7)}."
        )
    else:
        notion = result.request.notion
        count = counted(result.iterations, "iteration")
        if not isinstance(result, Solution):
            count = f"{counted(result.episodes, 'episode')}, {count}"
        how = f"{notion} by {result.method}, {count}, {duration(result.seconds)}"
    scale = form.leaves.loss_scale.tolist()
    relative = max(gap * unit for gap, unit in zip(result.player_gaps, scale, strict=True))
    return render(
        "display_result.html",
        title=result.game.name,
        how=how,
        players=players_of(form, result.values),
        notion=notion,
        gap=result.gap,
        relative=relative,
        best=best,
        note="The run was interrupted." if result.interrupted else "",
        device=small_device(result.policy),
        curve=None
        if result.gap <= 0 or isinstance(result, Optimum)
        else _picture(
            _convergence(result),
            _convergence(result, narrow=True),
            f"The gap of {result.game.name} during the run",
        ),
    )


def played_html(result: LearnedByPlay) -> str:
    """Estimated payoffs, and bounds on the gap from plays."""
    return render(
        "display_played.html",
        result=result,
        how=f"{result.request.notion} learned by {result.method}, "
        f"{counted(result.episodes, 'episode')}, {duration(result.seconds)}",
        players=_named(result.policy.player_labels),
        plays=counted(result.plays, "fresh play"),
    )


def region_html(found: Region) -> str:
    """The picture of a region."""
    one, other = map(player_name, found.players)
    label = f"The payoffs that {one} and {other} can have in equilibrium"
    return render(
        "display_picture.html",
        drawn=_picture(picture(found), picture(found, narrow=True), label),
        caption=f"{label}: {found.game.name}.",
    )


def policy_plot(policy: CorrelatedPolicy) -> Figure:
    """What obedient players are told at the infosets that they reach most often."""
    return _drawn(marginals(policy), "no player decides anything")


def region_plot(found: Region) -> Figure:
    """The picture of a region."""
    return picture(found)


def history_plot(result: Result) -> Figure:
    """The gap during a run; for an optimum, its value and bound after each round."""
    if isinstance(result, Optimum):
        return progress_of_bounds(result)
    return _drawn(_convergence(result), "the gap was 0, or not known, at every checkpoint")


def _convergence(result: Result, *, narrow: bool = False) -> Figure | None:
    if not result.history:
        return None
    form = sequence_form(result.game)
    course = Course(
        facts=source_of_result(result, certified=False).facts,
        players=players_of(form, result.history[-1].values),
        bound=bound_of(result.request, form),
    )
    return plots.convergence(course, narrow=narrow)


def _drawn(figure: Figure | None, reason: str) -> Figure:
    if figure is None:
        raise ArgumentError(f"there is nothing to plot: {reason}")
    return figure


def _picture(wide: Figure | None, narrow: Figure | None, label: str) -> Picture | None:
    """A plot for wide screens and for phones."""
    if wide is None or narrow is None:
        return None
    return Picture(_inline(wide, label), _inline(narrow, label))


def _inline(figure: Figure, label: str) -> Markup:
    """A figure in the colours of a notebook; its ids are those of no other figure."""
    svg = to_svg(figure)
    return to_inline(svg, f"a{hashlib.sha256(svg.encode()).hexdigest()[:10]}", label)


def _best_deviation(gap: Gap) -> str:
    """The deviation of the player who gains most, in words."""
    if gap.gap <= 0:
        return "no player can gain by deviating"
    if not gap.is_exact and gap.lower <= 0:
        return "no deviation has been shown to gain"
    return str(max(gap.witnesses, key=lambda witness: witness.gain))


def _named(labels: Sequence[str]) -> tuple[PlayerView, ...]:
    """Players without payoffs."""
    return tuple(
        PlayerView(i, label, player_name(label), 0, 0.0, 0.0, 0.0) for i, label in enumerate(labels)
    )
