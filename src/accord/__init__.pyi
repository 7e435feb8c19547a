"""The public names of Accord and the modules they live in.

This is the only list. Type checkers read it, and ``__init__.py`` imports each name from its module
when it is first used. To publish a name, add one line here and an entry in ``docs/reference``.
"""

from accord._arrays import CHANCE as CHANCE
from accord._arrays import NO_INFOSET as NO_INFOSET
from accord._arrays import NO_NODE as NO_NODE
from accord._arrays import TERMINAL as TERMINAL
from accord.deviations.counting import count_rechistories as count_rechistories
from accord.deviations.modification import Modification as Modification
from accord.deviations.rechistory import RechistoryTree as RechistoryTree
from accord.equilibrium.certificate import Certificate as Certificate
from accord.equilibrium.certificate import certify as certify
from accord.equilibrium.correlated import CorrelatedPolicy as CorrelatedPolicy
from accord.equilibrium.device import Device as Device
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
from accord.errors import SimulatorError as SimulatorError
from accord.errors import SweepError as SweepError
from accord.game.builder import GameBuilder as GameBuilder
from accord.game.library import library_device as library_device
from accord.game.library import matrix_game as matrix_game
from accord.game.pomg import POMG as POMG
from accord.game.tree import Game as Game
from accord.interop.efg import read_efg as read_efg
from accord.interop.efg import write_efg as write_efg
from accord.interop.load import load_game as load_game
from accord.interop.openspiel import load_openspiel as load_openspiel
from accord.interop.openspiel_env import OpenSpielEnvironment as OpenSpielEnvironment
from accord.interop.openspiel_games import openspiel_game as openspiel_game
from accord.interop.openspiel_policies import components_to_device as components_to_device
from accord.interop.openspiel_policies import from_openspiel as from_openspiel
from accord.interop.openspiel_policies import to_openspiel as to_openspiel
from accord.interop.pettingzoo import PettingZooEnvironment as PettingZooEnvironment
from accord.learning.balanced_kefr import BalancedKEFR as BalancedKEFR
from accord.learning.kefr import KEFR as KEFR
from accord.learning.plan import Plan as Plan
from accord.learning.plan import plan as plan
from accord.learning.whole_plays import WholePlayKEFR as WholePlayKEFR
from accord.mediator.mediator import Mediator as Mediator
from accord.play.discovery import discover as discover
from accord.play.environment import Environment as Environment
from accord.regret.discounted import DiscountedRegretMatching as DiscountedRegretMatching
from accord.regret.regret_matching import RegretMatching as RegretMatching
from accord.regret.sampled_matching import SampledRegretMatching as SampledRegretMatching
from accord.regret.swrhedge import SWRHedge as SWRHedge
from accord.regret.wrhedge import WRHedge as WRHedge
from accord.runs.checkpoint import Checkpoint as Checkpoint
from accord.runs.learn import learn as learn
from accord.runs.learn import resume_learn as resume_learn
from accord.runs.learn_env import learn_env as learn_env
from accord.runs.optimize import optimize as optimize
from accord.runs.optimize import resume_optimize as resume_optimize
from accord.runs.region import PayoffPolygon as PayoffPolygon
from accord.runs.region import Region as Region
from accord.runs.region import RegionProgress as RegionProgress
from accord.runs.region import RegionVertex as RegionVertex
from accord.runs.region import region as region
from accord.runs.result import Learned as Learned
from accord.runs.result import LearnedByPlay as LearnedByPlay
from accord.runs.result import Optimum as Optimum
from accord.runs.result import Solution as Solution
from accord.runs.solve import resume_solve as resume_solve
from accord.runs.solve import solve as solve
from accord.runs.sweep import sweep as sweep
from accord.treeplex.form import SequenceForm as SequenceForm
from accord.treeplex.form import sequence_form as sequence_form
from accord.treeplex.leaves import LeafTable as LeafTable
from accord.treeplex.strategy import random_behavior as random_behavior
from accord.treeplex.treeplex import Treeplex as Treeplex
from accord.treeplex.values import immediate_loss as immediate_loss
from accord.treeplex.values import joint_reach as joint_reach

__version__: str
