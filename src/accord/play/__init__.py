"""What can be played: compiled simulators, environments, workers, discovery, rollouts."""

from accord._lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __file__)
