"""Correlated policies: the mediator's lottery over product policies.

A correlated policy (Section 2 of Song, Mei, Bai 2022) draws one product policy before the game
starts. At each infoset that a player reaches it then recommends an action drawn from that player's
part of it. It is stored as weights and, per component, one joint behavior vector: the behaviors
of all players over their sequences, one player after another.

A lottery over more joint plans than can be listed is a *correlation plan* instead
(``equilibrium/correlation_plan.py``): ``plan`` has one number per relevant tuple, and there are no
components. :meth:`CorrelatedPolicy.drawn` draws from either.

A policy knows the players' treeplexes. One that was learned by playing episodes may not know how
moves and chance determine payoffs: its ``game`` is None, and it has no values and no gap until
:meth:`CorrelatedPolicy.in_game` places it in a game.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accord._above import DISPLAY, FRAMES, call_above
from accord._arrays import Floats
from accord._check import MAX_SEED, Number, as_number, checked_whole
from accord._draws import drawn_until
from accord._format import counted, number
from accord.equilibrium.agent import Agent
from accord.equilibrium.correlation_plan import CorrelationPlan
from accord.equilibrium.device import Device
from accord.equilibrium.plans import DrawnPlans, drawn_paths, drawn_plans
from accord.equilibrium.validation import place, split_joint, validated
from accord.errors import ArgumentError, MismatchError, PolicyError
from accord.game.labels import player_name
from accord.game.tree import Game, checked_game
from accord.treeplex.form import SequenceForm, sequence_form
from accord.treeplex.strategy import behavior_to_reach, uniform_behavior
from accord.treeplex.treeplex import EMPTY_SEQUENCE, Treeplex
from accord.treeplex.values import expected_values, joint_reach

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PureProfile = Sequence[Mapping[str, str]] | Mapping[str, Mapping[str, str]]
"""A pure plan of every player in labels: actions by infoset, in the order of the players or by
their labels."""


@dataclass(frozen=True, eq=False, repr=False)
class CorrelatedPolicy:
    """Weights over product policies of the same players. Immutable and validated.

    ``CorrelatedPolicy(game, weights, behavior)`` is a policy of a game, from which its name, its
    players and their treeplexes are taken; :meth:`of_players` makes one without a game, and
    :meth:`of_plan` one that has a correlation plan in place of components.
    """

    game: Game | None  # None if only the players' treeplexes are known
    weights: Floats  # [n_components] positive, sum to one
    behavior: Floats  # [n_components, n_sequences] joint behaviors
    name: str = ""  # of the game, or of the environment in which the policy was learned
    player_labels: tuple[str, ...] = ()
    plexes: tuple[Treeplex, ...] = ()  # of each player
    plan: CorrelationPlan | None = None  # in place of weights and behavior, which are then missing
    excess: float = field(init=False, default=0.0)  # how far sums were from 1 and left as they are

    def __post_init__(self) -> None:
        if self.game is not None or not self.plexes:
            game = checked_game(self.game)
            object.__setattr__(self, "name", game.name)
            object.__setattr__(self, "player_labels", game.player_labels)
            object.__setattr__(self, "plexes", sequence_form(game).plexes)
        if self.plan is not None:
            object.__delattr__(self, "weights")
            object.__delattr__(self, "behavior")
            return
        weights, behavior, excess = validated(
            self.player_labels, self.plexes, self.weights, self.behavior
        )
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "behavior", behavior)
        object.__setattr__(self, "excess", excess)

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
        cls, game: Game, device: Device | Sequence[tuple[Number, PureProfile]]
    ) -> CorrelatedPolicy:
        """From pure plans in labels, such as ``[("1/2", {"row": {"start": "stop"}, ...}), ...]``.

        A plan needs no action at infosets that its player's own earlier actions exclude; the first
        one is taken there. The policy of a :class:`Device` is the one that it was made from, with
        everything that it recommends off the path.

        Args:
            game: The game.
            device: Pairs of a weight and a plan. A plan has the actions of each player by infoset,
                in a sequence or in a mapping by the players' labels. Or a device that lists all its
                plans.

        Raises:
            PolicyError: If a plan lacks an infoset that it leads to or has one that ``game`` lacks,
                an action does not exist, the weights are not probabilities, or a device does not
                list all its plans.
            MismatchError: If it is the device of another game.
        """
        if isinstance(device, Device):
            return _policy_of(device).in_game(game)
        form = sequence_form(checked_game(game))
        if not isinstance(device, Iterable):
            raise PolicyError(
                "a device must be a list of weights and plans, such as [('1/2', {'row': {'start': "
                f"'stop'}}, ...}}), ...]; got {device!r:.80}"
            )
        pairs = [_pair(c, given) for c, given in enumerate(device)]
        behavior = np.zeros((len(pairs), form.n_sequences))
        for c, (_, profile) in enumerate(pairs):
            parts = form.split(behavior[c])
            for i, actions in enumerate(_by_player(game, c, profile)):
                _fill_pure(game, c, i, form.plexes[i], actions, parts[i])
        weights = [as_number(f"the weight of component {c}", w) for c, (w, _) in enumerate(pairs)]
        return cls(game, np.array(weights), behavior)

    @classmethod
    def of_players(
        cls,
        name: str,
        player_labels: Sequence[str],
        plexes: Sequence[Treeplex],
        weights: Floats,
        behavior: Floats,
    ) -> CorrelatedPolicy:
        """A policy of players with these treeplexes, whose game is not known.

        Args:
            name: The name of the environment.
            player_labels: The names of the players.
            plexes: The treeplex of each player.
            weights: ``[n_components]`` the probability of each component.
            behavior: ``[n_components, n_sequences]`` joint behaviors, one player after another.

        Raises:
            PolicyError: If these are not policies of the players; the message names the place.
        """
        return cls(None, weights, behavior, name, tuple(player_labels), tuple(plexes))

    @classmethod
    def of_plan(cls, plan: CorrelationPlan) -> CorrelatedPolicy:
        """A correlation plan as a policy, without components."""
        nothing = np.zeros(0)
        return cls(plan.form.game, nothing, nothing, plan=plan)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Refuse to list the components of a correlation plan."""
            if name in ("weights", "behavior"):
                raise ArgumentError(
                    f"this needs the components of a mixture, and the policy of {self.name!r} is a "
                    "correlation plan, which has none; draw some of its joint plans first: "
                    "policy.sampled(1000)"
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def in_game(self, game: Game) -> CorrelatedPolicy:
        """This policy as one of ``game``, which has the same infosets and actions by label.

        At infosets that the policy does not know, all actions are equally likely.

        Raises:
            ArgumentError: If ``game`` is not a game.
            MismatchError: If this is the policy of another game, or ``game`` has another number of
                players, or lacks one of the policy's infosets.
        """
        form = sequence_form(game)
        if self.game is not None:
            if self.game is not game and self.game.digest != game.digest:
                raise MismatchError(
                    f"the policy is for {self.name!r}, which is not the game {game.name!r}"
                )
            return self
        if len(self.plexes) != form.n_players:
            raise MismatchError(
                f"{self.name} has {len(self.plexes)} players; the game {game.name} has "
                f"{form.n_players}"
            )
        uniform = np.concatenate(list(map(uniform_behavior, form.plexes)))
        behavior = np.tile(uniform, (self.n_components, 1))
        for i, part in enumerate(self.split(self.behavior)):
            columns = _columns(self.player_labels[i], self.plexes[i], form.plexes[i])
            form.split(behavior)[i][:, columns] = part
        behavior.flags.writeable = False  # nobody else has it
        return CorrelatedPolicy(game, self.weights, behavior)

    @property
    def form(self) -> SequenceForm:
        """The sequence form of the game.

        Raises:
            ArgumentError: If the game is not known.
        """
        if self.game is None:
            raise ArgumentError(
                f"this needs the game, and the policy of {self.name!r} knows only its players; "
                "place it in the game first: policy.in_game(game)"
            )
        return sequence_form(self.game)

    @property
    def n_components(self) -> int:
        """The number of components; 0 for a correlation plan."""
        return len(self.weights) if self.plan is None else 0

    @property
    def size(self) -> str:
        """How much the policy mixes, in words."""
        if self.plan is None:
            return counted(self.n_components, "component")
        return f"correlation plan over {self.plan.steps.n_tuples:,} tuples"

    def drawn(self, rng: np.random.Generator) -> Floats:
        """``[n_sequences]`` one product policy of the lottery: a component, or a joint plan."""
        if self.plan is not None:
            return self.plan.drawn(rng.random(self.plan.n_steps))
        until = np.cumsum(self.weights)
        row: Floats = self.behavior[drawn_until(until, rng.random() * until[-1])]
        return row

    def sampled(self, count: int, seed: int = 0) -> CorrelatedPolicy:
        """A mixture of ``count`` draws from the lottery, with equal weights.

        It has components where a correlation plan has none, and its own gap.

        Args:
            count: The number of draws, at least 1.
            seed: The seed of all draws.

        Raises:
            ArgumentError: If ``count`` or ``seed`` is out of range.
        """
        checked_whole("count", count, 1)
        rng = np.random.default_rng(checked_whole("seed", seed, 0, MAX_SEED))
        behavior = np.array([self.drawn(rng) for _ in range(count)])
        weights = np.full(count, 1.0 / count)
        return CorrelatedPolicy(
            self.game, weights, behavior, self.name, self.player_labels, self.plexes
        )

    def split(self, joint: Floats) -> tuple[Floats, ...]:
        """The part of each player in a joint vector over all players' sequences, as views."""
        return split_joint(self.plexes, joint)

    def components(self) -> Iterator[tuple[float, tuple[Floats, ...]]]:
        """``(weight, (behavior of each player))`` of every component, as copies."""
        for c, weight in enumerate(self.weights):
            yield float(weight), self.behaviors(c)

    def behaviors(self, c: int) -> tuple[Floats, ...]:
        """The behavior of each player in component ``c``, as copies."""
        joint = self.behavior[c].copy()  # kernels are compiled for arrays that can be written
        return self.split(joint)

    def values(self) -> Floats:
        """``[n_players]`` expected payoffs when everybody obeys.

        Raises:
            ArgumentError: If the game is not known.
        """
        form = self.form
        if self.plan is not None:
            return np.asarray(self.plan.leaf_probabilities() @ form.leaves.payoff)
        total = np.zeros(form.n_players)
        for weight, behaviors in self.components():
            total += weight * expected_values(form.leaves, joint_reach(form.plexes, behaviors))
        return total

    def mean_behavior(self) -> Floats:
        """``[n_sequences]`` the expected joint behavior that is drawn before a play."""
        if self.plan is not None:
            return self.plan.mean_behavior()
        return np.asarray(self.weights @ self.behavior)

    def is_mute(self) -> bool:
        """Whether a player who has deviated hears nothing new: at every infoset that some
        recommendations exclude, the same action is recommended in all components in which they may.

        Mixtures of ``optimize`` are like this. Their K-EFCE gaps are the same for all K >= 1.
        """
        if self.plan is not None:
            return True
        for plex, part in zip(self.plexes, self.split(self.behavior), strict=True):
            before = np.repeat(plex.parent_seq, plex.n_actions)
            least, most = np.ones(plex.n_sequences), np.zeros(plex.n_sequences)
            for behavior in part:
                reach = behavior_to_reach(plex, behavior.copy())
                here = 1 + np.flatnonzero(reach[before] < 1.0)
                least[here] = np.minimum(least[here], behavior[here])
                most[here] = np.maximum(most[here], behavior[here])
                if (least < most).any():  # where nothing was excluded, they are 1 and 0
                    return False
            if not np.isin(most, (0.0, 1.0)).all():
                return False
        return True

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

        Raises:
            ArgumentError: If the game is not known.
        """
        return Device.of(self.form, self.likeliest_plans(plans, off_path=off_path), self)

    def likeliest_plans(self, plans: int, **search: Any) -> DrawnPlans:
        """The plans of :meth:`device`, in numbers.

        ``search`` is what :func:`accord.equilibrium.plans.drawn_plans` takes.
        """
        checked_whole("plans", plans, 1)
        if self.plan is not None:
            return drawn_paths(self.plan, plans, **search)
        return drawn_plans(self.form, self.weights, self.behavior, plans, **search)

    def agent(self, player: int | str, seed: int = 0) -> Agent:
        """A player who obeys; agents with the same seed are correlated with each other.

        Args:
            player: The player's number, from 0, or label.
            seed: The seed of all draws.

        Raises:
            ArgumentError: If there is no such player.
        """
        return Agent(self.player_labels, player, self.plexes, self.drawn, seed)

    def plot(self) -> Figure:
        """A bar chart of the recommendations at each infoset, given that everybody obeys.

        It has the infosets that are reached most often.

        Raises:
            ArgumentError: If the game is not known.
        """
        figure: Figure = call_above(DISPLAY, "policy_plot", self)
        return figure

    def to_frame(self) -> Any:
        """A pandas data frame with one row per component, player, infoset and action.

        Its columns are ``component``, ``weight``, ``player``, ``infoset``, ``action`` and
        ``probability``. It needs pandas (the extra ``pandas``).
        """
        return call_above(FRAMES, "policy_frame", self)

    def __repr__(self) -> str:
        if self.plan is not None:
            return f"CorrelatedPolicy({self.name!r}, tuples={self.plan.steps.n_tuples})"
        return f"CorrelatedPolicy({self.name!r}, components={self.n_components})"

    def _repr_html_(self) -> str:
        return str(call_above(DISPLAY, "policy_html", self))


class Solved(Protocol):
    """A result that has a policy, such as a :class:`accord.runs.Solution`."""

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
    return policy_in(policy).in_game(game)


def policy_in(given: CorrelatedPolicy | Solved) -> CorrelatedPolicy:
    """The correlated policy that ``given`` is or has.

    Raises:
        ArgumentError: If it is neither a correlated policy nor a result that has one.
    """
    policy = given if isinstance(given, CorrelatedPolicy) else getattr(given, "policy", given)
    if not isinstance(policy, CorrelatedPolicy):
        raise ArgumentError(
            "policy must be an accord.CorrelatedPolicy, such as accord.load_policy(path, game), or "
            f"a result that has one, such as accord.solve(game); got {reprlib.repr(given)}"
        )
    return policy


def _policy_of(device: Device) -> CorrelatedPolicy:
    """The policy whose device this is, if it lists all plans."""
    if not device.is_complete:
        raise PolicyError(
            f"the device of {device.game} must list all its plans, but others have a total "
            f"probability of {number(device.rest)}; list more: policy.device(plans=...)"
        )
    assert isinstance(device.policy, CorrelatedPolicy)
    return device.policy


def _pair(c: int, given: Any) -> tuple[Number, PureProfile]:
    """A weight and a plan, which has the actions of each player by infoset."""
    pair = tuple(given) if isinstance(given, Sequence) else ()
    plan = pair[1] if len(pair) == 2 and not isinstance(given, str) else None
    parts = plan.values() if isinstance(plan, Mapping) else plan
    if not isinstance(parts, Iterable) or not all(isinstance(part, Mapping) for part in parts):
        raise PolicyError(
            f"component {c} must be a weight and a plan, such as ('1/2', {{'row': {{'start': "
            f"'stop'}}, ...}}); got {reprlib.repr(given)}"
        )
    return pair[0], pair[1]


def _by_player(game: Game, c: int, profile: PureProfile) -> list[Mapping[str, str]]:
    """The actions of each player in a plan, in the order of the game."""
    if isinstance(profile, Mapping):
        labels = game.player_labels
        if unknown := [label for label in profile if label not in labels]:
            raise PolicyError(
                f"component {c}: there is no player {unknown[0]!r}; the players are "
                f"{', '.join(map(repr, labels))}"
            )
        return [profile.get(label, {}) for label in labels]
    if len(profile) != game.n_players:
        raise PolicyError(
            f"component {c}: there must be one mapping per player, {game.n_players}; got "
            f"{len(profile)}"
        )
    return list(profile)


def _fill_pure(
    game: Game,
    c: int,
    i: int,
    plex: Treeplex,
    actions: Mapping[str, str],
    part: Floats,
) -> None:
    """Overwrite ``part`` with a pure plan."""
    part[0] = 1.0
    allowed = np.zeros(plex.n_sequences, bool)  # whether the plan's own actions lead there
    allowed[0] = True
    unknown = dict(actions)
    for x, label in enumerate(plex.infoset_labels):
        where = place(c, game.player_labels[i], plex, x)
        reached = allowed[plex.parent_seq[x]]
        if label not in actions:
            if reached:
                raise PolicyError(f"{where}: no action is given for this infoset")
            a = 0
        else:
            if (action := unknown.pop(label)) not in plex.action_labels[x]:
                raise PolicyError(
                    f"{where}: there is no action {action!r}; the actions are "
                    f"{', '.join(map(repr, plex.action_labels[x]))}"
                )
            a = plex.action_labels[x].index(action)
        part[plex.first_seq[x] + a] = 1.0
        allowed[plex.first_seq[x] + a] = reached
    if unknown:
        raise PolicyError(
            f"component {c}, {player_name(game.player_labels[i])}: the game has no infoset "
            f"{next(iter(unknown))!r}"
        )


def _columns(player: str, own: Treeplex, plex: Treeplex) -> NDArray[np.int64]:
    """The sequence in ``plex`` of each sequence in ``own``, by the labels of infosets and actions.

    Raises:
        MismatchError: If ``plex`` lacks one of them.
    """
    number = {label: x for x, label in enumerate(plex.infoset_labels)}
    found = np.empty(own.n_infosets, np.int64)
    for x, (label, actions) in enumerate(zip(own.infoset_labels, own.action_labels, strict=True)):
        found[x] = number.get(label, -1)
        if found[x] < 0 or tuple(plex.action_labels[found[x]]) != tuple(actions):
            raise MismatchError(
                "the game must have all infosets and actions of the policy, but lacks infoset "
                f"{label!r} of {player_name(player)} with the actions {tuple(actions)}"
            )
    shift = np.repeat(plex.first_seq[found] - own.first_seq[:-1], own.n_actions)
    return np.concatenate([[EMPTY_SEQUENCE], np.arange(1, own.n_sequences) + shift])
