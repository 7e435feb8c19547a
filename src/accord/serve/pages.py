"""The pages of the server as HTML, each one file that loads nothing else.

The templates stand in ``templates/``; colors, escaping and number formats are those of reports.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup

from accord._format import visible
from accord.reports.page import environment as report_environment
from accord.serve.views import role


def render(template: str, **content: Any) -> str:
    """A page from a template."""
    return environment().get_template(template).render(**content)


@cache
def environment() -> Environment:
    """The environment of reports, with the templates of the server."""
    loader = ChoiceLoader([PackageLoader("accord.serve"), PackageLoader("accord.reports")])
    jinja = report_environment().overlay(loader=loader)
    jinja.filters |= {
        "clock": _clock,
        "role": role,
        "strong": _element("strong"),
        "label": _element('span class="label"'),
        "earned": _element('span class="earned"'),
    }
    jinja.globals["verbatim_serve"] = _verbatim
    return jinja


def _element(tag: str) -> Callable[[str | None], Markup]:
    """A filter that puts text into an element."""
    start, end = Markup(f"<{tag}>"), Markup(f"</{tag.split(maxsplit=1)[0]}>")
    return lambda text: start + visible(text or "") + end


def _clock(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))


def _verbatim(name: str) -> Markup:
    """A file beside the templates as it is."""
    jinja = environment()
    assert jinja.loader is not None
    return Markup(jinja.loader.get_source(jinja, name)[0])
