"""The mediator: what it says, what it refuses, and what playing with it amounts to.

Laws are compared exactly: the one function that draws is replaced by one that goes through every
outcome, and the plays are repeated until all have come up. That function is tested by itself.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import accord
from accord._arrays import CHANCE, TERMINAL
from accord.deviations.modification import Modification
from accord.deviations.rechistory import RechistoryTree
from accord.equilibrium.certificate import certify
from accord.equilibrium.correlated import CorrelatedPolicy
from accord.errors import ArgumentError, BudgetError, MediatorError, MismatchError
from accord.game.library import chicken, kuhn, library_device, separation
from accord.game.tree import Game
from accord.mediator import mediator as module
from accord.mediator.hindsight import Hindsight, Move
from accord.mediator.mediator import Mediator, Play
from accord.play.rollout import CHUNK, obedient_plays
from accord.treeplex.form import sequence_form
from tests import reference
from tests.support.policies import (
    all_games,
    all_k,
    grown_game,
    grown_games,
    phi_as_reference,
    random_phi,
)
from tests.support.policies import random_policy as random_policy_of
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels

checked = examples(25)
seeds = st.integers(0, 2**32 - 1)

Draw = Callable[..., int]
Player = Callable[[Play, int, int], int]  # (play, player, infoset) -> the action she takes


def random_policy(game: Game, seed: int) -> CorrelatedPolicy:
    return random_policy_of(game, seed, components=1 + seed % 3)


# --- playing, and the law of it -------------------------------------------------------------------


def delegating(play: Play, i: int, x: int) -> int:
    return play.move(i, x)


def following(play: Play, i: int, x: int) -> int:
    told = play.recommend(i, x)
    play.act(i, x, told)
    return told


class Modified:
    """A player who executes phi with the recommendations of the mediator: Algorithm 1."""

    def __init__(self, phi: Modification) -> None:
        self.arrived: list[int] = []
        self.phi = phi
        self.moves: Iterator[tuple[int, int]] | None = None

    def infosets(self) -> Iterator[int]:
        while True:
            yield self.arrived.pop()

    def __call__(self, play: Play, i: int, x: int) -> int:
        if self.moves is None:
            self.moves = self.phi.execute(self.infosets(), lambda x: play.recommend(i, x))
        self.arrived.append(x)
        came, action = next(self.moves)
        assert came == x
        play.act(i, x, action)
        return action


def play_through(mediator: Mediator, players: Sequence[Player], chance: Draw) -> tuple[int, Play]:
    """One play from the root: the terminal, and the session with the mediator."""
    game, play = mediator.game, mediator.begin()
    for i, player in enumerate(players):
        if player is delegating:
            play.delegate(i)
    node = 0
    while game.player[node] != TERMINAL:
        below = reference.node_children(game)[node]
        i = int(game.player[node])
        if i == CHANCE:
            a = chance([float(game.chance_prob[child]) for child in below])
        else:
            a = players[i](play, i, int(game.infoset[node]))
        node = below[a]
    return node, play


def against_followers(mediator: Mediator, i: int, player: Player, chance: Draw) -> tuple[int, Play]:
    """A play of ``player`` in the place of i with others who follow."""
    players: list[Player] = [delegating] * mediator.game.n_players
    players[i] = player
    return play_through(mediator, players, chance)


class Outcomes:
    """Draws the outcomes that ``script`` says, then first ones; remembers what it could draw."""

    def __init__(self, script: list[int]) -> None:
        self.script = script
        self.trace: list[tuple[int, int]] = []  # (which outcome, of how many)
        self.weight = 1.0

    def __call__(self, probabilities: Sequence[float], rng: object = None) -> int:
        possible = [j for j, p in enumerate(probabilities) if p > 0]
        n = len(self.trace)
        which = self.script[n] if n < len(self.script) else 0
        self.trace.append((which, len(possible)))
        self.weight *= float(probabilities[possible[which]])
        return possible[which]


def law(program: Callable[[Draw], Hashable]) -> dict[Any, float]:
    """The exact distribution of what ``program`` returns, the mediator's draws included."""
    total: dict[Any, float] = defaultdict(float)
    script: list[int] = []
    while True:
        draw = Outcomes(script)
        with patch.object(module, "_draw", draw):
            outcome = program(draw)
        total[outcome] += draw.weight
        trace = draw.trace
        while trace and trace[-1][0] + 1 == trace[-1][1]:
            trace.pop()
        if not trace:
            return dict(total)
        script = [which for which, _ in trace[:-1]] + [trace[-1][0] + 1]


