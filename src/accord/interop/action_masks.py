"""Action masks: which of an agent's actions are legal, in an observation or in the info."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from accord.errors import GameError

MASK_KINDS = "biuf"
"""The kinds of arrays that a mask may be."""

REMEMBERED = 1 << 14
"""The most masks whose content is remembered."""


def given_mask(observation: Any, info: Any) -> Any:
    """The ``action_mask`` in the observation or in the info; None if there is none."""
    mask = observation.get("action_mask") if isinstance(observation, dict) else None
    return info.get("action_mask") if mask is None and isinstance(info, dict) else mask


def legal_actions(given: Any, count: int, name: str, agent: Any) -> range | tuple[int, ...]:
    """The actions that a mask allows, of ``count``; all of them if there is no mask.

    Raises:
        GameError: If it is not a mask for so many actions, or allows none.
    """
    if given is None:
        return range(count)
    mask = np.asarray(given)
    if mask.shape != (count,) or mask.dtype.kind not in MASK_KINDS:
        raise GameError(
            f"{name}: the action_mask of agent {agent} must have one number for each of its "
            f"{count} actions; got shape {mask.shape} of {mask.dtype}"
        )
    legal = _read_mask(mask.dtype, mask.tobytes())[1]
    if not legal:
        raise GameError(f"{name}: agent {agent} must have a legal action; its action_mask is all 0")
    return legal


def is_mask(value: Any) -> bool:
    """Whether the legal actions determine the array."""
    mask = np.asarray(value)
    numbers = mask.ndim == 1 and mask.dtype.kind in MASK_KINDS
    return numbers and _read_mask(mask.dtype, mask.tobytes())[0]


@lru_cache(REMEMBERED)
def _read_mask(dtype: np.dtype[Any], content: bytes) -> tuple[bool, tuple[int, ...]]:
    """Whether all entries are 0 or 1, and the places of those that are not 0."""
    mask = np.frombuffer(content, dtype)
    return bool(((mask == 0) | (mask == 1)).all()), tuple(np.flatnonzero(mask).tolist())
