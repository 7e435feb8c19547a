"""The public names of Accord and the modules they live in.

Type checkers read this list, and ``__init__.py`` imports each name from its module when it is first
used. It has what the guides use. Building blocks are public in their packages, which have lists of
their own. To publish a name, add one line to one list and an entry in ``docs/reference``.
"""

from accord import certifying as certifying
from accord import deviations as deviations
from accord import equilibrium as equilibrium
from accord import errors as errors
from accord import exports as exports
from accord import game as game
from accord import interop as interop
from accord import learning as learning
from accord import mediator as mediator
from accord import play as play
from accord import regret as regret
from accord import reports as reports
from accord import runs as runs
from accord import serve as serve
from accord import treeplex as treeplex
from accord._arrays import CHANCE as CHANCE
from accord._arrays import TERMINAL as TERMINAL
from accord.certifying.by_play import certify_by_play as certify_by_play
from accord.certifying.exact import certify as certify
from accord.equilibrium.policy import CorrelatedPolicy as CorrelatedPolicy
from accord.equilibrium.policy_files import load_policy as load_policy
from accord.equilibrium.policy_files import save_policy as save_policy
from accord.errors import AccordError as AccordError
from accord.game.builder import GameBuilder as GameBuilder
from accord.game.library import library_device as library_device
from accord.game.library import matrix_game as matrix_game
from accord.game.pomg import POMG as POMG
from accord.game.tree import Game as Game
from accord.interop.deviator_env import deviator_env as deviator_env
from accord.interop.load import load_game as load_game
from accord.interop.openspiel_env import OpenSpielEnvironment as OpenSpielEnvironment
from accord.interop.pettingzoo import PettingZooEnvironment as PettingZooEnvironment
from accord.interop.save import save_game as save_game
from accord.learning.theory.plan import plan as plan
from accord.mediator.mediator import Mediator as Mediator
from accord.mediator.referee import Referee as Referee
from accord.mediator.timing import timing as timing
from accord.play.discovery import discover as discover
from accord.play.environment import Environment as Environment
from accord.play.rollout import rollout as rollout
from accord.reports.write import report as report
from accord.runs.curve import curve as curve
from accord.runs.learn import learn as learn
from accord.runs.optimize import optimize as optimize
from accord.runs.region import region as region
from accord.runs.solve import solve as solve
from accord.runs.sweep import sweep as sweep
from accord.serve.client import seat as seat

__version__: str