def terminal_law(policy: CorrelatedPolicy, i: int = 0, phi: Any = None) -> dict[int, float]:
    """Of (phi o pi_i) x pi_-i, from the sequence forms and the game tree."""
    game = policy.game
    found: dict[int, float] = defaultdict(float)
    for weight, behaviors in policy.components():
        reach = [reference.sequence_form(game, j, b.tolist()) for j, b in enumerate(behaviors)]
        if phi is not None:
            reach[i] = phi.sequence_form(behaviors[i]).tolist()
        for z in reference.terminals(game):
            ways = (own[seq] for own, seq in zip(reach, z.seqs, strict=True))
            found[z.node] += weight * z.chance * math.prod(ways)
    return {node: p for node, p in found.items() if p > 0}


def assert_same(found: dict[Any, float], expected: dict[Any, float]) -> None:
    assert found.keys() == expected.keys()
    for outcome, p in expected.items():
        assert found[outcome] == pytest.approx(p, abs=1e-12)


def end_of_all(mediator: Mediator, player: Player, chance: Draw) -> int:
    return play_through(mediator, [player] * mediator.game.n_players, chance)[0]


@checked
@given(grown_games(most=40), seeds)
def test_following_it_is_the_policy(game, seed):
    policy = random_policy(game, seed)
    expected = terminal_law(policy)
    for k, player in ((0, delegating), (1, delegating), (1, following), (math.inf, following)):
        found = law(partial(end_of_all, Mediator(game, policy, k), player))
        assert_same(found, expected)
    payoffs = {z.node: z.payoffs for z in reference.terminals(game)}
    values = [sum(p * payoffs[z][i] for z, p in found.items()) for i in range(game.n_players)]
    assert values == pytest.approx(policy.values(), abs=1e-9)


def end_with_phi(mediator: Mediator, i: int, phi: Modification, chance: Draw) -> int:
    return against_followers(mediator, i, Modified(phi), chance)[0]


@checked
@given(grown_games(most=30), seeds)
def test_executing_phi_with_it_is_the_modified_policy(game, seed):
    """Never refused while Type I, and the law is that of phi o pi."""
    rng = np.random.default_rng(seed)
    policy = random_policy(game, seed)
    for i, plex in enumerate(sequence_form(game).plexes):
        for k in all_k(game, i):
            phi = random_phi(RechistoryTree.build(plex, k), rng)
            found = law(partial(end_with_phi, Mediator(game, policy, k), i, phi))
            assert_same(found, terminal_law(policy, i, phi))


class Planned:
    """A player who does what she has planned, whatever she is told if she asks."""

    def __init__(self, plan: np.ndarray, asks: bool) -> None:
        self.plan, self.asks = plan, asks

    def __call__(self, play: Play, i: int, x: int) -> int:
        if self.asks and play.advises(i):
            play.recommend(i, x)
        play.act(i, x, self.plan[x])
        return int(self.plan[x])


def end_and_deviations(mediator: Mediator, i: int, player: Player, chance: Draw) -> tuple[int, int]:
    end, play = against_followers(mediator, i, player, chance)
    return end, play.deviations(i)


@checked
@given(grown_games(most=30), seeds)
def test_not_asking_is_asking_and_not_listening(game, seed):
    """The same deviations are counted whether she asks or not."""
    rng = np.random.default_rng(seed)
    policy = random_policy(game, seed)
    for i, plex in enumerate(sequence_form(game).plexes):
        plan = rng.integers(plex.n_actions)
        for k in (0, 1, 2, math.inf):
            mediator = Mediator(game, policy, k)
            one, other = (
                law(partial(end_and_deviations, mediator, i, Planned(plan, asks)))
                for asks in (True, False)
            )
            assert_same(other, one)
            assert all(count <= k for _, count in one)


