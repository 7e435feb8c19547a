"""The requests that runs are made from.

A request is checked when it is made and never changes. It is written to ``run.json`` as ``asked``
and read back from there: ``solve``, ``learn``, the run's folder and reports all see the same
object. When a run is resumed, only its limits may change.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields, replace
from types import UnionType
from typing import Any, ClassVar, Self, get_args, get_origin, get_type_hints

from accord._check import LARGEST_INT, checked_seed, checked_whole
from accord._format import fraction
from accord.certifying.exact import TREMBLE, checked_tremble
from accord.deviations.notions import Notion, as_notion, check_tree, outcome_notion
from accord.errors import ArgumentError
from accord.game.labels import committed, player_name
from accord.game.rationals import as_rational
from accord.learning.exploration import check_learnable, checked_exploration
from accord.learning.joint_play import JOINT_METHOD
from accord.learning.warm_start import check_startable
from accord.optimal.objective import WELFARE, Written, objective_text
from accord.play.feedback import FEEDBACKS, JOINT, OWN
from accord.regret.methods import (
    AVERAGING,
    DEFAULT,
    METHODS,
    SAMPLED_DEFAULT,
    SAMPLED_METHODS,
    Methods,
    configured,
    find_method,
)
from accord.regret.rates import LARGEST_RATE

DEFAULT_ITERATIONS = 1000

MOST_COMPONENTS = 10**7
"""Of a mixture; more than anybody could read, far fewer than numbers that overflow."""


@dataclass(frozen=True)
class Limits:
    """Limits of ``solve``, which ends at the first one reached; by default 1,000 iterations."""

    iterations: int | None = None
    target_gap: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        _whole_or_none(self, "iterations", 1)
        for name in ("target_gap", "seconds"):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value <= sys.float_info.max:
                raise ArgumentError(f"{name} must be non-negative and finite; got {value}")
        if self.target_gap == 0.0:
            raise ArgumentError(
                "target_gap must be positive; got 0: iterates only approach an equilibrium, and "
                "every gap has a rounding error; try 1e-6, or optimize for an exact equilibrium"
            )

    @property
    def given(self) -> bool:
        """Whether there is any limit."""
        return (self.iterations, self.target_gap, self.seconds) != (None, None, None)

    @property
    def total(self) -> int | None:
        """The largest number of iterations; ``None`` if something else ends the run."""
        return self.iterations if self.given else DEFAULT_ITERATIONS


class _Request:
    """Reading and writing, which all requests share."""

    command: ClassVar[str]
    LIMITS: ClassVar[tuple[str, ...]]  # may change when a run is resumed; the first are kept

    game: str
    k: float | str  # a K, or the name of another notion

    @property
    def notion(self) -> Notion:
        """The equilibrium notion of the run."""
        return as_notion(self.k)

    def _set_notion(self) -> None:
        """Write ``k`` in its usual form; refuse what no run can compute."""
        notion = self.notion
        if self.command != OptimizeRequest.command:  # which also reads normal forms
            check_tree(notion)
        object.__setattr__(self, "k", notion.written if notion.k is None else notion.k)

    @property
    def in_environment(self) -> bool:
        """Whether the run plays an environment."""
        return False

    @property
    def known_game(self) -> str | None:
        """The name or path that loads the game; None if the run does not know its game."""
        return self.game

    def continued(self, **limits: Any) -> Self:
        """This request with new limits, which replace all of the old; if all are None, as it is."""
        if all(value is None for value in limits.values()):
            return self
        return replace(self, **{name: limits.get(name) for name in self.LIMITS})  # type: ignore[type-var]

    def to_json(self) -> dict[str, Any]:
        """The entry ``asked`` of ``run.json``."""
        content = asdict(self)  # type: ignore[call-overload]
        return {**content, "k": self.notion.written}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_json` wrote; missing entries have their defaults.

        Raises:
            ArgumentError: If ``content`` is something else.
        """
        known = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]
        if unknown := sorted(content.keys() - known.keys()):
            raise ArgumentError(f"unknown entries: {', '.join(map(repr, unknown))}")
        needed = [name for name, field in known.items() if field.default is MISSING]
        if missing := [name for name in needed if name not in content]:
            raise ArgumentError(f"missing entries: {', '.join(map(repr, missing))}")
        notion = as_notion(content["k"])
        given = {**content, "k": notion.written if notion.k is None else notion.k}
        kinds = get_type_hints(cls)
        for name, value in given.items():
            if not _fits(value, kinds[name]):
                raise ArgumentError(f"{name!r} has a value of the wrong kind: {value!r:.80}")
        return cls(**given)


