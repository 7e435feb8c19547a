"""Anybody's policies as correlated policies, so that their gaps can be measured.

A *source* says what players do at infosets. It is one of

- a policy of OpenSpiel, with ``action_probabilities``;
- a function of a batch of observations, such as a network: from ``[n, size]`` numbers to
  ``[n, actions]`` probabilities, which are restricted to legal actions and divided by their sum;
- an agent of OpenSpiel, with ``step(time_step, is_evaluation=True)``, which returns ``probs``;
- a mapping from players, by name or number, to such sources, one for each of them;
- a list of sources, equally likely, or of pairs (weight, source): iterates of a learner, or the
  mixture that JPSRO returns. One of them is drawn before each play, for all players together.

In a game of OpenSpiel an observation is the information state tensor, and the columns of actions
have OpenSpiel's numbers. In any game ``features(player, infoset)`` may give observations instead;
then columns are the actions of an infoset in their order.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accord._arrays import Floats
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError, PolicyError
from accord.game.labels import player_name
from accord.game.tree import Game, checked_game
from accord.interop.openspiel_games import openspiel_game
from accord.interop.openspiel_policies import SpielPolicy, ask_policy, visited_decisions
from accord.play.rollout import numbered_agents
from accord.treeplex.form import sequence_form

BATCH = 4096
"""Observations that a function is given at once."""

Features = Callable[[int, str], ArrayLike]
"""``features(player, infoset)``: the observation at an infoset, all of the same size."""


class Decision(NamedTuple):
    """An infoset, and what a source is asked there."""

    label: str
    seqs: slice  # the player's sequences
    actions: list[int]  # the columns of the legal actions
    state: Any  # OpenSpiel's, or None


def policy_from(game: Game, source: Any, *, features: Features | None = None) -> CorrelatedPolicy:
    """The correlated policy of a source: a network, a policy or agents of OpenSpiel, or a mixture.

    Args:
        game: The game.
        source: A policy of OpenSpiel; a function from a batch of observations, ``[n, size]``, to
            probabilities, ``[n, actions]``, also a module of PyTorch or a function of JAX; an agent
            of OpenSpiel; a mapping from players to these; a list of all of these, or of pairs
            (weight, source).
        features: ``features(player, infoset)`` gives the observation at an infoset; by default it
            is OpenSpiel's information state tensor, and the game must be OpenSpiel's.

    Raises:
        ArgumentError: If ``source`` is none of these.
        PolicyError: If it does not give probabilities at some infoset.
    """
    asked = _Asked(checked_game(game), features)
    components = [(weight, asked.behaviors(one)) for weight, one in _weighted(source)]
    return CorrelatedPolicy.from_components(game, components)


def is_source(given: object) -> bool:
    """Whether ``given`` is a source, and neither a correlated policy nor a result that has one."""
    if isinstance(given, CorrelatedPolicy | str) or isinstance(
        getattr(given, "policy", None), CorrelatedPolicy
    ):
        return False
    return (
        isinstance(given, Sequence | Mapping)
        or callable(given)
        or hasattr(given, "action_probabilities")
    )


def _weighted(source: Any) -> list[tuple[float, Any]]:
    """The components of a mixture, with weights that sum to one."""
    if not isinstance(source, Sequence) or isinstance(source, str):
        return [(1.0, source)]
    pairs = all(isinstance(one, tuple) and len(one) == 2 for one in source)
    weights = np.array([one[0] for one in source] if pairs else [1.0] * len(source), np.float64)
    if not len(weights) or not weights.min() >= 0.0 or not 0.0 < weights.sum() < np.inf:
        raise ArgumentError(
            "a mixture must have sources whose weights are not negative and have a positive sum; "
            f"got {weights.tolist()}"
        )
    sources = [one[1] for one in source] if pairs else list(source)
    shares = (weights / weights.sum()).tolist()
    return [(share, one) for share, one in zip(shares, sources, strict=True) if share > 0.0]


class _Asked:
    """The infosets of a game, in the form in which sources are asked about them."""

    def __init__(self, game: Game, features: Features | None) -> None:
        self.game, self._features = game, features
        self.plexes = sequence_form(game).plexes
        self.decisions: list[list[Decision]] = [[] for _ in self.plexes]
        self._inputs: dict[int, NDArray[np.float32]] = {}
        if features is None:
            try:
                spiel = openspiel_game(game.source or game.name)
            except ArgumentError:
                raise ArgumentError(
                    f"{game.name} is not a game of OpenSpiel, which would say what players observe "
                    "at each infoset; give a network its observations with "
                    "accord.interop.policy_from(game, network, features=...), and read a device "
                    "with accord.CorrelatedPolicy.from_device(game, device)"
                ) from None
            for i, x, seqs, state, actions in visited_decisions(game, spiel):
                label = game.infoset_labels[i][x]
                self.decisions[i].append(Decision(label, seqs, list(actions), state))
        else:
            for i, plex in enumerate(self.plexes):
                for x, label in enumerate(plex.infoset_labels):
                    seqs = slice(*plex.first_seq[x : x + 2].tolist())
                    actions = list(range(seqs.stop - seqs.start))
                    self.decisions[i].append(Decision(label, seqs, actions, None))

    def behaviors(self, source: Any) -> tuple[Floats, ...]:
        """The behavior vectors of all players."""
        players = self.game.player_labels
        given = dict.fromkeys(range(len(players)), source)
        if isinstance(source, Mapping):
            given = numbered_agents(players, source)
            if missing := [name for i, name in enumerate(players) if i not in given]:
                raise ArgumentError(
                    f"there must be a source for each player; {missing[0]} has none"
                )
        found = []
        for i, plex in enumerate(self.plexes):
            behavior = np.ones(plex.n_sequences)
            if self.decisions[i]:
                self._write(i, given[i], behavior)
            found.append(behavior)
        return tuple(found)

    def _write(self, i: int, source: SpielPolicy, behavior: Floats) -> None:
        """Overwrite ``behavior`` with what ``source`` says for player i."""
        if hasattr(source, "action_probabilities") and self._features is None:
            for at in self.decisions[i]:
                said = ask_policy(source, at.state, i, at.label, at.actions)
                behavior[at.seqs] = [said.get(action, 0.0) for action in at.actions]
            return
        if hasattr(source, "step"):
            rows = _ask_agent(source, i, self.inputs(i), self.decisions[i])
        elif callable(source):
            rows = _call(source, self.inputs(i))
        else:
            raise ArgumentError(
                "a source must be a policy or an agent of OpenSpiel, a function of a batch of "
                f"observations, a mapping from players to these, or a list; got {source!r}"
            )
        most = 1 + max(max(at.actions) for at in self.decisions[i])
        if rows.ndim != 2 or len(rows) != len(self.decisions[i]) or rows.shape[1] < most:
            raise PolicyError(
                f"{player_name(self.game.player_labels[i])}: a source must return a row for each "
                f"observation with at least {most} columns, one per action; got the shape "
                f"{rows.shape} for {len(self.decisions[i])} observations"
            )
        for at, row in zip(self.decisions[i], rows, strict=True):
            legal = row[at.actions].astype(np.float64)
            total = float(legal.sum())
            if not legal.min() >= 0.0 or not 0.0 < total < np.inf:
                raise PolicyError(
                    f"{player_name(self.game.player_labels[i])}, infoset {at.label!r}: the "
                    "probabilities of the legal actions must not be negative, and some must be "
                    f"positive; got {legal.tolist()}; a network must end in a softmax"
                )
            behavior[at.seqs] = legal / total

    def inputs(self, i: int) -> NDArray[np.float32]:
        """``[n_infosets, size]`` the observations of player i, in the order of decisions."""
        if i not in self._inputs:
            give = self._features
            self._inputs[i] = np.array(
                [
                    at.state.information_state_tensor(i) if give is None else give(i, at.label)
                    for at in self.decisions[i]
                ],
                np.float32,
            ).reshape(len(self.decisions[i]), -1)
        return self._inputs[i]


def _call(source: Any, inputs: NDArray[np.float32]) -> NDArray[Any]:
    """What a function returns for all observations, in batches."""
    from_torch = any(kind.__module__.partition(".")[0] == "torch" for kind in type(source).__mro__)
    found = []
    for start in range(0, len(inputs), BATCH):
        batch = inputs[start : start + BATCH]
        if from_torch:
            torch: Any = sys.modules["torch"]  # the module is one of its objects
            with torch.no_grad():
                found.append(np.asarray(source(torch.as_tensor(batch)).cpu()))
        else:
            found.append(np.asarray(source(batch)))
    return np.concatenate(found)


def _ask_agent(
    agent: Any, i: int, inputs: NDArray[np.float32], decisions: Sequence[Decision]
) -> NDArray[Any]:
    """The probabilities with which an agent of OpenSpiel acts, one observation after another."""
    from open_spiel.python.rl_environment import StepType, TimeStep

    found = []
    for seen, at in zip(inputs, decisions, strict=True):
        shown = {
            "info_state": {i: seen.tolist()},
            "legal_actions": {i: at.actions},
            "current_player": i,
            "serialized_state": [],
        }
        step = TimeStep(shown, None, None, StepType.MID)
        found.append(np.asarray(agent.step(step, is_evaluation=True).probs, np.float64))
    return np.stack(found)