class Wayward:
    """A player who does anything, and writes down what she is told."""

    def __init__(self, k: float, rng: np.random.Generator) -> None:
        self.k, self.rng = k, rng
        self.wrong = 0  # deviations, counted here
        self.refused = 0

    def __call__(self, play: Play, i: int, x: int) -> int:
        n = play._mediator.form.plexes[i].n_actions[x]
        assert play.advises(i) == (self.wrong < self.k)
        told = None
        if self.wrong < self.k:
            told = play.recommend(i, x)
            assert 0 <= told < n
        else:
            with pytest.raises(
                MediatorError, match=r"nothing is recommended|mediator is now silent"
            ):
                play.recommend(i, x)
            self.refused += 1
        a = int(self.rng.integers(n))
        play.act(i, x, a)
        self.wrong += told is not None and told != a
        assert play.deviations(i) == self.wrong
        return a


@examples(100)
@given(all_games(), seeds)
def test_nothing_is_recommended_after_the_last_deviation(game, seed):
    """And always something before it."""
    rng = np.random.default_rng(seed)
    policy = random_policy(game, seed)
    for k in (0, 1, 2, math.inf):
        mediator = Mediator(game, policy, k, seed)
        for _ in range(3):
            players = [Wayward(k, rng) for _ in range(game.n_players)]
            play_through(mediator, players, lambda p: int(rng.integers(len(p))))
            assert all(player.wrong <= k for player in players)
            assert k < math.inf or not any(player.refused for player in players)


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_who_always_disobeys_is_told_k_times(k):
    game = separation(k=2)  # three decisions of two actions
    policy = CorrelatedPolicy.from_device(game, library_device("separation:k=2"))
    told = []

    def contrary(play: Play, i: int, x: int) -> int:
        if not play.advises(i):
            with pytest.raises(MediatorError):
                play.recommend(i, x)
            play.act(i, x, 0)
            return 0
        told.append(play.recommend(i, x))
        play.act(i, x, 1 - told[-1])
        return 1 - told[-1]

    play_through(Mediator(game, policy, k, 1), [contrary, delegating], lambda p: 0)
    assert len(told) == k


# --- drawing --------------------------------------------------------------------------------------


class Fixed:
    """A generator that draws one number."""

    def __init__(self, value: float) -> None:
        self.value = value

    def random(self) -> float:
        return self.value


@pytest.mark.parametrize(
    "p", [[1.0], [0.25, 0.75], [0.0, 0.5, 0.0, 0.5, 0.0], [0.1] * 10, [1 / 3] * 3, [0.0, 1.0]]
)
def test_the_inverse_of_the_distribution_function(p):
    """Each index is drawn on exactly its own interval, and never if it has probability 0."""
    p = np.array(p)
    edges = np.concatenate([[0.0], np.cumsum(p)])
    last = math.nextafter(1.0, 0.0)
    for j in np.flatnonzero(p):
        for u in (edges[j], (edges[j] + edges[j + 1]) / 2, math.nextafter(edges[j + 1], 0.0)):
            assert module._draw(p, Fixed(min(u, last))) == j
    assert module._draw(p, Fixed(last)) == np.flatnonzero(p)[-1]  # also if they sum to less


def test_the_component_is_drawn_once_by_its_weight():
    game = chicken()
    policy = CorrelatedPolicy.from_device(game, library_device("chicken"))
    weights = np.cumsum(policy.weights)
    for u, component in zip([0.0, *weights[:-1]], policy.behavior, strict=True):
        play = Play(Mediator(game, policy), Fixed(u))
        for i, behavior in enumerate(sequence_form(game).split(component)):
            assert behavior[1 + play.recommend(i, 0)] == 1.0


