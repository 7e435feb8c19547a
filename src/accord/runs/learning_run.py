"""A run of ``learn``: the learners, the loop and the result.

The learners play a compiled simulator of a game (``learning/simulator_play.py``), or an environment
(``learning/episode_play.py``). The output is a mixture of evenly spaced components. If the game is
known, the exact gap of the components kept so far is measured on the way; the learners do not see
it. If not, the gap is bounded from fresh plays at the end (``certifying/by_play.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord._activity import doing
from accord._arrays import Floats
from accord.certifying.by_play import CONFIDENCE, FEWEST_PLAYS, bounded_by_play
from accord.certifying.certificate import Certificate
from accord.deviations.notions import NotionLike
from accord.equilibrium.gap import MixtureMeter
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.rounding import Measured
from accord.errors import (
    AccordError,
    ArgumentError,
    BudgetError,
    ImperfectRecallError,
    NumericalError,
)
from accord.game.tree import Game
from accord.learning.episode_play import EnvironmentPlay, count_episodes
from accord.learning.joint_environment import EnvironmentJointPlay
from accord.learning.joint_play import FINAL_COMPONENTS, ROUND_COMPONENTS, JointPlay
from accord.learning.joint_simulator import SimulatorJointPlay
from accord.learning.simulator_play import SimulatorPlay
from accord.learning.warm_start import WarmStart
from accord.play.bounds import bounds_of, is_estimated
from accord.play.environment import Environment
from accord.play.episodes import Executor
from accord.play.obedient_plays import estimated_values
from accord.play.own_tree import policy_of
from accord.play.streams import seed_for
from accord.play.venue import Venue
from accord.regret.methods import SAMPLED_DEFAULT, SAMPLED_METHODS
from accord.runs.checkpoint import Checkpoint, Seen, numbers
from accord.runs.components import (
    FEWEST_COMPONENTS,
    ComponentMatrix,
    Components,
    JointMixture,
    Ragged,
    default_components,
    vectors_of,
)
from accord.runs.folder import RunFolder
from accord.runs.footprint import check_run, joint_memory, learn_memory
from accord.runs.iterations import Iterations, JointRounds, OwnShare
from accord.runs.loop import CAUTION, Loop, Progress
from accord.runs.request import LearnRequest
from accord.runs.result import Learned
from accord.treeplex.form import SequenceForm, sequence_form
from accord.treeplex.treeplex import Treeplex

FEW = 4
"""Iterates of a component that may cost half of the episodes; more may cost a tenth."""

OWN_COMPONENTS = 200
"""How many components are kept of players who learn for themselves beside a joint learner."""


@dataclass(frozen=True)
class Fresh:
    """The plays after a run in an environment."""

    env: Environment
    values: int  # how many to estimate the values from
    plays: int  # how many to bound the gap from; 0 for no bounds
    where: Venue
    checkpoint: int = 0  # how many to bound the gap from at checkpoints; 0 for no bounds there


class LearningRun:
    """A request, the learners for it, and the components to save.

    Args:
        request: The request.
        play: The learners.
        components: The components to save.
        game: The game, if it is known.
        fresh: How to play an environment afterwards, to measure the result if the game is not
            known; ``None`` on a simulator.
    """

    def __init__(
        self,
        request: LearnRequest,
        play: SimulatorPlay | EnvironmentPlay | SimulatorJointPlay | EnvironmentJointPlay,
        components: Components,
        game: Game | None,
        fresh: Fresh | None = None,
    ) -> None:
        self.request, self.play, self.components = request, play, components
        self.game, self.fresh = game, fresh
        self.each = play.episodes_per_iteration
        self.meter = None
        if game is not None:
            self.meter = _Meter(sequence_form(game), request.notion, components, self._placed)
        seen = None if fresh is None else self._seen
        steps = JointRounds if request.is_joint else Iterations
        self.steps = steps(play, components, self._measure, self.each, seen, self._mixed)

    def run(
        self,
        episodes: int,
        files: RunFolder | None,
        progress: Progress | None,
        seconds: float | None = None,
        since: float | None = None,
    ) -> Learned:
        """Play until another iteration would exceed ``episodes``, and measure the result.

        The whole run may take ``seconds`` from ``since`` on.
        """
        loop = self.loop = Loop(self.steps, files, progress)
        ending = _Ending(self)
        try:
            loop.run(episodes // self.each, seconds=seconds, since=since, ending=ending)
            if isinstance(self.play, JointPlay):
                assert isinstance(self.components, JointMixture)
                with doing("solving the game that plays have shown"):
                    self.play.conclude(self.components, self.request.components)
            elif not self.components.count:  # interrupted before the first was kept: take the next
                self.components.stride = 1
                self.steps.advance(1, None)
            if isinstance(self.play, EnvironmentPlay) and not self.play.is_full:
                _check_decisions(self.play.n_infosets)
        except AccordError as error:
            if isinstance(error, ImperfectRecallError) and self.fresh is not None:
                error.advise(getattr(self.fresh.env, "recall_advice", None))
            if loop.begun and self.play.iteration and not isinstance(error, NumericalError):
                loop.save(now=True)
                if self.fresh is not None and self.components.count:
                    error.learned = self._so_far(self._policy())
            raise
        finally:
            if isinstance(self.play, (EnvironmentPlay, EnvironmentJointPlay)):
                self.play.close()
        learned = self._bounded() if self.meter is None else self._certified(self.meter)
        if files is not None:
            files.finish(learned)
        return learned

    def _certified(self, meter: _Meter) -> Learned:
        """The result, with its exact gap."""
        with doing("measuring the gap of the mixture"):
            last = numbers(meter.measure_selected())
        self.loop.conclude(**last)  # fewer components may be saved than were kept
        made, policy = self._facts(), self._policy()
        del self.loop, self.steps, self.meter, self.play  # memory that the certificate needs
        return Learned(game=self.game, policy=policy, **last, **made)

    def _bounded(self) -> Learned:
        """The result, with values and bounds on its gap from fresh plays."""
        self.loop.conclude()
        policy = self._policy()
        so_far, made = self._so_far(policy), self._facts()
        tell = self._tell
        del self.play, self.steps, self.components  # memory that the plays need
        try:
            measured = self._measured_by_play(policy, tell)
        except AccordError as error:
            error.learned = so_far
            raise
        assert self.fresh is not None
        bounds = tuple(map(tuple, bounds_of(self.fresh.env).tolist()))
        made["history"] = _with_bounds(made["history"], measured.get("certified"))
        return Learned(game=None, policy=policy, payoff_bounds=bounds, **measured, **made)

    def _tell(self, plays: int) -> None:
        """Show how many fresh plays there were."""
        self.loop.show(fresh=plays)

    def _so_far(self, policy: CorrelatedPolicy) -> Learned:
        """The result if playing has failed."""
        if self.meter is not None:
            measured = numbers(self.meter.measure_selected())
        else:
            assert isinstance(self.play, (EnvironmentPlay, EnvironmentJointPlay))
            names = ("values", "margins", "plays")
            measured = dict(zip(names, self.play.recent.values(), strict=True))
            measured["coverage"] = self.play.recent.coverage
        return Learned(game=self.game, policy=policy, **measured, **self._facts())

    def _measured_by_play(
        self, policy: CorrelatedPolicy, tell: Callable[[int], object]
    ) -> dict[str, Any]:
        assert self.fresh is not None
        env, count, plays, where = (
            self.fresh.env, self.fresh.values, self.fresh.plays, self.fresh.where,
        )  # fmt: skip
        seed = seed_for("values of a run", self.request.seed)
        executor = where.executor(env, seed)
        measured = estimated_values(env, policy, count, seed, executor, tell)
        measured["plays"] = count
        if plays < (least := FEWEST_PLAYS * len(env.players)):
            refusal = f"bounds on the gap need at least {least} plays; there were {plays}"
            return {**measured, "refusal": refusal}
        try:
            with doing("bounding the gap by fresh plays"):
                seed = seed_for("certificate of a run", self.request.seed)
                certified = bounded_by_play(
                    env, policy, self.request.notion, plays, CONFIDENCE, seed, where,
                    self.request.feedback, None, self.request.memory,
                    lambda used: tell(count + used),
                )  # fmt: skip
        except BudgetError as error:
            return {**measured, "refusal": str(error)}
        return {**measured, "certified": certified}

    def _facts(self) -> dict[str, Any]:
        """The fields that all results share."""
        return {
            "request": self.request,
            "episodes": self.play.iteration * self.each,
            "iterations": self.play.iteration,
            "episodes_per_iteration": self.each,
            "seconds": self.loop.elapsed,
            "interrupted": self.loop.interrupted,
            "history": tuple(self.loop.history),
            **({} if self.fresh is None else {"bounds_estimated": is_estimated(self.fresh.env)}),
            "ends": self._ends(),
        }

    def _ends(self) -> int | None:
        """How many ends the game has, as far as players who learn for themselves may know."""
        if isinstance(self.play, EnvironmentPlay):
            return round(self.play.ends.estimate())
        return None if self.request.is_joint or self.game is None else self.game.n_terminals

    def _policy(self) -> CorrelatedPolicy:
        """The mixture to save. If it is a matrix, the components are then gone."""
        rows = self.components.rows
        if isinstance(rows, Ragged):
            return self._mixed(self.components.selection())
        self.components.take()
        behaviors = rows.behaviors()
        weights = np.full(len(behaviors), 1.0 / len(behaviors))
        return CorrelatedPolicy(self.game, weights, behaviors)

    def _mixed(self, index: NDArray[np.int64]) -> CorrelatedPolicy:
        """The mixture of the components with these numbers, of which nothing is taken."""
        rows = self.components.rows
        if isinstance(rows, Ragged):
            policy = self._met([rows.parts[n] for n in index])
            return policy if self.game is None else policy.in_game(self.game)
        weights = np.full(len(index), 1.0 / len(index))
        return CorrelatedPolicy(self.game, weights, rows.kept[index])

    def _placed(self, index: Sequence[int]) -> Iterator[Sequence[Floats]]:
        """The behaviors of all players in the game, for each of these components."""
        assert self.game is not None
        rows, form = self.components.rows, sequence_form(self.game)
        if isinstance(rows, ComponentMatrix):
            yield from (form.split(rows.kept[n]) for n in index)
        elif len(index):
            policy = self._met([rows.parts[n] for n in index]).in_game(self.game)
            yield from (behaviors for _, behaviors in policy.components())

    def _met(self, parts: Sequence[Sequence[Floats]]) -> CorrelatedPolicy:
        """The policy with these components, over the infosets that the players have met."""
        assert isinstance(self.play, (EnvironmentPlay, EnvironmentJointPlay))
        return policy_of(str(self.play.env.name), parts, self.play.trees)

    def _measure(self) -> Measured | None:
        """Gaps and values of all players, if they are known."""
        return None if self.meter is None else self.meter.measure()

    def _seen(self) -> tuple[Seen, tuple[float, ...]]:
        """What the plays of an environment have shown, and running values."""
        play = self.play
        assert isinstance(play, (EnvironmentPlay, EnvironmentJointPlay))
        values, margins, _ = play.recent.values()
        known = play.recent.coverage
        full = play.is_full and (not isinstance(play, JointPlay) or play.given_up)
        lower, upper = self._bounds_now()
        return Seen(play.n_infosets, play.n_bytes, margins, full, known, lower, upper), values

    def _bounds_now(self) -> tuple[float | None, float | None]:
        """Bounds on the gap of the mixture of this moment, if it is time for them.

        The plays are made for this mixture and never seen by a learner. Which checkpoints have
        bounds depends on their numbers alone, so that a run that is resumed has the same.
        """
        fresh, at = self.fresh, self.play.iteration
        if fresh is None or not fresh.checkpoint or self.meter is not None:
            return None, None
        if not self.steps.has_doubled or (policy := self.steps.mixture()) is None:
            return None, None
        seed = seed_for(f"certificate at iteration {at}", self.request.seed)
        try:
            with doing("bounding the gap at a checkpoint by fresh plays"):
                found = bounded_by_play(
                    fresh.env, policy, self.request.notion, fresh.checkpoint, CONFIDENCE, seed,
                    fresh.where, self.request.feedback, None, self.request.memory,
                )  # fmt: skip
        except BudgetError:
            return None, None
        gap = found[self.request.notion]
        return gap.lower, gap.upper


def _with_bounds(
    history: tuple[Checkpoint, ...], certified: Certificate | None
) -> tuple[Checkpoint, ...]:
    """The history, whose last entry has the bounds of the result."""
    if certified is None or not history or (seen := history[-1].seen) is None:
        return history
    (gap,) = certified.gaps
    last = replace(history[-1], seen=replace(seen, lower=gap.lower, upper=gap.upper))
    return (*history[:-1], last)


def on_simulator(
    game: Game, request: LearnRequest, start: WarmStart | None = None
) -> tuple[SimulatorPlay | SimulatorJointPlay, Components]:
    """The learners on a compiled simulator of ``game``, and the components to save."""
    form, minimizer = sequence_form(game), request.minimizer
    if request.is_joint:
        _check_decisions(sum(plex.n_infosets for plex in form.plexes))
        saved = max(ROUND_COMPONENTS, request.components or FINAL_COMPONENTS)
        method = SAMPLED_METHODS[SAMPLED_DEFAULT].config
        needed = joint_memory(form, request.k, method, components=saved, own=2 * OWN_COMPONENTS)
        check_run(f"learning {game.name} at k = {request.notion.written}", needed)
        joint = SimulatorJointPlay(form, request.k, np.random.default_rng(request.seed))
        joint.own, joint.planned = _beside_simulator(joint, request), request.episodes
        return joint, JointMixture(saved, vectors_of(form.plexes), follow=joint.follow)
    assert request.exploration is not None
    shared, own = count_episodes(form.plexes, request.k, minimizer, request.exploration)
    iterations = request.episodes // max(1, shared + sum(own))
    components, averages = _affordable(form.plexes, request) if any(own) else (1, 1)
    needed = learn_memory(form, request.k, minimizer, components=components, iterations=iterations)
    check_run(f"learning {game.name} at k = {request.notion.written}", needed)
    play = SimulatorPlay(
        form, request.k, request.episodes, np.random.default_rng(request.seed),
        method=minimizer, exploration=request.exploration, start=start,
    )  # fmt: skip
    iterations = _checked_iterations(play.episodes_per_iteration, request.episodes)
    play.averages = averages
    vectors = vectors_of(form.plexes)
    planned = None if request.seconds is not None else iterations
    kept = Components(components, vectors, iterations=planned, averages=averages)
    return play, kept


def _beside_simulator(joint: SimulatorJointPlay, request: LearnRequest) -> OwnShare:
    """The players who learn for themselves beside the joint learner."""
    form = joint.form
    rng = np.random.default_rng(seed_for("players beside a joint learner", request.seed))
    play = SimulatorPlay(form, request.k, request.episodes, rng)
    joint.watch(play)
    components, play.averages = _affordable(form.plexes, request)
    wanted = min(OWN_COMPONENTS, components or OWN_COMPONENTS)
    kept = Components(wanted, vectors_of(form.plexes), averages=play.averages)
    return OwnShare(play, kept, lambda index: list(form.split(kept.matrix.kept[index])))


def _beside_environment(
    joint: EnvironmentJointPlay, request: LearnRequest, memory: int | None, executor: Executor
) -> OwnShare:
    """The players who learn for themselves beside the joint learner."""
    play = EnvironmentPlay(
        joint.env, request.k, request.seed, episodes=request.episodes, memory=memory,
        executor=executor,
    )  # fmt: skip
    joint.watch(play)
    wanted = min(OWN_COMPONENTS, request.components or OWN_COMPONENTS)
    kept = Components(wanted, averages=play.averages, most_bytes=memory)

    def placed(index: Sequence[int]) -> list[Floats]:
        assert isinstance(kept.rows, Ragged)
        return joint.placed(play.trees, [kept.rows.parts[n] for n in index])

    return OwnShare(play, kept, placed)


def in_environment(
    env: Environment,
    request: LearnRequest,
    plexes: Sequence[Treeplex] | None,
    where: Venue,
    start: WarmStart | None = None,
) -> tuple[EnvironmentPlay | EnvironmentJointPlay, Components]:
    """The learners in an environment, and the components to save.

    The infosets are met on the way, unless ``plexes`` has them.
    """
    half = None if request.memory is None else request.memory // 2
    if request.is_joint:
        quarter = None if half is None else half // 2
        executor = where.executor(env, request.seed)
        joint = EnvironmentJointPlay(
            env, request.k, request.seed, memory=quarter, executor=executor
        )
        joint.own = _beside_environment(joint, request, quarter, executor)
        joint.planned = request.episodes
        return joint, JointMixture(request.components, follow=joint.follow)
    alone = where.is_here and getattr(env, "together", None) is None
    play = EnvironmentPlay(
        env, request.k, request.seed, episodes=request.episodes, method=request.minimizer,
        exploration=request.exploration, plexes=plexes, batch=request.batch, memory=half,
        executor=None if alone else where.executor(env, request.seed), start=start,
    )  # fmt: skip
    iterations = _checked_iterations(play.episodes_per_iteration, request.episodes)
    kept = Components(
        request.components,
        iterations=None if request.seconds is not None else iterations,
        averages=min(FEW, play.averages),
        most_bytes=half,
    )
    return play, kept


def _check_decisions(count: int) -> None:
    """Refuse a game in which nobody decides."""
    if not count:
        raise ArgumentError("the game must have a decision to learn, but no player has one")


def _checked_iterations(each: int, episodes: int) -> int:
    """How many iterations of ``each`` episodes there are."""
    _check_decisions(each)
    if each > episodes:
        raise ArgumentError(
            f"episodes must be at least {each}, enough for one iteration; got {episodes}; play "
            "more, or try a smaller k"
        )
    return episodes // each


def _affordable(plexes: Sequence[Treeplex], request: LearnRequest) -> tuple[int | None, int]:
    """How many components to save, and how many iterates each of them averages.

    An iterate costs as much as the episodes that visit as many infosets. If each component averages
    several, iterates in total may cost half of the episodes, and those beyond the first few of a
    component a tenth; components come first.
    """
    method = SAMPLED_METHODS[SAMPLED_DEFAULT].config if request.is_joint else request.minimizer
    most = method.sampling.averages
    if most == 1:
        return request.components, 1
    visits = request.episodes * sum(plex.horizon for plex in plexes)
    affordable = visits // (2 * sum(plex.n_infosets for plex in plexes))
    components = request.components
    if components is None:
        components = default_components(sum(plex.n_sequences for plex in plexes))
        components = min(components, max(FEWEST_COMPONENTS, affordable))
    few, many = min(FEW, affordable // components), affordable // (5 * components)
    return components, max(1, min(most, max(few, many)))


class _Ending:
    """The end of a run: fresh plays in an environment, which take as long as episodes."""

    def __init__(self, run: LearningRun) -> None:
        self.run, self.each = run, 0.0

    def estimate(self) -> None:
        """How long an episode takes, learning included."""
        episodes = self.run.play.iteration * self.run.each
        self.each = self.run.loop.seconds() / episodes if episodes else 0.0

    def reserve(self, step: float) -> float:
        """The seconds for the plays that measure the result."""
        fresh = self.run.fresh
        if fresh is None or self.run.meter is not None:
            return 2.0 * step
        return CAUTION * self.each * (fresh.values + fresh.plays) + step


class _Meter:
    """The exact gaps and values of the uniform mixture of the components kept so far.

    Each component is measured once, unless they have been thinned in between. ``placed`` yields
    the behaviors of all players for each of the components with these numbers.
    """

    def __init__(
        self,
        form: SequenceForm,
        k: NotionLike,
        components: Components,
        placed: Callable[[Sequence[int]], Iterable[Sequence[Floats]]],
    ) -> None:
        self.meter, self.components, self.placed = MixtureMeter(form, k), components, placed
        self.measured, self.thinnings = 0, components.thinnings

    def measure(self) -> Measured | None:
        """Gaps and values of all players, or ``None`` if nothing has been kept."""
        if self.components.thinnings != self.thinnings:
            self.meter.forget()
            self.measured, self.thinnings = 0, self.components.thinnings
        self._observe(range(self.measured, self.components.count))
        self.measured = self.components.count
        return self.meter.measured() if self.measured else None

    def measure_selected(self) -> Measured:
        """Gaps and values of the components that are saved."""
        index = self.components.selection()
        if len(index) < self.components.count:
            self.meter.forget()
            self._observe(index.tolist())
        else:
            self.measure()
        return self.meter.measured()

    def _observe(self, index: Sequence[int]) -> None:
        for behaviors in self.placed(index):
            self.meter.observe(behaviors)
