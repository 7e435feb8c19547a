"""OpenSpiel games by name, and the question which of them Accord can use.

A simultaneous move is a sequence of hidden moves, player 0 first. OpenSpiel's own turn-based
version of a game has exactly that tree, and its strings differ from those of the original only by a
line that names the player to move. :func:`openspiel_game` returns the game that is actually
enumerated or played; policies and correlation devices are exchanged with OpenSpiel for that game.

Accord numbers actions by their position among the legal ones; OpenSpiel's own numbers have gaps.
"""

from __future__ import annotations

import difflib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, TypeAlias

from accord.errors import (
    AccordError,
    ArgumentError,
    BudgetError,
    GameError,
    MissingDependencyError,
)
from accord.game.library import LIBRARY

SpielGame: TypeAlias = Any  # pyspiel.Game; pyspiel has no types
SpielState: TypeAlias = Any  # pyspiel.State; pyspiel has no types
SPIEL_CHANCE, SPIEL_TERMINAL = -1, -4  # values of current_player()


def openspiel_game(game: str | SpielGame, *, played: bool = False) -> SpielGame:
    """The ``pyspiel.Game`` that Accord enumerates or plays, which is always turn-based.

    Args:
        game: A name with parameters as OpenSpiel writes them, or a ``pyspiel.Game``.
        played: Whether it is only played. Then chance may be sampled, and observations suffice if
            there are no information states.

    Raises:
        ArgumentError: If there is no such game, or it does not take these parameters.
        GameError: If Accord cannot use the game.
    """
    pyspiel = import_pyspiel()
    if isinstance(game, str):
        game = load_by_name(game, played=played)
    if not isinstance(game, pyspiel.Game):
        raise ArgumentError(
            f"an OpenSpiel game must be given by name or as a pyspiel.Game; got {game!r}"
        )
    kind = game.get_type()
    if (why := refusal(kind, played=played)) is not None:
        raise GameError(f"{game_name(game)} cannot be loaded: {why}")
    if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        return pyspiel.convert_to_turn_based(game)
    return game


def openspiel_names() -> list[str]:
    """Names of the OpenSpiel games that can be loaded, with or without parameters.

    Some are too large with their default parameters. Some are transformations of other games, such
    as ``misere(game=kuhn_poker())``, and whether they can be loaded depends on that game.
    """
    pyspiel = import_pyspiel(python_games=True)
    return [
        kind.short_name
        for kind in pyspiel.registered_games()
        if refusal(kind) is None or not kind.default_loadable
    ]


def import_pyspiel(*, python_games: bool = False) -> Any:
    """The module ``pyspiel``; ``python_games`` also registers the games written in Python."""
    try:
        import pyspiel

        if python_games:
            import open_spiel.python.games  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("open_spiel") from error
    return pyspiel


def load_by_name(text: str, *, played: bool = False) -> SpielGame:
    """``pyspiel.load_game``, with messages that a user can act on."""
    text = text.strip()
    base, bracket, _ = text.partition("(")
    pyspiel = import_pyspiel(python_games="python_" in text)
    if base not in pyspiel.registered_names():
        pyspiel = import_pyspiel(python_games=True)
    kinds = {kind.short_name: kind for kind in pyspiel.registered_games()}
    if base not in kinds:
        names = openspiel_names()
        close = difflib.get_close_matches(base, names, n=3)
        close = close or [name for name in names if base and base in name][:3]
        hint = (
            f"did you mean {' or '.join(close)}?"
            if close
            else "`accord games` lists some, openspiel_names() all"
        )
        if base.partition(":")[0] in LIBRARY:
            hint += " Or take the game of Accord's library: load_game, or leave out --play"
        raise ArgumentError(f"OpenSpiel has no game called {base!r}; {hint}")
    kind = kinds[base]
    takes = parameters(kind)
    if text.count("(") != text.count(")") or (bracket and not text.endswith(")")):
        raise ArgumentError(f"brackets must match; they do not in {text!r}; {takes}")
    if kind.default_loadable and (why := refusal(kind, played=played)) is not None:
        raise GameError(f"{text} cannot be loaded: {why}")
    if not kind.default_loadable and not bracket:
        raise ArgumentError(f"{base} cannot be loaded without parameters; {takes}")
    try:
        given = pyspiel.game_parameters_from_string(text)
        for key, value in given.items():
            if key not in ("name", *kind.parameter_specification):
                raise ArgumentError(f"{base} has no parameter {key!r}; {takes}")
            if key.endswith(("filename", "_file")) and value and not Path(value).is_file():
                raise ArgumentError(f"{base} needs a file, but {value!r} does not exist")
            if type(value) is int and isinstance(kind.parameter_specification.get(key), float):
                text = re.sub(rf"([(,]\s*{key}\s*=\s*-?\d+)(?=\s*[,)])", r"\1.0", text, count=1)
        if len(given) > 1:
            _try_apart(text, takes)
        return pyspiel.load_game(text)
    except AccordError:
        raise
    except Exception as error:
        raise ArgumentError(f"OpenSpiel cannot load {text}: {reason(error)}; {takes}") from error


