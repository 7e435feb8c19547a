"""The requests that runs are made from.

A request is checked when it is made and never changes. It is written to ``run.json`` as ``asked``
and read back from there: ``solve``, ``learn``, the run's folder and reports all see the same
object. When a run is resumed, only its limits may change.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from types import UnionType
from typing import Any, ClassVar, Self, get_args, get_origin, get_type_hints

from accord._check import checked_seed, checked_whole
from accord.deviations.notions import Notion, as_notion, checked_k
from accord.errors import ArgumentError
from accord.learning.exploration import checked_exploration
from accord.optimal.objective import WELFARE, Written, objective_text
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
            if value is not None and not 0.0 <= value < math.inf:
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
    def last_iteration(self) -> float:
        """The largest number of iterations; infinite if something else ends the run."""
        if self.iterations is not None:
            return self.iterations
        return math.inf if self.given else DEFAULT_ITERATIONS


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
    k: float
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
        object.__setattr__(self, "k", checked_k(self.k))
        for name in ("components", "threads"):
            _whole_or_none(self, name, 1)
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
        return AVERAGING[self.averaging or METHODS[self.method].averaging]


@dataclass(frozen=True)
class LearnRequest(_Request):
    """A run of :func:`accord.learn` or :func:`accord.learn_env`; they say what the fields mean."""

    command = "learn"
    LIMITS = ("episodes",)

    game: str  # the name or path that loads the game
    k: float
    episodes: int
    seed: int = 0
    components: int | None = None
    method: str = SAMPLED_DEFAULT
    learning_rate_scale: float = 1.0
    exploration: str | None = None  # None: the method's default
    options: Mapping[str, Any] | None = None  # of a minimizer configured by hand
    batch: int = 1  # how often an iteration plays its episodes under the same policies
    environment: Mapping[str, Any] | None = None  # how to load it, if it is not a game
    memory: int | None = None  # bytes for tables and components in an environment

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_k(self.k))
        object.__setattr__(self, "episodes", checked_whole("episodes", self.episodes, 1))
        object.__setattr__(self, "batch", checked_whole("batch", self.batch, 1))
        object.__setattr__(self, "seed", checked_seed(self.seed))
        _whole_or_none(self, "components", 1)
        _whole_or_none(self, "memory", 1)
        if not 0.0 < self.learning_rate_scale <= LARGEST_RATE:
            raise ArgumentError(
                f"learning_rate_scale must be positive and at most {LARGEST_RATE:g}; "
                f"got {self.learning_rate_scale}"
            )
        explorations = self.minimizer.explorations  # refuses options that do not fit
        explore = checked_exploration(explorations, self.exploration)
        object.__setattr__(self, "exploration", explore)

    @property
    def minimizer(self) -> Any:  # a SampledMinimizer
        """The method, configured."""
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
    seconds: float | None = None
    target: tuple[float, ...] | None = None  # the payoffs to keep

    @property
    def goal(self) -> str:
        """The objective as results have it, such as ``minimize player=row``."""
        return objective_text(self.objective, minimize=self.minimize)

    def __post_init__(self) -> None:
        notion = as_notion(self.k)
        if notion.foresight:
            raise ArgumentError(
                "k must be a K, or 'efcce', 'afce' or 'afcce'; got 'nfce', whose deviators see all "
                "recommendations before the play, which no small program describes; every NFCE is "
                "a BCE, so try k = infinity: no NFCE is better than the best BCE"
            )
        object.__setattr__(self, "k", notion.written if notion.k is None else notion.k)
        if self.target is not None:
            object.__setattr__(self, "target", tuple(map(float, self.target)))
        _whole_or_none(self, "components", 1)
        for name in ("target_gap", "seconds"):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value < math.inf:
                raise ArgumentError(f"{name} must be non-negative and finite; got {value}")


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


def _whole_or_none(request: Any, name: str, least: int) -> None:
    """Check a field that is a whole number or None, and store it as an int."""
    value = getattr(request, name)
    if value is not None:
        object.__setattr__(request, name, checked_whole(name, value, least))
