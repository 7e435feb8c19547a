"""The inspector of a report: an inspection (``certifying/inspection.py``) as JSON for the page.

Nothing is computed here. Numbers are rounded to seven digits, and as many infosets are kept as fit
into a page.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Floats
from accord.certifying.inspection import Inspection
from accord.deviations.notions import written_k
from accord.treeplex.treeplex import Treeplex

LARGEST_DATA = 100_000
"""The most numbers in one page: more than a megabyte of them helps nobody."""


def inspector_data(seen: Inspection, k: float | None) -> dict[str, Any]:
    """The data of the inspector as JSON: all players, and as many infosets as fit.

    If not everything fits, only the run's own ``k`` is kept, then the infosets that are reached
    most often. No infoset is reached more often than the one before it, so every infoset that is
    kept can be reached through infosets that are kept.
    """
    plexes, ks = seen.form.plexes, sorted(seen.deviators)
    if sum(int(_sizes(plex, ks).sum()) for plex in plexes) > LARGEST_DATA:
        ks = [one for one in ks if one == k] or ks
    sizes = [_sizes(plex, ks) for plex in plexes]
    share = LARGEST_DATA / max(1, sum(int(size.sum()) for size in sizes))
    players = []
    for i, size in enumerate(sizes):
        kept = np.arange(len(size))
        if share < 1:
            reach = np.array([seen.obedience[i].reach(x) for x in range(len(size))])
            order = np.argsort(-reach, kind="stable")
            kept = np.sort(order[np.cumsum(size[order]) <= share * int(size.sum())])
        players.append(_player_data(seen, i, ks, kept.tolist()))
    shown = next((one for one in ks if one == k), ks[-1] if ks else None)
    return {"k": None if shown is None else str(written_k(shown)), "players": players}


def _sizes(plex: Treeplex, ks: list[float]) -> NDArray[np.int64]:
    """``[n_infosets]`` how many numbers the page holds for each infoset."""
    n = plex.n_actions.astype(np.int64)
    return sum(((n**2 if k else n) + 3 * n for k in ks), start=np.zeros_like(n))


def _player_data(seen: Inspection, i: int, ks: list[float], kept: list[int]) -> dict[str, Any]:
    plex = seen.form.plexes[i]
    new_number = np.full(plex.n_infosets + 1, -1)
    new_number[kept] = np.arange(len(kept))
    sets: dict[tuple[str, ...], int] = {}
    infosets = []
    for x in kept:
        above = int(plex.seq_infoset[plex.parent_seq[x]])
        plan = seen.plan(i, x) if 0 in ks else None
        infosets.append(
            {
                "label": plex.infoset_labels[x],
                "actions": sets.setdefault(tuple(plex.action_labels[x]), len(sets)),
                "parent": int(new_number[above]),
                "via": int(plex.parent_seq[x] - plex.first_seq[above]) if above >= 0 else 0,
                "prob": _rounded(seen.prob(i, x)),
                "follow": _rounded(seen.follow(i, x)),
                "gain": {
                    str(written_k(k)): [_rounded(row) for row in seen.gain(k, i, x)]
                    for k in ks
                    if k
                },
                "plan": None if plan is None else _rounded(plan),
                "hidden": sum(
                    int(new_number[child] < 0)
                    for seq in range(int(plex.first_seq[x]), int(plex.first_seq[x + 1]))
                    for child in plex.children(seq)
                ),
            }
        )
    return {
        "label": seen.form.game.player_labels[i],
        "actions": [list(labels) for labels in sets],
        "infosets": infosets,
        "total": plex.n_infosets,
    }


def _rounded(values: Floats) -> list[float | None]:
    """Seven digits: what people read, in few bytes. NaN, for what never happens, becomes None."""
    return [None if math.isnan(value) else _round(value) for value in values.tolist()]


def _round(value: float) -> float:
    return float(f"{value:.7g}") if math.isfinite(value) else 0.0
