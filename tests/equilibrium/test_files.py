"""Correlated policies: what is accepted, what is written, and every kind of damage."""

from __future__ import annotations

import io
import json
import math
import os
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord import _files
from accord.certifying.exact import certify
from accord.equilibrium import policy_npz
from accord.equilibrium.archive import Archive
from accord.equilibrium.packing import pack
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.policy_files import load_policy, save_policy
from accord.equilibrium.policy_json import to_json
from accord.equilibrium.policy_npz import to_arrays
from accord.errors import (
    AccordError,
    ArgumentError,
    BudgetError,
    MismatchError,
    ParseError,
    PolicyError,
)
from accord.game.builder import GameBuilder
from accord.game.library import chicken, kuhn, library_device, separation
from accord.game.tree import Game
from accord.interop.load import load_game
from accord.runs.run_file import read_content
from accord.treeplex.form import sequence_form
from tests import reference
from tests.support.peaks import peak
from tests.support.policies import (
    all_games,
    as_reference,
    random_behaviors,
    random_policy,
    without_game,
)
from tests.support.strategies import examples

checked = examples(40)
seeds = st.integers(0, 2**32 - 1)
SUFFIXES = (".json", ".npz")


def small_game() -> Game:
    """Two players, three actions here and two there, labels that need care."""
    b = GameBuilder('a "small" game, na\u00efve', players=["ann", "b\u00f6b"])
    b.move(player="ann", infoset="", actions="l m r")
    b.move("l", "m", player="b\u00f6b", infoset="not\nright", actions="\u03b1 \u03b2")
    b.move("r", player="ann", infoset="\U0001f0cf", actions="x y")
    for first in "lm":
        for second in "\u03b1\u03b2":
            b.payoff(f"{first} {second}", first == "l", second == "\u03b1")
    b.payoff("r x", 2, 0)
    b.payoff("r y", 0, 2)
    return b.build()


@pytest.fixture
def game() -> Game:
    return small_game()


@pytest.fixture
def policy(game) -> CorrelatedPolicy:
    return CorrelatedPolicy.from_components(
        game,
        [
            (0.25, [[1, 0.5, 0.25, 0.25, 0.125, 0.875], [1, 0.0, 1.0]]),
            (0.75, [[1, 0.0, 0.0, 1.0, 0.5, 0.5], [1, 0.75, 0.25]]),
        ],
    )


# --- round trips ----------------------------------------------------------------------------------


@checked
@given(all_games(), seeds)
def test_what_is_saved_is_loaded_bit_by_bit(game, seed):
    policy = random_policy(game, seed)
    with tempfile.TemporaryDirectory() as folder:
        for suffix in SUFFIXES:
            path = Path(folder, f"policy{suffix}")
            save_policy(policy, path)
            again = load_policy(path, game)
            assert again.game is game
            assert again.weights.tobytes() == policy.weights.tobytes()
            assert again.behavior.tobytes() == policy.behavior.tobytes()
            written = path.read_bytes()
            save_policy(again, path)
            assert suffix == ".npz" or path.read_bytes() == written  # archives keep the time


def test_a_thousand_components(tmp_path):
    game = kuhn()
    policy = random_policy(game, 0, components=1000, pure=0.0)
    for suffix in SUFFIXES:
        save_policy(policy, tmp_path / f"p{suffix}")
        again = load_policy(tmp_path / f"p{suffix}", game)
        assert again.weights.tobytes() == policy.weights.tobytes()
        assert again.behavior.tobytes() == policy.behavior.tobytes()


@checked
@given(all_games(), seeds)
def test_large_policies_are_packed_and_lose_no_bit(game, seed):
    policy = random_policy(game, seed)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy_npz, "PLAIN_BYTES", 0)
        path = Path(folder, "policy.npz")
        save_policy(policy, path)
        with np.load(path) as archive:
            assert archive["version"] == 1
            assert not any(name.startswith("probabilities") for name in archive.files)
        again = load_policy(path, game)
        assert again.weights.tobytes() == policy.weights.tobytes()
        assert again.behavior.tobytes() == policy.behavior.tobytes()


def test_packed_infosets_in_any_order(tmp_path, monkeypatch):
    game = kuhn()
    policy = random_policy(game, 0, components=5)
    monkeypatch.setattr(policy_npz, "PLAIN_BYTES", 0)
    arrays = to_arrays(policy)
    for i, (plex, part) in enumerate(
        zip(sequence_form(game).plexes, sequence_form(game).split(policy.behavior), strict=True), 1
    ):
        order = np.random.default_rng(i).permutation(plex.n_infosets)
        columns = np.concatenate([np.arange(*plex.first_seq[x : x + 2]) for x in order])
        arrays[f"infosets_{i}"] = arrays[f"infosets_{i}"][order]
        arrays[f"n_actions_{i}"] = plex.n_actions[order]
        parts = pack(part[:, columns], plex.n_actions[order])._asdict()
        arrays |= {f"{name}_{i}": array for name, array in parts.items()}
    np.savez(tmp_path / "p.npz", **arrays)
    again = load_policy(tmp_path / "p.npz", game)
    assert again.behavior.tobytes() == policy.behavior.tobytes()


def test_the_folder_of_a_run_stands_for_its_policy(tmp_path, game, policy):
    save_policy(policy, tmp_path / "policy.npz")
    assert load_policy(tmp_path, game).behavior.tobytes() == policy.behavior.tobytes()
    with pytest.raises(ArgumentError, match=r"must end in \.json or \.npz; got"):
        load_policy(tmp_path.parent, game)


