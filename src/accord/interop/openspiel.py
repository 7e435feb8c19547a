"""Games and policies of OpenSpiel.

OpenSpiel gives a game as a simulator: a state, what each move makes of it, and a string with all
that the player to move has seen and done. Enumerating the moves from the initial state gives the
tree, and nodes with equal strings are an infoset. So infoset labels are information state strings,
action labels are what ``action_to_string`` says (actions go by their position among the legal ones;
OpenSpiel's own numbers have gaps), and players are called ``"0"``, ``"1"``, ..., as OpenSpiel
numbers them.

Payoffs are the ``returns()`` of terminal states: the sum of all rewards on the way. So games with
intermediate rewards need nothing else.

A simultaneous move is a sequence of hidden moves, player 0 first. OpenSpiel's own turn-based
version of a game has exactly that tree, and its strings differ from those of the original only by a
line that says who moves. :func:`openspiel_game` returns the game that is really enumerated;
policies and correlation devices that go to OpenSpiel, or come from it, are those of that game.

Nodes are numbered depth first, so the states alive at any time are those on one path, whatever the
size of the game. Before anything is kept the nodes are counted, to greater and greater depth, and a
node counts as soon as its parent has been visited. So a game such as chess, whose deep states are
large and whose strings are long, is refused near the root, in a second or so.
"""

from __future__ import annotations

import difflib
import re
import subprocess
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from accord.equilibrium.correlated import CorrelatedPolicy
from accord.errors import (
    AccordError,
    ArgumentError,
    BudgetError,
    GameError,
    MismatchError,
    MissingDependencyError,
    PolicyError,
)
from accord.game.tree import CHANCE, NO_INFOSET, NO_NODE, TERMINAL, Game
from accord.treeplex.form import sequence_form

Floats = NDArray[np.float64]
Behaviors: TypeAlias = Sequence[Floats]  # per player, over her sequences (treeplex/strategy.py)
SpielGame: TypeAlias = Any  # pyspiel.Game; pyspiel has no types
SpielState: TypeAlias = Any  # pyspiel.State
SpielPolicy: TypeAlias = Any  # pyspiel.Policy, or open_spiel.python.policy.Policy

MAX_NODES = 2_000_000
"""Where :func:`load_openspiel` gives up by default: three-player Leduc poker still fits, in about
ten seconds and half a gigabyte."""

_SPIEL_CHANCE, _SPIEL_TERMINAL = -1, -4  # what pyspiel.State.current_player says


def load_openspiel(game: str | SpielGame, *, max_nodes: int = MAX_NODES) -> Game:
    """The tree of an OpenSpiel game.

    Args:
        game: A name with parameters as OpenSpiel writes them, such as ``kuhn_poker(players=3)``, or
            a ``pyspiel.Game``.
        max_nodes: Larger games are refused.

    Raises:
        ArgumentError: If there is no such game, or it does not take these parameters.
        BudgetError: If the game has more than ``max_nodes`` nodes.
        GameError: If OpenSpiel does not say enough to build the tree, or what it says is no game
            with perfect recall.
    """
    if max_nodes < 1:
        raise ArgumentError(f"load_openspiel(): max_nodes must be at least 1; got {max_nodes}")
    original = _load(game) if isinstance(game, str) else game
    spiel = openspiel_game(original)
    name = _name(original)
    try:
        found = _count_nodes(spiel, max_nodes)
        if found > max_nodes:
            raise BudgetError(
                f"{name} must have at most max_nodes = {max_nodes:,} nodes, but it has {found:,} "
                "or more; raise max_nodes, or choose smaller parameters "
                f"({_parameters(original.get_type())})",
                found,
                max_nodes,
            )
        arrays = _enumerate(spiel)
    except AccordError:
        raise
    except Exception as error:  # SpielError, or whatever a game written in Python raises
        raise GameError(
            f"OpenSpiel failed while {name} was enumerated: {_reason(error)}"
        ) from error
    return Game.from_arrays(name=name, **arrays)


