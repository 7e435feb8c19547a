"""Reading the pages and pictures of reports."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from html.parser import HTMLParser


def texts(svg: str) -> list[str]:
    """What is written in an SVG picture."""
    return [
        "".join(element.itertext())
        for element in ET.fromstring(svg).iter()
        if "text" in element.tag
    ]


class Page(HTMLParser):
    """What a page asks a browser for, and whether its tags are balanced."""

    VOID = ("meta", "link", "input", "br", "img", "path", "circle", "use")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: dict[str, int] = {}
        self.outside: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            local = (value or "").startswith(("#", "data:"))
            if name in ("src", "href", "action", "data", "srcset", "poster") and not local:
                self.outside.append(f"{tag} {name}={value}")
            assert not name.startswith("on"), f"{tag} {name}"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag, f"</{tag}>"