def test_a_policy_shares_an_array_that_nobody_can_write(game, policy):
    frozen = policy.behavior.copy()
    frozen.flags.writeable = False
    assert CorrelatedPolicy(game, policy.weights, frozen).behavior is frozen
    rough = frozen * (1 + 1e-9)
    rough[:, 0] = 1.0
    rough.flags.writeable = False
    before = rough.copy()
    assert CorrelatedPolicy(game, policy.weights, rough).behavior is not rough
    np.testing.assert_array_equal(rough, before)  # it was copied to be normalized
    mine = policy.behavior.copy()
    assert CorrelatedPolicy(game, policy.weights, mine).behavior is not mine


def test_what_was_normalized_stays_as_it_is():
    """Sums of what was divided by its sum are often one only up to rounding."""
    game = chicken()
    rng = np.random.default_rng(0)
    inexact = 0
    for n in rng.integers(2, 200, size=300):
        weights = rng.random(n) + 1e-3
        behavior = np.hstack([np.ones((n, 1)), rng.random((n, 2))] * 2)
        for columns in (slice(1, 3), slice(4, 6)):
            behavior[:, columns] /= behavior[:, columns].sum(axis=1, keepdims=True)
        once = CorrelatedPolicy(game, weights / weights.sum(), behavior)
        twice = CorrelatedPolicy(game, once.weights, once.behavior)
        assert twice.weights.tobytes() == once.weights.tobytes()
        assert twice.behavior.tobytes() == once.behavior.tobytes()
        inexact += once.weights.sum() != 1.0
    assert inexact > 30


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_difficult_labels(tmp_path, game, policy, suffix):
    path = tmp_path / f"p{suffix}"
    save_policy(policy, str(path))
    again = load_policy(str(path), game)
    assert again.behavior.tolist() == policy.behavior.tolist()
    assert certify(game, again, k=1)[1].player_gaps == certify(game, policy, k=1)[1].player_gaps


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_players_who_never_decide(tmp_path, suffix):
    b = GameBuilder(players=3)
    b.move(player="2", actions="a b")
    b.payoff("a", 1, 2, 3)
    b.payoff("b", 3, 2, 1)
    game = b.build()
    policy = CorrelatedPolicy.from_device(game, [(1.0, ({}, {"root": "b"}, {}))])
    save_policy(policy, tmp_path / f"p{suffix}")
    assert load_policy(tmp_path / f"p{suffix}", game).values().tolist() == [3.0, 2.0, 1.0]


def test_a_file_replaces_the_one_before(tmp_path, game, policy):
    path = tmp_path / "p.json"
    path.write_text("not a policy")
    save_policy(policy, path)
    assert load_policy(path, game).n_components == 2
    assert [file.name for file in tmp_path.iterdir()] == ["p.json"]


# --- the formats, read without Accord -------------------------------------------------------------


def test_the_json_format(tmp_path, game, policy):
    save_policy(policy, tmp_path / "p.json")
    content = json.loads((tmp_path / "p.json").read_text(encoding="utf-8"))
    assert content == {
        "format": "accord-policy",
        "version": 1,
        "game": 'a "small" game, na\u00efve',
        "digest": game.digest,
        "players": 2,
        "components": [
            {
                "weight": 0.25,
                "policy": [
                    {"": [0.5, 0.25, 0.25], "\U0001f0cf": [0.125, 0.875]},
                    {"not\nright": [0.0, 1.0]},
                ],
            },
            {
                "weight": 0.75,
                "policy": [
                    {"": [0.0, 0.0, 1.0], "\U0001f0cf": [0.5, 0.5]},
                    {"not\nright": [0.75, 0.25]},
                ],
            },
        ],
    }


def test_the_npz_format(tmp_path, game, policy):
    save_policy(policy, tmp_path / "p.npz")
    with np.load(tmp_path / "p.npz", allow_pickle=False) as content:
        found = {name: content[name].tolist() for name in content.files}
    assert found == {
        "format": "accord-policy",
        "version": 1,
        "game": 'a "small" game, na\u00efve',
        "digest": game.digest,
        "players": 2,
        "weights": [0.25, 0.75],
        "infosets_1": ["", "\U0001f0cf"],
        "n_actions_1": [3, 2],
        "probabilities_1": [[0.5, 0.25, 0.25, 0.125, 0.875], [0.0, 0.0, 1.0, 0.5, 0.5]],
        "infosets_2": ["not\nright"],
        "n_actions_2": [2],
        "probabilities_2": [[0.0, 1.0], [0.75, 0.25]],
    }


def test_probabilities_stand_in_the_games_action_order(tmp_path):
    game = chicken()
    device = library_device("chicken")
    save_policy(CorrelatedPolicy.from_device(game, device), tmp_path / "p.json")
    content = json.loads((tmp_path / "p.json").read_text())
    for (weight, profile), component in zip(device, content["components"], strict=True):
        assert component["weight"] == weight
        for i, part in enumerate(component["policy"]):
            for label, row in part.items():
                x = list(game.infoset_labels[i]).index(label)
                told = game.action_labels[i][x][row.index(1.0)]
                assert told == profile[i][label]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_policy_written_by_hand(tmp_path, suffix):
    """Infosets in any order, no digest, whole numbers in JSON."""
    game = kuhn()
    labels = [list(reversed(list(names))) for names in game.infoset_labels]
    bets = [{x: float(n) / 5 for n, x in enumerate(names)} for names in labels]
    path = tmp_path / f"p{suffix}"
    if suffix == ".json":
        parts = [{x: [1 - q, int(q) if q in (0, 1) else q] for x, q in b.items()} for b in bets]
        head = {"format": "accord-policy", "version": 1, "game": "kuhn", "players": 2}
        path.write_text(json.dumps(head | {"components": [{"weight": 1, "policy": parts}]}))
    else:
        np.savez_compressed(
            path, format="accord-policy", version=1, players=2, weights=np.ones(1),
            infosets_1=labels[0], n_actions_1=[2] * 6,
            probabilities_1=[[p for q in bets[0].values() for p in (1 - q, q)]],
            infosets_2=labels[1], n_actions_2=np.full(6, 2, np.uint64),
            probabilities_2=np.array([[p for q in bets[1].values() for p in (1 - q, q)]]),
        )  # fmt: skip
    ((_, behaviors),) = load_policy(path, game).components()
    for i in (0, 1):
        for x, label in enumerate(game.infoset_labels[i]):
            assert behaviors[i][reference.sequence(game, i, x, 1)] == pytest.approx(bets[i][label])


