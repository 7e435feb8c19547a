"""OpenSpiel games as trees.

OpenSpiel gives a game as a simulator: states, the moves that lead from one to the next, and a
string with everything that the player to move has seen and done. Enumerating the moves from the
initial state gives the tree, and nodes with equal strings form an infoset. So infoset labels are
information state strings, action labels come from ``action_to_string``, and players are called
``"0"``, ``"1"``, ..., as OpenSpiel numbers them.

Payoffs are the ``returns()`` of terminal states, which are the sums of all rewards along the path.
So games with intermediate rewards need nothing else.

A simultaneous move is a sequence of hidden moves (``openspiel_games.py``).

Nodes are visited in prefix order, so only the states on one path exist at any time, whatever the
size of the game. First the nodes are counted, with a depth limit that doubles, and a node counts as
soon as its parent has been visited. So a game such as chess, which has large deep states and long
strings, is refused near the root, within about a second.
"""

from __future__ import annotations

from array import array
from contextvars import ContextVar
from typing import Any

import numpy as np

from accord._arrays import CHANCE, NO_INFOSET, NO_NODE, TERMINAL
from accord.errors import AccordError, ArgumentError, BudgetError, GameError
from accord.game.tree import Game
from accord.interop.openspiel_games import (
    SPIEL_CHANCE,
    SPIEL_TERMINAL,
    SpielGame,
    SpielState,
    chance_outcomes,
    game_name,
    legal_moves,
    load_by_name,
    move_labels,
    openspiel_game,
    parameters,
    reason,
)

MAX_NODES = 2_000_000
"""The default limit of :func:`load_openspiel`. Three-player Leduc poker still fits and takes about
ten seconds and half a gigabyte."""

default_max_nodes: ContextVar[int] = ContextVar("default_max_nodes", default=MAX_NODES)
"""The limit where none is given; ``accord --max-nodes`` sets it for a whole command."""


def load_openspiel(game: str | SpielGame, *, max_nodes: int | None = None) -> Game:
    """The tree of an OpenSpiel game.

    Args:
        game: A name with parameters as OpenSpiel writes them, such as ``kuhn_poker(players=3)``, or
            a ``pyspiel.Game``.
        max_nodes: Games with more nodes are refused; by default two million.

    Raises:
        ArgumentError: If there is no such game, or it does not take these parameters.
        BudgetError: If the game has more than ``max_nodes`` nodes.
        GameError: If OpenSpiel does not tell enough to build the tree, or the game does not have
            perfect recall.
    """
    if max_nodes is None:
        max_nodes = default_max_nodes.get()
    if max_nodes < 1:
        raise ArgumentError(f"load_openspiel(): max_nodes must be at least 1; got {max_nodes}")
    original = load_by_name(game) if isinstance(game, str) else game
    spiel = openspiel_game(original)
    name = game_name(original)
    try:
        found = _count_nodes(spiel, max_nodes)
        if found > max_nodes:
            raise BudgetError(
                f"{name} must have at most {max_nodes:,} nodes, but it has {found:,} or more; "
                f"choose smaller parameters ({parameters(original.get_type())}), or a larger "
                "limit: load_game(..., max_nodes=...), or accord --max-nodes N before the command; "
                "to learn from plays alone, play it without loading it: accord learn --play, or "
                "OpenSpielEnvironment",
                found,
                max_nodes,
            )
        arrays = _enumerate(spiel)
    except AccordError:
        raise
    except Exception as error:  # SpielError, or anything that a game written in Python raises
        raise GameError(f"OpenSpiel failed to enumerate {name}: {reason(error)}") from error
    return Game.from_arrays(name=name, **arrays)


def _count_nodes(spiel: SpielGame, max_nodes: int) -> int:
    """The number of nodes, or a lower bound of it that is above ``max_nodes``."""
    limit, complete = 1, False
    while not complete:
        found, complete = 1, True
        # A state, the move to make there (None at the root), whether other moves will be made there
        # later (the last one needs no copy of the state), and the depth that the move leads to.
        pending: list[tuple[SpielState, int | None, bool, int]]
        pending = [(spiel.new_initial_state(), None, False, 0)]
        while pending:
            state, move, shared, depth = pending.pop()
            if shared:
                state = state.child(move)
            elif move is not None:
                state.apply_action(move)
            moves = legal_moves(state)
            found += len(moves)
            if found > max_nodes:
                return found
            if depth < limit:
                for a, move in enumerate(moves):
                    pending.append((state, move, a > 0, depth + 1))
            elif moves:
                complete = False
        limit *= 2
    return found


def _enumerate(spiel: SpielGame) -> dict[str, Any]:
    """The arguments of :meth:`Game.from_arrays`, nodes in prefix order."""
    n_players = spiel.num_players()
    player, parent, action, infoset = array("b"), array("i"), array("i"), array("i")
    prob, reward_node, reward = array("d"), array("i"), array("d")
    number: list[dict[str, int]] = [{} for _ in range(n_players)]  # information state -> infoset
    legal: list[list[list[int]]] = [[] for _ in range(n_players)]  # per infoset
    labels: list[list[tuple[str, ...]]] = [[] for _ in range(n_players)]  # per infoset
    rows: dict[tuple[str, ...], tuple[str, ...]] = {}  # equal rows of labels become one object
    chance_rows: dict[tuple[str, ...], int] = {}

    # As in _count_nodes; then the parent node, the position of the move and its probability.
    pending: list[tuple[SpielState, int | None, bool, int, int, float]]
    pending = [(spiel.new_initial_state(), None, False, NO_NODE, 0, 1.0)]
    while pending:
        state, move, shared, above, a, p = pending.pop()
        if shared:
            state = state.child(move)
        elif move is not None:
            state.apply_action(move)
        node = len(player)
        parent.append(above)
        action.append(a)
        prob.append(p)
        who = state.current_player()
        if who == SPIEL_TERMINAL:
            player.append(TERMINAL)
            infoset.append(NO_INFOSET)
            reward_node.append(node)
            reward.extend(state.returns())
            continue
        if who == SPIEL_CHANCE:
            outcomes = chance_outcomes(state)
            moves, probs = list(outcomes), list(outcomes.values())
            row = move_labels(state, who, moves)
            player.append(CHANCE)
            infoset.append(chance_rows.setdefault(row, len(chance_rows)))
        elif who < 0:
            raise GameError(
                f"a turn-based game must have one player to move; OpenSpiel says {who} at {state}"
            )
        else:
            moves = state.legal_actions()
            probs = [1.0] * len(moves)
            seen = state.information_state_string()
            x = number[who].get(seen)
            if x is None:
                x = number[who][seen] = len(number[who])
                row = move_labels(state, who, moves)
                legal[who].append(moves)
                labels[who].append(rows.setdefault(row, row))
            elif moves != legal[who][x]:
                raise GameError(
                    "all histories with one information state must have the same legal actions; "
                    f"player {who} has both {legal[who][x]} and {moves} at {seen!r}"
                )
            player.append(who)
            infoset.append(x)
        last = len(moves) - 1
        for a in range(last, -1, -1):
            pending.append((state, moves[a], a < last, node, a, probs[a]))

    return {
        "n_players": n_players,
        "player": player,
        "parent": parent,
        "action": action,
        "infoset": infoset,
        "chance_prob": prob,
        "reward_node": reward_node,
        "reward": np.asarray(reward).reshape(-1, n_players),
        "player_labels": [str(i) for i in range(n_players)],
        "infoset_labels": [list(numbers) for numbers in number],
        "action_labels": labels,
        "chance_labels": list(chance_rows),
    }
