"""OpenSpiel, Gambit and PettingZoo, games by name; imported only when needed."""

from accord._lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __file__)