def openspiel_game(game: str | SpielGame) -> SpielGame:
    """The ``pyspiel.Game`` that :func:`load_openspiel` enumerates: turn-based in any case.

    Raises:
        ArgumentError: If there is no such game, or it does not take these parameters.
        GameError: If its states do not say enough to build the tree.
    """
    pyspiel = _pyspiel()
    if isinstance(game, str):
        game = _load(game)
    if not isinstance(game, pyspiel.Game):
        raise ArgumentError(
            f"an OpenSpiel game must be given by name or as a pyspiel.Game; got {game!r}"
        )
    kind = game.get_type()
    if (why := _refusal(kind)) is not None:
        raise GameError(f"{_name(game)} cannot be loaded: {why}")
    if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        return pyspiel.convert_to_turn_based(game)
    return game


def openspiel_names() -> list[str]:
    """Names of the OpenSpiel games, with or without parameters, that may be loaded.

    Some are too large with their default parameters, and some are transformations of other games,
    such as ``misere(game=kuhn_poker())``; for those only the game that results can say more.
    """
    pyspiel = _pyspiel(python_games=True)
    return [
        kind.short_name
        for kind in pyspiel.registered_games()
        if _refusal(kind) is None or not kind.default_loadable
    ]


def to_openspiel(game: Game, behaviors: Behaviors, spiel_game: str | SpielGame) -> SpielPolicy:
    """A product policy as a ``pyspiel.TabularPolicy`` of all players.

    Args:
        game: What :func:`load_openspiel` made of ``spiel_game``.
        behaviors: One behaviour vector per player.
        spiel_game: The OpenSpiel game. If it has simultaneous moves, the policy is one of its
            turn-based version ``openspiel_game(spiel_game)``.

    Raises:
        MismatchError: If ``game`` is not ``spiel_game``.
        PolicyError: If a vector is no policy of ``game``.
    """
    return components_to_device(game, [(1.0, behaviors)], spiel_game)[0][1]


def from_openspiel(
    game: Game, policy: SpielPolicy, spiel_game: str | SpielGame
) -> tuple[Floats, ...]:
    """The behaviour vectors of a ``pyspiel.Policy`` or an ``open_spiel.python.policy.Policy``.

    The inverse of :func:`to_openspiel`. Actions that the policy leaves out have probability 0.

    Args:
        game: What :func:`load_openspiel` made of ``spiel_game``.
        policy: A policy of all players. If ``spiel_game`` has simultaneous moves, one of its
            turn-based version ``openspiel_game(spiel_game)``.
        spiel_game: The OpenSpiel game.

    Raises:
        MismatchError: If ``game`` is not ``spiel_game``.
        PolicyError: If the policy says nothing about an infoset, or no probability distribution.
    """
    return device_to_components(game, [(1.0, policy)], spiel_game)[0][1]


def components_to_device(
    game: Game, components: Iterable[tuple[float, Behaviors]], spiel_game: str | SpielGame
) -> list[tuple[float, SpielPolicy]]:
    """A mixture of product policies as an OpenSpiel correlation device.

    A device is a list of ``(probability, pyspiel.TabularPolicy)``, as ``pyspiel.cce_dist`` wants.
    ``components`` are those of a :class:`accord.CorrelatedPolicy`; the rest is as for
    :func:`to_openspiel`.
    """
    mixture = list(CorrelatedPolicy.from_components(game, list(components)).components())
    tables: list[dict[str, list[tuple[int, float]]]] = [{} for _ in mixture]
    owner: dict[str, int] = {}
    for i, x, seqs, _, actions in _decisions(game, openspiel_game(spiel_game)):
        label = game.infoset_labels[i][x]
        if owner.setdefault(label, i) != i:
            raise GameError(
                "a policy of OpenSpiel is indexed by the information state string alone, but "
                f"{label!r} is one of player {owner[label]} and one of player {i}"
            )
        for table, (_, behaviors) in zip(tables, mixture, strict=True):
            table[label] = list(zip(actions, behaviors[i][seqs].tolist(), strict=True))
    tabular = _pyspiel().TabularPolicy
    return [(weight, tabular(table)) for (weight, _), table in zip(mixture, tables, strict=True)]


