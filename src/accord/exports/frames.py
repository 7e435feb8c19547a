"""Results as pandas data frames, long and tidy: one row per observation.

The methods ``to_frame`` of policies, devices, certificates, results and regions call these
functions (``accord/_above.py``). pandas is imported only here.
"""

from __future__ import annotations

import dataclasses
import io
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from accord.certifying.certificate import Certificate
from accord.equilibrium.device import Device
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError, MissingDependencyError
from accord.runs.checkpoint import Checkpoint
from accord.runs.region import Region
from accord.runs.result import Displayed

OTHER = "other"
"""The index of the row for plans that are not listed."""


def policy_frame(policy: CorrelatedPolicy) -> Any:
    """One row per component, player, infoset and action."""
    pandas = _pandas()
    rows: dict[str, list[Any]] = {"player": [], "infoset": [], "action": []}
    for player, plex in zip(policy.player_labels, policy.plexes, strict=True):
        for label, actions in zip(plex.infoset_labels, plex.action_labels, strict=True):
            rows["player"] += [player] * len(actions)
            rows["infoset"] += [label] * len(actions)
            rows["action"] += actions
    size, count = len(rows["player"]), policy.n_components
    parts = [part[:, 1:] for part in policy.split(policy.behavior)]  # without empty sequences
    return pandas.DataFrame(
        {
            "component": np.repeat(np.arange(count), size),
            "weight": np.repeat(policy.weights, size),
            **{name: column * count for name, column in rows.items()},
            "probability": np.concatenate(parts, axis=1).ravel(),
        }
    )


def device_frame(device: Device) -> Any:
    """One row per plan and one column per infoset; plans that are not listed are one row."""
    pandas = _pandas()
    places = [(i, x) for i, infosets in enumerate(device.infosets) for x in infosets]
    rows: list[list[Any]] = [
        [plan.probability, *(plan.told[i].get(x) for i, x in places)] for plan in device.plans
    ]
    index: list[Any] = list(range(1, len(rows) + 1))
    if not device.is_complete:
        rows.append([device.rest, *(None for _ in places)])
        index.append(OTHER)
    names = [("probability", ""), *((device.players[i], x) for i, x in places)]
    columns = pandas.MultiIndex.from_tuples(names, names=["player", "infoset"])
    return pandas.DataFrame(rows, columns=columns, index=pandas.Index(index, name="plan"))


def certificate_frame(certificate: Certificate) -> Any:
    """One row per notion and player."""
    pandas = _pandas()
    rows = []
    for gap in certificate.all_gaps:
        words: list[str | None] = [str(witness) for witness in gap.witnesses]
        words = words or [None] * len(certificate.players)
        k = np.nan if gap.k is None else float(gap.k)
        ranges = zip(gap.player_gaps, gap.player_lower, gap.player_upper, strict=True)
        rows += [
            (gap.notion.name, k, label, *numbers, value, text)
            for label, numbers, value, text in zip(
                certificate.players, ranges, certificate.values, words, strict=True
            )
        ]
    columns = ["notion", "k", "player", "gap", "lower", "upper", "value", "deviation"]
    return pandas.DataFrame(rows, columns=columns)


def history_frame(result: Displayed) -> Any:
    """One row per checkpoint, with a column per player for gaps and for values."""
    return checkpoints_frame(result.history, result.policy.player_labels)


def checkpoints_frame(history: Sequence[Checkpoint], labels: Sequence[str]) -> Any:
    """One row per checkpoint of players with these labels."""
    return _pandas().DataFrame([_line(point, labels) for point in history])


def region_frame(region: Region) -> Any:
    """One row per polygon and vertex, with the payoffs of all players."""
    columns = [f"value of {label}" for label in region.game.player_labels]
    rows = [
        {
            "notion": polygon.notion.name,
            "k": np.nan if polygon.k is None else float(polygon.k),
            **dict(zip(columns, vertex.values, strict=True)),
            "exact": None if vertex.rational is None else ", ".join(map(str, vertex.rational)),
            "gap": vertex.gap,
            "components": vertex.policy.n_components,
        }
        for polygon in region.polygons
        for vertex in polygon.vertices
    ]
    return _pandas().DataFrame(
        rows, columns=["notion", "k", *columns, "exact", "gap", "components"]
    )


def to_excel(frame: Any) -> bytes:
    """A data frame as an ``.xlsx`` file, in which text is never a formula."""
    pandas = _pandas()
    file = io.BytesIO()
    try:
        with pandas.ExcelWriter(file, engine="openpyxl") as book:
            frame.to_excel(book, index=isinstance(frame.columns, pandas.MultiIndex))
            for sheet in book.sheets.values():
                for cell in (cell for row in sheet.iter_rows() for cell in row):
                    if cell.data_type == "f":
                        cell.data_type = "s"
    except ImportError:
        raise MissingDependencyError("openpyxl", "pandas") from None
    return file.getvalue()


def comparison_frame(results: Mapping[str, Displayed]) -> Any:
    """The histories of several results as one pandas data frame, for comparisons.

        accord.exports.comparison_frame({"rm+": solve(game, method="rm+"), "dcfr": ...})

    Args:
        results: Results of ``solve``, ``learn`` or ``optimize`` by name; the column ``run`` has the
            names.
    """
    pandas = _pandas()
    if not isinstance(results, Mapping):
        raise ArgumentError(
            "a comparison needs the results by name, such as {'rm+': solve(game, method='rm+')}; "
            f"got {reprlib.repr(results)}"
        )
    if not results:
        raise ArgumentError("a comparison needs at least one result; got none")
    for name, result in results.items():
        if not isinstance(result, Displayed):
            raise ArgumentError(
                "a comparison needs results of solve, learn or optimize; got "
                f"{reprlib.repr(result)} for {name!r}"
            )
    frames = {name: history_frame(result) for name, result in results.items()}
    return pandas.concat(frames, names=["run"]).reset_index("run").reset_index(drop=True)


def _line(point: Checkpoint, labels: Sequence[str]) -> dict[str, Any]:
    line: dict[str, Any] = {"iteration": point.iteration, "seconds": point.seconds}
    if point.episodes is not None:
        line["episodes"] = point.episodes
    if point.best is not None:
        line |= dataclasses.asdict(point.best)
    if point.player_gaps:  # they are not known in an environment
        line["gap"] = point.gap
    for label, gap in zip(labels, point.player_gaps, strict=False):  # none where they are unknown
        line[f"gap of {label}"] = gap
    for label, value in zip(labels, point.values, strict=False):
        line[f"value of {label}"] = value
    if point.seen is not None:
        for label, margin in zip(labels, point.seen.margins, strict=False):
            line[f"margin of {label}"] = margin
        for name in ("infosets", "memory", "coverage", "lower", "upper"):
            line[name] = getattr(point.seen, name)
    return line


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise MissingDependencyError("pandas", "pandas") from None
    return pandas