def test_infosets_of_different_sizes_in_another_order(tmp_path, game, policy):
    np.savez(
        tmp_path / "p.npz", format="accord-policy", version=1, players=2, weights=[0.25, 0.75],
        infosets_1=["\U0001f0cf", ""], n_actions_1=[2, 3],
        probabilities_1=[[0.125, 0.875, 0.5, 0.25, 0.25], [0.5, 0.5, 0.0, 0.0, 1.0]],
        infosets_2=["not\nright"], n_actions_2=[2], probabilities_2=[[0.0, 1.0], [0.75, 0.25]],
    )  # fmt: skip
    assert load_policy(tmp_path / "p.npz", game).behavior.tolist() == policy.behavior.tolist()


# --- sums -----------------------------------------------------------------------------------------


def test_sums_within_a_millionth_are_normalized(tmp_path, game, policy):
    content = to_json(policy)
    content["components"][0]["policy"][1]["not\nright"] = [0.4999995, 0.4999999]
    content["components"][0]["weight"] = 0.2500009
    path = tmp_path / "p.json"
    path.write_text(json.dumps(content))
    loaded = load_policy(path, game)
    assert loaded.weights.sum() == pytest.approx(1, abs=1e-15)
    assert loaded.weights[0] == pytest.approx(0.2500009 / 1.0000009, abs=1e-15)
    ((_, (_, second)), _) = loaded.components()
    assert second[1:].sum() == pytest.approx(1, abs=1e-15)
    assert second[1] == pytest.approx(0.4999995 / 0.9999994, abs=1e-15)


@pytest.mark.parametrize("off", [1.1e-6, -1.1e-6, 0.5, -0.25])
def test_sums_further_off_are_refused(game, off):
    good = [[1, 0.5, 0.25, 0.25, 0.25, 0.75], [1, 0.5, 0.5]]
    with pytest.raises(PolicyError, match="the weights must sum to one"):
        CorrelatedPolicy.from_components(game, [(0.5, good), (0.5 + off, good)])
    bad = [[1, 0.5, 0.25, 0.25, 0.25, 0.75 + off], [1, 0.5, 0.5]]
    with pytest.raises(PolicyError, match=r"component 1, player ann, infoset .* sum to"):
        CorrelatedPolicy.from_components(game, [(0.5, good), (0.5, bad)])


# --- what is no policy, in memory -----------------------------------------------------------------


@pytest.mark.parametrize("p", [-0.1, -1e-300, math.nan, math.inf, -math.inf])
def test_what_is_no_probability(game, p):
    bad = [[1, 0.5, 0.25, 0.25, 0.5, 0.5], [1, 1 - p, p]]
    with pytest.raises(PolicyError, match=r"component 0, player b\u00f6b, infoset 'not.nright'"):
        CorrelatedPolicy.product(game, bad)


@pytest.mark.parametrize("weight", [0.0, -0.5, math.nan, math.inf])
def test_what_is_no_weight(game, weight):
    good = [[1, 0.5, 0.25, 0.25, 0.5, 0.5], [1, 0.5, 0.5]]
    with pytest.raises(PolicyError, match="component 1: the weight must be positive and finite"):
        CorrelatedPolicy.from_components(game, [(1.0, good), (weight, good)])


def test_shapes_that_do_not_fit(game):
    good = [[1, 0.5, 0.25, 0.25, 0.5, 0.5], [1, 0.5, 0.5]]
    with pytest.raises(PolicyError, match=r"component 0: .* \[6, 3\]; got \[6, 2\]"):
        CorrelatedPolicy.product(game, [good[0], [1.0, 1.0]])
    with pytest.raises(PolicyError, match=r"\[6, 3\]; got \[6\]"):
        CorrelatedPolicy.product(game, good[:1])
    with pytest.raises(PolicyError, match=r"9 probabilities per component"):
        CorrelatedPolicy.from_components(game, [])
    for weights, behavior in (([1.0], [[1.0]]), ([], np.ones((0, 9))), (1.0, np.ones(9))):
        with pytest.raises(PolicyError, match="9 probabilities per component"):
            CorrelatedPolicy(game, np.array(weights), np.array(behavior))
    with pytest.raises(PolicyError, match="numbers"):
        CorrelatedPolicy(game, ["a"], [["b"] * 9])


def test_devices_that_do_not_fit(game):
    good = ({"": "l", "\U0001f0cf": "x"}, {"not\nright": "\u03b1"})
    assert CorrelatedPolicy.from_device(game, [(1.0, good)]).values().tolist() == [1.0, 1.0]
    for bad, message in (
        (good[:1], "component 0: there must be one mapping per player, 2; got 1"),
        (({"": "r"}, good[1]), "player ann, infoset '\U0001f0cf': no action is given"),
        (({**good[0], "": "x"}, good[1]), "infoset '': there is no action 'x'; .* 'l', 'm', 'r'"),
        (({**good[0], "z": "x"}, good[1]), "player ann: the game has no infoset 'z'"),
    ):
        with pytest.raises(PolicyError, match=message):
            CorrelatedPolicy.from_device(game, [(1.0, bad)])
    with pytest.raises(PolicyError, match=r"there is no player 'eve'; .* 'ann', 'böb'"):
        CorrelatedPolicy.from_device(game, [(1.0, {"eve": {}})])
    for weight in ("1/0", "half", None):
        with pytest.raises(ArgumentError, match="the weight of component 0 must be a number"):
            CorrelatedPolicy.from_device(game, [(weight, good)])


