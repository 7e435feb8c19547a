"""What was measured, as ratios of Accord to its peers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from accord.regret.methods import SAMPLED_METHODS

Part = Mapping[str, Any]

LIKE_WITH_LIKE = {
    "OpenSpiel CFR": "K-EFR rm, K = 0",
    "OpenSpiel CFR+": "K-EFR rm+, K = 0",
    "OpenSpiel EFR csps": "K-EFR rm, K = 1",
    "OpenSpiel EFR tips": "K-EFR rm, K = 1",
    "LiteEFG CFR": "K-EFR rm, K = 0",
    "LiteEFG CFR+": "K-EFR rm+, K = 0",
}
"""For each peer K-EFR with the same minimizer, and the K whose deviations are nearest."""

DEFAULT = "K-EFR prm+, K = 1"
"""What ``solve`` does when nothing else is asked for."""

GOAL = 0.5
"""The share of MCCFR's gap that the gap of ``learn`` should not exceed in the end."""

SPEED = 5
"""How many times as fast as MCCFR ``learn`` should be at getting to its gap."""

LEARNER, MCCFR = "Accord prm", "OpenSpiel OS-MCCFR"
"""What ``learn`` does when nothing else is asked for, and the peer that it is measured by."""

JOINT = "Accord joint"
"""``learn`` with joint feedback."""

EPISODES = {method: f"Accord {method}, K = 1" for method in SAMPLED_METHODS}


def iteration_ratios(part: Part) -> dict[str, dict[str, float]]:
    """Per game and peer: its time per iteration over that of its counterpart in K-EFR."""
    ratios: dict[str, dict[str, float]] = {}
    for game in part["games"]:
        times = _times(game["entrants"])
        ratios[game["title"]] = {
            peer: times[peer] / times[own] for peer, own in LIKE_WITH_LIKE.items() if peer in times
        }
    return ratios


def gap_ratios(part: Part) -> dict[str, list[tuple[float, str] | None]]:
    """Per game and gap: the time of the fastest peer over that of the default, and its name.

    None where one of them did not reach the gap.
    """
    ratios: dict[str, list[tuple[float, str] | None]] = {}
    for game in part["games"]:
        row: list[tuple[float, str] | None] = []
        for rank in range(len(part["settings"]["shares"])):
            times = {
                entry["name"]: entry["reached"][rank]["seconds"]
                for entry in game["entrants"]
                if len(entry["reached"]) > rank
            }
            rivals = [(t, name) for name, t in times.items() if name in LIKE_WITH_LIKE]
            if DEFAULT in times and rivals:
                fastest, name = min(rivals)
                row.append((fastest / times[DEFAULT], name))
            else:
                row.append(None)
        ratios[game["title"]] = row
    return ratios


def episode_ratios(part: Part) -> dict[str, dict[str, float]]:
    """Per game and method: MCCFR's time per episode over that of ``learn`` with K = 1."""
    ratios = {}
    for game in part["games"]:
        times = _times(game["entrants"])
        ratios[game["title"]] = {m: times[MCCFR] / times[own] for m, own in EPISODES.items()}
    return ratios


def learning_ratios(part: Part, games: Iterable[Part]) -> dict[str, tuple[float, float]]:
    """Per game: the gap of ``learn`` over that of MCCFR, after a tenth of the episodes and all."""
    early, late = early_and_late(part)
    ratios = {}
    for game in games:
        gaps = median_gaps(game)
        ratios[game["title"]] = (
            gaps[LEARNER, early] / gaps[MCCFR, early],
            gaps[LEARNER, late] / gaps[MCCFR, late],
        )
    return ratios


def feedback_ratios(games: Iterable[Part]) -> dict[tuple[str, int], float]:
    """Per game and number of episodes: the gap of joint feedback over that of own feedback."""
    ratios = {}
    for game in games:
        gaps = median_gaps(game)
        for name, episodes in gaps:
            if name == JOINT:
                ratios[game["title"], episodes] = gaps[JOINT, episodes] / gaps[LEARNER, episodes]
    return ratios


def worse_with_joint(games: Iterable[Part]) -> dict[tuple[str, int], bool]:
    """Where the median gap of joint feedback is larger: whether by more than seeds differ.

    That is, whether it exceeds the gaps of all seeds with own feedback.
    """
    worse = {}
    for game in games:
        found = {(point["name"], point["episodes"]): point for point in game["gaps"]}
        for (name, episodes), point in found.items():
            own = found[LEARNER, episodes]
            if name == JOINT and point["gap"] > own["gap"]:
                worse[game["title"], episodes] = point["gap"] > max(own["gaps"])
    return worse


def catch_up_ratios(part: Part) -> dict[str, float | None]:
    """Per game: MCCFR's time over that of ``learn`` to the same gap; None if not reached."""
    return {
        game["title"]: game["peer"]["seconds"] / game["learn"]["seconds"]
        if game["episodes"]
        else None
        for game in part["games"]
    }


def other_k_ratios(part: Part) -> dict[tuple[str, str], float]:
    """Per game and K: the gap of ``learn`` over the gap before it learned from whole plays."""
    now, before = (
        {(game["title"], entry["k"]): entry["gap"] for game in games for entry in game["gaps"]}
        for games in (part["games"], part["before"])
    )
    return {place: now[place] / before[place] for place in now if place in before}


def early_and_late(part: Part) -> tuple[int, int]:
    late = part["settings"]["episodes"][-1]
    return late // 10, late


def median_gaps(game: Part) -> dict[tuple[str, int], float]:
    return {(entry["name"], entry["episodes"]): entry["gap"] for entry in game["gaps"]}


def _times(entrants: Iterable[Part]) -> dict[str, float]:
    return {entry["name"]: entry["seconds"] for entry in entrants if "seconds" in entry}
