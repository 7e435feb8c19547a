"""A run of ``learn`` whose players know their treeplexes: the learners, the loop and the result.

If the game is known too, the exact gap of the components kept so far is measured on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from accord._activity import doing
from accord._arrays import Floats
from accord.equilibrium.gap import MixtureMeter
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.rounding import Measured
from accord.errors import ArgumentError
from accord.game.tree import Game
from accord.learning.simulator_play import SimulatorPlay
from accord.runs.checkpoint import numbers
from accord.runs.folder import RunFolder
from accord.runs.iterates import FEWEST_COMPONENTS, Iterates, vectors_of
from accord.runs.iterations import Iterations
from accord.runs.loop import Loop, Progress
from accord.runs.request import LearnRequest
from accord.runs.result import Learned
from accord.treeplex.form import SequenceForm, sequence_form
from accord.treeplex.treeplex import Treeplex


class Learning:
    """A request, the learners for it, and the iterates to save."""

    def __init__(self, play: SimulatorPlay, request: LearnRequest) -> None:
        each, episodes = play.episodes_per_iteration, request.episodes
        if not 1 <= each <= episodes:
            raise ArgumentError(
                f"episodes must be at least {each}, enough for one iteration; got {episodes}; play "
                "more, or try a smaller k"
                if each
                else "the game must have a decision to learn, but no player has one"
            )
        self.request, self.each = request, each
        components, play.averages = saved_components(play.plexes, request)
        vectors = vectors_of(play.plexes)
        self.iterates = Iterates(play.n_sequences, components, vectors)
        self.iterates.stride = max(1, episodes // each // self.iterates.components)
        self.steps = Iterations(play, self.iterates, self._measure, each)

    def _measure(self) -> Measured | None:
        """Gaps and values of all players, if they are known."""
        return None

    def play(self, episodes: int, files: RunFolder | None, progress: Progress | None) -> Loop:
        """Play until another iteration would exceed ``episodes``."""
        loop, iterates = Loop(self.steps, files, progress), self.iterates
        loop.run(episodes // self.each)
        if iterates.count == 0:  # interrupted before the first was kept: take the next
            iterates.add(self.steps.play.advance(1, iterates.make_room(), 1))
        return loop

    def mixture(self) -> tuple[Floats, Floats]:
        """Weights and behaviors of the mixture to save; the iterates are then gone."""
        _, behaviors = self.iterates.taken()
        return np.full(len(behaviors), 1.0 / len(behaviors)), behaviors

    def facts(self, loop: Loop) -> dict[str, Any]:
        """The fields that all results share."""
        return {
            "request": self.request,
            "episodes": self.steps.iteration * self.each,
            "iterations": self.steps.iteration,
            "episodes_per_iteration": self.each,
            "seconds": loop.elapsed,
            "interrupted": loop.interrupted,
        }


def saved_components(plexes: Sequence[Treeplex], request: LearnRequest) -> tuple[int | None, int]:
    """How many components to save, and how many iterates each of them averages.

    An iterate costs as much as the episodes that visit as many infosets. If each component averages
    several, iterates in total may cost half of the episodes; components come first.
    """
    most = request.minimizer.sampling.averages
    if most == 1:
        return request.components, 1
    visits = request.episodes * sum(plex.horizon for plex in plexes)
    affordable = visits // (2 * sum(plex.n_infosets for plex in plexes))
    components = request.components
    if components is None:
        components = Iterates.default_components(sum(plex.n_sequences for plex in plexes))
        components = min(components, max(FEWEST_COMPONENTS, affordable))
    return components, max(1, min(most, affordable // components))


class Certified(Learning):
    """Learning a known game: the gap of the iterates kept so far is measured on the way."""

    def __init__(self, play: SimulatorPlay, request: LearnRequest, game: Game) -> None:
        super().__init__(play, request)
        self.game = game
        self.meter = _KeptMeter(sequence_form(game), request.k, self.iterates)

    def _measure(self) -> Measured | None:
        return self.meter.measure()

    def run(self, episodes: int, files: RunFolder | None, progress: Progress | None) -> Learned:
        """Play, and certify the saved mixture."""
        loop = self.play(episodes, files, progress)
        facts = self.facts(loop)
        with doing("measuring the gap of the mixture"):
            last = numbers(self.meter.measure_selected())
        loop.conclude(**last)  # fewer iterates may be saved than were kept
        history = tuple(loop.history)
        del loop, self.steps, self.meter  # their memory is needed for the certificate
        policy = CorrelatedPolicy(self.game, *self.mixture())
        learned = Learned(game=self.game, policy=policy, history=history, **last, **facts)
        if files is not None:
            files.finish(learned.to_json(), policy, learned.certificate, history)
        return learned


class _KeptMeter:
    """The gaps and values of the uniform mixture of the iterates kept so far.

    Each iterate is measured once, unless they have been thinned in between.
    """

    def __init__(self, form: SequenceForm, k: float, iterates: Iterates) -> None:
        self.form, self.iterates = form, iterates
        self.meter = MixtureMeter(form, k)
        self.measured, self.stride = 0, iterates.stride

    def measure(self) -> Measured | None:
        """Gaps and values of all players, or ``None`` if nothing has been kept."""
        iterates = self.iterates
        if iterates.stride != self.stride:
            self.meter.forget()
            self.measured, self.stride = 0, iterates.stride
        for joint in iterates.kept[self.measured : iterates.count]:
            self.meter.observe(self.form.split(joint))
        self.measured = iterates.count
        return self.meter.measured() if self.measured else None

    def measure_selected(self) -> Measured:
        """The same for the iterates that are saved."""
        rows = self.iterates.selection()
        if len(rows) < self.iterates.count:
            self.meter.forget()
            for row in rows:
                self.meter.observe(self.form.split(self.iterates.kept[row]))
        else:
            self.measure()
        return self.meter.measured()