def device_to_components(
    game: Game, device: Iterable[tuple[float, SpielPolicy]], spiel_game: str | SpielGame
) -> list[tuple[float, tuple[Floats, ...]]]:
    """The weights and behaviour vectors of an OpenSpiel correlation device.

    The inverse of :func:`components_to_device`; what comes out is for
    :meth:`accord.CorrelatedPolicy.from_components`. The rest is as for :func:`from_openspiel`.
    """
    sizes = [plex.n_sequences for plex in sequence_form(game).plexes]
    mixture = [
        (weight, policy, tuple(np.ones(size) for size in sizes)) for weight, policy in device
    ]
    for i, x, seqs, state, actions in _decisions(game, openspiel_game(spiel_game)):
        for _, policy, behaviors in mixture:
            said = _ask(policy, state, i, game.infoset_labels[i][x], actions)
            behaviors[i][seqs] = [said.get(action, 0.0) for action in actions]
    components = [(weight, behaviors) for weight, _, behaviors in mixture]
    return list(CorrelatedPolicy.from_components(game, components).components())


# Loading by name


def _pyspiel(*, python_games: bool = False) -> Any:
    """The module ``pyspiel``; with ``python_games`` those written in Python are registered too."""
    try:
        import pyspiel

        if python_games:
            import open_spiel.python.games  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("open_spiel") from error
    return pyspiel


def _load(text: str) -> SpielGame:
    """``pyspiel.load_game``, with messages a user can act on."""
    text = text.strip()
    base, bracket, _ = text.partition("(")
    pyspiel = _pyspiel(python_games="python_" in text)
    if base not in pyspiel.registered_names():
        pyspiel = _pyspiel(python_games=True)
    kinds = {kind.short_name: kind for kind in pyspiel.registered_games()}
    if base not in kinds:
        close = difflib.get_close_matches(base, openspiel_names(), n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else "openspiel_names() lists them"
        raise ArgumentError(f"OpenSpiel has no game called {base!r}; {hint}")
    kind = kinds[base]
    takes = _parameters(kind)
    if text.count("(") != text.count(")") or (bracket and not text.endswith(")")):
        raise ArgumentError(f"brackets do not match in {text!r}; {takes}")
    if kind.default_loadable and (why := _refusal(kind)) is not None:
        raise GameError(f"{text} cannot be loaded: {why}")
    if not kind.default_loadable and not bracket:
        raise ArgumentError(f"{base} cannot be loaded without parameters; {takes}")
    try:
        given = pyspiel.game_parameters_from_string(text)
        for key, value in given.items():
            if key not in ("name", *kind.parameter_specification):
                raise ArgumentError(f"{base} has no parameter {key!r}; {takes}")
            if key.endswith(("filename", "_file")) and value and not Path(value).is_file():
                raise ArgumentError(f"{base} needs a file, but there is no {value!r}")
        if len(given) > 1:
            _try_apart(text, takes)
        return pyspiel.load_game(text)
    except AccordError:
        raise
    except Exception as error:
        raise ArgumentError(f"OpenSpiel cannot load {text}: {_reason(error)}; {takes}") from error


_TRIAL = """
import sys, pyspiel
try:
    game = pyspiel.load_game(sys.argv[1])
except Exception as error:
    print(error)
    sys.exit(3)
for side in (0, -1):
    state = game.new_initial_state()
    for _ in range(1000):
        if state.is_terminal():
            break
        state = state.child(state.legal_actions()[side])
"""


def _try_apart(text: str, takes: str) -> None:
    """Load a game and play a little in another process.

    Given parameters that make no sense, OpenSpiel may end the process (``universal_poker``,
    ``go_fish``) or never come back (``blotto`` with many fields). Games that this process has
    registered itself are unknown to the other one; they are not tried.
    """
    command = [sys.executable, "-P", "-c", _TRIAL, text]
    try:
        trial = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=60, check=False
        )
    except subprocess.TimeoutExpired:
        raise BudgetError(
            f"OpenSpiel must load {text} within 60 seconds; choose smaller parameters ({takes})",
            required=61,
            available=60,
        ) from None
    if trial.returncode == 3 and not trial.stdout.startswith("Unknown game"):
        raise ArgumentError(f"OpenSpiel cannot load {text}: {_reason(trial.stdout)}; {takes}")
    if trial.returncode not in (0, 1, 3):  # 1: an error that will show in this process too
        raise ArgumentError(f"OpenSpiel crashes on {text}; {takes}")


