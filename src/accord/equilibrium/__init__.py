"""Correlated policies, their exact gaps, tables of plans, and files."""

from accord._lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __file__)
