"""K, rechistories and modifications: what a deviator remembers and may do."""

from accord._lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __file__)
