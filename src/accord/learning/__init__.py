"""K-EFR with full feedback, from whole plays and as the paper's Balanced K-EFR, one learner at a
time or all players in self-play; bounds and plans."""

from accord._lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __file__)
