"""Draws that depend on a secret key and a place, never on the order in which they are made.

A *key* is 32 secret bytes. ``derive(key, place)`` is another key, HMAC-SHA-256 of the place. It
says nothing about ``key`` and nothing about the keys of other places. Each play has a key, each
player's key is derived from it, and a draw at an infoset is made with a key derived from the
player's. So there is one stream per play, player and infoset: whoever asks first changes nothing
for the others, the same draw can be made again, and whoever knows one player's key cannot compute
the draws of another.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import SupportsIndex

import numpy as np

from accord._arrays import Floats
from accord._check import checked_seed
from accord._draws import drawn_from

KEY_BYTES = 32


def new_key(seed: SupportsIndex | np.random.Generator | None = None) -> bytes:
    """A key from a seed, or one that nobody can guess.

    Raises:
        ArgumentError: If ``seed`` is neither a whole number, 0 or more, nor a generator.
    """
    if seed is None:
        return secrets.token_bytes(KEY_BYTES)
    return derive(bytes(KEY_BYTES), f"seed {checked_seed(seed)}")


def derive(key: bytes, place: str) -> bytes:
    """The key of a place."""
    return hmac.digest(key, place.encode(), hashlib.sha256)


def draw(probabilities: Floats, key: bytes) -> int:
    """The index drawn with this key; never one of probability 0."""
    uniform = (int.from_bytes(key[:8], "big") >> 11) / 2**53  # in [0, 1)
    return drawn_from(probabilities.tolist(), uniform)


def uniforms(key: bytes, count: int) -> Floats:
    """``[count]`` numbers in [0, 1) that this key draws, by SHAKE-256."""
    drawn = np.frombuffer(hashlib.shake_256(key).digest(8 * count), ">u8")
    return np.asarray((drawn >> np.uint64(11)) / 2**53)
