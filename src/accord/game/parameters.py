"""Parameters in the name of a game: ``players=3,seed=7``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from accord._check import as_number
from accord.errors import ArgumentError


def default_parameters(function: Callable[..., Any]) -> dict[str, Any]:
    """The parameters of ``function`` that have a default, and their defaults."""
    return {
        key: parameter.default
        for key, parameter in inspect.signature(function).parameters.items()
        if parameter.default is not parameter.empty
    }


def parse_parameters(name: str, text: str, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters written as ``text``, each of the kind of its default.

    Args:
        name: What takes them, for messages.
        text: Such as ``players=3,seed=7``.
        defaults: The default of each parameter: an int, a float, a bool or a str.

    Raises:
        ArgumentError: If there is no such parameter, or a value is of another kind.
    """
    found: dict[str, Any] = {}
    for item in text.split(",") if text.strip() else []:
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not key or key in found:
            raise ArgumentError(
                f"parameters of {name} must be key=value, each at most once; got {item.strip()!r}"
            )
        if key not in defaults:
            raise ArgumentError(f"{name} has no parameter {key!r}; {suggestion(key, defaults)}")
        found[key] = _value(f"{key} of {name}", value, defaults[key])
    return found


def suggestion(word: str, known: Mapping[str, object]) -> str:
    """What ``word`` may have meant, or all that is known."""
    if close := get_close_matches(word, known):
        return f"did you mean {' or '.join(close)}?"
    if len(known) == 1:
        return f"the only one is {next(iter(known))}"
    return f"there are {', '.join(known)}" if known else "there are none"


def _value(what: str, text: str, default: Any) -> Any:
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise ArgumentError(f"{what} must be true or false; got {text!r}")
        return text.lower() == "true"
    if isinstance(default, int):
        try:
            return int(text)
        except ValueError:
            raise ArgumentError(f"{what} must be an integer; got {text!r}") from None
    if isinstance(default, float):
        return as_number(what, text)
    if isinstance(default, str):
        return text
    raise ArgumentError(f"{what} cannot be given in a name; only numbers and texts can")