@dataclass(frozen=True)
class SolveRequest(_Request):
    """A run of :func:`accord.solve`; its docstring says what the fields mean."""

    command = "solve"
    LIMITS = ("iterations", "target_gap", "seconds")

    game: str  # the name or path that loads the game
    k: float | str
    method: str = DEFAULT
    iterations: int | None = None
    target_gap: float | None = None
    seconds: float | None = None
    components: int | None = None
    learning_rate: float | None = None
    averaging: str | None = None
    threads: int | None = None
    options: Mapping[str, Any] | None = None  # of a minimizer configured by hand

    def __post_init__(self) -> None:
        self._set_notion()
        _whole_or_none(self, "components", 1, MOST_COMPONENTS)
        _whole_or_none(self, "threads", 1)
        object.__setattr__(self, "iterations", self.limits.iterations)
        if self.averaging is not None and self.averaging not in AVERAGING:
            raise ArgumentError(
                f"averaging must be one of {', '.join(AVERAGING)}; got {self.averaging!r}"
            )
        _ = self.minimizer  # refuses options that do not fit

    @property
    def limits(self) -> Limits:
        """The limits of the first call."""
        return Limits(self.iterations, self.target_gap, self.seconds)

    @property
    def minimizer(self) -> Any:  # a Minimizer
        """The method, configured; a run of unknown length gets a learning rate for any length."""
        method = find_method(METHODS, self.method)
        if self.options is not None:
            given = {"learning_rate": self.learning_rate, **self.options}
            if self.learning_rate is not None and method.takes("learning_rate"):
                raise ArgumentError(
                    "give the learning rate once: as learning_rate, or in the configured minimizer"
                )
            return method.configured(**given)
        if self.learning_rate is None and self.iterations is None and method.takes("anytime"):
            return method.configured(anytime=True)
        return method.configured(learning_rate=self.learning_rate)

    @property
    def power(self) -> int:
        """Iterate t has weight t to this power."""
        return AVERAGING[self.averaging or find_method(METHODS, self.method).averaging]


