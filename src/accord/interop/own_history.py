"""Infosets made of observations: the history of a player's own observations and actions.

A single observation may leave out what the player knew before; an infoset must not. The whole
history gives perfect recall by construction.
"""

from __future__ import annotations

from hashlib import sha256

LONGEST_HISTORY = 1000
"""The longest history, in characters, that a label contains in full; longer ones are hashed."""


def history_after(infoset: str, action: str) -> str:
    """The part of the player's next infoset label that precedes the next observation.

    Different histories have different labels, because neither ``action`` nor the observations in
    ``infoset`` contain " / ", once they have been :func:`escaped`.
    """
    history = f"{infoset} / action {escaped(action)} / "
    return f"{digest(history.encode())} / " if len(history) > LONGEST_HISTORY else history


def escaped(text: str) -> str:
    """``text`` with every slash doubled."""
    return text.replace("/", "//")


def digest(content: bytes) -> str:
    """A short hash of ``content``."""
    return sha256(content).hexdigest()[:32]
