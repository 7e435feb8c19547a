"""The registry of regret minimizers.

``solve``, ``learn``, the command line, sweeps, the documentation and the benchmarks take names,
configurations, default averaging and descriptions from here. To add a method, write its file in
``regret/`` (a frozen configuration, its schedule, its kernels) and add one entry here.

A method's module is imported when the method is first used, so the command line can list the
methods without delay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import Any

from accord.errors import ArgumentError

AVERAGING = {"uniform": 0, "linear": 1, "quadratic": 2}
"""Ways to weight iterates: iterate t has weight t to this power."""


@dataclass(frozen=True)
class Method:
    """A named regret minimizer."""

    name: str  # in solve, learn, files and on the command line
    module: str  # in this package
    kind: str  # its configuration, a frozen dataclass in that module
    purpose: str  # a short description
    averaging: str = "uniform"  # how iterates are weighted by default
    options: Mapping[str, Any] = field(default_factory=dict)  # overrides of the kind's defaults

    @cached_property
    def config(self) -> Any:
        """The configuration, with the method's options."""
        return getattr(import_module(f"accord.regret.{self.module}"), self.kind)(**self.options)

    def takes(self, option: str) -> bool:
        """Whether the configuration has a field of this name."""
        return any(known.name == option for known in fields(self.config))

    def configured(self, **options: Any) -> Any:
        """The configuration, with every option replaced that is not None.

        Raises:
            ArgumentError: If the method has no such option.
        """
        given = {name: value for name, value in options.items() if value is not None}
        for name in given:
            if not self.takes(name):
                raise ArgumentError(f"{self.name} has no {name.replace('_', ' ')}; leave it out")
        return replace(self.config, **given)


Methods = Mapping[str, Method]


def _by_name(*methods: Method) -> Methods:
    return {method.name: method for method in methods}


METHODS: Methods = _by_name(
    Method("prm+", "regret_matching", "RegretMatching",
           "predictive regret matching plus, usually the fastest",
           averaging="quadratic", options={"decay": 0.2}),
    Method("rm+", "regret_matching", "RegretMatching", "regret matching plus",
           averaging="linear", options={"predictive": False}),
    Method("rm", "regret_matching", "RegretMatching", "regret matching",
           options={"plus": False, "predictive": False}),
    Method("dcfr", "discounted", "DiscountedRegretMatching", "discounted regret matching",
           averaging="quadratic"),
    Method("wrhedge", "wrhedge", "WRHedge", "the paper's method, with its guarantee"),
)  # fmt: skip
"""Minimizers for full feedback, the default first.

Compared with decay 0 at equal iterations and K = 1, the decay of ``prm+`` reduced the gap by a
factor of 3 on Leduc and of over 100 on Sheriff; three-player Kuhn does better with decay 0.
"""

SAMPLED_METHODS: Methods = _by_name(
    Method("prm", "sampled_matching", "SampledRegretMatching",
           "predictive regret matching on whole plays, usually the best"),
    Method("rm", "sampled_matching", "SampledRegretMatching",
           "regret matching on whole plays", options={"window": 0.0}),
    Method("swrhedge", "swrhedge", "SWRHedge", "the paper's method, with its guarantee"),
)  # fmt: skip
"""Minimizers for sampled losses, the default first."""

OWN: dict[tuple[int, str], Method] = {}
"""Minimizers that users have passed, by the registry that they belong beside, and their names."""

DEFAULT, SAMPLED_DEFAULT = next(iter(METHODS)), next(iter(SAMPLED_METHODS))


def find_method(methods: Methods, name: str) -> Method:
    """The method called ``name``.

    Raises:
        ArgumentError: If there is no such method.
    """
    if isinstance(name, str) and name not in methods and (id(methods), name) in OWN:
        return OWN[id(methods), name]
    if not isinstance(name, str) or name not in methods:
        raise ArgumentError(
            f"method must be one of {', '.join(methods)}; got {name!r}; to resume a run with a "
            "minimizer of your own, pass it again"
        )
    return methods[name]


def configured(methods: Methods, method: Any) -> Any:
    """The configuration of the method called ``method``, or ``method`` itself if it is one.

    A configuration that is not in the registry is a minimizer of the user's own. From then on it is
    known by its name.

    Raises:
        ArgumentError: If ``method`` is neither a name nor a configuration.
    """
    if isinstance(method, str):
        return find_method(methods, method).config
    kinds = {known.kind for known in methods.values()}
    name: Any = getattr(method, "name", None)
    if type(method).__name__ in kinds and name in methods:
        return method
    if isinstance(method, type) or not isinstance(name, str) or not is_dataclass(method):
        lacking = "is not a frozen dataclass with a name"
    else:
        missing = [one for one in _needed(methods) if not hasattr(method, one)]
        lacking = f"lacks {', '.join(missing)}" if missing else ""
    if lacking:
        raise ArgumentError(
            f"method must be one of {', '.join(methods)}, a configured "
            f"{', '.join(sorted(kinds))}, or a minimizer of your own; got {method!r}, which "
            f"{lacking}"
        )
    if name in methods:
        raise ArgumentError(
            f"a minimizer of your own needs a name of its own; {name!r} is that of "
            f"{methods[name].kind}"
        )
    own = Method(name, "", type(method).__name__, "of your own")
    vars(own)["config"] = method
    OWN[id(methods), name] = own
    return method


def _needed(methods: Methods) -> tuple[str, ...]:
    """The attributes that a minimizer of this registry must have."""
    if methods is METHODS:
        return ("schedule", "keeps_credit")
    return ("schedule", "whole_plays", "explorations", "sampling", "node", "numbers_per_cell")


def described(methods: Methods) -> str:
    """All names with their purposes, for help texts."""
    return ", ".join(f"{method.name} ({method.purpose})" for method in methods.values())
