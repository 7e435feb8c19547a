"""Thin adapters of other programs' solvers.

Each runs iterations on a game that OpenSpiel knows and tells the policy of its next iterate, as a
joint behavior vector of Accord. So what all the iterates come to can be judged by Accord's own
meter, for any notion of equilibrium.

What one iteration is differs, and each class says what it is. OpenSpiel's CFR and CFR+ update the
players in turn: player 1 answers to what player 0 has just become. The others, and K-EFR, update
all players at once.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import io
import os
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar, cast
from urllib.parse import unquote

import numpy as np
import pyspiel
from numpy.typing import NDArray
from open_spiel.python.algorithms.efr import EFRSolver

from accord._arrays import Floats
from accord.game.tree import Game
from accord.interop.openspiel_games import openspiel_game
from accord.interop.openspiel_policies import from_openspiel
from accord.treeplex.form import sequence_form

THINNED = 10
"""One in so many iterates of a tuned peer is averaged."""


class Peer(ABC):
    """A solver of another program at work on one game."""

    name: ClassVar[str]
    iteration: ClassVar[str]  # what one is
    averaging: ClassVar[int] = 0  # iterate t counts t ** averaging in what the theory speaks about

    def __init__(self, game: Game) -> None:
        self.game = game
        self.spiel = openspiel_game(game.name)
        self._size, self._filled = sequence_form(game).n_sequences, _filled(game)

    @classmethod
    def applies(cls, game: Game) -> bool:
        """Whether it is made for such games."""
        return True

    @abstractmethod
    def advance(self, iterations: int, /) -> None:
        """Run so many more iterations."""

    @abstractmethod
    def probabilities(self) -> Any:
        """What the next iteration will evaluate: at all infosets, in Accord's order."""

    def iterate(self) -> Floats:
        """What the next iteration will evaluate, as a joint behavior."""
        joint = np.ones(self._size)
        joint[self._filled] = self.probabilities()
        return joint


class _SpielCFR(Peer):
    """CFR of OpenSpiel, in C++."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self._solver = self.solver(self.spiel)
        self._current = self._solver.current_policy()  # follows the solver
        self._labels = [label for labels in game.infoset_labels for label in labels]
        _check_order(game, map(self._current.get_state_policy, self._labels))

    solver: ClassVar[Any]

    def advance(self, iterations: int, /) -> None:
        for _ in range(iterations):
            self._solver.evaluate_and_update_policy()

    def probabilities(self) -> list[float]:
        ask = self._current.get_state_policy
        return [p for label in self._labels for _, p in ask(label)]


class CFR(_SpielCFR):
    name = "OpenSpiel CFR"
    iteration = "each player in turn: a walk of the tree, regrets, policy; C++"
    solver = pyspiel.CFRSolver


class CFRPlus(_SpielCFR):
    name = "OpenSpiel CFR+"
    iteration = CFR.iteration
    averaging = 1
    solver = pyspiel.CFRPlusSolver


class _EFR(Peer):
    """EFR of OpenSpiel, in Python."""

    deviations: ClassVar[str]
    iteration = "all players at once: a walk of the tree for regrets, one for policies; Python"

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self._solver: Any = cast(Any, EFRSolver)(self.spiel, self.deviations)
        policy = self._solver.current_policy()
        rows = [policy.state_lookup[label] for labels in game.infoset_labels for label in labels]
        self._rows = np.repeat(rows, np.concatenate(game.n_actions))
        self._actions = np.concatenate(
            [np.flatnonzero(policy.legal_actions_mask[row]) for row in rows]
        )

    def advance(self, iterations: int, /) -> None:
        for _ in range(iterations):
            self._solver.evaluate_and_update_policy()

    def probabilities(self) -> Any:
        return self._solver.current_policy().action_probability_array[self._rows, self._actions]


class CausalEFR(_EFR):
    name = "OpenSpiel EFR csps"
    deviations = "csps"


class TwiceInformedEFR(_EFR):
    name = "OpenSpiel EFR tips"
    deviations = "tips"


class _Lite:
    """A baseline of LiteEFG at work on a game, in C++; ``every`` so many iterates are averaged."""

    def __init__(
        self, game: Game, module: str, traversal: str, *, every: int = 1, **options: float
    ) -> None:
        import LiteEFG

        self._every, self._done = every, 0

        LiteEFG.set_threads(1)
        self._environment = LiteEFG.FileEnv(str(_game_file(game.name)), traversal)
        with contextlib.redirect_stdout(io.StringIO()):  # it prints a banner
            self._graph = importlib.import_module(f"LiteEFG.baselines.{module}").graph(**options)
        self._environment.set_graph(self._graph)
        self._places = [
            self._places_of(i + 1, labels) for i, labels in enumerate(game.infoset_labels)
        ]

    def _places_of(self, player: int, labels: Sequence[str]) -> list[int]:
        """Where in LiteEFG's list of a player's infosets those of Accord stand."""
        values = self._environment.get_value(player, self._graph.current_strategy())
        place = {unquote(name.partition("__")[2]): n for n, (name, _) in enumerate(values)}
        return [place[label] for label in labels]

    def advance(self, iterations: int) -> None:
        strategy = self._graph.current_strategy()
        for _ in range(iterations):
            self._graph.update_graph(self._environment)
            self._done += 1
            if self._done % self._every == 0:
                self._environment.update_strategy(strategy)

    def probabilities(self, *, averaged: bool) -> list[float]:
        """The policies of all players, or the averages of them, in Accord's order."""
        environment, strategy = self._environment, self._graph.current_strategy()
        probabilities = []
        for i, places in enumerate(self._places):
            if averaged:
                values = environment.get_strategy(i + 1, strategy, "avg-iterate")
            else:
                values = environment.get_value(i + 1, strategy)
            probabilities += [p for place in places for p in values[place][1]]
        return probabilities