def test_seeds():
    game = grown_game(3)
    policy = random_policy_of(game, 3, components=4, pure=0.0)

    def ends(seed: int | None, count: int = 60) -> list[int]:
        mediator = Mediator(game, policy, 1, seed)
        rng = np.random.default_rng(0)
        players = [delegating] * game.n_players
        return [
            play_through(mediator, players, lambda p: int(rng.choice(len(p), p=p)))[0]
            for _ in range(count)
        ]

    assert ends(5) == ends(5)
    assert ends(5) != ends(6)
    assert len(set(ends(5))) > 3  # plays of one mediator differ
    assert ends(None) != ends(None)


def test_plays_at_once_do_not_disturb_each_other():
    game = separation(k=2)
    policy = random_policy_of(game, 0, components=3, pure=0.0)

    def finish(play: Play) -> list[int]:
        plex = sequence_form(game).plexes[0]
        x, told = 0, []
        while True:
            told.append(following(play, 0, x))
            after = plex.children(int(plex.first_seq[x]) + told[-1])
            if not after:
                return told
            x = after[0]

    mediator = Mediator(game, policy, 1, seed=9)
    one_by_one = [finish(mediator.begin()) for _ in range(20)]
    mediator = Mediator(game, policy, 1, seed=9)
    plays = [mediator.begin() for _ in range(20)]
    assert [finish(play) for play in reversed(plays)] == one_by_one[::-1]
    assert len({tuple(told) for told in one_by_one}) > 1


def test_a_long_run_with_real_draws():
    """The best deviation of the separation earns 1 where following earns 1/2 (Hoeffding)."""
    game = separation(k=1)
    policy = CorrelatedPolicy.from_device(game, library_device("separation:k=1"))
    witness = certify(game, policy, 2)[2].witnesses[0].modification
    payoffs = {z.node: z.payoffs[0] for z in reference.terminals(game)}
    worst, best = min(payoffs.values()), max(payoffs.values())
    plays, failure_prob = 1500, 1e-9
    bound = (best - worst) * math.sqrt(math.log(2 / failure_prob) / (2 * plays))
    assert bound < 0.25  # so that 1 and 1/2 are told apart
    mediator = Mediator(game, policy, 2, seed=0)
    rng = np.random.default_rng(1)
    for player, exact in ((lambda: Modified(witness), 1.0), (lambda: following, 0.5)):
        earned = [
            payoffs[
                play_through(
                    mediator, [player(), delegating], lambda p: int(rng.choice(len(p), p=p))
                )[0]
            ]
            for _ in range(plays)
        ]
        assert abs(np.mean(earned) - exact) < bound


# --- what is refused ------------------------------------------------------------------------------


@pytest.fixture
def mixture() -> CorrelatedPolicy:
    return random_policy_of(kuhn(), 1, components=2, pure=0.0)


def begin(mixture: CorrelatedPolicy, k: float = 1) -> Play:
    return Mediator(mixture.game, mixture, k, seed=0).begin()


def after_pass(game: Game) -> tuple[int, int, int]:
    """An infoset of Kuhn's first player, the one after she passed there, and another first one."""
    x = 0
    y = next(y for y in range(game.n_infosets[0]) if game.parent_infoset[0][y] == x)
    return x, y, 1


def test_only_where_she_can_be(mixture):
    x, y, elsewhere = after_pass(mixture.game)
    play = begin(mixture, math.inf)
    for request in (play.recommend, lambda i, x: play.act(i, x, 0)):
        with pytest.raises(MediatorError, match=r"does not follow .* of which there are none yet"):
            request(0, y)
    play.recommend(0, x)
    for request in (play.recommend, lambda i, x: play.act(i, x, 0)):
        with pytest.raises(MediatorError, match=r"cannot be at .*: they are at .* not acted there"):
            request(0, elsewhere)
    back = int(mixture.game.parent_action[0][y])
    play.act(0, x, 1 - back)
    label = mixture.game.infoset_labels[0][x]
    with pytest.raises(MediatorError, match=rf"does not follow .* at '{label}'"):
        play.recommend(0, y)
    play = begin(mixture, math.inf)
    play.act(0, x, back)
    with pytest.raises(MediatorError, match="does not follow"):
        play.recommend(0, x)  # she has been there
    assert play.recommend(0, y) in (0, 1)


