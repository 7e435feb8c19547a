"""The public names of ``accord.play`` and the modules they live in."""

from accord.play.game_env import GameEnvironment as GameEnvironment
from accord.play.rollout import Rollout as Rollout
