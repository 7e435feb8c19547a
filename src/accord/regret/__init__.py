"""Regret minimizers at one infoset, their kernels, and the registry of methods."""

from accord._lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __file__)