def test_only_once(mixture):
    play = begin(mixture)
    play.recommend(0, 0)
    with pytest.raises(MediatorError, match=r"player 1 already has the .*; it is given only once"):
        play.recommend(0, 0)
    play.recommend(1, 0)  # the other player's is her own


def test_only_her_own(mixture):
    play = begin(mixture)
    theirs = mixture.game.infoset_labels[1][0]
    with pytest.raises(MediatorError, match="an infoset of player 2, not of player 1"):
        play.recommend("1", theirs)
    with pytest.raises(MediatorError, match="an infoset of player 2, not of player 1"):
        play.act("1", theirs, "0")


def test_silent_after_k_deviations(mixture):
    x, y, _ = after_pass(mixture.game)
    back = int(mixture.game.parent_action[0][y])
    for seed in range(20):
        play = Mediator(mixture.game, mixture, 1, seed).begin()
        told = play.recommend(0, x)
        play.act(0, x, back)
        assert play.deviations(0) == (told != back)
        if told == back:
            play.recommend(0, y)
            continue
        assert not play.advises(0)
        with pytest.raises(
            MediatorError,
            match="player 1 has used all K = 1 deviations; the mediator is now silent",
        ):
            play.recommend(0, y)
        play.act(0, y, 0)  # she may act
        assert play.deviations(0) == 1
        assert play.advises(1)  # the other player is advised
        break
    else:
        pytest.fail("she was never told anything else")


def test_nothing_at_k_0(mixture):
    play = begin(mixture, 0)
    assert not play.advises(0)
    with pytest.raises(MediatorError, match="at K = 0 nothing is recommended"):
        play.recommend(0, 0)
    play.act(0, 0, 0)
    with pytest.raises(MediatorError, match="before their first decision"):
        play.delegate(0)
    with pytest.raises(MediatorError, match="moves only for players who have delegated"):
        play.move(0, after_pass(mixture.game)[1])


@pytest.mark.parametrize("k", [0, 1, math.inf])
def test_delegating_is_for_the_whole_play(mixture, k):
    play = begin(mixture, k)
    play.delegate(0)
    assert not play.advises(0)
    for refused, message in (
        (lambda: play.recommend(0, 0), "has delegated their moves and gets no recommendations"),
        (lambda: play.act(0, 0, 0), "cannot take them back"),
        (lambda: play.delegate(0), "has already delegated"),
        (lambda: play.move(0, after_pass(mixture.game)[1]), "does not follow"),
    ):
        with pytest.raises(MediatorError, match=message):
            refused()
    play.move(0, 0)
    with pytest.raises(MediatorError, match="cannot take them back"):
        play.act(0, after_pass(mixture.game)[1], 0)
    with pytest.raises(MediatorError, match="moves only for players who have delegated"):
        play.move(1, 0)


def test_delegating_comes_first(mixture):
    play = begin(mixture)
    play.recommend(0, 0)
    with pytest.raises(MediatorError, match="before their first decision"):
        play.delegate(0)
    play.act(0, 0, 0)
    with pytest.raises(MediatorError, match="before their first decision"):
        play.delegate(0)


