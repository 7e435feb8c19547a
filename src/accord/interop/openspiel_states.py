"""The moves at a state of an OpenSpiel game, their probabilities and their labels.

Accord numbers actions by their position among the legal ones; OpenSpiel's own numbers have gaps.
"""

from __future__ import annotations

from typing import Any, TypeAlias

SpielState: TypeAlias = Any  # pyspiel.State; pyspiel has no types

SPIEL_CHANCE, SPIEL_TERMINAL = -1, -4  # values of current_player()


def legal_moves(state: SpielState) -> list[int]:
    """OpenSpiel's numbers of the legal actions, or of the possible outcomes at a chance node."""
    return list(chance_outcomes(state)) if state.is_chance_node() else state.legal_actions()


def chance_outcomes(state: SpielState) -> dict[int, float]:
    """The probability of each outcome; impossible ones are left out, repeated ones added up."""
    outcomes: dict[int, float] = {}
    for outcome, p in state.chance_outcomes():
        if p != 0.0:
            outcomes[outcome] = outcomes.get(outcome, 0.0) + p
    return outcomes


def move_labels(state: SpielState, player: int, moves: list[int]) -> tuple[str, ...]:
    """OpenSpiel's names of the moves; moves with the same name also get their numbers."""
    names = [state.action_to_string(player, move) for move in moves]
    if len(set(names)) == len(names):
        return tuple(names)
    return tuple(
        name if names.count(name) == 1 else f"{name} #{move}"
        for name, move in zip(names, moves, strict=True)
    )