class _LiteEFG(Peer):
    """A baseline of LiteEFG that walks the whole tree."""

    module: ClassVar[str]

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self._lite = _Lite(game, self.module, "Enumerate")

    def advance(self, iterations: int, /) -> None:
        self._lite.advance(iterations)

    def probabilities(self) -> list[float]:
        return self._lite.probabilities(averaged=False)


class LiteCFR(_LiteEFG):
    name = "LiteEFG CFR"
    iteration = "all players at once, on a tree held in memory; C++"
    module = "CFR"


class LiteCFRPlus(_LiteEFG):
    name = "LiteEFG CFR+"
    iteration = "each player in turn, on a tree held in memory; C++"
    averaging = 1
    module = "CFRplus"

    @classmethod
    def applies(cls, game: Game) -> bool:
        return game.n_players == 2  # it updates no others


class SampledPeer(ABC):
    """A solver of another program that learns from episodes.

    One iteration plays one episode per player. Judged is the average of the iterates, the only
    output that is meant to be used: one product policy, which is an equilibrium in the limit of
    two-player zero-sum games.
    """

    name: ClassVar[str]

    def __init__(self, game: Game, seed: int) -> None:
        self.game, self.spiel = game, openspiel_game(game.name)

    @classmethod
    def applies(cls, game: Game) -> bool:
        """Whether it is made for such games."""
        return True

    @property
    def episodes_per_iteration(self) -> int:
        return self.game.n_players

    @abstractmethod
    def advance(self, iterations: int, /) -> None:
        """Run so many more iterations."""

    @abstractmethod
    def average(self) -> tuple[Floats, ...]:
        """Each player's average policy."""


class OutcomeSampling(SampledPeer):
    """Outcome-sampling MCCFR of OpenSpiel, in C++."""

    name = "OpenSpiel OS-MCCFR"

    def __init__(self, game: Game, seed: int) -> None:
        super().__init__(game, seed)
        self._solver = pyspiel.OutcomeSamplingMCCFRSolver(self.spiel, seed=seed)

    def advance(self, iterations: int, /) -> None:
        for _ in range(iterations):
            self._solver.run_iteration()

    def average(self) -> tuple[Floats, ...]:
        return from_openspiel(self.game, self._solver.average_policy(), self.spiel)