def _parameters(kind: Any) -> str:
    spec = kind.parameter_specification
    if not spec:
        return f"{kind.short_name} takes no parameters"
    defaults = (f"{key}={value}" if value is not None else key for key, value in spec.items())
    return f"{kind.short_name} takes {', '.join(defaults)}"


def _refusal(kind: Any) -> str | None:
    """Why games of this ``pyspiel.GameType`` have no tree, or None."""
    spiel_type = _pyspiel().GameType
    if kind.dynamics == spiel_type.Dynamics.MEAN_FIELD:
        return "a mean field game has no game tree"
    if kind.chance_mode == spiel_type.ChanceMode.SAMPLED_STOCHASTIC:
        return "its chance moves are sampled, and OpenSpiel does not tell their probabilities"
    if not kind.provides_information_state_string:
        return (
            "OpenSpiel gives no information state string for it, so its infosets are unknown; an "
            "observation is not enough, since it may forget"
        )
    return None


def _name(game: SpielGame) -> str:
    return str(game).removesuffix("()")


def _reason(error: object) -> str:
    """The message of an OpenSpiel error in one line, without the place in OpenSpiel's source."""
    text = re.sub(r"^/\S+:\d+ | Available games are:.*", "", str(error), flags=re.DOTALL).strip()
    text = text or type(error).__name__
    return re.sub(r"\s*\n\s*", ", ", text)


# Enumerating


def _count_nodes(spiel: SpielGame, max_nodes: int) -> int:
    """The number of nodes, or a number above ``max_nodes`` that the game reaches or passes."""
    limit, complete = 1, False
    while not complete:
        found, complete = 1, True
        # A state, the move still to be made there (None at the root), whether other moves will be
        # made there later (the last one needs no copy of the state), and the depth it leads to.
        pending: list[tuple[SpielState, int | None, bool, int]]
        pending = [(spiel.new_initial_state(), None, False, 0)]
        while pending:
            state, move, shared, depth = pending.pop()
            if shared:
                state = state.child(move)
            elif move is not None:
                state.apply_action(move)
            moves = _moves(state)
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
    """The arguments of :meth:`Game.from_arrays`, nodes numbered depth first."""
    n_players = spiel.num_players()
    player, parent, action, infoset = array("b"), array("i"), array("i"), array("i")
    prob, reward_node, reward = array("d"), array("i"), array("d")
    number: list[dict[str, int]] = [{} for _ in range(n_players)]  # information state -> infoset
    legal: list[list[list[int]]] = [[] for _ in range(n_players)]  # per infoset
    labels: list[list[tuple[str, ...]]] = [[] for _ in range(n_players)]  # per infoset
    rows: dict[tuple[str, ...], tuple[str, ...]] = {}  # equal rows of labels become one object
    chance_rows: dict[tuple[str, ...], int] = {}

    # As in _count_nodes; then the node above, the position of the move, and its chance probability.
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
        if who == _SPIEL_TERMINAL:
            player.append(TERMINAL)
            infoset.append(NO_INFOSET)
            reward_node.append(node)
            reward.extend(state.returns())
            continue
        if who == _SPIEL_CHANCE:
            outcomes = _chance_outcomes(state)
            moves, probs = list(outcomes), list(outcomes.values())
            row = _labels(state, who, moves)
            player.append(CHANCE)
            infoset.append(chance_rows.setdefault(row, len(chance_rows)))
        elif who < 0:
            raise GameError(
                f"a game that says it is turn-based must be; player {who} moves at {state}"
            )
        else:
            moves = state.legal_actions()
            probs = [1.0] * len(moves)
            seen = state.information_state_string()
            x = number[who].get(seen)
            if x is None:
                x = number[who][seen] = len(number[who])
                row = _labels(state, who, moves)
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


