"""Certificates: exact gaps with witnesses of a known game, bounds from fresh plays of any."""

from accord._lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __file__)
