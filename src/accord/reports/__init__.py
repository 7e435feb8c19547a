"""A run as one HTML page, with plots; drawings of games, and what notebooks show."""

from accord._lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __file__)
