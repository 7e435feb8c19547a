"""Correlated policies: the mediator's lottery over product policies.

A correlated policy (Section 2 of Song, Mei, Bai 2022) draws one product policy before the game
starts. At each infoset that a player reaches it then recommends an action drawn from that player's
part of it. It is stored as weights and, per component, one joint behaviour vector: the behaviours
of all players over their sequences, one player after another.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from accord._above import DISPLAY, FRAMES, call_above
from accord._arrays import Floats
from accord.equilibrium.agent import Agent
from accord.equilibrium.device import Device
from accord.errors import ArgumentError, MismatchError, PolicyError
from accord.game.labels import player_name
from accord.game.tree import Game, checked_game
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import Treeplex
from accord.treeplex.values import expected_values, joint_reach

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOLERANCE = 1e-6
"""Probabilities must sum to 1 up to this error, and are then normalised."""

BLOCK = 2**18
"""Probabilities that are checked at once, to use little memory."""

ROUNDING = 1e-13
"""Sums this close to 1 are not normalised, so that normalising twice changes no bit."""


@dataclass(frozen=True, eq=False, repr=False)
class CorrelatedPolicy:
    """Weights over product policies of one game. Immutable and validated."""

    game: Game
    weights: Floats  # [n_components] positive, sum to one
    behavior: Floats  # [n_components, n_sequences] joint behaviours
    excess: float = field(init=False, default=0.0)  # how far sums were from 1 and left as they are

    def __post_init__(self) -> None:
        try:
            weights = np.array(self.weights, dtype=np.float64)
            behavior = self.behavior
            if not _is_frozen(behavior):
                behavior = np.array(behavior, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise PolicyError("weights and probabilities must be arrays of numbers") from None
        form = sequence_form(self.game)
        if (
            weights.ndim != 1
            or behavior.shape != (len(weights), form.n_sequences)
            or not len(weights)
        ):
            raise PolicyError(
                f"a correlated policy needs one weight and one vector of {form.n_sequences} "
                f"probabilities per component; got shapes {weights.shape} and {behavior.shape}"
            )
        if not (np.isfinite(weights) & (weights > 0)).all():
            bad = int(np.flatnonzero(~(np.isfinite(weights) & (weights > 0)))[0])
            raise PolicyError(
                f"component {bad}: the weight must be positive and finite; got {weights[bad]}"
            )
        with np.errstate(over="ignore"):
            total = float(weights.sum())
        if abs(total - 1.0) > TOLERANCE:
            raise PolicyError(f"the weights must sum to one; they sum to {total}")
        excess = [0.0]
        for first in range(0, len(behavior), step := max(1, BLOCK // form.n_sequences)):
            block = behavior[first : first + step].copy()
            for i, (plex, part) in enumerate(zip(form.plexes, form.split(block), strict=True)):
                excess.append(_check_probabilities(self.game, first, i, plex, part))
            if not np.array_equal(block, behavior[first : first + step]):
                behavior = behavior if behavior.flags.writeable else behavior.copy()
                behavior[first : first + step] = block
        if abs(total - 1.0) > ROUNDING:
            weights /= total
        else:
            excess.append(abs(total - 1.0))
        for array in (weights, behavior):
            array.flags.writeable = False
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "behavior", behavior)
        object.__setattr__(self, "excess", max(excess))

    @classmethod
    def from_components(
        cls, game: Game, components: Sequence[tuple[float, Sequence[ArrayLike]]]
    ) -> CorrelatedPolicy:
        """From ``(weight, (behavior of player 1, behavior of player 2, ...))`` pairs.

        Raises:
            PolicyError: If these are not policies of ``game``; the message names the place.
        """
        sizes = [plex.n_sequences for plex in sequence_form(game).plexes]
        for c, (_, behaviors) in enumerate(components):
            got = [len(np.atleast_1d(b)) for b in behaviors]
            if got != sizes:
                raise PolicyError(
                    f"component {c}: each player needs one probability per sequence, {sizes}; "
                    f"got {got}"
                )
        return cls(
            game,
            np.array([weight for weight, _ in components], dtype=np.float64),
            np.array([np.concatenate(list(behaviors)) for _, behaviors in components]),
        )

    @classmethod
    def product(cls, game: Game, behaviors: Sequence[ArrayLike]) -> CorrelatedPolicy:
        """One product policy, without correlation; raises what :meth:`from_components` does."""
        return cls.from_components(game, [(1.0, behaviors)])

    @classmethod
    def from_device(
        cls, game: Game, device: Sequence[tuple[float, Sequence[Mapping[str, str]]]]
    ) -> CorrelatedPolicy:
        """From pure profiles in labels: ``(weight, ({infoset: action, ...} per player))`` pairs.

        Raises:
            PolicyError: If a profile lacks an infoset of ``game`` or has another, an action does
                not exist, or the weights are not probabilities.
        """
        form = sequence_form(game)
        behavior = np.zeros((len(device), form.n_sequences))
        for c, (_, profile) in enumerate(device):
            if len(profile) != game.n_players:
                raise PolicyError(
                    f"component {c}: there must be one mapping per player, {game.n_players}; got "
                    f"{len(profile)}"
                )
            for i, part in enumerate(form.split(behavior[c])):
                _fill_pure(game, c, i, form.plexes[i], profile[i], part)
        return cls(game, np.array([weight for weight, _ in device], dtype=np.float64), behavior)

    @property
    def n_components(self) -> int:
        return len(self.weights)

    def components(self) -> Iterator[tuple[float, tuple[Floats, ...]]]:
        """``(weight, (behavior of each player))`` of every component, as copies."""
        for c, weight in enumerate(self.weights):
            yield float(weight), self.behaviors(c)

    def behaviors(self, c: int) -> tuple[Floats, ...]:
        """The behavior of each player in component ``c``, as copies."""
        joint = self.behavior[c].copy()  # kernels are compiled for arrays that can be written
        return sequence_form(self.game).split(joint)

    def values(self) -> Floats:
        """``[n_players]`` expected payoffs when everybody obeys."""
        form = sequence_form(self.game)
        total = np.zeros(form.n_players)
        for weight, behaviors in self.components():
            total += weight * expected_values(form.leaves, joint_reach(form.plexes, behaviors))
        return total

    def device(self, plans: int = 1000, *, off_path: bool = False) -> Device:
        """The plans that the policy draws, with their probabilities, the likeliest first.

        A plan has the recommendations at all infosets that obedient players reach under it. Draws
        that agree there are one plan, whichever components they come from.

        Args:
            plans: How many plans to list. The device has the total probability of all others. A
                policy that mixes at many infosets draws from so many plans that none can be found;
                even then the device bounds their probabilities.
            off_path: Also list what each player is told after another player has deviated. Plans
                that differ only there are then different plans.
        """
        return Device.of(
            sequence_form(self.game), self.weights, self.behavior, plans, off_path=off_path
        )

    def agent(self, player: int | str, seed: int = 0) -> Agent:
        """A player who obeys; agents with the same seed are correlated with each other.

        Args:
            player: The player's number, from 0, or label.
            seed: The seed of all draws.

        Raises:
            ArgumentError: If there is no such player.
        """
        form = sequence_form(self.game)
        parts = form.split(self.behavior)
        return Agent(self.game.player_labels, player, form.plexes, self.weights, parts, seed)

    def plot(self) -> Figure:
        """A bar chart of the recommendations at each infoset, given that everybody obeys.

        It has the infosets that are reached most often.
        """
        figure: Figure = call_above(DISPLAY, "policy_plot", self)
        return figure

    def to_frame(self) -> Any:
        """A pandas data frame with one row per component, player, infoset and action.

        Its columns are ``component``, ``weight``, ``player``, ``infoset``, ``action`` and
        ``probability``. It needs the extra ``accord[pandas]``.
        """
        return call_above(FRAMES, "policy_frame", self)

    def __repr__(self) -> str:
        return f"CorrelatedPolicy({self.game.name!r}, components={self.n_components})"

    def _repr_html_(self) -> str:
        return str(call_above(DISPLAY, "policy_html", self))


class Solved(Protocol):
    """A result that has a policy, such as a :class:`accord.Solution`."""

    @property
    def policy(self) -> CorrelatedPolicy: ...


def checked_policy(game: Game, policy: CorrelatedPolicy | Solved) -> CorrelatedPolicy:
    """The correlated policy of ``game`` that ``policy`` is or has.

    Raises:
        ArgumentError: If ``game`` is not a game, or ``policy`` neither a correlated policy nor a
            result that has one.
        MismatchError: If the policy is for another game.
    """
    checked_game(game)
    given = policy
    if not isinstance(policy, CorrelatedPolicy):
        policy = getattr(given, "policy", given)
    if not isinstance(policy, CorrelatedPolicy):
        raise ArgumentError(
            "policy must be an accord.CorrelatedPolicy, such as accord.load_policy(path, game), or "
            f"a result that has one, such as accord.solve(game); got {reprlib.repr(given)}"
        )
    if policy.game is not game and policy.game.digest != game.digest:
        raise MismatchError(
            f"the policy is for {policy.game.name!r}, which is not the game {game.name!r}"
        )
    return policy


def _is_frozen(behavior: ArrayLike) -> bool:
    """Whether nobody can write to an array: its maker gave it up, and no copy is needed."""
    return (
        isinstance(behavior, np.ndarray)
        and behavior.dtype == np.float64
        and behavior.flags.c_contiguous
        and behavior.base is None
        and not behavior.flags.writeable
    )


def _check_probabilities(game: Game, first: int, i: int, plex: Treeplex, part: Floats) -> float:
    """Check one player's behaviours in components from ``first`` on, and normalise them in place.

    Returns the largest difference from 1 of the sums that are so close that they are left alone.
    """
    part[:, 0] = 1.0
    if not plex.n_infosets:
        return 0.0
    bad = ~(np.isfinite(part) & (part >= 0.0))
    if bad.any():
        c, seq = map(int, np.argwhere(bad)[0])
        x = int(plex.seq_infoset[seq])
        raise PolicyError(
            f"{_place(game, first + c, i, x)}: probabilities must be non-negative and finite; got "
            f"{part[c, seq]} for action {plex.action_labels[x][seq - plex.first_seq[x]]!r}"
        )
    with np.errstate(over="ignore"):
        sums = np.add.reduceat(part[:, 1:], plex.first_seq[:-1] - 1, axis=1)
    if (off := np.abs(sums - 1.0) > TOLERANCE).any():
        c, x = map(int, np.argwhere(off)[0])
        raise PolicyError(
            f"{_place(game, first + c, i, x)}: probabilities must sum to one; they sum to "
            f"{sums[c, x]}"
        )
    close = np.abs(sums - 1.0) <= ROUNDING
    excess = float(np.abs(sums - 1.0).max(where=close, initial=0.0))
    sums[close] = 1.0
    part[:, 1:] /= np.repeat(sums, plex.n_actions, axis=1)
    return excess


def _fill_pure(
    game: Game, c: int, i: int, plex: Treeplex, actions: Mapping[str, str], part: Floats
) -> None:
    part[0] = 1.0
    unknown = dict(actions)
    for x, label in enumerate(plex.infoset_labels):
        if label not in actions:
            raise PolicyError(f"{_place(game, c, i, x)}: no action is given for this infoset")
        if (action := unknown.pop(label)) not in plex.action_labels[x]:
            raise PolicyError(
                f"{_place(game, c, i, x)}: there is no action {action!r}; the actions are "
                f"{', '.join(map(repr, plex.action_labels[x]))}"
            )
        part[plex.first_seq[x] + plex.action_labels[x].index(action)] = 1.0
    if unknown:
        raise PolicyError(
            f"component {c}, {player_name(game.player_labels[i])}: the game has no infoset "
            f"{next(iter(unknown))!r}"
        )


def _place(game: Game, c: int, i: int, x: int) -> str:
    label = game.infoset_labels[i][x]
    return f"component {c}, {player_name(game.player_labels[i])}, infoset {label!r}"
