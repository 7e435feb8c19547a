"""The texts that participants read, in their language.

All of them are in ``languages/``, one TOML file per language. A translation may be incomplete: what
is missing is shown in English. Texts have names in braces for what changes; values are escaped when
they enter a page.
"""

from __future__ import annotations

import string
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup, escape

from accord._files import read_bytes
from accord._format import visible
from accord.errors import ArgumentError

ENGLISH = "en"


class Messages:
    """The texts of one language.

    Attributes:
        language: The code of the language, for browsers and screen readers.
    """

    def __init__(self, texts: dict[str, str], language: str) -> None:
        self._texts, self.language = texts, language

    def __call__(self, key: str, **values: Any) -> Markup:
        """A text for a page. Values are escaped unless they are markup."""
        shown = {
            name: visible(value) if type(value) is str else value for name, value in values.items()
        }
        return Markup(escape(self._texts[key])).format(**shown)

    def text(self, key: str, **values: Any) -> str:
        """A text as it is, for programs."""
        return self._texts[key].format(**values)

    def role(self, label: str) -> str:
        """A player's label in a sentence; a number gets the word for a player before it."""
        return self.text("page.role", number=label) if label.isdigit() else label


def languages() -> list[str]:
    """The languages that Accord brings along."""
    names = (file.name for file in files("accord.serve").joinpath("languages").iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


@cache
def load_messages(language: str = ENGLISH) -> Messages:
    """The texts of a language, by its code or by the path of a translation.

    Raises:
        ArgumentError: If there is no such language, or the file is not a translation.
    """
    english = _own_texts(ENGLISH)
    if language in languages():
        return Messages(english | _own_texts(language), language)
    if not language.endswith(".toml"):
        raise ArgumentError(
            f"the language must be one of {', '.join(languages())} or the path of a translation, "
            f"a .toml file; got {language!r}"
        )
    try:
        texts = _parse(read_bytes(language).decode())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ArgumentError(f"the translation {language} cannot be read: {error}") from None
    _check(language, texts, english)
    return Messages(english | texts, texts.get("language", ENGLISH))


def fields(text: str) -> set[str]:
    """What is in braces: names, and how they are to be formatted, which no text says."""
    parts = string.Formatter().parse(text)
    return {
        name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
        for _, name, spec, conversion in parts
        if name is not None
    }


def _own_texts(language: str) -> dict[str, str]:
    file = files("accord.serve").joinpath("languages", f"{language}.toml")
    return _parse(file.read_text(encoding="utf-8"))


def _parse(text: str) -> dict[str, str]:
    """The texts by name, such as ``page.role``."""
    found: dict[str, str] = {}
    for section, content in tomllib.loads(text).items():
        if isinstance(content, dict):
            found |= {f"{section}.{name}": str(value) for name, value in content.items()}
        else:
            found[section] = str(content)
    return found


def _check(path: str, texts: dict[str, str], english: dict[str, str]) -> None:
    for key, text in texts.items():
        if key not in english:
            raise ArgumentError(f"{path}: there is no text {key}; en.toml has those that there are")
        try:
            found = fields(text)
        except ValueError:
            raise ArgumentError(f"{path}: {key} has a brace without its partner") from None
        if found != fields(english[key]):
            wanted = ", ".join(f"{{{name}}}" for name in sorted(fields(english[key]))) or "none"
            raise ArgumentError(f"{path}: the names in braces of {key} must be {wanted}")
