"""Games with known facts, and the names by which they are loaded.

The name of a library game is ``name`` or ``name:parameter=value,parameter=value``, such as
``separation:k=2``. Some games have a device: the correlated policy that their source gives for
them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from accord.errors import ArgumentError
from accord.game.library.classic import (
    extended_shapley,
    greenwald_sarfati_1,
    greenwald_sarfati_1_device,
    greenwald_sarfati_2,
    greenwald_sarfati_2_device,
    in_out,
    in_out_device,
    persuasion,
    signalling,
    signalling_device,
)
from accord.game.library.entries import Draws
from accord.game.library.kuhn import kuhn
from accord.game.library.matrix import (
    battle_of_the_sexes,
    battle_of_the_sexes_device,
    chicken,
    chicken_device,
    matching_pennies,
    matching_pennies_device,
    matrix_game,
    prisoners_dilemma,
    prisoners_dilemma_device,
    shapley,
    shapley_device,
)
from accord.game.library.paper import (
    foresight,
    foresight_device,
    separation,
    separation_device,
)
from accord.game.library.random_games import random_game
from accord.game.library.scaling import balanced, unbalanced
from accord.game.parameters import default_parameters, parse_parameters, suggestion
from accord.game.tree import Game

__all__ = [
    "LIBRARY",
    "Draws",
    "LibraryGame",
    "balanced",
    "battle_of_the_sexes",
    "battle_of_the_sexes_device",
    "chicken",
    "chicken_device",
    "extended_shapley",
    "foresight",
    "foresight_device",
    "greenwald_sarfati_1",
    "greenwald_sarfati_1_device",
    "greenwald_sarfati_2",
    "greenwald_sarfati_2_device",
    "in_out",
    "in_out_device",
    "kuhn",
    "library_device",
    "library_game",
    "matching_pennies",
    "matching_pennies_device",
    "matrix_game",
    "persuasion",
    "prisoners_dilemma",
    "prisoners_dilemma_device",
    "random_game",
    "separation",
    "separation_device",
    "shapley",
    "shapley_device",
    "signalling",
    "signalling_device",
    "unbalanced",
]


@dataclass(frozen=True)
class LibraryGame:
    """One entry of the library.

    Attributes:
        name: The name that loads it.
        build: Its constructor; every parameter has a default.
        description: One line.
        source: The publication it comes from.
        device: Constructor of its device, with the same parameters, if it has one.
    """

    name: str
    build: Callable[..., Game]
    description: str
    source: str
    device: Callable[..., Draws] | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """Each parameter and its default."""
        return default_parameters(self.build)


LIBRARY: dict[str, LibraryGame] = {
    entry.name: entry
    for entry in (
        LibraryGame(
            "separation",
            separation,
            "has a K-EFCE against which K + 1 deviations gain 1/2",
            "Song, Mei, Bai 2022, proof of the containment proposition",
            separation_device,
        ),
        LibraryGame(
            "foresight",
            foresight,
            "has a BCE (K = infinity) that is not a normal-form correlated equilibrium",
            "Song, Mei, Bai 2022, appendix on other equilibria",
            foresight_device,
        ),
        LibraryGame(
            "signalling",
            signalling,
            "a student signals a type; has an EFCE that both prefer to any in normal form",
            "von Stengel and Forges 2008, Figure 1",
            signalling_device,
        ),
        LibraryGame(
            "persuasion",
            persuasion,
            "a prosecutor who commits to a report convinces a judge",
            "Kamenica and Gentzkow 2011, first example",
        ),
        LibraryGame(
            "in_out",
            in_out,
            "one player; always out is an agent-form correlated equilibrium, but not an EFCE",
            "von Stengel and Forges, research report LSE-CDAM-2006-04, Section 2.4",
            in_out_device,
        ),
        LibraryGame(
            "greenwald_sarfati_1",
            greenwald_sarfati_1,
            "has an agent-form correlated equilibrium that is not an EFCE",
            "Greenwald and Sarfati, first example, as in OpenSpiel",
            greenwald_sarfati_1_device,
        ),
        LibraryGame(
            "greenwald_sarfati_2",
            greenwald_sarfati_2,
            "has an EFCE that is not a normal-form correlated equilibrium",
            "Greenwald and Sarfati, second example, as in OpenSpiel",
            greenwald_sarfati_2_device,
        ),
        LibraryGame(
            "extended_shapley",
            extended_shapley,
            "Shapley's game with a side bet, in which CFR does not find an EFCE",
            "Morrill et al. 2021, Section 6.1",
        ),
        LibraryGame("kuhn", kuhn, "Kuhn poker for two or more players", "Kuhn 1950"),
        LibraryGame(
            "chicken",
            chicken,
            "each player dares if the other yields",
            "Aumann 1974",
            chicken_device,
        ),
        LibraryGame(
            "shapley",
            shapley,
            "rock, paper, scissors in which a tie pays nobody",
            "Shapley 1964",
            shapley_device,
        ),
        LibraryGame(
            "battle_of_the_sexes",
            battle_of_the_sexes,
            "both want to meet, but prefer different places",
            "Luce and Raiffa 1957",
            battle_of_the_sexes_device,
        ),
        LibraryGame(
            "matching_pennies",
            matching_pennies,
            "row wins if the pennies match",
            "von Neumann 1928",
            matching_pennies_device,
        ),
        LibraryGame(
            "prisoners_dilemma",
            prisoners_dilemma,
            "both would be better off cooperating, but defect",
            "Luce and Raiffa 1957",
            prisoners_dilemma_device,
        ),
        LibraryGame("random", random_game, "random games of every shape", "Accord"),
        LibraryGame("balanced", balanced, "any number of infosets in a few layers", "Accord"),
        LibraryGame(
            "unbalanced",
            unbalanced,
            "deep layers that uniform play reaches with exponentially small probability",
            "Accord, after the balancing lemma of Song, Mei, Bai 2022",
        ),
    )
}


def library_game(text: str) -> Game:
    """The game called ``text``, such as ``"kuhn:players=3"``.

    Raises:
        ArgumentError: If there is no such game or parameter, or a value is not allowed.
    """
    entry, parameters = _parse(text)
    return entry.build(**parameters)


def library_device(text: str) -> Draws:
    """The device of the game called ``text``, for :meth:`accord.CorrelatedPolicy.from_device`.

    Raises:
        ArgumentError: If the library has no device for it, or a parameter is not allowed.
    """
    entry = LIBRARY.get(text.partition(":")[0].strip())
    if entry is None or entry.device is None:
        having = ", ".join(name for name, other in LIBRARY.items() if other.device)
        raise ArgumentError(
            f"the library has no device for {text}; it has devices for {having}; for other games "
            "give the policy that solve or optimize finds"
        )
    _, parameters = _parse(text)
    return entry.device(**parameters)


def _parse(text: str) -> tuple[LibraryGame, dict[str, Any]]:
    name, _, rest = text.partition(":")
    name = name.strip()
    if name not in LIBRARY:
        raise ArgumentError(f"there is no library game {name!r}; {suggestion(name, LIBRARY)}")
    entry = LIBRARY[name]
    return entry, parse_parameters(name, rest, entry.parameters)
