"""The list of methods: complete, consistent, and the only place where methods are named."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import accord
from accord.errors import ArgumentError
from accord.game.library import kuhn
from accord.learning.balanced_kefr import BalancedKEFR
from accord.learning.kefr import KEFR
from accord.learning.whole_plays import WholePlayKEFR
from accord.regret.methods import (
    AVERAGING,
    METHODS,
    SAMPLED_METHODS,
    Methods,
    configured,
    described,
    find_method,
)
from accord.regret.state import recommend
from accord.treeplex.form import sequence_form
from tests.support.resuming import resume

SOURCES = Path(accord.__file__).parent
BOTH = [(METHODS, name) for name in METHODS] + [(SAMPLED_METHODS, name) for name in SAMPLED_METHODS]


@pytest.mark.parametrize(("methods", "name"), BOTH)
def test_a_name_stands_for_one_frozen_configuration(methods: Methods, name: str) -> None:
    method = methods[name]
    assert method.config.name == method.name == name
    assert type(method.config).__name__ == method.kind
    assert method.averaging in AVERAGING
    assert configured(methods, name) is configured(methods, method.config) is method.config
    with pytest.raises(dataclasses.FrozenInstanceError):
        method.config.extra = 1
    assert getattr(accord.regret, method.kind) is type(method.config)  # users can configure it
    assert f"{name} ({method.purpose})" in described(methods)


@pytest.mark.parametrize(("methods", "name"), BOTH)
def test_a_schedule_is_plain_numbers(methods: Methods, name: str) -> None:
    """What kernels get is a NamedTuple of its own type, so that each has its own kernel."""
    plex = sequence_form(kuhn()).plexes[0]
    kinds: list[Any] = [KEFR]
    if methods is SAMPLED_METHODS:
        kinds = [WholePlayKEFR if methods[name].config.whole_plays else BalancedKEFR]
    learner = kinds[0](plex, 1, name, iterations=10)
    for value in learner.schedule._asdict().values():
        assert isinstance(value, (bool, int, float, np.ndarray))


def test_unknown_methods_and_options_are_refused() -> None:
    with pytest.raises(ArgumentError, match=re.escape(f"{', '.join(METHODS)}; got 'cfr'")):
        find_method(METHODS, "cfr")
    with pytest.raises(
        ArgumentError, match=r"a configured .*WRHedge, or a minimizer of your own; got 3"
    ):
        configured(METHODS, 3)
    with pytest.raises(ArgumentError, match=r"a configured .*, or a minimizer of your own; got"):
        configured(SAMPLED_METHODS, METHODS["rm"].config)
    with pytest.raises(ArgumentError, match="dcfr has no learning rate; leave it out"):
        METHODS["dcfr"].configured(learning_rate=0.1)


def test_no_other_module_lists_methods() -> None:
    """A new method touches its own file and its entry: nobody else spells out two names."""
    names = "|".join(re.escape(name) for name in (*METHODS, *SAMPLED_METHODS))
    listed = re.compile(rf'"(?:{names})",\s*"(?:{names})"')
    for path in SOURCES.rglob("*.py"):
        if path.name != "methods.py":
            code = re.sub(r'"""(?:.|\n)*?"""', "", path.read_text())
            assert not listed.search(code), path


@pytest.mark.parametrize("name", METHODS)
def test_solving_with_a_configuration_is_solving_with_its_name(name: str) -> None:
    config = METHODS[name].configured(anytime=True if METHODS[name].takes("anytime") else None)
    one, other = (
        accord.solve(kuhn(), 1, method=m, seconds=60, target_gap=0.5) for m in (name, config)
    )
    assert one.player_gaps == other.player_gaps
    assert one.method == other.method == name


def test_a_configured_minimizer_is_kept_with_its_run(tmp_path: Path) -> None:
    """The request holds its options, so the run resumes with them."""
    game, method = kuhn(), accord.regret.DiscountedRegretMatching(alpha=2.0, beta=0.5)
    whole = accord.solve(game, 1, method=method, iterations=80)
    accord.solve(game, 1, method=method, iterations=40, folder=tmp_path / "run")
    part = resume(game, tmp_path / "run", iterations=80)
    assert part.player_gaps == whole.player_gaps
    plain = accord.solve(game, 1, method="dcfr", iterations=80)
    assert plain.player_gaps != whole.player_gaps
    scaled = accord.regret.SWRHedge(scale=3.0)
    played = accord.learn(game, 1, episodes=4000, method=scaled)
    accord.learn(game, 1, episodes=2000, method=scaled, folder=tmp_path / "learned")
    with pytest.raises(ArgumentError, match="learning_rate_scale needs a named method"):
        accord.learn(game, 1, episodes=2000, method=scaled, learning_rate_scale=2.0)
    assert played.method == "swrhedge"


def test_what_the_names_stand_for() -> None:
    """Written out once more, so that a default cannot change unnoticed."""
    assert METHODS["prm+"].config == accord.regret.RegretMatching(
        plus=True, predictive=True, decay=0.2
    )
    assert METHODS["rm+"].config == accord.regret.RegretMatching(
        plus=True, predictive=False, decay=0.0
    )
    assert METHODS["rm"].config == accord.regret.RegretMatching(
        plus=False, predictive=False, decay=0.0
    )
    assert METHODS["dcfr"].config == accord.regret.DiscountedRegretMatching(alpha=1.5, beta=0.0)
    assert METHODS["wrhedge"].config == accord.regret.WRHedge(learning_rate=None, scale=1.0)
    averaging = {name: method.averaging for name, method in METHODS.items()}
    assert averaging["prm+"] == averaging["dcfr"] == "quadratic"
    assert (averaging["rm+"], averaging["rm"], averaging["wrhedge"]) == (
        "linear", "uniform", "uniform",
    )  # fmt: skip
    assert SAMPLED_METHODS["swrhedge"].config == accord.regret.SWRHedge(None, 1.0, 0.05)
    assert SAMPLED_METHODS["prm"].config == accord.regret.SampledRegretMatching(
        window=1.0, longest=100.0, shared=1, follow=0.05, baseline_rate=0.05, trace=0.5, averages=64
    )
    assert SAMPLED_METHODS["rm"].config == accord.regret.SampledRegretMatching(window=0.0)


def test_a_missing_kernel_is_named_before_compiling() -> None:
    class Schedule(NamedTuple):
        rate: float

    with pytest.raises(TypeError, match=r"decorate one with @recommend.kernel_for\(Schedule\)"):
        recommend.check(Schedule(1.0))
