"""Policies and correlation devices of OpenSpiel.

They belong to the turn-based game that :func:`accord.interop.openspiel_game` returns and are
indexed by information state strings, which are the infoset labels of the loaded game.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from accord._arrays import CHANCE, NO_NODE, Floats
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import GameError, MismatchError, PolicyError
from accord.game.tree import Game
from accord.interop.openspiel_games import (
    SPIEL_CHANCE,
    SpielGame,
    SpielState,
    game_name,
    import_pyspiel,
    legal_moves,
    openspiel_game,
    reason,
)
from accord.treeplex.form import sequence_form

Behaviors: TypeAlias = Sequence[Floats]  # per player [n_sequences] (treeplex/strategy.py)
SpielPolicy: TypeAlias = Any  # pyspiel.Policy, or open_spiel.python.policy.Policy


def to_openspiel(game: Game, behaviors: Behaviors, spiel_game: str | SpielGame) -> SpielPolicy:
    """A product policy as a ``pyspiel.TabularPolicy`` for all players.

    Args:
        game: The game that :func:`load_openspiel` returns for ``spiel_game``.
        behaviors: One behavior vector per player.
        spiel_game: The OpenSpiel game. If it has simultaneous moves, the policy is for its
            turn-based version ``openspiel_game(spiel_game)``.

    Raises:
        MismatchError: If ``game`` is not ``spiel_game``.
        PolicyError: If a vector is not a policy of ``game``.
    """
    return components_to_device(game, [(1.0, behaviors)], spiel_game)[0][1]


def from_openspiel(
    game: Game, policy: SpielPolicy, spiel_game: str | SpielGame
) -> tuple[Floats, ...]:
    """The behavior vectors of a ``pyspiel.Policy`` or an ``open_spiel.python.policy.Policy``.

    The inverse of :func:`to_openspiel`. Actions that the policy leaves out have probability 0.

    Args:
        game: The game that :func:`load_openspiel` returns for ``spiel_game``.
        policy: A policy for all players. If ``spiel_game`` has simultaneous moves, it must be for
            the turn-based version ``openspiel_game(spiel_game)``.
        spiel_game: The OpenSpiel game.

    Raises:
        MismatchError: If ``game`` is not ``spiel_game``.
        PolicyError: If the policy does not give a probability distribution at some infoset.
    """
    return device_to_components(game, [(1.0, policy)], spiel_game)[0][1]


def components_to_device(
    game: Game, components: Iterable[tuple[float, Behaviors]], spiel_game: str | SpielGame
) -> list[tuple[float, SpielPolicy]]:
    """A mixture of product policies as an OpenSpiel correlation device.

    A device is a list of ``(probability, pyspiel.TabularPolicy)``, as ``pyspiel.cce_dist`` takes.
    ``components`` are those of a :class:`accord.CorrelatedPolicy`. The other arguments and the
    errors are those of :func:`to_openspiel`.
    """
    mixture = list(CorrelatedPolicy.from_components(game, list(components)).components())
    tables: list[dict[str, list[tuple[int, float]]]] = [{} for _ in mixture]
    owner: dict[str, int] = {}
    for i, x, seqs, _, actions in visited_decisions(game, openspiel_game(spiel_game)):
        label = game.infoset_labels[i][x]
        if owner.setdefault(label, i) != i:
            raise GameError(
                "an OpenSpiel policy is indexed by information state strings alone, so they must "
                f"differ between players; players {owner[label]} and {i} share {label!r}"
            )
        for table, (_, behaviors) in zip(tables, mixture, strict=True):
            table[label] = list(zip(actions, behaviors[i][seqs].tolist(), strict=True))
    tabular = import_pyspiel().TabularPolicy
    return [(weight, tabular(table)) for (weight, _), table in zip(mixture, tables, strict=True)]


def device_to_components(
    game: Game, device: Iterable[tuple[float, SpielPolicy]], spiel_game: str | SpielGame
) -> list[tuple[float, tuple[Floats, ...]]]:
    """The weights and behavior vectors of an OpenSpiel correlation device.

    The inverse of :func:`components_to_device`; pass the result to
    :meth:`accord.CorrelatedPolicy.from_components`. The other arguments and the errors are those of
    :func:`from_openspiel`.
    """
    sizes = [plex.n_sequences for plex in sequence_form(game).plexes]
    mixture = [
        (weight, policy, tuple(np.ones(size) for size in sizes)) for weight, policy in device
    ]
    for i, x, seqs, state, actions in visited_decisions(game, openspiel_game(spiel_game)):
        for _, policy, behaviors in mixture:
            said = ask_policy(policy, state, i, game.infoset_labels[i][x], actions)
            behaviors[i][seqs] = [said.get(action, 0.0) for action in actions]
    components = [(weight, behaviors) for weight, _, behaviors in mixture]
    return list(CorrelatedPolicy.from_components(game, components).components())


def visited_decisions(
    game: Game, spiel: SpielGame
) -> Iterator[tuple[int, int, slice, SpielState, list[int]]]:
    """For each infoset: player, number, sequences, a state in it, and the legal actions there.

    Visits only nodes on the path to the first node of some infoset. Nodes are in prefix order, so
    the parent of the next one is always on the path to the last one.
    """
    first = np.zeros(game.n_nodes, bool)
    for i in range(game.n_players):
        nodes = np.flatnonzero(game.player == i)
        first[nodes[np.unique(game.infoset[nodes], return_index=True)[1]]] = True
    needed = first.copy()
    climbing = np.flatnonzero(first)
    while climbing.size:
        climbing = np.unique(game.parent[climbing])
        climbing = climbing[(climbing != NO_NODE) & ~needed[climbing]]
        needed[climbing] = True

    plexes = sequence_form(game).plexes
    path: list[tuple[int, SpielState, list[int]]] = []  # node, state and the moves there
    for node in np.flatnonzero(needed).tolist():
        while path and path[-1][0] != game.parent[node]:
            path.pop()
        who, a = int(game.player[node]), int(game.action[node])
        if node == 0:
            state = spiel.new_initial_state()
        elif a < len(path[-1][2]):
            state = path[-1][1].child(path[-1][2][a])
        else:
            raise _mismatch(game, node, spiel)
        if state.current_player() != (SPIEL_CHANCE if who == CHANCE else who):
            raise _mismatch(game, node, spiel)
        moves = legal_moves(state)
        path.append((node, state, moves))
        if first[node]:
            x = int(game.infoset[node])
            seqs = slice(*plexes[who].first_seq[x : x + 2].tolist())
            same = state.information_state_string() == game.infoset_labels[who][x]
            if not same or len(moves) != seqs.stop - seqs.start:
                raise _mismatch(game, node, spiel)
            yield who, x, seqs, state, moves


def _mismatch(game: Game, node: int, spiel: SpielGame) -> MismatchError:
    return MismatchError(
        f"the game must be load_openspiel({game_name(spiel)!r}), but {game!r} differs from it "
        f"after the moves {game.history(node)}"
    )


def ask_policy(
    policy: SpielPolicy, state: SpielState, player: int, label: str, actions: list[int]
) -> dict[int, float]:
    """The policy's probabilities of actions at a state, by OpenSpiel's numbers."""
    pyspiel = import_pyspiel()
    try:
        if type(policy) is pyspiel.TabularPolicy:  # other policies may need the state
            said = policy.action_probabilities(label)
        elif isinstance(policy, pyspiel.Policy):
            said = policy.action_probabilities(state)
        else:
            said = policy.action_probabilities(state, player)
    except Exception as error:
        raise PolicyError(
            f"the policy must tell what player {player} does at infoset {label!r}, but it fails "
            f"with {type(error).__name__}: {reason(error)}; it must be a policy of "
            "openspiel_game(spiel_game)"
        ) from error
    if illegal := [action for action in said if action not in actions and said[action] != 0]:
        raise PolicyError(
            f"the legal actions of player {player} at infoset {label!r} are {actions}, but the "
            f"policy gives probability {said[illegal[0]]} to {illegal[0]}"
        )
    return dict(said)
