"""Infosets made of observations: all that a player was shown at her own moves, and what she did.

What others call an observation may forget; an infoset must not. The history of a player's own
observations and actions has perfect recall by construction.
"""

from __future__ import annotations

from hashlib import sha256

LONGEST_HISTORY = 1000
"""Characters of a history that are written out in a label; longer ones are hashed."""


def history_after(infoset: str, action: str) -> str:
    """What stands before the next observation in the label of the next own infoset."""
    history = f"{infoset} / action {action} / "
    return f"{digest(history.encode())} / " if len(history) > LONGEST_HISTORY else history


def digest(content: bytes) -> str:
    """A short name for something long."""
    return sha256(content).hexdigest()[:32]
