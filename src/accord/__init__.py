"""Correlated equilibria of extensive-form games: computed, certified, explained.

    import accord

    game = accord.load_game("kuhn_poker")
    solution = accord.solve(game, k=1, iterations=1000)
    print(solution.gap)

The names below are the public interface. Each is imported when it is first used, so that
``import accord`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from accord.deviations.modification import Modification as Modification
    from accord.deviations.rechistory import RechistoryTree as RechistoryTree
    from accord.equilibrium.certificate import Certificate as Certificate
    from accord.equilibrium.certificate import certify as certify
    from accord.equilibrium.correlated import CorrelatedPolicy as CorrelatedPolicy
    from accord.equilibrium.files import load_policy as load_policy
    from accord.equilibrium.files import save_policy as save_policy
    from accord.equilibrium.gap import RegretMeter as RegretMeter
    from accord.errors import AccordError as AccordError
    from accord.errors import ArgumentError as ArgumentError
    from accord.errors import BudgetError as BudgetError
    from accord.errors import GameError as GameError
    from accord.errors import ImperfectRecallError as ImperfectRecallError
    from accord.errors import MediatorError as MediatorError
    from accord.errors import MismatchError as MismatchError
    from accord.errors import MissingDependencyError as MissingDependencyError
    from accord.errors import NumericalError as NumericalError
    from accord.errors import ParseError as ParseError
    from accord.errors import PolicyError as PolicyError
    from accord.errors import SweepError as SweepError
    from accord.game.builder import GameBuilder as GameBuilder
    from accord.game.pomg import POMG as POMG
    from accord.game.tree import Game as Game
    from accord.interop.efg import read_efg as read_efg
    from accord.interop.efg import write_efg as write_efg
    from accord.interop.load import load_game as load_game
    from accord.interop.openspiel import load_openspiel as load_openspiel
    from accord.interop.openspiel_env import OpenSpielEnvironment as OpenSpielEnvironment
    from accord.interop.pettingzoo import PettingZooEnvironment as PettingZooEnvironment
    from accord.learning.balanced_kefr import BalancedKEFR as BalancedKEFR
    from accord.learning.kefr import KEFR as KEFR
    from accord.learning.plan import Plan as Plan
    from accord.learning.plan import plan as plan
    from accord.mediator.mediator import Mediator as Mediator
    from accord.play.discovery import discover as discover
    from accord.play.environment import Environment as Environment
    from accord.regret.discounted import (
        DiscountedRegretMatching as DiscountedRegretMatching,
    )
    from accord.regret.regret_matching import RegretMatching as RegretMatching
    from accord.regret.sampled_matching import SampledRegretMatching as SampledRegretMatching
    from accord.regret.swrhedge import SWRHedge as SWRHedge
    from accord.regret.wrhedge import WRHedge as WRHedge
    from accord.runs.checkpoint import Checkpoint as Checkpoint
    from accord.runs.learn import learn as learn
    from accord.runs.learn import learn_env as learn_env
    from accord.runs.learn import resume_learn as resume_learn
    from accord.runs.result import Learned as Learned
    from accord.runs.result import LearnedByPlay as LearnedByPlay
    from accord.runs.result import Solution as Solution
    from accord.runs.solve import resume_solve as resume_solve
    from accord.runs.solve import solve as solve
    from accord.runs.sweep import sweep as sweep
    from accord.treeplex.form import SequenceForm as SequenceForm
    from accord.treeplex.form import sequence_form as sequence_form
    from accord.treeplex.leaves import LeafTable as LeafTable
    from accord.treeplex.treeplex import Treeplex as Treeplex

    __version__: str

_HOME = {
    "accord.errors": (
        "AccordError",
        "ArgumentError",
        "BudgetError",
        "GameError",
        "ImperfectRecallError",
        "MediatorError",
        "MismatchError",
        "MissingDependencyError",
        "NumericalError",
        "ParseError",
        "PolicyError",
        "SweepError",
    ),
    "accord.game.tree": ("Game",),
    "accord.game.builder": ("GameBuilder",),
    "accord.game.pomg": ("POMG",),
    "accord.interop.load": ("load_game",),
    "accord.interop.openspiel": ("load_openspiel",),
    "accord.interop.openspiel_env": ("OpenSpielEnvironment",),
    "accord.interop.pettingzoo": ("PettingZooEnvironment",),
    "accord.interop.efg": ("read_efg", "write_efg"),
    "accord.treeplex.treeplex": ("Treeplex",),
    "accord.treeplex.leaves": ("LeafTable",),
    "accord.treeplex.form": ("SequenceForm", "sequence_form"),
    "accord.deviations.rechistory": ("RechistoryTree",),
    "accord.deviations.modification": ("Modification",),
    "accord.regret.wrhedge": ("WRHedge",),
    "accord.regret.regret_matching": ("RegretMatching",),
    "accord.regret.discounted": ("DiscountedRegretMatching",),
    "accord.regret.swrhedge": ("SWRHedge",),
    "accord.regret.sampled_matching": ("SampledRegretMatching",),
    "accord.learning.kefr": ("KEFR",),
    "accord.learning.balanced_kefr": ("BalancedKEFR",),
    "accord.play.discovery": ("discover",),
    "accord.play.environment": ("Environment",),
    "accord.runs.checkpoint": ("Checkpoint",),
    "accord.runs.learn": ("learn", "learn_env", "resume_learn"),
    "accord.runs.result": ("Learned", "LearnedByPlay", "Solution"),
    "accord.runs.solve": ("resume_solve", "solve"),
    "accord.learning.plan": ("Plan", "plan"),
    "accord.runs.sweep": ("sweep",),
    "accord.equilibrium.correlated": ("CorrelatedPolicy",),
    "accord.equilibrium.files": ("load_policy", "save_policy"),
    "accord.equilibrium.gap": ("RegretMeter",),
    "accord.equilibrium.certificate": ("Certificate", "certify"),
    "accord.mediator.mediator": ("Mediator",),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [*_MODULE, "__version__"]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("accord")
    elif name in _MODULE:
        value = getattr(import_module(_MODULE[name]), name)
    else:
        raise AttributeError(f"module 'accord' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
