"""One player's decision problem, the table of leaves, and policies and values as vectors."""

from accord._lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __file__)
