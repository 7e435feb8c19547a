"""Correlated policies of library games, as plain data.

A device draws one pure policy per player before the game, and recommends its actions when infosets
are reached. It is the mediator of Section 2 of Song, Mei, Bai 2022. The data are a list of weighted
draws, each with one mapping per player from infoset labels to action labels. Weights are positive
and sum to one.
"""

from __future__ import annotations

from collections.abc import Mapping

Draws = tuple[tuple[float, tuple[Mapping[str, str], ...]], ...]
