"""The pictures of docs/gallery: each page has the command that draws its picture.

``python tools/docs/gallery.py`` runs them and writes the pictures beside the pages, and each once
more as a page on which readers can choose payoffs; names of pages, such as ``sheriff``, draw only
those. Everything takes about four minutes.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"


def commands(page: Path) -> list[list[str]]:
    """The words of each command of a page that draws a picture, without ``accord``."""
    lines = re.findall(r"^\$ accord (region .*)$", page.read_text(), re.M)
    return [words for words in map(shlex.split, lines) if "--out" in words]


def draw(page: Path) -> None:
    """Run the commands of a page, with the pictures beside it."""
    from accord.cli.main import app

    for words in commands(page):
        place = words.index("--out") + 1
        picture = GALLERY / words[place]
        for file in (picture, picture.with_name(f"{picture.stem}-devices.html")):
            drawn = [*words[:place], str(file), *words[place + 1 :], "--force"]
            code = app(drawn, standalone_mode=False)
            if code:
                sys.exit(f"accord {shlex.join(words)} exited with {code}")


if __name__ == "__main__":
    for page in sorted(GALLERY.glob("*.md")):
        if page.stem in sys.argv[1:] or not sys.argv[1:]:
            draw(page)
