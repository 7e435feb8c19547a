"""A run of ``learn_env`` whose tables grow: the learners, the loop and the result.

The learners meet the infosets as they play (``learning/episode_play.py``), and the output is a
mixture of evenly spaced components. The game is unknown, so the gap is bounded from fresh plays at
the end (``certifying/by_play.py``). If the game is given, its exact gap is computed on the way;
the learners do not see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from accord._activity import doing
from accord._arrays import Floats
from accord.certifying.by_play import CONFIDENCE, FEWEST_PLAYS, bounded_by_play
from accord.certifying.certificate import Certificate
from accord.equilibrium.gap import MixtureMeter
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.rounding import Measured
from accord.errors import AccordError, ArgumentError, BudgetError, MismatchError
from accord.game.tree import Game
from accord.learning.episode_play import EnvironmentPlay
from accord.play.environment import Environment
from accord.play.episodes import Executor
from accord.play.own_tree import policy_of
from accord.play.rollout import QUANTILE, estimated_values
from accord.play.venue import Venue
from accord.runs.checkpoint import Seen, numbers
from accord.runs.folder import RunFolder, part_of
from accord.runs.growing_iterates import GrowingIterates
from accord.runs.iterations import Iterations
from accord.runs.loop import Loop, Progress
from accord.runs.request import LearnRequest
from accord.runs.result import Learned, LearnedByPlay
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import Treeplex

VALUE_SEED = 1
"""Added to the seed of a run for the plays after it."""


class EnvironmentRun:
    """A request, the learners for it, and the components to save."""

    def __init__(
        self,
        env: Environment,
        request: LearnRequest,
        game: Game | None,
        plexes: Sequence[Treeplex] | None,
        plays: int,
        where: Venue,
    ) -> None:
        self.env, self.request, self.game, self.plays = env, request, game, plays
        self.where = where
        if game is not None and len(game.player_labels) != len(env.players):
            raise MismatchError(
                f"{env.name} has {len(env.players)} players; the game {game.name} has "
                f"{len(game.player_labels)}"
            )
        half = None if request.memory is None else request.memory // 2
        self.selfplay = EnvironmentPlay(
            env, request.k, request.seed, episodes=request.episodes, method=request.minimizer,
            exploration=request.exploration, plexes=plexes, batch=request.batch, memory=half,
            executor=None if where.is_here else where.executor(env, request.seed),
        )  # fmt: skip
        each = self.each = self.selfplay.episodes_per_iteration
        if not 1 <= each <= request.episodes:
            raise ArgumentError(
                f"episodes must be at least {each}, enough for one iteration; got "
                f"{request.episodes}"
                if each
                else "the game must have a decision to learn, but no player has one"
            )
        iterations = request.episodes // each
        self.iterates = GrowingIterates(
            request.components, iterations, self.selfplay.averages, half
        )
        self.meter = None if game is None else _GameMeter(game, request.k, self)
        measure = self._measure if self.meter is None else self.meter.measure
        self.steps = _Growing(self.selfplay, self.iterates, measure, each, self._seen)

    def _measure(self) -> Measured | None:
        return None

    def _seen(self) -> tuple[Seen, tuple[float, ...]]:
        values, margins, _ = self._running_values()
        play = self.selfplay
        return Seen(play.n_infosets, play.n_bytes, margins, play.is_full), values

    def run(
        self, episodes: int, files: RunFolder | None, progress: Progress | None
    ) -> Learned | LearnedByPlay:
        """Play until another iteration would exceed ``episodes``, and measure the result."""
        loop = self.loop = Loop(self.steps, files, progress)
        try:
            loop.run(episodes // self.each)
            if not self.iterates.count:  # interrupted before the first was kept: take this one
                self.iterates.stride = 1
                self.selfplay.advance(1, self.iterates)
        except AccordError as error:
            if loop.begun and self.selfplay.iteration:
                loop.save(now=True)
                if self.iterates.count:
                    error.learned = self._result(self._policy(), *self._running_values())
            raise
        finally:
            self.selfplay.close()
        loop.conclude()
        if self.meter is not None:
            return self.meter.certified()
        policy = self._policy()
        try:
            learned = self._measured(policy)
        except AccordError as error:
            error.learned = self._result(policy, *self._running_values())
            raise
        if files is not None:
            bounds = learned.certificate or learned
            files.finish(learned.to_json(), policy, bounds, loop.history)
        return learned

    def _measured(self, policy: CorrelatedPolicy) -> LearnedByPlay:
        """The result, with values and bounds from fresh plays."""
        env, plays, seed = self.env, self.plays, self.request.seed + VALUE_SEED
        values = estimated_values(env, policy, plays, seed, self.where.executor(env, seed))
        with doing("bounding the gap by fresh plays"):
            executor = self.where.executor(env, seed + 1)
            bounds = bounded_or_refused(env, policy, self.request.k, plays, seed, executor)
        return self._result(policy, *values, plays, *bounds)

    def facts(self) -> dict[str, Any]:
        """The fields that all results share."""
        return {
            "request": self.request,
            "episodes": self.selfplay.iteration * self.each,
            "iterations": self.selfplay.iteration,
            "episodes_per_iteration": self.each,
            "seconds": self.loop.elapsed,
            "interrupted": self.loop.interrupted,
        }

    def policy_of(self, rows: Sequence[Sequence[Floats]]) -> CorrelatedPolicy:
        """The policy with these components."""
        return policy_of(str(self.env.name), rows, self.selfplay.trees)

    def _policy(self) -> CorrelatedPolicy:
        return self.policy_of(self.iterates.selected())

    def _running_values(self) -> tuple[tuple[float, ...], tuple[float, ...], int]:
        """Mean payoffs of the episodes in which everybody followed pi^t, with their margins."""
        plays, paid, squares = self.selfplay.paid
        mean = paid / np.maximum(plays, 1)
        variance = np.maximum(squares / np.maximum(plays, 1) - mean * mean, 0.0)
        margin = np.where(plays > 1, QUANTILE * np.sqrt(variance / np.maximum(plays, 1)), np.nan)
        return tuple(mean.tolist()), tuple(margin.tolist()), int(plays[0])

    def _result(
        self,
        policy: CorrelatedPolicy,
        values: tuple[float, ...],
        margins: tuple[float, ...],
        plays: int,
        certificate: Certificate | None = None,
        refusal: str | None = None,
    ) -> LearnedByPlay:
        return LearnedByPlay(
            name=str(self.env.name), values=values, margins=margins, plays=plays,
            policy=policy, certificate=certificate, refusal=refusal,
            history=tuple(self.loop.history), **self.facts(),
        )  # fmt: skip


class _Growing(Iterations):
    """Learners and components that have more infosets in a checkpoint than when they are made."""

    play: EnvironmentPlay
    components: GrowingIterates

    def restore(self, state: dict[str, Any]) -> None:
        """Take a saved state apart."""
        play = part_of(state, "play_")
        self.components.restore(part_of(state, "iterates_"), int(play["iteration"]))
        self.play.restore(play)
        self.components.check_sizes(self.play.sizes)


def bounded_or_refused(
    env: Environment,
    policy: CorrelatedPolicy,
    k: float,
    plays: int,
    seed: int,
    executor: Executor | None = None,
) -> tuple[Certificate | None, str | None]:
    """A certificate from ``plays`` plays, or the reason why there is none."""
    try:
        if plays < (least := FEWEST_PLAYS * len(env.players)):
            return None, f"bounds on the gap need at least {least} plays; there were {plays}"
        return bounded_by_play(env, policy, k, plays, CONFIDENCE, seed + 1, executor), None
    except BudgetError as error:
        return None, str(error)


class _GameMeter:
    """The exact gaps and values of the components kept so far, in a game with the same labels."""

    def __init__(self, game: Game, k: float, run: EnvironmentRun) -> None:
        self.game, self.k, self.run = game, k, run
        self._restart()

    def _restart(self) -> None:
        self.meter = MixtureMeter(sequence_form(self.game), self.k)
        self.measured, self.stride = 0, self.run.iterates.stride

    def measure(self) -> Measured | None:
        """Gaps and values of all players, or ``None`` if nothing has been kept."""
        if self.run.iterates.stride != self.stride:
            self._restart()
        if rows := self.run.iterates.rows[self.measured :]:
            for _, parts in self.run.policy_of(rows).in_game(self.game).components():
                self.meter.observe(parts)
        self.measured += len(rows)
        return self.meter.measured() if self.measured else None

    def certified(self) -> Learned:
        """The result, with the exact gap of the saved mixture."""
        run = self.run
        policy = run.policy_of(run.iterates.selected()).in_game(self.game)
        meter = MixtureMeter(policy.form, self.k)
        for weight, parts in policy.components():
            meter.observe(parts, weight)
        return Learned(
            game=self.game, policy=policy, history=tuple(run.loop.history),
            **numbers(meter.measured()), **run.facts(),
        )  # fmt: skip