@checked
@given(grown_games(), seeds)
def test_refusals_change_nothing(game, seed):
    """A play in which everything wrong is tried before each move goes on as if it had not been."""
    policy = random_policy(game, seed)

    def nag(play: Play, i: int, x: int) -> None:
        plex = play._mediator.form.plexes[i]
        for y in range(plex.n_infosets):
            if plex.parent_seq[y] != plex.parent_seq[x]:
                with pytest.raises(MediatorError):
                    play.recommend(i, y)
                with pytest.raises(MediatorError):
                    play.act(i, y, 0)
        with pytest.raises(MediatorError):
            play.move(i, x)
        with pytest.raises(ArgumentError):
            play.act(i, x, int(plex.n_actions[x]))
        if plex.parent_seq[x]:
            with pytest.raises(MediatorError):
                play.delegate(i)

    def told(nags: bool) -> list[tuple[int, int, int]]:
        rng = np.random.default_rng(seed)
        said = []

        def player(play: Play, i: int, x: int) -> int:
            if nags:
                nag(play, i, x)
            if play.advises(i):
                said.append((i, x, play.recommend(i, x)))
            a = int(rng.integers(game.n_actions[i][x]))
            play.act(i, x, a)
            return a

        mediator = Mediator(game, policy, 1, seed)
        for _ in range(3):
            play_through(mediator, [player] * game.n_players, lambda p: int(rng.integers(len(p))))
        return said

    assert told(nags=True) == told(nags=False)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (lambda play: play.recommend("3", 0), "no player '3'; the players are '1', '2', or 0 to 1"),
        (lambda play: play.recommend(2, 0), "no player 2;"),
        (lambda play: play.recommend(-1, 0), "no player -1;"),
        (lambda play: play.recommend(0.5, 0), r"no player 0\.5;"),
        (lambda play: play.recommend(0, 6), "player 1 has 6 infosets, numbered from 0; got 6"),
        (lambda play: play.recommend(0, -1), "got -1"),
        (lambda play: play.recommend(0, None), "got None"),
        (lambda play: play.recommend(0, "nowhere"), "player 1 has no infoset 'nowhere'"),
        (lambda play: play.act(0, 0, "fly"), "no action 'fly' at .*the actions are '"),
        (lambda play: play.act(0, 0, 2), "no action 2 at .* or 0 to 1 as numbers"),
        (lambda play: play.delegate("x"), "no player 'x'"),
        (lambda play: play.move("x", 0), "no player 'x'"),
        (lambda play: play.advises("x"), "no player 'x'"),
        (lambda play: play.deviations("x"), "no player 'x'"),
    ],
)
def test_what_there_is_not(mixture, request_, message):
    with pytest.raises(ArgumentError, match=message):
        request_(begin(mixture))


def test_bad_mediators(mixture):
    with pytest.raises(MismatchError, match="the policy is for"):
        Mediator(chicken(), mixture)
    with pytest.raises(ArgumentError, match=r"must be an accord\.CorrelatedPolicy.*; got None"):
        Mediator(kuhn(), None)
    with pytest.raises(ArgumentError, match=r"try accord\.load_game\('kuhn'\)"):
        Mediator("kuhn", mixture)
    Mediator(kuhn(), mixture)  # an equal game
    for k in (-1, 1.5, math.nan, "1"):
        with pytest.raises(ArgumentError, match="k must be"):
            Mediator(mixture.game, mixture, k)
    for seed in (-1, 1.5, "x"):
        with pytest.raises(ArgumentError, match="seed must be"):
            Mediator(mixture.game, mixture, 1, seed)


def test_labels_are_answered_by_labels(mixture):
    game = mixture.game
    by_number, by_label = begin(mixture), begin(mixture)
    a = by_number.recommend(np.int8(0), np.int32(0))
    label = by_label.recommend("1", game.infoset_labels[0][0])
    assert label == game.action_labels[0][0][a]
    by_label.act("1", game.infoset_labels[0][0], label)
    by_number.act(0, 0, a)
    assert by_label._seats == by_number._seats
    by_label.delegate("2")
    by_number.delegate(1)
    moved = by_label.move("2", game.infoset_labels[1][0])
    assert moved == game.action_labels[1][0][by_number.move(1, np.int64(0))]


def test_repr(mixture):
    mediator = Mediator(mixture.game, mixture, 2)
    assert repr(mediator) == "Mediator(CorrelatedPolicy('kuhn', components=2), k=2)"


# --- looking back ---------------------------------------------------------------------------------


def alike(one: list[Move], other: list[Move]) -> bool:
    """Whether the same was told at the same infosets, as far as both go."""
    return all(m[:2] == n[:2] for m, n in zip(one, other, strict=False))


Then = Callable[[list[Move], int, int | None], int]


