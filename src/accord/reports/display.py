"""Results in notebooks: each as a piece of HTML with its own colors, light and dark.

The methods ``_repr_html_`` and ``plot`` of games, policies, certificates and results call these
functions (``accord/_above.py``).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

from markupsafe import Markup
from matplotlib.figure import Figure

from accord._arrays import CHANCE
from accord._format import counted, duration
from accord.certifying.certificate import Certificate, Gap
from accord.equilibrium.device import Device
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError
from accord.game.labels import player_name
from accord.game.tree import Game
from accord.reports import plots
from accord.reports.chart import to_inline, to_svg
from accord.reports.curve import curve_data, curve_label, drawn_curve, touchable_curve
from accord.reports.marginals import marginals
from accord.reports.page import render
from accord.reports.progress import progress_of_bounds
from accord.reports.region import picture
from accord.reports.source import Result, source_of_result
from accord.reports.summary import (
    advice_of,
    bound_of,
    players_of,
    players_of_policy,
    small_device,
)
from accord.reports.touch import region_data, touchable
from accord.reports.tree import tree_view
from accord.reports.view import Course, Picture, PlayerView
from accord.runs.curve import Curve
from accord.runs.region import Region
from accord.runs.result import Learned, Optimum
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import Treeplex


def game_html(game: Game) -> str:
    """The tree of a small game; the facts about a larger one."""
    form = sequence_form(game)
    players = players_of(game.player_labels, [0.0] * form.n_players, leaves=form.leaves)
    return render(
        "display_game.html",
        game=game,
        tree=tree_view(game),
        players=list(zip(players, form.plexes, strict=True)),
        has_chance=bool((game.player == CHANCE).any()),
    )


def policy_html(policy: CorrelatedPolicy) -> str:
    """Payoffs and device; the recommendations at each infoset if there are too many plans.

    If the game is not known, there are the mean recommendations at the first infosets.
    """
    count, device, chart = policy.size, None, None
    if policy.game is None:
        players: tuple[PlayerView, ...] = ()
        named = _named(policy.player_labels, policy.plexes)
    else:
        players = named = players_of_policy(policy, policy.values().tolist())
        device = small_device(policy)
        chart = marginals(policy) if device is None else None
    return render(
        "display_policy.html",
        title=policy.name,
        count=count,
        players=players,
        named=named,
        device=device,
        advice=() if players else advice_of(policy),
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
        advice=(),
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
            (gap.notion, _best_deviation(certificate, gap))
            for gap in certificate.all_gaps
            if gap.witnesses
        ],
    )


def result_html(result: Result) -> str:
    """Payoffs, the gap or bounds on it, the device, and the curve of the run."""
    facts, policy = source_of_result(result).facts, result.policy
    best, drawn = facts.best, None
    if best is None:
        count = counted(result.iterations, "iteration")
        if facts.episodes is not None:
            count = f"{counted(facts.episodes, 'episode')}, {count}"
        how = f"{facts.notion} by {facts.method}, {count}, {duration(result.seconds)}"
        if facts.learning or (facts.history and facts.gap is not None and facts.gap > 0):
            what = "values and coverage" if facts.learning else "gap"
            label = f"The {what} of {policy.name} during the run"
            drawn = _picture(_convergence(result), _convergence(result, narrow=True), label)
    else:
        how = best.goal
    return render(
        "display_result.html",
        facts=facts,
        how=how,
        players=players_of_policy(policy, facts.values, facts.margins),
        plays=counted(result.plays, "fresh play")
        if isinstance(result, Learned) and result.plays
        else None,
        note="The run was interrupted." if result.interrupted else "",
        device=None if policy.game is None else small_device(policy),
        curve=drawn,
    )


def region_html(found: Region) -> str:
    """The picture of a region."""
    one, other = map(player_name, found.players)
    label = f"The payoffs that {one} and {other} can have in equilibrium"
    wide, narrow = picture(found), picture(found, narrow=True)
    return render(
        "display_picture.html",
        drawn=touchable(wide, narrow, label, found),
        touch=region_data(found),
        kind="region",
        caption=f"{label}: {found.game.name}.",
    )


def curve_html(found: Curve) -> str:
    """The picture of a curve."""
    return render(
        "display_picture.html",
        drawn=touchable_curve(found),
        touch=curve_data(found),
        kind="curve",
        caption=f"{curve_label(found)}.",
    )


def policy_plot(policy: CorrelatedPolicy) -> Figure:
    """The recommendations at the infosets that obedient players reach most often."""
    return _drawn(marginals(policy), "no player decides anything")


def region_plot(found: Region) -> Figure:
    """The picture of a region."""
    return picture(found)


def curve_plot(found: Curve) -> Figure:
    """The picture of a curve."""
    return drawn_curve(found)


def history_plot(result: Result) -> Figure:
    """The gap during a run; for an optimum, its value and bound after each round."""
    if isinstance(result, Optimum):
        return progress_of_bounds(result)
    return _drawn(
        _convergence(result), "the gap was 0 at every checkpoint, or there are too few of them"
    )


def _convergence(result: Result, *, narrow: bool = False) -> Figure | None:
    """The exact gaps during a run, or what plays showed in it; None if there is nothing."""
    policy = result.policy
    if not result.history:
        return None
    course = Course(
        facts=source_of_result(result, certified=False).facts,
        players=players_of_policy(policy, result.history[-1].values),
        bound=None if policy.game is None else bound_of(result.request, policy.form),
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
    """A figure in the colors of a notebook; its ids are those of no other figure."""
    svg = to_svg(figure)
    return to_inline(svg, f"a{hashlib.sha256(svg.encode()).hexdigest()[:10]}", label)


def _best_deviation(certificate: Certificate, gap: Gap) -> str:
    """The deviation of the player who gains most, in words."""
    if gap.gap <= 0:
        return certificate.nobody_gains()
    if not gap.is_exact and gap.lower <= 0:
        return "no deviation has been shown to gain"
    return str(max(gap.witnesses, key=lambda witness: witness.gain))


def _named(labels: Sequence[str], plexes: Sequence[Treeplex] = ()) -> tuple[PlayerView, ...]:
    """Players without payoffs."""
    return players_of(labels, [math.nan] * len(labels), plexes=plexes)
