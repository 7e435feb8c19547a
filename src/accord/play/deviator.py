"""What a deviator sees, as numbers, and agents that deviate by it.

A deviator of a K-EFCE hears a recommendation at each of their infosets, until they have disobeyed K
times; then the mediator is silent. All that they know at a decision is the infoset, which contains
their own moves, and the recommendations so far. An *observation* has both:

    [1 + the number of the infoset, or 0 if the policy does not know it,
     1 + the recommendation at each of the player's decisions so far, or 0 where there was none]

with as many places for recommendations as the player has decisions in a play. An *agent* is a
function from observations to actions, or an object with ``predict(observation)``, which returns an
action or a pair that begins with one, as those of Stable-Baselines3. An action that the infoset
does not have is understood as the recommendation, or as action 0 if there was none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord._arrays import NO_INFOSET
from accord.deviations.modification import Modification
from accord.deviations.rechistory import ROOT, RechistoryTree
from accord.errors import ArgumentError
from accord.game.labels import player_name
from accord.play.rollout import numbered_agents
from accord.treeplex.treeplex import EMPTY_SEQUENCE, Treeplex

SILENT = -1
"""Stands for the recommendation of a mediator who is silent."""


def observation_sizes(plex: Treeplex) -> list[int]:
    """How many values each number of an observation can have."""
    return [plex.n_infosets + 1, *[plex.max_actions + 1] * plex.horizon]


def observation(plex: Treeplex, x: int, heard: Sequence[int]) -> NDArray[np.int64]:
    """The observation at infoset ``x``, or ``NO_INFOSET``, after these recommendations.

    The last of them is the present one; it is ``SILENT`` if there is none.
    """
    seen = np.zeros(1 + plex.horizon, np.int64)
    seen[0] = 0 if x == NO_INFOSET else x + 1
    told = heard[: plex.horizon]
    seen[1 : 1 + len(told)] = np.array(told, np.int64) + 1  # SILENT is -1
    return seen


def chosen(action: Any, recommended: int, n_actions: int) -> int:
    """The action that counts as this one at an infoset with ``n_actions``."""
    wanted = int(np.asarray(action).reshape(-1)[0])
    return wanted if 0 <= wanted < n_actions else max(recommended, 0)


def ask_agent(agent: Any, seen: NDArray[np.int64], recommended: int, n_actions: int) -> int:
    """What ``agent`` plays."""
    answer = agent.predict(seen) if hasattr(agent, "predict") else agent(seen)
    return chosen(answer[0] if isinstance(answer, tuple) else answer, recommended, n_actions)


def checked_agents(players: Sequence[str], given: Mapping[int | str, Any]) -> dict[int, Any]:
    """The agents by the numbers of their players.

    Raises:
        ArgumentError: If a key is not a player, or a value is not an agent.
    """
    if not isinstance(given, Mapping):
        raise ArgumentError(
            f"deviator must be agents by their players, such as {{{players[0]!r}: agent}}; "
            f"got {given!r}"
        )
    agents = numbered_agents(players, given)
    for i, agent in agents.items():
        if not callable(agent) and not hasattr(agent, "predict"):
            raise ArgumentError(
                f"the deviator of {player_name(players[i])} must be a function from observations "
                f"to actions, or have predict(observation); got {agent!r}"
            )
    return agents


def modification_of(agent: Any, known: Treeplex, tree: RechistoryTree) -> Modification:
    """The deviation that ``agent`` plays, which is asked once in every row that it may come to.

    It obeys in the others. An agent that acts at random has drawn a deviation in this way.

    Args:
        agent: The agent.
        known: The treeplex whose numbers are in observations; infosets have the same labels.
        tree: The player's rechistories.
    """
    plex, phi = tree.plex, Modification.obey(tree)
    number = {label: x for x, label in enumerate(known.infoset_labels)}
    choice = phi.choice.copy()
    waiting: list[tuple[int, int, tuple[int, ...]]] = [(EMPTY_SEQUENCE, ROOT, ())]
    while waiting:
        seq, cell, heard = waiting.pop()
        for x in map(int, plex.children(seq)):
            node, n = phi.continuing(x, cell), int(plex.n_actions[x])
            row, first = int(tree.first_row[node]), int(tree.arrays.first_cell[node])
            shown = number.get(plex.infoset_labels[x], NO_INFOSET)
            for told in range(n) if tree.is_swap[node] else [SILENT]:
                now, place = (*heard, told), max(told, 0)
                action = ask_agent(agent, observation(known, shown, now), told, n)
                choice[row + place] = action
                waiting.append((int(plex.first_seq[x]) + action, first + place * n + action, now))
    return Modification(tree, choice)
