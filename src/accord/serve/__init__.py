"""Plays with real people and programs: rooms, rounds, pages, and seats for programs."""

from accord._lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __file__)
