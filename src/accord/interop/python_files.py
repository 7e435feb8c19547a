"""Games and environments that Python code makes, by name.

    ``beer.py:game``            the object ``game`` of the file; a function or class is called
    ``beer.py:game:prize=3``    called with these parameters
    ``beer.py``                 the same as ``beer.py:game``
    ``my.package:make_env``     an object of an installed module, or of one in the current folder

Whoever types such a name wants the code to run. A name that was read from a file, such as the
``run.json`` of a run, must not be loaded: files come from anywhere.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from pathlib import Path
from typing import Any

from accord.errors import AccordError, ArgumentError, SimulatorError
from accord.game.parameters import default_parameters, parse_parameters
from accord.play.environment import is_environment

DEFAULT_NAME = "game"

NAME = re.compile(
    r"(?P<place>.+\.py)(:(?P<name>[A-Za-z_]\w*)(:(?P<parameters>.*))?)?"
    r"|(?P<module>[A-Za-z_][\w.]*):(?P<in_module>[A-Za-z_]\w*)(:(?P<with>.*))?"
)


def names_python(text: str) -> bool:
    """Whether ``text`` has the form of one of these names, and is not that of a library game."""
    from accord.game.library import LIBRARY

    return NAME.fullmatch(text) is not None and text.partition(":")[0] not in LIBRARY


def full_name(text: str) -> str:
    """The name with the absolute path of its file, which loads the same from every folder."""
    place, name, parameters = _parts(text)
    where = str(Path(place).resolve()) if place.endswith(".py") else place
    return ":".join(filter(None, (where, name, parameters)))


def load_python(text: str) -> Any:
    """What the code called ``text`` makes.

    Raises:
        ArgumentError: If there is no such file, module, name or parameter.
        SimulatorError: If the code raises an exception.
    """
    place, name, parameters = _parts(text)
    try:
        module = _file(Path(place)) if place.endswith(".py") else _module(place)
        if not hasattr(module, name):
            raise ArgumentError(f"{place} has no {name!r}; name what makes the game: {place}:NAME")
        thing = getattr(module, name)
        if not callable(thing) or is_environment(thing):
            if parameters:
                raise ArgumentError(
                    f"{name!r} in {place} is not a function and takes no parameters"
                )
            return thing
        given = parse_parameters(name, parameters, default_parameters(thing)) if parameters else {}
        _check_call(place, name, thing, given)
        return thing(**given)
    except AccordError:
        raise
    except SystemExit as error:  # would end the command as if all were well
        raise SimulatorError(
            f"{text} must not end the program, but it called sys.exit({error.code!r})"
        ) from error
    except Exception as error:
        raise SimulatorError(f"{text} raised {type(error).__name__}: {error}") from error


def _check_call(place: str, name: str, function: Any, given: dict[str, Any]) -> None:
    try:
        inspect.signature(function).bind(**given)
    except TypeError as error:
        raise ArgumentError(
            f"{name!r} in {place} must have a default for every parameter: {error}"
        ) from None
    except ValueError:  # a built-in function, which does not say what it takes
        pass


def _parts(text: str) -> tuple[str, str, str]:
    """The file or module, the name in it, and the parameters."""
    match = NAME.fullmatch(text)
    if match is None:
        raise ArgumentError(f"Python code is named FILE.py:NAME or MODULE:NAME; got {text!r}")
    if match["module"]:
        return match["module"], match["in_module"], match["with"] or ""
    return match["place"], match["name"] or DEFAULT_NAME, match["parameters"] or ""


def _file(path: Path) -> Any:
    if not path.is_file():
        raise ArgumentError(f"{path} must be a Python file, but there is none")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # for pickling
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec.loader.exec_module(module)
    return module


def _module(name: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ArgumentError(
            f"there is no module {error.name!r}; give the path of a file as FILE.py:NAME, or "
            "install the module"
        ) from None