class Telling:
    """A player who, if she is told what ``moves`` say, makes all but the last of them; and what
    ``then(moves so far, infoset, recommendation or None)`` says from the last on."""

    def __init__(self, moves: list[Move], then: Then) -> None:
        self.moves, self.then = moves, then
        self.done: list[Move] = []

    def __call__(self, play: Play, i: int, x: int) -> int:
        told = play.recommend(i, x) if play.advises(i) else None
        n = len(self.done)
        if not alike([*self.done, Move(x, told, 0)], self.moves):
            a = 0  # another story
        elif n < len(self.moves) - 1:
            a = self.moves[n].action
        else:
            a = self.then(self.done, x, told)
        play.act(i, x, a)
        self.done.append(Move(x, told, a))
        return a


class Rest:
    """Makes the n-th move as ``moves`` say and goes on as phi says."""

    def __init__(self, moves: list[Move], phi: dict[Any, int]) -> None:
        self.moves, self.phi = moves, phi

    def __call__(self, done: list[Move], x: int, told: int | None) -> int:
        if len(done) == len(self.moves) - 1:
            return self.moves[-1].action
        b = tuple(m.told for m in done if m.told is not None)
        return self.phi[x, b] if told is None else self.phi[x, b, told]


def end_if_told(
    mediator: Mediator, i: int, moves: list[Move], then: Then, chance: Draw
) -> tuple[int, bool]:
    player = Telling(moves, then)
    end, _ = against_followers(mediator, i, player, chance)
    return end, len(player.done) >= len(moves) and alike(player.done, moves)


def expected_payoff(mediator: Mediator, i: int, moves: list[Move], then: Then) -> float:
    """Of player i, given that she is told what ``moves`` say; see :class:`Telling`."""
    payoffs = {z.node: z.payoffs[i] for z in reference.terminals(mediator.game)}
    found = law(partial(end_if_told, mediator, i, moves, then))
    here = {end: p for (end, told), p in found.items() if told}
    return sum(p * payoffs[end] for end, p in here.items()) / sum(here.values())


def some_moves(policy: CorrelatedPolicy, k: float, i: int, seed: int) -> list[Move]:
    """What player i is told and does in one play, at random."""
    game, rng = policy.game, np.random.default_rng(seed)
    moves: list[Move] = []

    def player(play: Play, i: int, x: int) -> int:
        told = play.recommend(i, x) if play.advises(i) else None
        a = int(rng.integers(game.n_actions[i][x]))
        play.act(i, x, a)
        moves.append(Move(x, told, a))
        return a

    mediator = Mediator(game, policy, k, seed)
    against_followers(mediator, i, player, lambda p: int(rng.choice(len(p), p=p)))
    return moves


@examples(15)
@given(grown_games(most=25), seeds)
def test_hindsight_is_what_could_be_expected(game, seed):
    policy = random_policy(game, seed)
    for i, plex in enumerate(sequence_form(game).plexes):
        for k in (0, 1, 2):
            hindsight, mediator = Hindsight(policy, i, k), Mediator(game, policy, k)
            gap = certify(game, policy, k)[k]
            best = policy.values()[i] + gap.player_gaps[i]
            assert hindsight.best == pytest.approx(best, abs=1e-9)
            best_phi = phi_as_reference(gap.witnesses[i].modification)
            any_phi = random_phi(RechistoryTree.build(plex, k), np.random.default_rng(seed))
            moves = some_moves(policy, k, i, seed)
            for n in range(1, len(moves) + 1):
                part = moves[:n]
                at_best = hindsight.deviating(part)
                found = expected_payoff(mediator, i, part, Rest(part, best_phi))
                assert at_best == pytest.approx(found, abs=1e-9)
                found = expected_payoff(mediator, i, part, Rest(part, phi_as_reference(any_phi)))
                assert found <= at_best + 1e-9
                if part[-1].told is None:
                    with pytest.raises(ArgumentError, match="nothing was told"):
                        hindsight.following(part)
                    continue
                followed = expected_payoff(mediator, i, part, lambda done, x, told: told)
                assert hindsight.following(part) == pytest.approx(followed, abs=1e-9)


