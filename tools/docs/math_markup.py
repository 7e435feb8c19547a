"""Formulas in documentation pages, turned into MathML when the site is built.

``$...$`` stands in a line and ``$$...$$`` on its own. Browsers lay MathML out by themselves, so
pages need no script for it; a font with mathematical shapes comes with the site, cut down to what
is used.
"""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, fromstring, tostring

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor

FONT = "assets/math.woff"
MACROS = {"widetilde": r"\tilde{#1}"}
USED = (
    "20-7e,a0-d7,370-3ff,2010-2044,2061-2064,2100-214f,2190-21ff,2200-23ff,25a1,27e8,27e9,"
    "1d434-1d467,1d49c-1d4cf"
)
"""Unicode, in hexadecimal: Latin, Greek, operators, brackets, italic and script letters."""


class Formula(InlineProcessor):
    """One formula, with one or two dollars on either side."""

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str | Element, int, int]:
        markup = converted(m["tex"].strip(), display=len(m["mark"]) == 2)
        return self.md.htmlStash.store(markup), m.start(), m.end()


class Formulas(Extension):
    """The Markdown extension."""

    def extendMarkdown(self, md: Markdown) -> None:
        pattern = r"(?<![\\$])(?P<mark>\$\$?)(?!\s*\$)(?P<tex>.+?)(?<!\\)(?P=mark)(?!\d)"
        formula = Formula(pattern, md)
        md.inlinePatterns.register(formula, "formula", 185)  # code first, escapes after


@cache
def converted(tex: str, *, display: bool) -> str:
    """The MathML of a formula; a mistake in it ends the build."""
    import math_core

    converter = math_core.LatexToMathML(macros=MACROS, fancy_error=False)
    try:
        markup = str(converter.convert_with_local_state(tex, displaystyle=display))
    except math_core.LatexError as error:
        raise ValueError(f"cannot typeset {tex!r}: {error}") from None
    tree = fromstring(re.sub(r"&(?!lt;|gt;|amp;|#)\w+;", lambda name: unescape(name[0]), markup))
    for script in list(tree.iter("msup")) + list(tree.iter("msubsup")):
        _lower_prime(script)
    return tostring(tree, encoding="unicode")


def _lower_prime(script: Element) -> None:
    """A prime is raised by its own shape; as a superscript it would be raised twice."""
    *parts, prime = script
    if set(prime.text or " ") != {"\u2032"}:
        return
    prime.attrib.update(form="postfix", lspace="0", rspace="0")
    if script.tag == "msup":
        script.tag = "mrow"
        return
    primed = Element("mrow")
    primed.extend([parts[0], prime])
    script.tag, script[:] = "msub", [primed, parts[1]]


def on_config(config: Any) -> Any:
    """MkDocs: formulas are part of every page."""
    config["markdown_extensions"].append(Formulas())
    return config


def on_post_build(config: Any) -> None:
    """MkDocs: put the font beside the pages."""
    from fontTools import subset

    package = find_spec("ziamath")  # STIX Two Math comes with it
    if package is None or package.origin is None:
        raise ModuleNotFoundError("the documentation needs ziamath; try: pip install '.[docs]'")
    source = next((Path(package.origin).parent / "fonts").glob("STIXTwoMath*.ttf"))
    target = Path(config["site_dir"]) / FONT
    target.parent.mkdir(parents=True, exist_ok=True)
    options = [f"--unicodes={USED}", "--flavor=woff", "--layout-features=ssty"]
    subset.main([str(source), *options, f"--output-file={target}"])
