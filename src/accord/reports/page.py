"""Views as HTML pages and SVG files, each one file that loads nothing.

The templates stand in ``templates/``. Jinja escapes every string that a template prints, after
characters that XML cannot hold were replaced, so labels from games and files are only ever text.
The page's script gets its numbers from one JSON element and shows them as text only.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from accord._format import (
    NOTHING,
    duration,
    exactly,
    memory,
    one_line,
    percent,
    player_name,
    pretty,
    shortened,
    visible,
)
from accord.deviations.notions import NAMES, k_symbol
from accord.equilibrium.device import UNNAMED
from accord.reports.colors import DARK, LIGHT, PRINT, SERIES, VARIABLES
from accord.reports.tree import TreeView
from accord.reports.view import Axis, ComparisonView, Picture, RunView

PAGE_LABEL = 48
"""Letters of an infoset's label that are shown; readers find the whole label in its title."""


def run_page(
    run: RunView,
    convergence: Picture | None,
    gaps: Picture | None,
    region: Picture | None = None,
    touch: dict[str, Any] | None = None,
) -> str:
    """The page of a run, with those of its plots that could be drawn.

    ``touch`` has the devices of all points of the region.
    """
    data = {} if run.inspector is None else {**run.inspector, "colors": len(SERIES)}
    drawn = {"convergence": convergence, "gaps": gaps, "region": region}
    return render("run.html", run=run, data=data, touch=touch, **drawn)


def comparison_page(
    comparison: ComparisonView, plots: Mapping[Axis, Picture], bounds: Picture | None
) -> str:
    """The page of several runs, with a plot for each axis that has one, and one of bounds."""
    return render("comparison.html", comparison=comparison, plots=plots, bounds=bounds, data={})


def tree_svg(tree: TreeView) -> str:
    """The game tree as a file with its own colors."""
    return render("tree.svg", tree=tree, palette=LIGHT, standalone=True, interactive=False)


@cache
def environment() -> Environment:
    """Jinja with our templates, filters and colors."""
    jinja = Environment(
        loader=PackageLoader("accord.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    jinja.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    jinja.filters |= {
        "pretty": pretty,
        "exactly": exactly,
        "percent": percent,
        "duration": duration,
        "memory": memory,
        "grouped": lambda count: f"{count:,}",
        "symbol": k_symbol,
        "one_line": one_line,
        "shortened": shortened,
        "player_name": player_name,
        "initial": lambda text: text[:1].upper() + text[1:],
        "px": lambda length: f"{length:.1f}",
    }
    jinja.globals |= {
        "version": version("accord"),
        "verbatim": _verbatim,
        "palettes": {"light": LIGHT, "dark": DARK, "print": PRINT},
        "variables": VARIABLES,
        "n_colors": len(SERIES),
        "nothing": NOTHING,
        "label_length": PAGE_LABEL,
        "unnamed": UNNAMED,
        "notions": {notion.k: name for name, notion in NAMES.items() if notion.k is not None},
    }
    return jinja


def render(template: str, **content: Any) -> str:
    """Fill in a template."""
    return environment().get_template(template).render(**content)


def _visible(value: Any) -> Any:
    """The text of a value in a template, without characters that XML cannot hold."""
    is_text = isinstance(value, str) and not isinstance(value, Markup)
    return visible(value) if is_text else value


def _verbatim(name: str) -> Markup:
    """A file beside the templates as it is."""
    jinja = environment()
    assert jinja.loader is not None
    return Markup(jinja.loader.get_source(jinja, name)[0])
