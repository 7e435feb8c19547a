"""A finite extensive-form game as flat arrays, validated, with a builder, POMGs and a library."""

from accord._lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __file__)