@dataclass(frozen=True)
class LearnRequest(_Request):
    """A run of :func:`accord.learn`; its docstring says what the fields mean."""

    command = "learn"
    LIMITS = ("episodes", "seconds")

    game: str  # the name or path that loads the game
    k: float | str
    episodes: int
    seed: int = 0
    components: int | None = None
    method: str = SAMPLED_DEFAULT
    learning_rate_scale: float = 1.0
    exploration: str | None = None  # None: the method's default
    options: Mapping[str, Any] | None = None  # of a minimizer configured by hand
    batch: int = 1  # how often an iteration plays its episodes under the same policies
    environment: Mapping[str, Any] | None = None  # how to load it, if it is not a game
    known: str | None = None  # the name or path that loads the environment's game, if it was given
    memory: int | None = None  # bytes for tables and components in an environment
    feedback: str = OWN  # what the learners see of a play
    seconds: float | None = None  # limit of wall-clock time
    bounds: tuple[tuple[float, ...], ...] | None = (
        None  # (worst, best) payoffs of each player in an
    )
    # environment when the run began, by which its losses are measured
    estimated: bool = False  # whether these were estimated from plays
    start: str | None = None  # the digest of the policy that the learners started from

    def __post_init__(self) -> None:
        self._set_notion()
        if self.bounds is not None:
            object.__setattr__(self, "bounds", _checked_pairs(self.bounds))
        object.__setattr__(self, "episodes", checked_whole("episodes", self.episodes, 1))
        object.__setattr__(self, "batch", checked_whole("batch", self.batch, 1))
        object.__setattr__(self, "seed", checked_seed(self.seed))
        _whole_or_none(self, "components", 1, MOST_COMPONENTS)
        _whole_or_none(self, "memory", 1)
        _check_seconds(self.seconds)
        if self.environment is not None:
            _check_record(self.environment)
        if not 0.0 < self.learning_rate_scale <= LARGEST_RATE:
            raise ArgumentError(
                f"learning_rate_scale must be positive and at most {LARGEST_RATE:g}; "
                f"got {self.learning_rate_scale}"
            )
        if self.feedback not in FEEDBACKS:
            raise ArgumentError(
                f"feedback must be one of {', '.join(FEEDBACKS)}; got {self.feedback!r}"
            )
        if self.is_joint:
            self._refuse_for_joint()
            object.__setattr__(self, "method", JOINT_METHOD)
            return
        explorations = self.minimizer.explorations  # refuses options that do not fit
        explore = checked_exploration(explorations, self.exploration)
        check_learnable(self.notion, self.minimizer, explore)
        object.__setattr__(self, "exploration", explore)
        if self.start is not None:
            check_startable(self.minimizer, explore)

    @property
    def in_environment(self) -> bool:
        """Whether the run plays an environment."""
        return self.environment is not None

    @property
    def known_game(self) -> str | None:
        """The name or path that loads the game; None if the run does not know its game."""
        return self.known if self.in_environment else self.game

    @property
    def is_joint(self) -> bool:
        """Whether one learner sees all moves, instead of each player their own."""
        return self.feedback == JOINT

    def _refuse_for_joint(self) -> None:
        """Refuse what only players who learn for themselves have."""
        named = self.options is None and self.method in (SAMPLED_DEFAULT, JOINT_METHOD)
        given = {
            "method": None if named else self.method,
            "exploration": self.exploration,
            "learning_rate_scale": None if self.learning_rate_scale == 1.0 else 1,
            "batch": None if self.batch == 1 else self.batch,
            "start": self.start,
        }
        for name, value in given.items():
            if value is not None:
                raise ArgumentError(
                    f"{name} is for feedback='own', where each player learns for themselves; leave "
                    "it out, or give feedback='own'"
                )

    @property
    def minimizer(self) -> Any:  # a SampledMinimizer
        """The method, configured."""
        if self.is_joint:
            return METHODS[JOINT_METHOD].config
        method = find_method(SAMPLED_METHODS, self.method)
        if self.learning_rate_scale != 1.0 and (self.options or not method.takes("scale")):
            raise ArgumentError(
                f"learning_rate_scale needs a named method with a learning rate; got "
                f"{self.learning_rate_scale} for {self.method}"
            )
        if self.options is None and method.takes("scale"):
            return method.configured(scale=self.learning_rate_scale)
        return method.configured(**(self.options or {}))


@dataclass(frozen=True)
class OptimizeRequest(_Request):
    """A run of :func:`accord.optimize`; its docstring says what the fields mean."""

    command = "optimize"
    LIMITS = ("seconds",)
    method: ClassVar[str] = "column generation"

    game: str  # the name or path that loads the game
    k: float | str
    objective: Written = WELFARE
    minimize: bool = False
    target_gap: float = 0.0
    components: int | None = None
    credible: bool = False  # whether advice off the path must be
    tremble: float = TREMBLE
    seconds: float | None = None
    target: tuple[float, ...] | None = None  # the payoffs to keep
    commits: tuple[str, ...] = ()  # the players who commit
    at_least: Mapping[str, float] | None = None  # the least payoffs of some players

    @property
    def goal(self) -> str:
        """The objective as results have it, such as ``minimize player=row``."""
        return objective_text(self.objective, minimize=self.minimize)

    @property
    def conditions(self) -> str:
        """Who commits and who must get how much, as the end of a phrase: `` with ...``."""
        floors = (
            f"{player_name(who)} at least {fraction(as_rational(least))}"
            for who, least in (self.at_least or {}).items()
        )
        parts = [committed(self.commits).removeprefix(" with "), *floors]
        text = ", ".join(part for part in parts if part)
        return f" with {text}" if text else ""

    def __post_init__(self) -> None:
        notion = as_notion(self.k)
        if notion.linear:
            raise ArgumentError(
                "k must be a K, or 'efcce', 'afce', 'afcce' or 'nfce'; got 'lce', which can be "
                "certified but not computed; every LCE is an EFCE, so try k = 1: no LCE is better"
            )
        self._set_notion()
        if self.target is not None:
            object.__setattr__(self, "target", tuple(map(float, self.target)))
        object.__setattr__(self, "tremble", checked_tremble(self.tremble))
        if self.credible:
            self._check_credible(notion)
        object.__setattr__(self, "commits", tuple(self.commits))
        if self.at_least is not None:
            object.__setattr__(self, "at_least", dict(self.at_least) or None)
        _whole_or_none(self, "components", 1, MOST_COMPONENTS)
        for name in ("target_gap", "seconds"):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value <= sys.float_info.max:
                raise ArgumentError(f"{name} must be non-negative and finite; got {value}")

    def _check_credible(self, notion: Notion) -> None:
        """Refuse what has no meaning together with credible advice, or is not computed."""
        found = None
        if not self.tremble:
            found = "a tremble above 0, such as 0.01; got 0"
        elif outcome_notion(notion).k != 1:
            found = f"a K of at least 1, where off-path advice is heard; got {notion.written}"
        elif self.target_gap > 0:
            found = f"target_gap = 0, because only exact equilibria count; got {self.target_gap:g}"
        elif self.target is not None:
            found = "an objective to maximize; got payoffs to keep, whatever threats they need"
        if found is not None:
            raise ArgumentError(f"credible needs {found}")


