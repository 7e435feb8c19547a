"""What a state of an OpenSpiel game says: who moves, what can be done there, and how it is called.

Actions go by their position among the legal ones; OpenSpiel's own numbers have gaps.
"""

from __future__ import annotations

from typing import Any, TypeAlias

SpielState: TypeAlias = Any  # pyspiel.State; pyspiel has no types

SPIEL_CHANCE, SPIEL_TERMINAL = -1, -4  # what current_player() says


def legal_moves(state: SpielState) -> list[int]:
    """OpenSpiel's numbers of what can be done: by chance only what is possible."""
    return list(chance_outcomes(state)) if state.is_chance_node() else state.legal_actions()


def chance_outcomes(state: SpielState) -> dict[int, float]:
    """What can happen, and its probability: impossible outcomes left out, repeated ones added."""
    outcomes: dict[int, float] = {}
    for outcome, p in state.chance_outcomes():
        if p != 0.0:
            outcomes[outcome] = outcomes.get(outcome, 0.0) + p
    return outcomes


def move_labels(state: SpielState, player: int, moves: list[int]) -> tuple[str, ...]:
    """What OpenSpiel calls the moves; those with one name get their numbers as well."""
    names = [state.action_to_string(player, move) for move in moves]
    if len(set(names)) == len(names):
        return tuple(names)
    return tuple(
        name if names.count(name) == 1 else f"{name} #{move}"
        for name, move in zip(names, moves, strict=True)
    )