def test_a_policy_cannot_be_changed(policy):
    for array in (policy.weights, policy.behavior):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.5


def test_a_policy_does_not_share_what_it_was_made_of(game):
    weights, behavior = np.ones(1), np.array([[1, 0.5, 0.25, 0.25, 0.5, 0.5, 1, 0.5, 0.5]])
    policy = CorrelatedPolicy(game, weights, behavior)
    behavior[:] = 0.0
    weights[:] = 7.0
    assert policy.behavior.sum() == 5.0
    assert policy.weights.tolist() == [1.0]


@checked
@given(all_games(), seeds)
def test_values(game, seed):
    policy = random_policy(game, seed)
    expected = reference.correlated_values(game, as_reference(policy))
    assert policy.values() == pytest.approx(expected, abs=1e-13)
    behaviors = random_behaviors(game, np.random.default_rng(seed))
    product = CorrelatedPolicy.product(game, behaviors)
    expected = reference.expected_values(game, [b.tolist() for b in behaviors])
    assert product.values() == pytest.approx(expected, abs=1e-13)


# --- damaged JSON ---------------------------------------------------------------------------------


def with_first(label: str, row: object):
    """A change of the first player's entry at ``label`` in the second component."""
    return lambda content: content["components"][1]["policy"][0].__setitem__(label, row)


def with_key(key: str, value: object):
    return lambda content: content.__setitem__(key, value)


def with_weight(value: object):
    return lambda content: content["components"][1].__setitem__("weight", value)


ANN = "component 1, player ann"
CARD = "\U0001f0cf"
DAMAGE = {
    "missing infoset": (
        lambda c: c["components"][1]["policy"][0].pop(CARD),
        PolicyError, f"{ANN}: infoset '{CARD}' is missing",
    ),
    "missing empty label": (
        lambda c: c["components"][1]["policy"][0].pop(""),
        PolicyError, f"{ANN}: infoset '' is missing",
    ),
    "unknown infoset": (with_first("z", [1.0]), PolicyError, f"{ANN}: the game has no infoset 'z'"),
    "too short": (with_first("", [0.5, 0.5]), PolicyError, f"{ANN}, infoset '': .* 3 numbers"),
    "too long": (with_first(CARD, [0.5, 0.5, 0]), PolicyError, f"{ANN}, infoset '{CARD}'"),
    "no list": (with_first("", {"l": 1.0}), PolicyError, f"{ANN}, infoset ''"),
    "null": (with_first("", None), PolicyError, f"{ANN}: infoset ''"),
    "negative": (with_first(CARD, [-0.5, 1.5]), PolicyError, f"{ANN}, infoset '{CARD}'.*-0.5"),
    "NaN": (with_first(CARD, [math.nan, 1]), PolicyError, f"{ANN}, infoset '{CARD}'.*got nan"),
    "infinite": (with_first(CARD, [math.inf, 1]), PolicyError, f"{ANN}, infoset '{CARD}'.*got inf"),
    "huge": (with_first(CARD, [10**400, 1]), PolicyError, f"{ANN}, infoset '{CARD}'"),
    "two huge": (with_first(CARD, [1.7e308, 1.7e308]), PolicyError, f"{ANN}, infoset '{CARD}'"),
    "text": (with_first(CARD, ["0.5", 0.5]), PolicyError, f"{ANN}, infoset '{CARD}'"),
    "truth": (with_first(CARD, [True, False]), PolicyError, f"{ANN}, infoset '{CARD}'"),
    "sum": (with_first(CARD, [0.5, 0.500002]), PolicyError, f"{ANN}, infoset '{CARD}'.*sum to 1.0"),
    "nothing": (with_first(CARD, [0, 0]), PolicyError, f"{ANN}, infoset '{CARD}'.*sum to 0.0"),
    "weight 0": (with_weight(0), PolicyError, "component 1: the weight must be positive"),
    "weight NaN": (with_weight(math.nan), PolicyError, "component 1: .* got nan"),
    "weight negative": (with_weight(-0.75), PolicyError, "component 1: .* got -0.75"),
    "weight huge": (with_weight(10**400), PolicyError, "component 1: the weight"),
    "weight text": (with_weight("0.75"), PolicyError, 'component 1 must have a number "weight"'),
    "weights": (with_weight(0.8), PolicyError, "the weights must sum to one; they sum to 1.05"),
    "no weight": (lambda c: c["components"][1].pop("weight"), PolicyError, "component 1 must have"),
    "no policy": (lambda c: c["components"][1].pop("policy"), PolicyError, "component 1 must have"),
    "one player": (lambda c: c["components"][1]["policy"].pop(), PolicyError, "component 1 must"),
    "player list": (
        lambda c: c["components"][1]["policy"].__setitem__(0, [1]), PolicyError, f"{ANN}: must be",
    ),
    "component text": (
        lambda c: c["components"].__setitem__(1, "x"), PolicyError, "component 1 must have",
    ),
    "no components": (with_key("components", []), ParseError, '"components" must be a non-empty'),
    "components object": (with_key("components", {}), ParseError, '"components" must be'),
    "components gone": (lambda c: c.pop("components"), ParseError, '"components" must be'),
    "format": (with_key("format", "accord-game"), ParseError, "'accord-game' and 1"),
    "no format": (lambda c: c.pop("format"), ParseError, '"format": "accord-policy"'),
    "version": (with_key("version", 2), ParseError, "'accord-policy' and 2"),
    "players": (with_key("players", 3), MismatchError, "is for 3 players; .* has 2"),
    "players text": (with_key("players", "2"), MismatchError, "is for '2' players"),
    "digest": (with_key("digest", "0" * 64), MismatchError, "digest 000000000000; .* made for"),
    "digest number": (with_key("digest", 5), MismatchError, "digest 5"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_json(tmp_path, game, policy, damage):
    change, kind, message = DAMAGE[damage]
    content = to_json(policy)
    change(content)
    path = tmp_path / "p.json"
    path.write_text(json.dumps(content))
    with pytest.raises(kind, match=message) as error:
        load_policy(path, game)
    assert type(error.value) is kind
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"weight": 0.25', '"weight": 0.25, "weight": 0.25', "component 0 has 'weight' twice"),
        ('"version": 1', '"version": 1, "version": 1', "has 'version' twice"),
        ('"": [0.0', '"": [1.0, 0.0, 0.0], "": [0.0', "1, player ann: infoset '' is given twice"),
    ],
)
def test_a_key_given_twice(tmp_path, game, policy, old, new, message):
    path = tmp_path / "p.json"
    save_policy(policy, path)
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    with pytest.raises(AccordError, match=message):
        load_policy(path, game)