def test_moves_that_cannot_be(mixture):
    x, y, _ = after_pass(mixture.game)
    back = int(mixture.game.parent_action[0][y])
    hindsight = Hindsight(mixture, 0, 1)
    for moves in (
        [Move(y, 0, 0)],  # not first
        [Move(x, None, 0)],  # something was told
        [Move(x, 1 - back, back), Move(y, 0, 0)],  # nothing was
    ):
        with pytest.raises(ArgumentError, match="cannot come up"):
            hindsight.deviating(moves)
    with pytest.raises(ArgumentError, match="at least one move"):
        hindsight.deviating([])
    device = CorrelatedPolicy.from_device(chicken(), library_device("chicken"))
    never = CorrelatedPolicy(device.game, np.ones(1), device.behavior[:1])
    told = int(never.behavior[0][1] == 0.0)
    assert Hindsight(never, 0, 1).following([Move(0, told, told)]) == never.values()[0]
    with pytest.raises(ArgumentError, match="probability 0"):
        Hindsight(never, 0, 1).following([Move(0, 1 - told, told)])
    with pytest.raises(BudgetError):
        Hindsight(mixture, 0, 1, budget=10)


# --- many plays -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_plays_end_where_the_policy_says(seed):
    game = grown_game(seed, most=60)
    policy = random_policy_of(game, seed, components=3, pure=0.3)
    rollout = obedient_plays(policy, 3 * CHUNK + 5, seed=seed)
    exact = terminal_law(policy)
    ends = np.flatnonzero(game.player == TERMINAL)
    assert rollout.counts.sum() == rollout.plays == 3 * CHUNK + 5
    bound = math.sqrt(math.log(2 * len(ends) / 1e-9) / (2 * rollout.plays))  # Hoeffding
    for end, count in zip(ends, rollout.counts, strict=True):
        assert abs(count / rollout.plays - exact.get(int(end), 0.0)) < bound
        assert count == 0 or int(end) in exact
    assert max(exact.values()) > 10 * bound


@pytest.mark.slow
def test_the_interval_is_students():
    from scipy import stats

    policy = random_policy_of(kuhn(), 1, components=3, pure=0.0)
    rollout = obedient_plays(policy, 40, seed=4)
    payoffs = np.array([z.payoffs for z in reference.terminals(policy.game)])
    sample = np.repeat(payoffs, rollout.counts, axis=0)
    assert len(sample) == 40
    assert rollout.mean == pytest.approx(sample.mean(axis=0))
    low, high = stats.t.interval(0.95, 39, sample.mean(axis=0), stats.sem(sample, axis=0))
    assert rollout.mean - rollout.margin == pytest.approx(low)
    assert rollout.mean + rollout.margin == pytest.approx(high)
    assert np.isnan(obedient_plays(policy, 1, seed=4).margin).all()


def test_rollouts_have_seeds():
    policy = random_policy_of(kuhn(), 1, components=3, pure=0.0)
    one, again, other = (obedient_plays(policy, 1000, seed=s).counts for s in (1, 1, 2))
    assert one.tolist() == again.tolist() != other.tolist()
    for plays in (0, -1, 1.5):
        with pytest.raises(ArgumentError, match="plays must be"):
            obedient_plays(policy, plays)
    for seed in (-1, "x"):
        with pytest.raises(ArgumentError, match="seed must be"):
            obedient_plays(policy, 10, seed)


def test_the_mediator_takes_a_result_and_its_k():
    found = accord.solve(kuhn(), 2, iterations=3)
    mediator = Mediator(found.game, found)
    assert mediator.policy is found.policy
    assert mediator.k == 2
    assert Mediator(found.game, found, k=1).k == 1
    assert Mediator(found.game, found.policy).k == 1
    assert Mediator(chicken(), accord.optimize(chicken(), "afce")).k == 1
    with pytest.raises(ArgumentError, match="or a result that has one"):
        Mediator(found.game, found.game)
