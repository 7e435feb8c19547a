"""Policies that know only their players, and how they come into a game."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.certifying.exact import certify
from accord.equilibrium import policy_npz
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.policy_files import load_policy, save_policy
from accord.errors import ArgumentError, MismatchError, ParseError, PolicyError
from accord.game.builder import GameBuilder
from accord.game.library import chicken, kuhn, library_game
from accord.game.tree import Game
from accord.mediator.mediator import Mediator
from accord.treeplex.treeplex import Treeplex
from tests.support.policies import all_games, random_policy, without_game
from tests.support.strategies import examples

SUFFIXES = (".json", ".npz")


def part_of_kuhn(policy: CorrelatedPolicy, seed: int) -> CorrelatedPolicy:
    """A policy of Kuhn poker that has not seen some infosets, and has others in another order."""
    rng = np.random.default_rng(seed)
    plexes, parts = [], []
    for plex, part in zip(policy.plexes, policy.split(policy.behavior), strict=True):
        seen = [x for x in rng.permutation(plex.n_infosets) if plex.depth[x] == 0][:2]
        plexes.append(
            Treeplex.from_parents(
                [2] * len(seen), [-1] * len(seen), [0] * len(seen),
                [plex.infoset_labels[x] for x in seen], [plex.action_labels[x] for x in seen],
            )
        )  # fmt: skip
        columns = [np.arange(*plex.first_seq[x : x + 2]) for x in seen]
        parts.append(part[:, np.concatenate([[0], *columns])])
    return CorrelatedPolicy.of_players(
        "kuhn", policy.player_labels, plexes, policy.weights, np.hstack(parts)
    )


# --- in a game ------------------------------------------------------------------------------------


@examples(30)
@given(all_games(), st.integers(0, 2**32 - 1))
def test_a_policy_finds_its_place_in_its_game(game: Game, seed: int) -> None:
    policy = random_policy(game, seed)
    again = without_game(policy).in_game(game)
    assert again.game is game
    assert again.weights.tobytes() == policy.weights.tobytes()
    assert again.behavior.tobytes() == policy.behavior.tobytes()
    assert policy.in_game(game) is policy


def test_unknown_infosets_get_a_uniform_choice() -> None:
    game = kuhn()
    part = part_of_kuhn(random_policy(game, 3, components=4), 0)
    whole = part.in_game(game)
    known = 0
    for own, given_part, plex, found in zip(
        part.plexes, part.split(part.behavior), whole.plexes, whole.split(whole.behavior),
        strict=True,
    ):  # fmt: skip
        number = {label: x for x, label in enumerate(own.infoset_labels)}
        for y, label in enumerate(plex.infoset_labels):
            here = found[:, plex.first_seq[y] : plex.first_seq[y + 1]]
            if (x := number.get(label)) is None:
                assert (here == 0.5).all()
            else:
                expected = given_part[:, own.first_seq[x] : own.first_seq[x + 1]]
                np.testing.assert_array_equal(here, expected)
                known += 1
    assert known == 4


def test_everything_that_takes_a_game_takes_such_a_policy() -> None:
    game = kuhn()
    policy = random_policy(game, 1)
    blind = without_game(policy)
    assert certify(game, blind, 1).to_json() == certify(game, policy, 1).to_json()
    assert Mediator(game, blind).policy.game is game


@pytest.mark.parametrize(
    ("game", "message"),
    [
        (lambda: library_game("kuhn:players=3"), "kuhn has 2 players; the game .* has 3"),
        (chicken, r"lacks infoset '.*' of player 1 with the actions \('.*', '.*'\)"),
    ],
)
def test_a_game_without_the_infosets_is_refused(game: Callable[[], Game], message: str) -> None:
    blind = without_game(random_policy(kuhn(), 0))
    with pytest.raises(MismatchError, match=message):
        blind.in_game(game())
    with pytest.raises(MismatchError, match=message):
        certify(game(), blind)


def test_other_actions_at_an_infoset_are_refused() -> None:
    def game(actions: str) -> Game:
        b = GameBuilder(players=1)
        b.move(player="1", infoset="here", actions=actions)
        for n, action in enumerate(actions.split()):
            b.payoff(action, n)
        return b.build()

    blind = without_game(random_policy(game("a b"), 0))
    with pytest.raises(MismatchError, match=r"lacks infoset 'here' .* actions \('a', 'b'\)"):
        blind.in_game(game("b a"))


def test_a_policy_of_another_game_stays_there() -> None:
    with pytest.raises(MismatchError, match="the policy is for 'kuhn', which is not the game"):
        random_policy(kuhn(), 0).in_game(chicken())


# --- without one ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "use",
    [CorrelatedPolicy.values, CorrelatedPolicy.device, CorrelatedPolicy.plot],
)
def test_what_needs_the_game_says_so(use: Callable[[CorrelatedPolicy], Any]) -> None:
    blind = without_game(random_policy(kuhn(), 0))
    with pytest.raises(ArgumentError, match=r"needs the game, .* 'kuhn' .*policy\.in_game\(game\)"):
        use(blind)


def test_what_does_not_need_the_game() -> None:
    policy = random_policy(kuhn(), 0, components=2)
    blind = without_game(policy)
    assert repr(blind) == repr(policy) == "CorrelatedPolicy('kuhn', components=2)"
    assert "2 components" in blind._repr_html_()
    assert blind.to_frame().equals(policy.to_frame())
    label = policy.plexes[0].infoset_labels[0]
    assert blind.agent("1", 5).act(label) == policy.agent("1", 5).act(label)


def test_the_same_words_with_and_without_a_game() -> None:
    policy = random_policy(kuhn(), 0, components=2)
    wrong = policy.behavior.copy()
    wrong[1, 1] += 0.5
    message = r"component 1, player 1, infoset '.*': probabilities must sum to one"
    with pytest.raises(PolicyError, match=message) as known:
        CorrelatedPolicy(policy.game, policy.weights, wrong)
    with pytest.raises(PolicyError) as unknown:
        CorrelatedPolicy.of_players("x", ("1", "2"), policy.plexes, policy.weights, wrong)
    assert str(known.value) == str(unknown.value)
    with pytest.raises(ArgumentError, match=r"game must be an accord\.Game; got None"):
        CorrelatedPolicy(None, policy.weights, policy.behavior)


# --- in files -------------------------------------------------------------------------------------


@pytest.mark.parametrize("plain", [0, 2**24])
@examples(20)
@given(game=all_games(), seed=st.integers(0, 2**32 - 1))
def test_files_have_the_trees(plain: int, game: Game, seed: int) -> None:
    policy = without_game(random_policy(game, seed))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy_npz, "PLAIN_BYTES", plain)
        for suffix in SUFFIXES:
            path = Path(folder, f"policy{suffix}")
            save_policy(policy, path)
            again = load_policy(path)
            assert again.game is None
            assert (again.name, again.player_labels) == (policy.name, policy.player_labels)
            assert again.weights.tobytes() == policy.weights.tobytes()
            assert again.behavior.tobytes() == policy.behavior.tobytes()
            for one, other in zip(again.plexes, policy.plexes, strict=True):
                assert list(one.infoset_labels) == list(other.infoset_labels)
                assert list(one.action_labels) == list(other.action_labels)
                np.testing.assert_array_equal(one.parent_seq, other.parent_seq)
            assert load_policy(path, game).behavior.tobytes() == policy.behavior.tobytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_is_placed_in_the_game(tmp_path: Path, suffix: str) -> None:
    game = kuhn()
    part = part_of_kuhn(random_policy(game, 3, components=4), 0)
    path = tmp_path / f"p{suffix}"
    save_policy(part, path)
    whole = load_policy(path, game)
    assert whole.game is game
    assert whole.behavior.tobytes() == part.in_game(game).behavior.tobytes()
    other = library_game("chicken")
    with pytest.raises(MismatchError, match=f"{path}: the game must have all infosets"):
        load_policy(path, other)


TREE_DAMAGE: dict[str, Callable[[Any], Any]] = {
    "no list": lambda c: c.update(trees=5),
    "no players": lambda c: c.update(trees=[]),
    "no object": lambda c: c.update(trees=[1, 2]),
    "no player": lambda c: c["trees"][0].pop("player"),
    "no infosets": lambda c: c["trees"][0].pop("infosets"),
    "few infosets": lambda c: c["trees"][0]["infosets"].pop(),
    "twice": lambda c: c["trees"][0]["infosets"].__setitem__(1, c["trees"][0]["infosets"][0]),
    "no actions": lambda c: c["trees"][1]["actions"].__setitem__(0, []),
    "actions of another kind": lambda c: c["trees"][1].update(actions=7),
    "parents after children": lambda c: c["trees"][0]["parent_seq"].reverse(),
    "parents far away": lambda c: c["trees"][0]["parent_seq"].__setitem__(-1, 10**6),
    "parents that are none": lambda c: c["trees"][0]["parent_seq"].__setitem__(-1, None),
    "its own parent": lambda c: c["trees"][0]["parent_seq"].__setitem__(0, 1),
}


@pytest.mark.parametrize("damage", TREE_DAMAGE)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damaged_trees(tmp_path: Path, suffix: str, damage: str) -> None:
    path = tmp_path / f"p{suffix}"
    save_policy(without_game(random_policy(kuhn(), 0)), path)
    if suffix == ".json":
        content = json.loads(path.read_text())
        TREE_DAMAGE[damage](content)
        path.write_text(json.dumps(content))
    else:
        with np.load(path) as archive:
            content = dict(archive)
        content["trees"] = json.loads(bytes(content["trees"]).decode())
        TREE_DAMAGE[damage](content)
        content["trees"] = np.frombuffer(json.dumps(content["trees"]).encode(), np.uint8)
        np.savez(path, **content)
    with pytest.raises(ParseError, match='"trees" must have for each player'):
        load_policy(path)