def test_truncated_json_names_line_and_column(tmp_path, game, policy):
    path = tmp_path / "p.json"
    path.write_text(json.dumps(to_json(policy), indent=1)[:-30])
    with pytest.raises(ParseError) as error:
        load_policy(path, game)
    lines = path.read_text().split("\n")
    assert (error.value.line, error.value.column) == (len(lines), len(lines[-1]) + 1)
    assert str(error.value).startswith(f"{path}:{len(lines)}:{len(lines[-1]) + 1}: ")
    path.write_text('{"format": "accord-policy",\n "version": }')
    with pytest.raises(ParseError, match=r"p\.json:2:13: must be a policy as JSON: Expecting"):
        load_policy(path, game)


@pytest.mark.parametrize("text", ["", " ", "null", "[]", "3", '"accord-policy"', "NaN", "{]", "{}"])
def test_json_that_is_no_policy(tmp_path, game, text):
    path = tmp_path / "p.json"
    path.write_text(text)
    with pytest.raises(ParseError, match=r"p\.json"):
        load_policy(path, game)


@pytest.mark.parametrize("text", ["[", '{"components":[', '{"a":', '{"format":[{"x":['])
def test_deeply_nested_json(tmp_path, game, text):
    path = tmp_path / "p.json"
    path.write_text(text * 100_000)
    with pytest.raises(ParseError, match="nested too deeply"):
        load_policy(path, game)


def test_numbers_of_too_many_digits(tmp_path, game, policy):
    path = tmp_path / "p.json"
    text = json.dumps(to_json(policy))
    for digits in ("1" * 400, "9" * 5000, "-" + "9" * 5000, "1e999", "1" * 5000 + ".5"):
        path.write_text(text.replace("0.125", digits))
        with pytest.raises(PolicyError, match=f"component 0, player ann, infoset '{CARD}'"):
            load_policy(path, game)