def _moves(state: SpielState) -> list[int]:
    return list(_chance_outcomes(state)) if state.is_chance_node() else state.legal_actions()


def _chance_outcomes(state: SpielState) -> dict[int, float]:
    """What can happen, and its probability: impossible outcomes left out, repeated ones added."""
    outcomes: dict[int, float] = {}
    for outcome, p in state.chance_outcomes():
        if p != 0.0:
            outcomes[outcome] = outcomes.get(outcome, 0.0) + p
    return outcomes


def _labels(state: SpielState, player: int, moves: list[int]) -> tuple[str, ...]:
    """What OpenSpiel calls the moves; those with one name get their numbers as well."""
    names = [state.action_to_string(player, move) for move in moves]
    if len(set(names)) == len(names):
        return tuple(names)
    return tuple(
        name if names.count(name) == 1 else f"{name} #{move}"
        for name, move in zip(names, moves, strict=True)
    )


# Policies


def _decisions(
    game: Game, spiel: SpielGame
) -> Iterator[tuple[int, int, slice, SpielState, list[int]]]:
    """For each infoset: player, number, its sequences, a state of it, the legal actions there.

    Walks only through nodes that lead to the first node of an infoset. Nodes are numbered depth
    first, so the parent of the next one is always on the path to the last one.
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
    path: list[tuple[int, SpielState, list[int]]] = []  # node, state and what can be done there
    for node in np.flatnonzero(needed).tolist():
        while path and path[-1][0] != game.parent[node]:
            path.pop()
        who, a = int(game.player[node]), int(game.action[node])
        if node == 0:
            state = spiel.new_initial_state()
        elif path and a < len(path[-1][2]):
            state = path[-1][1].child(path[-1][2][a])
        else:
            raise _mismatch(game, node, spiel)
        if state.current_player() != (_SPIEL_CHANCE if who == CHANCE else who):
            raise _mismatch(game, node, spiel)
        moves = _moves(state)
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
        f"the game must be what load_openspiel() makes of {_name(spiel)}, but {game!r} differs "
        f"from it after the moves {game.history(node)}"
    )


def _ask(
    policy: SpielPolicy, state: SpielState, player: int, label: str, actions: list[int]
) -> dict[int, float]:
    """What a policy says at a state: probabilities of actions by OpenSpiel's numbers."""
    pyspiel = _pyspiel()
    try:
        if type(policy) is pyspiel.TabularPolicy:  # others may need more than the string
            said = policy.action_probabilities(label)
        elif isinstance(policy, pyspiel.Policy):
            said = policy.action_probabilities(state)
        else:
            said = policy.action_probabilities(state, player)
    except Exception as error:
        raise PolicyError(
            f"the policy must say what player {player} does at infoset {label!r}, but it fails "
            f"with {type(error).__name__}: {_reason(error)}; it must be a policy of "
            "openspiel_game(spiel_game)"
        ) from error
    if illegal := [action for action in said if action not in actions and said[action] != 0]:
        raise PolicyError(
            f"the legal actions of player {player} at infoset {label!r} are {actions}; the policy "
            f"gives {said[illegal[0]]} to {illegal[0]}"
        )
    return dict(said)
