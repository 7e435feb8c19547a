"""Docstrings as the reference shows them.

The sources say what a field of a record is in a comment behind it, and refer to other objects as
``:class:`accord.Game```. Both become what the reference understands: a docstring of the field, and
a link where the object has a place in the reference.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Attribute, Class, Extension, Object

import accord

ROLE = re.compile(r":(?:class|func|meth|data|attr):`~?([\w.]+)`")
BRACKETS = re.compile(r"(?<!`)\w*(?:\[[^\]]*\])+(?!`)")


class Docstrings(Extension):
    """Comments behind fields become a list of attributes; roles become links."""

    def on_class_members(self, *, cls: Class, **_: Any) -> None:
        """Fields are listed in the docstring of their class, if it does not do so itself."""
        if cls.docstring is None or "Attributes:" in cls.docstring.value:
            return
        fields = [(name, _comment(attr)) for name, attr in cls.attributes.items()]
        lines = [f"    {name}: {text}" for name, text in fields if text and name[0] != "_"]
        if lines:
            cls.docstring.value += "\n\nAttributes:\n" + "\n".join(lines)

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Roles become links or plain code."""
        if obj.docstring is not None:
            obj.docstring.value = ROLE.sub(_linked, obj.docstring.value)


PUBLIC = {name: f"accord.{name}" for name in accord.__all__} | {
    name: f"accord.{package}.{name}"
    for package in dir(accord)
    if package not in accord.__all__
    for name in getattr(getattr(accord, package), "__all__", ())
}
"""The addresses of public names."""


def _linked(role: re.Match[str]) -> str:
    name = role[1].split(".")[-1]
    return f"[`{name}`][{PUBLIC[name]}]" if name in PUBLIC else f"`{name}`"


def _comment(attr: Attribute) -> str | None:
    """What is written behind a field."""
    if attr.docstring is not None or not attr.endlineno:
        return None
    line = attr.lines_collection[attr.filepath][attr.endlineno - 1]
    if not (found := re.search(r"#\s+(?!type:|noqa|fmt:)(.+)$", line)):
        return None
    text = BRACKETS.sub(lambda shape: f"`{shape[0]}`", found[1])
    return f"{text[0].upper()}{text[1:]}."