@pytest.mark.parametrize("raw", [b"\xff\xfe{", b"\x00" * 50, bytes(range(256)), b"\xef\xbb\xbf{}"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_binary_garbage(tmp_path, game, raw, suffix):
    path = tmp_path / f"p{suffix}"
    path.write_bytes(raw)
    with pytest.raises(ParseError, match=r"p\."):
        load_policy(path, game)


# --- damaged archives -----------------------------------------------------------------------------

NPZ_DAMAGE = {
    "missing infoset": (
        lambda a: a.update(infosets_1=np.array(["", "z"])),
        PolicyError, f"player ann: infoset '{CARD}' is missing",
    ),
    "missing empty label": (
        lambda a: a.update(infosets_1=np.array(["z", CARD])),
        PolicyError, "player ann: infoset '' is missing",
    ),
    "unknown infoset": (
        lambda a: a.update(infosets_1=np.array(["", CARD, "z"])),
        PolicyError, "player ann: the game has no infoset 'z'",
    ),
    "duplicate": (
        lambda a: a.update(infosets_1=np.array(["", ""])),
        PolicyError, "player ann: infoset '' is given twice",
    ),
    "labels of bytes": (lambda a: a.update(infosets_2=np.array([b"x"])), ParseError, "infosets_2"),
    "one label": (lambda a: a.update(infosets_2=np.array("x")), ParseError, "infosets_2"),
    "labels gone": (lambda a: a.pop("infosets_2"), ParseError, "infosets_2"),
    "action numbers": (
        lambda a: a.update(n_actions_1=np.array([2, 3])),
        PolicyError, "player ann, infoset '': must have 3 actions; got 2",
    ),
    "action numbers huge": (
        lambda a: a.update(n_actions_1=np.array([3, 2**63], np.uint64)),
        PolicyError, f"player ann, infoset '{CARD}': must have 2 actions",
    ),
    "action numbers short": (
        lambda a: a.update(n_actions_1=np.array([3])), PolicyError, "player ann: .* per infoset",
    ),
    "action numbers gone": (lambda a: a.pop("n_actions_1"), ParseError, "n_actions_1"),
    "action numbers float": (lambda a: a.update(n_actions_1=np.ones(2)), ParseError, "n_actions_1"),
    "too few columns": (
        lambda a: a.update(probabilities_1=a["probabilities_1"][:, 1:]),
        PolicyError, r"player ann: there must be 5 .* in each of 2 components; got shape \(2, 4\)",
    ),
    "too few rows": (
        lambda a: a.update(probabilities_1=a["probabilities_1"][1:]),
        PolicyError, r"player ann: .* got shape \(1, 5\)",
    ),
    "vector": (
        lambda a: a.update(probabilities_2=a["probabilities_2"][0]), ParseError, "probabilities_2",
    ),
    "complex": (
        lambda a: a.update(probabilities_2=1j * a["probabilities_2"]),
        ParseError, "probabilities_2",
    ),
    "NaN": (
        lambda a: a["probabilities_1"].__setitem__((1, 4), np.nan),
        PolicyError, f"component 1, player ann, infoset '{CARD}'.*got nan",
    ),
    "negative": (
        lambda a: a["probabilities_2"].__setitem__((0, 0), -0.5),
        PolicyError, "component 0, player b\u00f6b, infoset 'not.nright'.*got -0.5",
    ),
    "sum": (
        lambda a: a["probabilities_2"].__setitem__((1, 0), 0.5),
        PolicyError, "component 1, player b\u00f6b, infoset 'not.nright'.*sum to 0.75",
    ),
    "weight 0": (
        lambda a: a.update(weights=np.array([1.0, 0.0])), PolicyError, "component 1: the weight",
    ),
    "weight NaN": (
        lambda a: a.update(weights=np.array([np.nan, 1.0])), PolicyError, "component 0: .*got nan",
    ),
    "weights": (lambda a: a.update(weights=np.array([0.5, 0.6])), PolicyError, "they sum to 1.1"),
    "weights integers": (lambda a: a.update(weights=np.array([1, 0])), ParseError, "weights"),
    "weights table": (lambda a: a.update(weights=np.ones((2, 1))), ParseError, "weights"),
    "weights gone": (lambda a: a.pop("weights"), ParseError, "weights"),
    "no components": (
        lambda a: a.update({k: v[:0] for k, v in a.items() if k[:4] in ("weig", "prob")}),
        PolicyError, "one weight and one vector",
    ),
    "format": (lambda a: a.update(format=np.array("x")), ParseError, "'x' and 1"),
    "version": (lambda a: a.update(version=np.array(9)), ParseError, "'accord-policy' and 9"),
    "players": (lambda a: a.update(players=np.array(3)), MismatchError, "is for 3 players"),
    "players vector": (lambda a: a.update(players=np.array([2])), ParseError, '"players" must'),
    "digest": (lambda a: a.update(digest=np.array("f" * 64)), MismatchError, "digest ffffffffffff"),
    "digest vector": (lambda a: a.update(digest=np.array(["f"])), ParseError, '"digest" must'),
    "objects": (
        lambda a: a.update(infosets_1=np.array([None, {}], object)), ParseError,
        '"infosets_1" must be an array of strings',
    ),
}  # fmt: skip


PACKED_DAMAGE = {
    "gone": (lambda a: a.pop("off_1"), ParseError, '"off_1" must be an array of integers'),
    "floats": (lambda a: a.update(same_1=a["same_1"] * 1.0), ParseError, '"same_1" must be'),
    "few values": (
        lambda a: a.update(values_2=a["values_2"][:, 1:]),
        PolicyError, "player b\u00f6b: there must be as many packed values",
    ),
    "many values": (
        lambda a: a.update(values_2=np.zeros((8, 99), np.uint8)), PolicyError,
        r"there must be 2 probabilities in each of 2 components; got shape .*\(8, 99\)",
    ),
    "other components": (
        lambda a: a.update(off_1=a["off_1"][:, :1]), PolicyError, r"got shape .*\(2, 1\)",
    ),
    "other actions": (
        lambda a: a.update(support_1=a["support_1"][1:]), PolicyError, "must fit each other",
    ),
    "sum": (
        lambda a: a.update(off_2=np.full_like(a["off_2"], 99, np.int64) << 45), PolicyError,
        "component 0, player b\u00f6b, infoset 'not.nright'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("damage", PACKED_DAMAGE)
def test_damaged_packed_archives(tmp_path, game, policy, damage, monkeypatch):
    change, kind, message = PACKED_DAMAGE[damage]
    monkeypatch.setattr(policy_npz, "PLAIN_BYTES", 0)
    arrays = to_arrays(policy)
    change(arrays)
    path = tmp_path / "p.npz"
    np.savez(path, **arrays)
    with pytest.raises(kind, match=message) as error:
        load_policy(path, game)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("damage", NPZ_DAMAGE)
def test_damaged_archives(tmp_path, game, policy, damage):
    change, kind, message = NPZ_DAMAGE[damage]
    arrays = {name: np.array(array) for name, array in to_arrays(policy).items()}
    change(arrays)
    path = tmp_path / "p.npz"
    np.savez(path, **arrays)
    with pytest.raises(kind, match=message) as error:
        load_policy(path, game)
    assert type(error.value) is kind
    assert str(path) in str(error.value)


def test_archives_that_are_none(tmp_path, game, policy):
    path = tmp_path / "p.npz"
    save_policy(policy, path)
    whole = path.read_bytes()
    single = io.BytesIO()
    np.save(single, np.ones(3))
    huge = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,), }".ljust(117)
    header = b"\x93NUMPY\x01\x00v\x00" + huge + b"\n"
    archives = []
    for members in ({}, {"format": b"text"}, {"weights.npy": b"bad"}, {"weights.npy": header}):
        archives.append(io.BytesIO())
        with zipfile.ZipFile(archives[-1], "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
    for raw in (
        b"", b"PK\x03\x04" + b"x" * 99, b"\x80\x04N.", whole[:-20], whole[: len(whole) // 2],
        single.getvalue(), *(archive.getvalue() for archive in archives),
    ):  # fmt: skip
        path.write_bytes(raw)
        with pytest.raises(ParseError, match=r"p\.npz"):
            load_policy(path, game)


def test_text_called_an_archive(tmp_path, game):
    path = tmp_path / "p.npz"
    path.write_text("hello\n")
    with pytest.raises(ParseError, match=r"not a readable \.npz policy file, or damaged") as error:
        load_policy(path, game)
    assert "pickle" not in str(error.value)


# --- files that are not there, or not for this ----------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_that_cannot_be_read(tmp_path, game, suffix):
    with pytest.raises(ParseError, match="cannot be read: No such file"):
        load_policy(tmp_path / f"none{suffix}", game)
    (tmp_path / f"folder{suffix}").mkdir()
    with pytest.raises(ParseError, match="cannot be read: Is a directory"):
        load_policy(tmp_path / f"folder{suffix}", game)
    with pytest.raises(ParseError, match="cannot be read"):
        load_policy(f"a\0{suffix}", game)


def test_what_is_no_path_no_game_and_no_policy(tmp_path, game, policy):
    save_policy(policy, tmp_path / "p.json")
    for path in (None, 3, game):
        with pytest.raises(ArgumentError, match=r"must end in \.json or \.npz; got"):
            load_policy(path, game)
        with pytest.raises(ArgumentError, match=r"must end in \.json or \.npz; got"):
            save_policy(policy, path)
    with pytest.raises(ArgumentError, match=r"accord\.Game; got 'k'; try accord\.load_game\('k'\)"):
        load_policy(tmp_path / "p.json", "k")
    with pytest.raises(ArgumentError, match=r"is the policy of a game.*give the game too"):
        load_policy(tmp_path / "p.json", None)
    with pytest.raises(ArgumentError, match=r"accord\.CorrelatedPolicy; got None"):
        save_policy(None, tmp_path / "new.json")
    assert not (tmp_path / "new.json").exists()


def test_a_policy_needs_a_game():
    needed = r"game must be an accord\.Game; got 'kuhn'; try accord\.load_game\('kuhn'\)"
    with pytest.raises(ArgumentError, match=needed):
        CorrelatedPolicy("kuhn", [1.0], [[1.0]])
    with pytest.raises(ArgumentError, match=needed):
        CorrelatedPolicy.product("kuhn", [[1.0]])
    with pytest.raises(ArgumentError, match=needed):
        CorrelatedPolicy.from_device("kuhn", [])


@pytest.mark.parametrize("name", ["p", "p.txt", "p.JSON", "p.json.gz", ".npz"])
def test_other_suffixes(tmp_path, game, policy, name):
    (tmp_path / name).write_text("{}")
    with pytest.raises(ArgumentError, match=r"must end in \.json or \.npz"):
        load_policy(tmp_path / name, game)
    with pytest.raises(ArgumentError, match=r"must end in \.json or \.npz"):
        save_policy(policy, tmp_path / name)
    assert (tmp_path / name).read_text() == "{}"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_policy_of_another_game(tmp_path, suffix):
    path = tmp_path / f"p{suffix}"
    one, other = separation(k=1), separation(k=2)
    save_policy(random_policy(one, 0), path)
    with pytest.raises(MismatchError, match="made for the game 'separation:k=1'") as error:
        load_policy(path, other)
    for part in (str(path), one.digest[:12], other.digest[:12], "separation:k=2"):
        assert part in str(error.value)
    assert load_policy(path, separation(k=1)).n_components  # the same game, built again


# --- failures to write ----------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_that_cannot_be_written(tmp_path, policy, suffix):
    (tmp_path / "file").write_text("x")
    (tmp_path / f"folder{suffix}").mkdir()
    for path in (
        tmp_path / "nowhere" / f"p{suffix}",
        tmp_path / "file" / f"p{suffix}",
        tmp_path / f"folder{suffix}",
        tmp_path / ("n" * 300 + suffix),
        tmp_path / f"a\0{suffix}",
    ):
        with pytest.raises(ArgumentError, match="cannot be written"):
            save_policy(policy, path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", f"folder{suffix}"]
    assert not list((tmp_path / f"folder{suffix}").iterdir())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_full_disk_leaves_the_old_file(tmp_path, policy, suffix, monkeypatch):
    path = tmp_path / f"p{suffix}"
    path.write_text("before")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ArgumentError, match="cannot be written: No space left on device"):
        save_policy(policy, path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "before"


def test_an_interrupted_write_leaves_nothing(tmp_path):
    def interrupted(file) -> None:
        file.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _files.write_whole(tmp_path / "p.json", interrupted)
    assert list(tmp_path.iterdir()) == []


def test_repr(policy):
    assert repr(policy) == "CorrelatedPolicy('a \"small\" game, na\u00efve', components=2)"
    assert policy.n_components == 2
    assert sequence_form(policy.game).n_sequences == policy.behavior.shape[1]


def test_only_what_is_needed_is_unpacked(tmp_path, game, policy, monkeypatch):
    save_policy(policy, tmp_path / "p.npz")
    with np.load(tmp_path / "p.npz", allow_pickle=False) as content:
        arrays = dict(content)
    np.savez_compressed(tmp_path / "q.npz", **arrays, unused=np.zeros(10**6))
    read = []
    unpack = Archive.__getitem__
    monkeypatch.setattr(
        Archive, "__getitem__", lambda self, key: read.append(key) or unpack(self, key)
    )
    assert load_policy(tmp_path / "q.npz", game).behavior.tolist() == policy.behavior.tolist()
    assert set(read) == set(arrays)

    read.clear()
    bomb = {**arrays, "weights": np.full(10**6, 1e-6)}  # 8 MB from a few kB
    np.savez_compressed(tmp_path / "bomb.npz", **bomb)
    with pytest.raises(PolicyError, match="in each of 1000000 components; got shape"):
        load_policy(tmp_path / "bomb.npz", game)
    assert "weights" not in read

    monkeypatch.setattr("accord.equilibrium.policy_npz.available_memory", lambda: 100)
    with pytest.raises(BudgetError, match=r"p\.npz takes .* in memory, and 100 B are available"):
        load_policy(tmp_path / "p.npz", game)


@pytest.mark.parametrize("plain", [0, 2**24])
def test_only_what_an_environment_needs_is_unpacked(tmp_path, game, policy, monkeypatch, plain):
    monkeypatch.setattr(policy_npz, "PLAIN_BYTES", plain)
    save_policy(without_game(policy), tmp_path / "p.npz")
    with np.load(tmp_path / "p.npz", allow_pickle=False) as content:
        arrays = dict(content)
    np.savez_compressed(tmp_path / "q.npz", **arrays, unused=np.zeros(10**6))
    read = []
    unpack = Archive.__getitem__
    monkeypatch.setattr(
        Archive, "__getitem__", lambda self, key: read.append(key) or unpack(self, key)
    )
    again = load_policy(tmp_path / "q.npz")
    assert again.behavior.tolist() == policy.behavior.tolist()
    assert "unused" not in read

    read.clear()
    np.savez_compressed(tmp_path / "w.npz", **{**arrays, "weights": np.full(10**6, 1e-6)})
    with pytest.raises(PolicyError, match="in each of 1000000 components; got shape"):
        load_policy(tmp_path / "w.npz")
    np.savez_compressed(tmp_path / "t.npz", **{**arrays, "trees": np.full(10**7, 32, np.uint8)})
    with pytest.raises(ParseError, match=r'"trees" has 10 MB of text in .* kB'):
        load_policy(tmp_path / "t.npz")
    assert read.count("trees") == 1
    assert "weights" not in read

    monkeypatch.setattr("accord.equilibrium.policy_npz.available_memory", lambda: 100)
    with pytest.raises(BudgetError, match=r"p\.npz takes .* in memory, and 100 B are available"):
        load_policy(tmp_path / "p.npz")


def as_member(kind: str, shape: tuple[int, ...], content: bytes) -> bytes:
    """An array as a file, whose header says this type and shape."""
    file = io.BytesIO()
    header = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + content


def bombs() -> dict[str, tuple[str, bytes]]:
    """Members of an archive that become large although they are small: a name and its content."""
    long = 10_000_000
    lists = b"[" + b"[]," * 5_000_000 + b"[]]"
    header = b"\x93NUMPY\x02\x00" + (8 * long).to_bytes(4, "little")
    return {
        "a long word": ("game", as_member(f"<U{long}", (), bytes(4 * long))),
        "long labels": ("infosets_1", as_member(f"<U{long}", (2,), bytes(8 * long))),
        "a long header": ("weights", header + b" " * (8 * long)),
        "many numbers": ("n_actions_1", as_member("<i8", (long,), bytes(8 * long))),
        "many lists": ("trees", as_member("|u1", (len(lists),), lists)),
        "more than it says": ("weights", as_member("<f8", (2,), bytes(8 * long))),
        "less than it says": ("weights", as_member("<f8", (long,), bytes(16))),
        "parts of parts": ("weights", as_member("(1000,1000)<f8", (10,), bytes(8 * long))),
    }


@pytest.mark.slow
@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
@pytest.mark.parametrize("bomb", bombs())
def test_small_files_do_not_take_much_memory(tmp_path, game, policy, bomb, method):
    save_policy(policy, tmp_path / "p.npz")
    (name, content), path = bombs()[bomb], tmp_path / "bomb.npz"
    with (
        zipfile.ZipFile(tmp_path / "p.npz") as valid,
        zipfile.ZipFile(path, "w", method) as archive,
    ):
        for one in valid.namelist():
            if one != f"{name}.npy":
                archive.writestr(one, valid.read(one))
        archive.writestr(f"{name}.npy", content)
    del content
    assert path.stat().st_size < 500_000

    def read() -> None:
        with pytest.raises((ParseError, PolicyError)):
            load_policy(path, game)

    read()
    assert peak(read) < 2**25


def test_text_that_would_be_refused_is_not_compressed(tmp_path, policy, monkeypatch):
    monkeypatch.setattr(policy_npz, "ALWAYS_READ", 100)
    labels = CorrelatedPolicy.of_players(
        policy.name, ("a" * 10_000, "b"), policy.plexes, policy.weights, policy.behavior
    )
    save_policy(labels, tmp_path / "p.npz")
    assert load_policy(tmp_path / "p.npz").player_labels == ("a" * 10_000, "b")


@pytest.mark.parametrize("kind", ["device", "pipe", "link to a pipe"])
@pytest.mark.parametrize("name", ["p.npz", "p.json", "g.efg", "g.nfg", "run/run.json"])
def test_devices_and_pipes_are_refused(tmp_path, game, name, kind):
    """A pipe might never answer, and a device might never end."""
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    source = Path("/dev/zero")
    if "pipe" in kind:
        source = tmp_path / "pipe" if "link" in kind else path
        os.mkfifo(source)
    if source != path:
        path.symlink_to(source)
    with pytest.raises(AccordError, match="must be a file, not a device, pipe or socket"):
        if path.suffix in SUFFIXES and path.parent == tmp_path:
            load_policy(path, game)
        elif path.parent == tmp_path:
            load_game(str(path))
        else:
            read_content(path)


def test_pure_components_take_little_room(tmp_path):
    """Iterates of regret matching are nearly all zeros and ones."""
    game = kuhn()
    rows = np.random.default_rng(0).integers(0, 3, (1000, 1)) == np.arange(3)
    form = sequence_form(game)
    behavior = np.ones((1000, form.n_sequences))
    for part, plex in zip(form.split(behavior), form.plexes, strict=True):
        for x in range(plex.n_infosets):
            part[:, plex.first_seq[x]] = rows[:, x % 3]
            part[:, plex.first_seq[x] + 1] = ~rows[:, x % 3]
    policy = CorrelatedPolicy(game, np.full(1000, 1e-3), behavior)
    save_policy(policy, tmp_path / "p.npz")
    assert (tmp_path / "p.npz").stat().st_size < behavior.nbytes / 10