def _check_seconds(seconds: float | None) -> None:
    if seconds is not None and not 0.0 <= seconds <= sys.float_info.max:
        raise ArgumentError(f"seconds must be non-negative and finite; got {seconds}")


def commits_of(request: _Request) -> tuple[str, ...]:
    """The players who commit in a run: none unless it optimized."""
    return request.commits if isinstance(request, OptimizeRequest) else ()


def _check_record(record: Mapping[str, Any]) -> None:
    """Refuse what does not say how to load an environment; empty if it was given as an object."""
    source, bounds, play = (record.get(name) for name in ("source", "payoff_bounds", "play"))
    pair = bounds is None or (
        isinstance(bounds, (list, tuple)) and len(bounds) == 2 and all(map(_is_finite, bounds))
    )
    known = not record.keys() - {"source", "payoff_bounds", "play", "history"}
    flags = all(isinstance(flag, bool) for flag in (play, record.get("history", False)))
    if record and not (known and isinstance(source, str) and flags and pair):
        raise ArgumentError(
            'environment must have a text "source", "payoff_bounds" that are null or two finite '
            'numbers, and "play" and, if there is one, "history", true or false'
        )


def _checked_pairs(bounds: Any) -> tuple[tuple[float, float], ...]:
    """The bounds of a request; they may come from a file."""
    pairs = tuple(map(tuple, bounds))
    if not all(len(pair) == 2 and all(map(_is_finite, pair)) for pair in pairs):
        raise ArgumentError("bounds must be pairs of finite numbers, one for each player")
    return tuple((float(worst), float(best)) for worst, best in pairs)


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and abs(value) <= sys.float_info.max


def split_method(methods: Methods, method: Any) -> dict[str, Any]:
    """``method`` and ``options`` of a request, from a name or a minimizer configured by hand."""
    if isinstance(method, str):
        return {"method": method}
    config = configured(methods, method)
    return {"method": config.name, "options": asdict(config)}


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value read from JSON is of the kind that a field is declared to have."""
    parts = get_args(kind)
    if get_origin(kind) is UnionType:
        return any(_fits(value, part) for part in parts)
    if get_origin(kind) is tuple:
        return isinstance(value, list) and all(_fits(one, parts[0]) for one in value)
    if kind in (int, float):
        known = isinstance(value, (int, float)) if kind is float else isinstance(value, int)
        return known and not isinstance(value, bool) and not math.isnan(value)
    return isinstance(value, get_origin(kind) or kind)


def _whole_or_none(request: Any, name: str, least: int, most: float = LARGEST_INT) -> None:
    """Check a field that is a whole number or None, and store it as an int."""
    value = getattr(request, name)
    if value is not None:
        object.__setattr__(request, name, checked_whole(name, value, least, most))