_TRIAL = """
import sys, pyspiel
try:
    game = pyspiel.load_game(sys.argv[1])
except Exception as error:
    print(error)
    sys.exit(3)
for side in (0, -1):
    state = game.new_initial_state()
    for _ in range(1000):
        if state.is_terminal():
            break
        state = state.child(state.legal_actions()[side])
"""


def _try_apart(text: str, takes: str) -> None:
    """Load a game and play a few moves in another process.

    Given invalid parameters, OpenSpiel may end the process (``universal_poker``, ``go_fish``) or
    never return (``blotto`` with many fields). Games that the caller has registered are unknown to
    the other process and are not tried.
    """
    command = [sys.executable, "-P", "-c", _TRIAL, text]
    try:
        trial = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=60, check=False
        )
    except subprocess.TimeoutExpired:
        raise BudgetError(
            f"OpenSpiel must load {text} within 60 seconds; choose smaller parameters ({takes})",
            required=61,
            available=60,
        ) from None
    if trial.returncode == 3 and not trial.stdout.startswith("Unknown game"):
        raise ArgumentError(f"OpenSpiel cannot load {text}: {reason(trial.stdout)}; {takes}")
    if trial.returncode not in (0, 1, 3):  # 1: an error that will show in this process too
        raise ArgumentError(f"OpenSpiel crashes on {text}; {takes}")


def parameters(kind: Any) -> str:
    """The parameters of games of this ``pyspiel.GameType``, with defaults, as a sentence."""
    spec = kind.parameter_specification
    if not spec:
        return f"{kind.short_name} takes no parameters"
    defaults = (f"{key}={value}" if value is not None else key for key, value in spec.items())
    return f"{kind.short_name} takes {', '.join(defaults)}"


def refusal(kind: Any, *, played: bool = False) -> str | None:
    """The reason why Accord cannot use games of this ``pyspiel.GameType``, or None."""
    why = _refusal(kind, played)
    if why is None or played or _refusal(kind, True) is not None:
        return why
    return f"{why}; learn from plays alone: accord learn --play, or OpenSpielEnvironment"


def _refusal(kind: Any, played: bool) -> str | None:
    spiel_type = import_pyspiel().GameType
    if kind.dynamics == spiel_type.Dynamics.MEAN_FIELD:
        return "a mean field game has no game tree"
    if is_sampled(kind) and not played:
        return "its chance moves are sampled, and OpenSpiel does not tell their probabilities"
    if played and kind.provides_observation_string:
        return None
    if not kind.provides_information_state_string:
        return (
            "OpenSpiel gives no information state string for it, so its infosets are unknown; an "
            "observation is not enough, because it may leave out what a player knew before"
        )
    return None


def is_sampled(kind: Any) -> bool:
    """Whether OpenSpiel samples chance moves instead of listing their outcomes."""
    return bool(kind.chance_mode == import_pyspiel().GameType.ChanceMode.SAMPLED_STOCHASTIC)


def game_name(game: SpielGame) -> str:
    """The name with parameters, without empty brackets."""
    return str(game).removesuffix("()")


def reason(error: object) -> str:
    """The message of an OpenSpiel error in one line, without the location in OpenSpiel's source."""
    text = re.sub(r"^/\S+:\d+ | Available games are:.*", "", str(error), flags=re.DOTALL).strip()
    text = text or type(error).__name__
    return re.sub(r"\s*\n\s*", ", ", text)


def legal_moves(state: SpielState) -> list[int]:
    """OpenSpiel's numbers of the legal actions, or of the possible outcomes at a chance node."""
    return list(chance_outcomes(state)) if state.is_chance_node() else state.legal_actions()


def chance_outcomes(state: SpielState) -> dict[int, float]:
    """The probability of each outcome; impossible ones are left out, repeated ones added up."""
    outcomes: dict[int, float] = {}
    for outcome, p in state.chance_outcomes():
        if p != 0.0:
            outcomes[outcome] = outcomes.get(outcome, 0.0) + p
    return outcomes


def move_labels(state: SpielState, player: int, moves: list[int]) -> tuple[str, ...]:
    """OpenSpiel's names of the moves; moves with the same name also get their numbers."""
    names = [state.action_to_string(player, move) for move in moves]
    if len(set(names)) == len(names):
        return tuple(names)
    return tuple(
        name if names.count(name) == 1 else f"{name} #{move}"
        for name, move in zip(names, moves, strict=True)
    )