class _LiteSampled(SampledPeer):
    """A baseline of LiteEFG that learns from episodes, in C++."""

    _lite: _Lite

    @classmethod
    def applies(cls, game: Game) -> bool:
        return game.n_players == 2  # it updates no others

    def advance(self, iterations: int, /) -> None:
        self._lite.advance(iterations)

    def average(self) -> tuple[Floats, ...]:
        joint = np.ones(sequence_form(self.game).n_sequences)
        joint[_filled(self.game)] = self._lite.probabilities(averaged=True)
        return sequence_form(self.game).split(joint)


class LiteOutcomeSampling(_LiteSampled):
    """Outcome-sampling MCCFR of LiteEFG, which looks at every infoset for its average."""

    name = "LiteEFG OS-MCCFR"

    def __init__(self, game: Game, seed: int) -> None:
        super().__init__(game, seed)
        import LiteEFG

        LiteEFG.set_seed(seed)
        self._lite = _Lite(game, "OS_MCCFR", "Outcome")


class TunedPeer(_LiteSampled):
    """A baseline of LiteEFG that needs a learning rate. Both players learn from every episode.

    Its parameter of implicit exploration is half the rate, as in LiteEFG's defaults. Averaging
    looks at every infoset, so one in :data:`THINNED` iterates is averaged.
    """

    module: ClassVar[str]

    def __init__(self, game: Game, seed: int, rate: float) -> None:
        super().__init__(game, seed)
        import LiteEFG

        LiteEFG.set_seed(seed)
        options = {"eta": rate, "gamma": rate / 2}
        self._lite = _Lite(game, self.module, "Outcome", every=THINNED, **options)

    @classmethod
    def at(cls, rate: float) -> Callable[[Game, int], TunedPeer]:
        """The peer with this rate."""
        return partial(cls, rate=rate)

    @property
    def episodes_per_iteration(self) -> int:
        return 1


class IXOMD(TunedPeer):
    name = "LiteEFG IXOMD"
    module = "IXOMD"


class BalancedOMD(TunedPeer):
    name = "LiteEFG Balanced OMD"
    module = "Balanced_OMD"


class BalancedFTRL(TunedPeer):
    name = "LiteEFG Balanced FTRL"
    module = "Balanced_FTRL"


def peers() -> tuple[type[Peer], ...]:
    """Those that are installed."""
    lite = (LiteCFR, LiteCFRPlus) if importlib.util.find_spec("LiteEFG") else ()
    return (CFR, CFRPlus, CausalEFR, TwiceInformedEFR, *lite)


def sampled_peers() -> tuple[type[SampledPeer], ...]:
    """Those that learn from episodes and are installed.

    External sampling is not among them: it tries every action of a player before it goes on, so
    that it cannot learn from plays. Those that need a learning rate are :func:`tuned_peers`.
    """
    lite = (LiteOutcomeSampling,) if importlib.util.find_spec("LiteEFG") else ()
    return (OutcomeSampling, *lite)


def tuned_peers() -> tuple[type[TunedPeer], ...]:
    """Those that learn from episodes with a learning rate for each game, if installed."""
    return (IXOMD, BalancedOMD, BalancedFTRL) if importlib.util.find_spec("LiteEFG") else ()


def _filled(game: Game) -> NDArray[np.int64]:
    """The places in a joint behavior that have an action: all but the empty sequences."""
    starts = sequence_form(game).leaves.first_reach
    return np.delete(np.arange(starts[-1]), starts[:-1])


def _check_order(game: Game, policies: Iterable[list[tuple[int, float]]]) -> None:
    """Actions must come as Accord has them: in the order of their numbers."""
    counts = np.concatenate(game.n_actions)
    for count, policy in zip(counts, policies, strict=True):
        actions = [action for action, _ in policy]
        assert len(actions) == count and actions == sorted(actions)


@cache
def _game_file(name: str) -> Path:
    """An OpenSpiel game as a file of LiteEFG's, which writes it to the home folder."""
    import LiteEFG

    home = os.environ.get("HOME")
    folder = _folder() / str(len(list(_folder().iterdir())))
    os.environ["HOME"] = str(folder)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            LiteEFG.OpenSpielEnv(openspiel_game(name))
    finally:
        os.environ.pop("HOME")
        if home is not None:
            os.environ["HOME"] = home
    [file] = folder.rglob("*.openspiel")
    return file


@cache
def _folder() -> Path:
    """A folder that goes when Python ends."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    return Path(folder)
