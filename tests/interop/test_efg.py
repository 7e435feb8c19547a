"""Gambit's files: every value is compared with a plain reference reader and OpenSpiel's reader."""

from __future__ import annotations

import itertools
import math
import random
import re
import tempfile
import time
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from open_spiel.python.algorithms.gambit import export_gambit

from accord._arrays import CHANCE, NO_INFOSET, TERMINAL
from accord.certifying.exact import certify
from accord.equilibrium.policy_files import load_policy, save_policy
from accord.errors import (
    AccordError,
    ArgumentError,
    GameError,
    ImperfectRecallError,
    ParseError,
)
from accord.game.exact import exact_plays
from accord.game.library import LIBRARY, library_game
from accord.game.pomg import POMG
from accord.game.tree import Game, total_rewards
from accord.interop import efg_reader
from accord.interop.efg import format_efg, parse_efg, read_efg, write_efg
from tests.support.policies import all_games, random_policy
from tests.support.strategies import examples, random_pomg

CORPUS = Path(__file__).parents[3] / "shared" / "efg"
FILES = sorted(CORPUS.rglob("*.efg"))
in_corpus = pytest.mark.skipif(not FILES, reason="Gambit's own files are not here")
fixed = settings(suppress_health_check=list(HealthCheck))

FORGETFUL = {  # the player who forgets, the infoset, and its number
    "catalog/books/shohamleytonbrown2008/fig5_12.efg": ("1", "start", "1"),  # "absent-mindedness"
    "catalog/books/vonstengel2022/fig10.7.efg": ("II", "start (2)", "2"),  # "imperfect recall"
    "catalog/journals/geb/gilboa1997/fig1.efg": (
        "Player 1",
        "start",
        "1",
    ),  # the absent-minded driver
    "catalog/journals/geb/gilboa1997/fig2.efg": ("Player 1", "after 1 B or 2", "2"),  # his selves
    "catalog/journals/geb/wichardt2008.efg": (
        "Player 1",
        "after R or L",
        "2",
    ),  # "imperfect recall"
    "contrib/games/e09.efg": ("Player 1", "(1,2)", "2"),  # "no recall"
    "contrib/games/holdout.efg": ("Player 1", "Low", "8"),  # infoset 8 is below itself
    "contrib/games/myerson.efg": (
        "Player 1",
        "(1,2)",
        "2",
    ),  # "no solution in behavioral strategies"
}

HEAD = 'EFG 2 R "" { "A" "B" } ""\n'
SMALL = (
    'EFG 2 R "A \\"small\\" game" { "Ann" "Bob" }\n'
    '"a comment\nof two lines"\n\n'
    'c "root" 7 "deal" { "low" 1/3 "high" .5 "low" 1/6 } 0\n'
    'p "" 1 3 "Ann\'s" { "stop" "go" } 0\n'
    't "" 1 "first" { 1, -1 }\n'
    'p "" 2 3 "" { "" "" } 4 "ante" { 1e1 -2.5 }\n'
    't "" 0\n'
    't "x" 1\n'
    'p "" 1 3 0\n'
    't "" 2 "" {+3/4 ,.25,}\n'
    'p "" 2 3 4\n'
    't "" 1\n'
    't "" 0\n'
    'p "" 1 9 "Bob\'s" { "only" } 1\n'
    't "" 2\n'
)


# The oracles -------------------------------------------------------------------------------------


class Twin:
    """A minimal reader of well-formed files: exact, recursive, without checks."""

    def __init__(self, text: str) -> None:
        self.tokens = re.findall(r'"(?:[^"\\]|\\.)*"|[{}]|[^\s{},"]+', text)[4:]
        self.players = [name[1:-1] for name in self.take_list()]
        self.comment = self.tokens.pop(0) if self.tokens[0][0] == '"' else ""
        self.lists: dict[Any, list[str]] = {}
        self.own: dict[Any, set[Any]] = defaultdict(set)  # own histories at each infoset
        self.n_nodes = 0
        self.value = self.take_node({})
        assert not self.tokens

    def take_list(self) -> list[str]:
        end = self.tokens.index("}")
        items, self.tokens = self.tokens[1:end], self.tokens[end + 1 :]
        return items

    def take_described(self, key: Any) -> list[str]:
        if self.tokens and self.tokens[0][0] == '"':
            self.tokens.pop(0)
            self.lists[key] = self.take_list()
        return self.lists.get(key, ["0"] * len(self.players))

    def take_node(self, own: dict[int, tuple[Any, ...]]) -> list[Fraction]:
        """Expected payoffs of the subtree if all players play uniformly."""
        self.n_nodes += 1
        kind, _ = self.tokens.pop(0), self.tokens.pop(0)
        player = int(self.tokens.pop(0)) if kind == "p" else 0
        weights, key = [], None
        if kind != "t":
            key = (player, self.tokens.pop(0))
            actions = self.take_described(key)
            weights = [Fraction(p) for p in actions[1::2]] if kind == "c" else []
            weights = weights or [Fraction(1, len(actions))] * len(actions)
        value = [Fraction(p) for p in self.take_described(("outcome", self.tokens.pop(0)))]
        if kind == "p":
            self.own[key].add(own.get(player, ()))
        for a, weight in enumerate(weights):
            after = {**own, player: (*own.get(player, ()), (key, a))} if kind == "p" else own
            below = self.take_node(after)
            value = [v + weight * b for v, b in zip(value, below, strict=True)]
        return value


def uniform_value(game: Game) -> list[float]:
    """Expected payoffs if all players play uniformly."""
    reach = [1.0] * game.n_nodes
    for node in range(1, game.n_nodes):
        above = game.parent[node]
        i, x = game.player[above], game.infoset[above]
        move = game.chance_prob[node] if i == CHANCE else 1.0 / game.n_actions[i][x]
        reach[node] = reach[above] * move
    return [math.fsum(column) for column in (game.reward.T * np.array(reach)[game.reward_node])]


def spiel_value(text: str) -> list[float]:
    """Expected payoffs under uniform play of the game as OpenSpiel reads it."""
    return spiel_game_value(pyspiel.load_efg_game(text))


def spiel_game_value(game: Any) -> list[float]:
    def value(state: Any) -> Any:
        if state.is_terminal():
            return np.array(state.returns())
        if state.is_chance_node():
            return sum(p * value(state.child(a)) for a, p in state.chance_outcomes())
        actions = state.legal_actions()
        return sum(value(state.child(a)) for a in actions) / len(actions)

    return list(value(game.new_initial_state()))


def assert_close(one: Any, other: Any) -> None:
    np.testing.assert_allclose(np.array(one, float), np.array(other, float), rtol=1e-12, atol=1e-12)


def exact_uniform_value(game: Game) -> list[Fraction]:
    """The value of uniformly random play, in rational numbers."""
    total = [Fraction(0)] * game.n_players
    children = np.bincount(game.parent[1:], minlength=game.n_nodes)
    for node, chance, paid in exact_plays(game):
        probability, above = chance, int(game.parent[node])
        while above >= 0:
            if game.player[above] >= 0:
                probability /= int(children[above])
            above = int(game.parent[above])
        total = [sum_ + probability * u for sum_, u in zip(total, paid, strict=True)]
    return total


# Gambit's own files ------------------------------------------------------------------------------


@in_corpus
def test_the_corpus_is_there() -> None:
    assert len(FILES) == 118
    names = {file.relative_to(CORPUS).as_posix() for file in FILES}
    assert set(FORGETFUL) <= names


@in_corpus
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(CORPUS).as_posix())
def test_each_file_has_the_right_value_or_is_refused_for_the_right_reason(file: Path) -> None:
    name, text = file.relative_to(CORPUS).as_posix(), file.read_text()
    twin = Twin(text)
    forgetful = {key for key, histories in twin.own.items() if len(histories) > 1}
    assert bool(forgetful) == (name in FORGETFUL)
    if forgetful:
        with pytest.raises(ImperfectRecallError) as caught:
            read_efg(file)
        error = caught.value
        *labels, number = FORGETFUL[name]
        assert [error.player, error.infoset] == labels
        assert error.histories[0] != error.histories[1]
        key = (twin.players.index(error.player) + 1, number)
        assert key in forgetful
        assert {len(h) for h in error.histories} <= {len(h) for h in twin.own[key]}
        return
    game = read_efg(file)
    assert game.n_nodes == twin.n_nodes
    assert list(game.player_labels) == twin.players
    assert sum(game.n_infosets) == len(twin.own)
    assert_close(uniform_value(game), twin.value)
    assert exact_uniform_value(game) == list(twin.value)
    plays = exact_plays(game)
    payoffs = total_rewards(game, np.array([node for node, _, _ in plays]))
    assert [tuple(map(float, paid)) for _, _, paid in plays] == list(map(tuple, payoffs.tolist()))

    written = format_efg(game)
    assert exact_uniform_value(parse_efg(written)) == list(twin.value)
    again = parse_efg(written)
    assert_close(uniform_value(again), twin.value)
    assert_close(spiel_value(written), twin.value)
    assert again.digest == game.digest
    assert format_efg(again) == written


@in_corpus
def test_openspiel_agrees_on_the_files_that_it_can_read() -> None:
    read = 0
    for file in FILES:
        text = file.read_text()
        try:
            expected = spiel_value(text)
        except pyspiel.SpielError:
            continue
        assert_close([float(v) for v in Twin(text).value], expected)
        read += 1
        if file.relative_to(CORPUS).as_posix() not in FORGETFUL:
            assert_close(uniform_value(read_efg(file)), expected)
    assert read >= 83


@in_corpus
@pytest.mark.parametrize(
    ("name", "value"),
    [
        # Player 1 chooses R (nothing), or L and then matches: ((0+2)/2 + (4+0)/2) / 4 for each.
        ("catalog/books/shohamleytonbrown2008/fig5_10.efg", (0.75, 0.75)),
        # Half (2,2); a quarter of ((3,3)+(1,0))/2; a quarter of ((0,0) and zero sum + (1,1))/2.
        ("contrib/games/km6.efg", (1 + 0.5 + 0.125, 1 + 0.375 + 0.125)),
        # A formula of three clauses: x holds in 1/2 of the assignments, each of two literals too.
        ("catalog/journals/mor/vonstengelforges2008/fig9.efg", (0.5, 0.5)),
        # Selten's horse: 1/4 of (1,1,1), 1/8 of (4,4,0) and (0,0,1), 1/4 of (3,2,2) and nothing.
        ("catalog/journals/ijgt/selten1975/fig1.efg", (1.5, 1.25, 0.875)),
    ],
)
def test_values_found_by_hand(name: str, value: tuple[float, ...]) -> None:
    assert_close(uniform_value(read_efg(CORPUS / name)), value)


# Contents of a file -------------------------------------------------------------------------------


def test_all_optional_features_of_the_format_at_once() -> None:
    game = parse_efg(SMALL)
    assert game.name == 'A "small" game'
    assert game.player_labels == ("Ann", "Bob")
    assert game.infoset_labels == (("Ann's", "Bob's"), ("after go",))
    assert game.comment == "a comment\nof two lines"
    assert game.action_labels == ((("stop", "go"), ("only",)), (("1", "2"),))
    assert game.chance_labels == (("low", "high", "low#2"),)
    assert game.chance_prob[game.parent == 0].tolist() == [1 / 3, 0.5, 1 / 6]
    assert game.history(12) == ("low#2", "only")
    twin = Twin(SMALL)
    assert_close(uniform_value(game), twin.value)
    # low: Ann stops (1,-1), or the ante (10,-2.5) and half of (1,-1); high the same but stops at
    # (3/4,1/4); the second low: (1,-1) and (3/4,1/4).
    low, high, third = (11.5 / 2, -2), (11.25 / 2, -2.75 / 2), (1.75, -0.75)
    expected = [a / 3 + b / 2 + c / 6 for a, b, c in zip(low, high, third, strict=True)]
    assert_close(uniform_value(game), expected)


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("7", 7.0), ("-7", -7.0), ("+7", 7.0), ("007", 7.0), ("1.50", 1.5), ("2.", 2.0),
        (".5", 0.5), ("-.5", -0.5), ("1e3", 1e3), ("1.5E-3", 1.5e-3), ("1e+2", 100.0),
        ("22/7", 22 / 7), ("-1/3", -1 / 3), ("0.1", 0.1), ("1e-999999999", 0.0), ("-0", 0.0),
        ("0e999999999", 0.0), ("9" * 400 + "/1" + "0" * 400, 1.0), ("1" + "0" * 308, 1e308),
    ],
)  # fmt: skip
def test_payoffs_are_the_nearest_doubles(number: str, value: float) -> None:
    game = parse_efg(HEAD + f'p "" 1 1 "" {{ "a" }} 0 t "" 1 "" {{ {number} 2 }}')
    assert game.reward.tolist() == [[value, 2.0]]
    assert math.copysign(1, game.reward[0, 0]) == (-1 if value < 0 else 1)


@pytest.mark.parametrize(
    ("numbers", "probs"),
    [
        (["1/3", "1/3", "1/3"], [1 / 3] * 3),
        (["0.1"] * 10, [0.1] * 10),
        ([".25", "75e-2"], [0.25, 0.75]),
        (["0.33333333333"] * 3, [1 / 3] * 3),  # misses one by 1e-11
        (["1.0000000001"], [1.0]),
        (["0", "1", "0e999999999", "-0"], [1.0]),
        (["1e-300", "1"], [1e-300, 1.0]),
        (["1/3", "0/7", "2/3"], [1 / 3, 2 / 3]),
    ],
)
def test_probabilities_are_exact_and_impossible_outcomes_are_left_out(
    numbers: list[str], probs: list[float]
) -> None:
    event = " ".join(f'"{i}" {p}' for i, p in enumerate(numbers))
    nodes = "".join(f'p "" 1 {i + 1} "" {{ "a" }} 0 t "" 0 ' for i in range(len(numbers)))
    game = parse_efg(HEAD + f'c "" 1 "" {{ {event} }} 0 ' + nodes)
    below = game.parent == 0
    assert game.chance_prob[below].tolist() == probs
    assert game.action[below].tolist() == list(range(len(probs)))
    possible = [i for i, p in enumerate(numbers) if Fraction(p.replace("e999999999", ""))]
    assert game.chance_labels == (tuple(map(str, possible)),)
    assert game.infoset_labels[0] == tuple(map(str, possible))  # named by what leads there


def test_an_impossible_outcome_may_contain_the_first_description() -> None:
    never = HEAD + (
        'c "" 1 "" { "never" 0 "always" 1 } 0\n'
        'c "" 2 "" { "l" 1/2 "r" 1/2 } 0 p "" 1 5 "five" { "a" "b" } 0 t "" 0 t "" 0\n'
        'p "" 1 6 "six" { "a" } 0 t "" 8 "" { 3 4 }\n'
        'p "" 1 5 0 t "" 8 c "" 2 0 t "" 8 t "" 0\n'
    )
    game = parse_efg(never)
    assert game.infoset_labels == (("five",), ())
    assert game.chance_labels == (("always",), ("l", "r"))
    assert_close(uniform_value(game), [3 * 0.75, 4 * 0.75])
    assert game.n_nodes == 6


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        ({1: "x", 2: "y"}, {"x", "y"}),
        ({1: "x", 2: "x", 3: ""}, {"start", "after a", "after a a"}),
        ({4: "", 40: "start"}, {"start (4)", "start"}),
        ({4: "", 40: "start", 41: "start (4)"}, {"start (4)#2", "start", "start (4)"}),
        ({4: "", 40: "after a", 41: ""}, {"start", "after a", "after a a"}),
    ],
)
def test_infoset_labels_are_unique_names_or_else_what_leads_there(
    names: dict[int, str], labels: set[str]
) -> None:
    nodes = "".join(f'p "" 1 {n} "{name}" {{ "a" }} 0 ' for n, name in names.items())
    game = parse_efg(HEAD + nodes + 't "" 0')
    assert set(game.infoset_labels[0]) == labels
    for number, name in names.items():
        if list(names.values()).count(name) == 1 and name:
            assert game.infoset_labels[0][list(names).index(number)] == name


@pytest.mark.parametrize(
    ("labels", "told_apart"),
    [
        (["a", "b"], ("a", "b")),
        (["a", "a", "a"], ("a", "a#2", "a#3")),
        (["", "", ""], ("1", "2", "3")),
        (["2", ""], ("2", "2#2")),
        (["a", "a", "a#2", "a"], ("a", "a#3", "a#2", "a#4")),
        (["a#2", "a", "a"], ("a#2", "a", "a#3")),
    ],
)
def test_repeated_labels_are_made_distinct(labels: list[str], told_apart: tuple[str, ...]) -> None:
    quoted = " ".join(f'"{label}"' for label in labels)
    probs = " ".join(f'"{label}" 1/{len(labels)}' for label in labels)
    ends = 't "" 0 ' * len(labels)
    one = f'p "" 1 1 "" {{ {quoted} }} 0 {ends}'
    rest = f'c "" 1 "" {{ {probs} }} 0 {ends}'
    text = f'EFG 2 R "" {{ {quoted} }} p "" 1 2 "" {{ "one" "rest" }} 0 {one} {rest}'
    game = parse_efg(text)
    assert game.player_labels == told_apart
    assert told_apart in game.action_labels[0]
    assert game.chance_labels == (told_apart,)


@pytest.mark.parametrize(
    "label", ['say \\"hi\\"', "\\wedge", "a\\\\b", '\\\\"', "{", "p 1", "é\n☃"]
)
def test_labels_are_the_text_between_the_quotes(label: str) -> None:
    game = parse_efg(HEAD + f'p "{label}" 1 1 "{label}" {{ "{label}" "b" }} 0 t "" 0 t "" 0')
    assert game.infoset_labels[0] == (label.replace('\\"', '"'),)
    assert game.action_labels[0][0][0] == label.replace('\\"', '"')


def test_a_name_may_come_without_a_list_and_a_list_without_a_name() -> None:
    text = HEAD + (
        'p "" 1 1 { "a" "b" } 1 { 1 2 }\n'
        'p "" 2 1 "later" { "c" } 0 p "" 2 2 "" { "d" } 1 "named" t "" 1\n'
        'p "" 2 1 "later" 0 t "" 1 { 1, 2 }\n'
    )
    game = parse_efg(text)
    assert game.infoset_labels == (("start",), ("later", "after a c"))
    assert_close(uniform_value(game), [2.5, 5])


@in_corpus
@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("watson2013/fig29_1.efg", (("High", "Low"), ("after E", "after N"))),
        ("myerson1991/fig2_1.efg", (("Red", "Black"), ("after Raise",))),
        ("shohamleytonbrown2008/fig5_2.efg", (("start", "after B F"), ("after A", "after B"))),
    ],
)
def test_infosets_without_names_are_named_by_what_leads_there(
    name: str, labels: tuple[tuple[str, ...], ...]
) -> None:
    assert read_efg(CORPUS / "catalog" / "books" / name).infoset_labels == labels


def test_infosets_that_common_moves_do_not_tell_apart_are_named_by_all_paths() -> None:
    ways = ["L", "M", "R", "S"]
    text = HEAD + 'p "" 1 1 "" { "L" "M" "R" "S" } 0\n'
    for at in range(len(ways)):
        text += f'p "" 2 {1 + at // 2} "" {{ "a" }} 0 t "" 0\n'
    assert parse_efg(text).infoset_labels == (("start",), ("after L or M", "after R or S"))
    many = HEAD + 'c "" 1 "" { ' + " ".join(f'"{i}" 1/8' for i in range(8)) + " } 0\n"
    for at in range(8):
        many += f'p "" 1 {1 + at // 4} "" {{ "a" }} 0 t "" 0\n'
    assert parse_efg(many).infoset_labels[0] == ("start (1)", "start (2)")


def test_comments_and_names_of_outcomes_are_kept(tmp_path: Path) -> None:
    text = (
        'EFG 2 R "game" { "A" "B" } "What a \\"game\\"."\n'
        'p "" 1 1 "x" { "a" "b" "c" } 0 t "" 1 "Win" { 1 2 } t "" 2 "" { 0 0 }\n'
        'c "" 1 "" { "l" 1/2 "r" 1/2 } 3 "Bonus" { 1 1 } t "" 1 t "" 4 "Lose" { -1 -1 }\n'
    )
    game = parse_efg(text)
    assert game.comment == 'What a "game".'
    named = {game.history(node): name for node, name in game.outcomes.items()}
    assert named == {("a",): "Win", ("c", "l"): "Bonus, Win", ("c", "r"): "Bonus, Lose"}
    again = parse_efg(format_efg(game))
    assert again.comment == "What a 'game'."
    assert again.outcomes == game.outcomes and again.digest == game.digest
    doubled = game.replace(reward=2 * game.reward)
    assert (doubled.comment, doubled.outcomes) == (game.comment, game.outcomes)
    assert "Bonus, Win 2, 3" in {leaf.text for leaf in game.plot().tree.payoffs}


def test_the_title_names_the_game_or_else_the_file(tmp_path: Path) -> None:
    assert parse_efg(SMALL).name == 'A "small" game'
    file = tmp_path / "market.efg"
    file.write_text(HEAD + 'p "" 1 1 "" { "a" } 0 t "" 0')
    assert read_efg(file).name == read_efg(str(file)).name == "market"


def test_a_byte_order_mark_and_windows_line_ends_are_ignored(tmp_path: Path) -> None:
    file = tmp_path / "windows.efg"
    file.write_bytes(b"\xef\xbb\xbf" + SMALL.replace("\n", "\r\n").encode())
    assert read_efg(file).digest == parse_efg(SMALL).digest


# Refused inputs ----------------------------------------------------------------------------------

P = 'p "" 1 1 "x" { "a" "b" } 0\n'


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "must start with EFG; found the end"),
        ("  \n\n ", 3, 2, "must start with EFG; found the end"),
        ('NFG 1 R "x" { "A" } { 2 } 1 2', 1, 1, "strategic form"),
        ("<?xml version='1.0'?>", 1, 1, "XML"),
        ("((((", 1, 1, "must start with EFG; found (((("),
        ('EFG 3 R "" { "A" }', 1, 5, "version of the format must be 2; found 3"),
        ('EFG 2 Q "" { "A" }', 1, 7, "must be R or D; found Q"),
        ("EFG 2 R title", 1, 9, "title"),
        ('EFG 2 R "title', 1, 9, "never closed"),
        ('EFG 2 R "" "A"', 1, 12, "players must start with {"),
        ('EFG 2 R ""\n{ "A", "B" }', 2, 6, "labels in quotation marks, then }; found ,"),
        ('EFG 2 R "" { } t "" 0', 1, 12, "1 to 127 players; found 0"),
        ('EFG 2 R "" {' + '"x"' * 128 + '} t "" 0', 1, 12, "1 to 127 players; found 128"),
        (HEAD, 2, 1, "c, p or t; found the end of the file"),
        (HEAD + 'q "" 1', 2, 1, "c, p or t; found q"),
        (HEAD + "t 0", 2, 3, "name of the node must come next, in quotation marks; found 0"),
        (HEAD + 't "" x', 2, 6, "number of the outcome"),
        (HEAD + 't "" 1.5', 2, 6, "number of the outcome"),
        (HEAD + 't "" -1', 2, 6, "number of the outcome"),
        (HEAD + 't "" 99999999999999999999', 2, 6, "number of the outcome"),
        (HEAD + 't "" 3', 2, 7, "outcome 3 must list its payoffs where it first appears"),
        (HEAD + 't "" 3 "x"', 2, 11, "outcome 3 must list its payoffs where it first appears"),
        (HEAD + 't "" 0 "x" { 0 0 }', 2, 8, "outcome 0 pays nothing"),
        (HEAD + 't "" 1 "" { 1 }', 2, 15, "must have 2 payoffs, one for each player, then }"),
        (HEAD + 't "" 1 "" { 1 2 3 }', 2, 17, "must have 2 payoffs"),
        (HEAD + 't "" 1 "" { 1,,2 }', 2, 15, "must have 2 payoffs"),
        (HEAD + 't "" 1 "" { 1 "2" }', 2, 15, "must have 2 payoffs"),
        (HEAD + 't "" 1 "" { 1 2', 2, 16, "found the end of the file"),
        (HEAD + 't "" 1 "" { 1/0 2 }', 2, 13, "finite number; found 1/0"),
        (HEAD + 't "" 1 "" { 1e400 2 }', 2, 13, "finite number; found 1e400"),
        (HEAD + 't "" 1 "" { 1e999999999 2 }', 2, 13, "finite number"),
        (HEAD + 't "" 1 "" { nan 2 }', 2, 13, "must have 2 payoffs"),
        (HEAD + 't "" 1 "" { inf 2 }', 2, 13, "must have 2 payoffs"),
        (HEAD + 't "" 1 "" { 1_0 2 }', 2, 13, "must have 2 payoffs"),
        (HEAD + 't "" 1 "" { ٣ 2 }', 2, 13, "must have 2 payoffs"),
        (HEAD + 't "" 1 "" { - 2 }', 2, 13, "must have 2 payoffs"),
        (HEAD + 't "" 1 "" { 1/2/3 2 }', 2, 13, "must have 2 payoffs"),
        (HEAD + 't "" 1 "" { ' + "1" * 5000 + " 2 }", 2, 13, "at most 4000 characters"),
        (HEAD + 'p "" 0 1 "" { "a" } 0', 2, 6, "a player must be 1 to 2; found 0"),
        (HEAD + 'p "" 3 1 "" { "a" } 0', 2, 6, "a player must be 1 to 2; found 3"),
        (HEAD + 'p "" 1 "" { "a" } 0', 2, 8, "number of the infoset"),
        (HEAD + 'p "" 1 1 0', 2, 10, "infoset 1 of player 1 must list its actions where"),
        (HEAD + 'p "" 1 1 "" 0', 2, 13, "infoset 1 of player 1 must list its actions where"),
        (HEAD + 'p "" 1 1 "" { } 0', 2, 15, "must be labels in quotation marks; found }"),
        (HEAD + 'p "" 1 1 "" { "a" b } 0', 2, 19, "must be labels in quotation marks; found b"),
        (HEAD + 'p "" 1 1 "" { "a" "b', 2, 19, "never closed"),
        (HEAD + 'c "" 1 "" { "a" } 0', 2, 17, "probability of 'a' must follow it; found }"),
        (HEAD + 'c "" 1 "" { "a" -1/2 "b" 3/2 } 0', 2, 17, "between 0 and 1"),
        (HEAD + 'c "" 1 "" { "a" 1/0 } 0', 2, 17, "between 0 and 1"),
        (HEAD + 'c "" 1 "" { "a" 1e-999999999 "b" 1 } 0', 2, 17, "between 0 and 1"),
        (HEAD + 'c "" 1 "" { "a" 1e999999999 } 0', 2, 17, "between 0 and 1"),
        (HEAD + 'c "" 1 "" { "a" .3333 "b" .3333 "c" .3333 } 0', 2, 11, "3 sum to 0.9999;"),
        (HEAD + 'c "" 1 "" { "a" 1/2 "b" 3/5 } 0', 2, 11, "event 1 must sum to one; these 2 sum"),
        (HEAD + 'c "" 1 "" { "a" 0 } 0', 2, 11, "sum to one"),
        (HEAD + P + 't "" 0', 3, 7, "c, p or t; found the end of the file"),
        (HEAD + P + 't "" 0 t "" 0 t "" 0', 3, 15, "the file must end here"),
        (HEAD + P + 't "" 0 t "" 0\n{', 4, 1, "outcome 0 pays nothing"),
        (HEAD + P + 't "" 0 t "" 0\n7', 4, 1, "the file must end here"),
        (HEAD + P + 'p "" 1 1 "y" { "a" "b" } 0', 3, 10, "keep its name 'x'; found 'y'"),
        (HEAD + P + 'p "" 1 1 "x" { "b" "a" } 0', 3, 14, "keep its actions ('a', 'b'); found ('b'"),
        (HEAD + P + 'p "" 1 1 "x" { "a" } 0', 3, 14, "keep its actions ('a', 'b'); found ('a',)"),
        (
            HEAD + 'c "" 1 "" { "a" .5 "b" .5 } 0 c "" 1 "" { "a" 1/3 "b" 2/3 } 0',
            2, 41, "event 1 must keep its probabilities (0.5, 0.5); found (0.33",
        ),
        (
            HEAD + P + 't "" 1 "o" { 1 2 } t "" 1 "o" { 1 3 }',
            3, 31, "outcome 1 must keep its payoffs (1.0, 2.0); found (1.0, 3.0)",
        ),
        (
            HEAD + P + 't "" 1 "o" { 1 2 } t "" 1 "u" { 1 2 }',
            3, 27, "outcome 1 must keep its name 'o'; found 'u'",
        ),
    ],
)  # fmt: skip
def test_malformed_files_are_refused_with_line_and_column(
    text: str, line: int, column: int, message: str
) -> None:
    with pytest.raises(ParseError) as caught:
        parse_efg(text, "some.efg")
    error = caught.value
    assert message in str(error)
    assert (error.path, error.line, error.column) == ("some.efg", line, column)
    assert str(error).startswith(f"some.efg:{line}:{column}: ")
    assert len(str(error)) < 400


def test_a_repeated_description_may_be_spelt_differently() -> None:
    text = HEAD + P + 't "" 1 "o" { 1/2 2 } t "a" 1 "o" { 0.50, 2.0 }'
    assert parse_efg(text).reward.tolist() == [[0.5, 2.0]] * 2


@pytest.mark.parametrize("text", ['t "" 0', 'c "" 1 "" { "a" 1/2 "b" 1/2 } 0 t "" 0 t "" 0'])
def test_a_game_needs_a_decision(text: str) -> None:
    with pytest.raises(GameError, match="at least one decision"):
        parse_efg(HEAD + text)


def test_a_decision_that_cannot_happen_does_not_count() -> None:
    event = 'c "" 1 "" { "never" 0 "always" 1 } 0\n'
    with pytest.raises(GameError, match="at least one decision"):
        parse_efg(HEAD + event + 'p "" 1 1 "" { "a" } 0 t "" 0 t "" 0')


@pytest.mark.parametrize("what", ["missing", "folder", "forbidden name"])
def test_unreadable_files_are_refused(tmp_path: Path, what: str) -> None:
    path: Any = {"missing": tmp_path / "no.efg", "folder": tmp_path, "forbidden name": "a\0b"}[what]
    with pytest.raises(ParseError, match="check the path") as caught:
        read_efg(path)
    assert caught.value.line == 0
    assert str(caught.value).startswith(str(path).replace("\0", r"\x00"))


def test_bytes_that_are_not_utf_8_are_refused_with_their_position(tmp_path: Path) -> None:
    file = tmp_path / "latin.efg"
    file.write_bytes('EFG 2 R "é"\n  "é'.encode() + b'\xe9"')
    with pytest.raises(ParseError, match="UTF-8 text; found byte 0xe9") as caught:
        read_efg(file)
    assert (caught.value.line, caught.value.column) == (2, 5)


def parse_or_refuse(text: str) -> Game | None:
    """Anything other than a game or an AccordError fails the test."""
    try:
        return parse_efg(text)
    except AccordError as error:
        assert str(error)
        return None


def test_every_truncation_is_refused() -> None:
    whole = SMALL.rstrip()
    assert parse_efg(whole).digest == parse_efg(SMALL).digest
    for end in range(len(whole)):
        with pytest.raises(ParseError) as caught:
            parse_efg(whole[:end])
        lines = whole[:end].split("\n")
        assert 1 <= caught.value.line <= len(lines)
        assert 1 <= caught.value.column <= len(lines[caught.value.line - 1]) + 1


def test_every_missing_token_is_noticed_or_harmless() -> None:
    tokens = re.findall(r'"(?:[^"\\]|\\.)*"|[{},]|[^\s{},"]+', SMALL)
    digest = parse_efg(" ".join(tokens)).digest
    accepted = set()
    for i, token in enumerate(tokens):
        game = parse_or_refuse(" ".join(tokens[:i] + tokens[i + 1 :]))
        if game is not None and game.digest != digest:
            accepted.add(token)
    assert accepted <= {'"Ann\'s"', '"Bob\'s"'}  # infosets without names have numbers


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """The small file with up to three pieces replaced by fragments."""
    text = SMALL
    scraps = st.sampled_from(
        ['"', "\\", "{", "}", ",", " ", "\n", "0", "-", "/", "e", "1e999", "c", "p", "t", "\0", "é"]
    )
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + draw(scraps | st.text(max_size=3)) + text[end:]
    return text


@given(damaged())
@examples(300, fixed)
def test_damaged_files_give_a_game_or_an_error(text: str) -> None:
    game = parse_or_refuse(text)
    if game is not None:
        assert parse_efg(format_efg(game)).n_nodes == game.n_nodes


@given(damaged())
@examples(300, fixed)
@example(SMALL)
@example(HEAD + P + 't "" 0 t "" 0\n{')
def test_the_shortcut_for_repeated_descriptions_changes_nothing(text: str) -> None:
    def outcome() -> str:
        try:
            return parse_efg(text).digest
        except AccordError as error:
            return str(error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(efg_reader, "_NODE", re.compile("(?!)"))  # never matches
        token_by_token = outcome()
    assert outcome() == token_by_token


@given(st.binary(max_size=200) | st.binary(max_size=60).map(lambda b: HEAD.encode() + b))
@examples(200, fixed)
@example(b"\xff\xfeE\0F\0G\0")
def test_any_bytes_end_in_a_game_or_an_error(tmp_path_factory: Any, data: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "bytes.efg"
    file.write_bytes(data)
    with pytest.raises(AccordError):
        read_efg(file)


PRIMES = [n for n in range(2, 50_000) if all(n % d for d in range(2, math.isqrt(n) + 1))]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "(" * 2_000_000,
        "{" * 2_000_000,
        '"' * 2_000_001,
        HEAD + '"' + '\\"' * 1_000_000,
        HEAD + '"\\' * 1_000_000,
        HEAD + " " * 2_000_000,
        HEAD + 'p "" 1 1 ' + "{" * 1_000_000,
        HEAD + 'p "" 1 1 "" {' + '"a" ' * 500_000,
        HEAD + 'p "" 1 1 "" {' + '"a" ' * 100_000 + "} 0" + ' p "" 1 1 0' * 100_000,
        HEAD + 't "" 1 "" {' + "1 " * 1_000_000,
        HEAD + 't "" 1 "" {' + "1" * 2_000_000 + " 2 }",
        HEAD + 't "" 1 "" {' + "1" * 3_000 + "/" + "7" * 900 + " 2 }",
        HEAD + 'c "" 1 "" {' + "".join(f'"a" 1/{p} ' for p in PRIMES) + "} 0",
        HEAD + 'c "" 1 "" {' + f'"a" 1/{len(PRIMES)}{0:0300}{1} ' * len(PRIMES) + "} 0",
        HEAD + 'p "" 1 1 "" { "a" } 0\n' * 200_000,
        HEAD + "".join(f'p "" 1 {i} "" {{ "a" }} 0\n' for i in range(30_000)),
        HEAD + 'p "" 1 1 "" { "a" "b" } 0 t "" 0\n' * 100_000,
    ],
    ids=range(17),
)
def test_malicious_files_are_refused_quickly(text: str) -> None:
    with pytest.raises(AccordError):
        parse_efg(text)


def test_probabilities_without_a_common_denominator() -> None:
    """Their exact sum would have a hundred thousand digits."""
    rest = 1 - math.fsum(1 / p**2 for p in PRIMES)
    event = "".join(f'"" 1/{p**2} ' for p in PRIMES) + f'"" {rest!r}'
    game = parse_efg(HEAD + f'c "" 1 "" {{ {event} }} 0 ' + P + 't "" 0 ' * (len(PRIMES) + 2))
    assert game.n_nodes == len(PRIMES) + 4
    assert game.chance_prob.min() == pytest.approx(1 / PRIMES[-1] ** 2)


@pytest.mark.slow
def test_a_tree_may_be_a_hundred_thousand_deep() -> None:
    coins = 'c "" 1 "" { "on" 1/2 "off" 1/2 } 0 ' + 'c "" 1 0 ' * 99_999
    moves = "".join(f'p "" {i % 2 + 1} {i} "" {{ "on" "off" }} 0 ' for i in range(10_000))
    game = parse_efg(HEAD + coins + moves + 't "" 1 "" { 1 2 } ' + 't "" 0 ' * 110_000)
    assert game.n_infosets == (5_000, 5_000)
    assert game.n_nodes == 220_001
    assert game.history(110_000) == ("on",) * 110_000
    assert parse_efg(format_efg(game)).digest == game.digest


def large_file(width: int) -> str:
    """A file of about ``13 * width ** 2`` nodes, a tenth of which describe something new."""
    many, few = (" ".join(f'"action {a}"' for a in range(n)) for n in (width, 12))
    last = (
        f'p "" 1 {n} "after action {n}" {{ {few} }} 0\n' + 't "" 1 "" { 1, -1 }\n' * 12
        for n in range(2, 2 + width**2)
    )
    middle = (
        f'p "" 2 {n} "" {{ {many} }} 0\n' + "".join(itertools.islice(last, width))
        for n in range(width)
    )
    return HEAD + f'p "" 1 1 "" {{ {many} }} 0\n' + "".join(middle)


@pytest.mark.slow
def test_time_grows_no_faster_than_the_file() -> None:
    """CPU time per byte: nine megabytes with 290,000 nodes compared with a tenth of that."""
    small, large = large_file(50), large_file(150)
    assert len(large) > 8_000_000
    parse_efg(small)
    times = []
    for text in (small, large):
        began = time.process_time()
        game = parse_efg(text)
        times.append((time.process_time() - began) / len(text))
    assert times[1] < 4 * times[0]
    assert game.n_infosets == (22_501, 150)
    assert game.n_nodes == 292_651


# Written files -----------------------------------------------------------------------------------


def game_of(
    probs: list[float], payoff: float = 1.0, label: str = "x", inner: tuple[float, ...] = ()
) -> Game:
    """Chance, then Ann, who only sees whether the outcome is the first, then terminals."""
    n = len(probs)
    return Game.from_arrays(
        n_players=2,
        player=[CHANCE, *([0, TERMINAL, TERMINAL] * n)],
        parent=[-1, *itertools.chain.from_iterable((0, 3 * i + 1, 3 * i + 1) for i in range(n))],
        action=[0, *itertools.chain.from_iterable((i, 0, 1) for i in range(n))],
        infoset=[0, *([0, -1, -1] + [1, -1, -1] * (n - 1))],
        chance_prob=[1.0, *itertools.chain.from_iterable((p, 1.0, 1.0) for p in probs)],
        reward_node=[*range(0, len(inner)), *(3 * i + k for i in range(n) for k in (2, 3))],
        reward=[*((r, 1.0) for r in inner), *((payoff * (i + 1), 0.1 * i) for i in range(2 * n))],
        player_labels=(label + "!", "Bob"),
        infoset_labels=[[label, label + "?"][: min(n, 2)], []],
        action_labels=[[(label, "other"), ("l", label + "'")][: min(n, 2)], []],
        chance_labels=[tuple(f"{label}{i}" for i in range(n))],
    )


def distributions() -> st.SearchStrategy[list[float]]:
    def normalized(weights: list[float]) -> list[float]:
        total = math.fsum(weights)
        return [w / total for w in weights]

    weight = st.floats(1e-6, 1.0) | st.integers(1, 60).map(float) | st.sampled_from([1e-200, 1e9])
    return st.lists(weight, min_size=1, max_size=9).map(normalized)


@given(distributions())
@examples(300, fixed)
@example([1 / 3] * 3)
@example([0.1] * 10)
@example([5e-324, 1.0])
@example([2.0**-53, 1.0 - 2.0**-53])
def test_written_probabilities_sum_to_exactly_one_and_read_the_same(probs: list[float]) -> None:
    game = game_of(probs)
    text = format_efg(game)
    event = re.search(r'^c "" 1 "" \{(.*)\} 0$', text, re.MULTILINE)
    assert event is not None
    numbers = event[1].split()[1::2]
    assert sum(map(Fraction, numbers)) == 1
    for n in numbers:  # OpenSpiel accepts decimals and rationals of 32-bit integers
        assert "/" not in n or max(map(int, n.split("/"))) < 2**31
    assert_close([float(Fraction(n)) for n in numbers], probs)
    # Reals that round to the doubles can sum to one; otherwise the game has others.
    least = sum((Fraction(p) + Fraction(math.nextafter(p, 0))) / 2 for p in probs)
    most = sum((Fraction(p) + Fraction(math.nextafter(p, 2))) / 2 for p in probs)
    if least < 1 < most:
        assert [float(Fraction(n)) for n in numbers] == probs
    assert parse_efg(text).digest == game.digest


def test_simple_probabilities_are_written_simply() -> None:
    nice = [[1 / 3] * 3, [0.25, 0.75], [1 / 52] * 52, [0.1, 0.2, 0.7], [1.0], [1 / 7, 6 / 7]]
    for probs in nice:
        text = format_efg(game_of(probs))
        for p in probs:
            assert f" {Fraction(p).limit_denominator(100)} " in text


def test_probabilities_that_miss_one_are_divided_by_their_sum() -> None:
    game = game_of([0.5, 0.5 + 5e-10])
    again = parse_efg(format_efg(game))
    assert sum(map(Fraction, again.chance_prob[again.parent == 0])) == pytest.approx(1, abs=1e-15)
    np.testing.assert_allclose(again.chance_prob, game.chance_prob, rtol=1e-9)
    assert format_efg(again) == format_efg(game)
    assert again.digest == game.digest


finite = st.floats(-1e300, 1e300)


@given(finite | st.fractions(max_denominator=99).map(float) | st.integers(-9, 9).map(float))
@examples(200, fixed)
@example(1 / 3)
@example(1e-320)
@example(1e22)
@example(-0.1)
def test_payoffs_read_the_same(payoff: float) -> None:
    game = game_of([0.5, 0.5], payoff / 8)
    text = format_efg(game)
    assert parse_efg(text).digest == game.digest
    assert "e" not in "".join(re.findall(r"\{[^\"]*?\}", text))  # no exponents
    assert_close(spiel_value(text), uniform_value(game))


@given(st.text(min_size=1, max_size=8).filter(lambda s: not s.endswith("\\")))
@examples(200, fixed)
@example('"')
@example('\\"')
@example("a\\b\n{}")
@example("\\\\x")
def test_labels_read_the_same(label: str) -> None:
    game = game_of([0.5, 0.5], label=label)
    assert parse_efg(format_efg(game)).digest == game.digest
    assert parse_efg(format_efg(game)).chance_labels == game.chance_labels
    assert parse_efg(format_efg(game)).player_labels == game.player_labels


def test_labels_that_the_format_cannot_express(tmp_path: Path) -> None:
    game = game_of([0.5, 0.5], label="end\\")
    assert parse_efg(format_efg(game)).infoset_labels[0] == ("end\\ ", "end\\?")
    surrogate = game_of([0.5, 0.5], label="\ud800")
    write_efg(surrogate, tmp_path / "x.efg")
    assert read_efg(tmp_path / "x.efg").infoset_labels[0] == ("\\ud800", "\\ud800?")


def test_rewards_along_the_path_are_paid_at_the_end() -> None:
    game = game_of([0.25, 0.75], inner=(10.0, -20.0))
    text = format_efg(game)
    again = parse_efg(text)
    assert (again.player[again.reward_node] == TERMINAL).all()
    assert again.digest == game.digest
    assert_close(uniform_value(again), uniform_value(game))
    assert_close(spiel_value(text), uniform_value(game))
    with pytest.raises(GameError, match="finite"):
        format_efg(game_of([0.25, 0.75], inner=(1.7e308, 1.7e308)))


def test_nodes_in_any_order_and_numbers_for_labels() -> None:
    """Breadth first, chance without labels, and one row of labels for two events."""
    for rows, row in (((), NO_INFOSET), ((("l", "r"),), 0)):
        game = Game.from_arrays(
            n_players=1,
            player=[0, CHANCE, CHANCE] + [TERMINAL] * 4,
            parent=[-1, 0, 0, 1, 1, 2, 2],
            action=[0, 1, 0, 1, 0, 0, 1],
            infoset=[0, row, row, -1, -1, -1, -1],
            chance_prob=[1, 1, 1, 0.25, 0.75, 0.5, 0.5],
            reward_node=[3, 4, 5],
            reward=[[1.0], [2.0], [4.0]],
            chance_labels=rows,
        )
        text = format_efg(game)
        again = parse_efg(text)
        assert_close(uniform_value(again), [((0.25 + 1.5) + 2.0) / 2])
        assert_close(spiel_value(text), uniform_value(again))
        assert again.digest == game.digest
        assert again.parent.tolist() == [-1, 0, 1, 1, 0, 4, 4]
        assert again.chance_prob.tolist() == [1, 1, 0.5, 0.5, 1, 0.75, 0.25]
        assert again.action_labels == ((("0", "1"),),)
        assert format_efg(again).splitlines()[2:] != []


@pytest.mark.parametrize("name", ["kuhn_poker", "kuhn_poker(players=3)", "tiny_hanabi"])
def test_files_written_by_openspiel(name: str) -> None:
    spiel = pyspiel.load_game(name)
    game = parse_efg(export_gambit(spiel))  # type: ignore[no-untyped-call]
    assert_close(uniform_value(game), spiel_game_value(spiel))
    assert parse_efg(format_efg(game)).digest == game.digest


def test_spacing_numbering_and_omission_do_not_matter() -> None:
    game = game_of([0.25, 0.25, 0.5])
    text = format_efg(game)
    assert parse_efg(re.sub(r'(?<=[^"]) (?=[^"])', "\n\t ", text)).digest == game.digest
    assert parse_efg(re.sub(r' (?=["{}])|(?<=["{}]) ', "", text)).digest == game.digest
    renumbered = re.sub(r'^p "" 1 (\d+)', lambda m: f'p "" 1 {9 - int(m[1])}', text, flags=re.M)
    assert renumbered != text
    assert parse_efg(renumbered).digest == game.digest
    seen: set[str] = set()
    lines = []
    for line in text.splitlines():
        described = re.fullmatch(r'(p "" \d+ \d+|t "" \d+) .*?\}( 0)?', line)
        start, end = described.groups(default="") if described else (line, "")
        lines.append(start + end if start in seen else line)
        seen.add(start)
    short = "\n".join(lines)
    assert len(short) < len(text)
    assert parse_efg(short).digest == game.digest


@given(st.integers(0, 10**6))
@examples(60, fixed)
def test_random_trees_survive_the_round_trip(seed: int) -> None:
    """Shuffled descriptions of random trees: the reference, OpenSpiel and the reader agree."""
    rng = random.Random(seed)
    lines = ['EFG 2 R "random" { "A" "B" }']
    count = itertools.count(1)

    def grow(depth: int) -> None:
        kind = "t" if depth == 0 else rng.choice("ccpppt")
        kind = "p" if depth == 4 else kind
        n = rng.randint(1, 3)
        if kind == "t":
            payoffs = f"{rng.randint(-9, 9)}/{rng.randint(1, 9)}, {rng.uniform(-1, 1)!r}"
            lines.append(f't "" {next(count)} "" {{ {payoffs} }}')
            return
        if kind == "c":
            weights = [rng.randint(1, 9) for _ in range(n)]
            moves = " ".join(f'"m{a}" {w}/{sum(weights)}' for a, w in enumerate(weights))
            lines.append(f'c "" {next(count)} "" {{ {moves} }} 0')
        else:
            moves = " ".join(f'"m{a}"' for a in range(n))
            number = next(count)
            lines.append(f'p "" {rng.randint(1, 2)} {number} "x{number}" {{ {moves} }} 0')
        for _ in range(n):
            grow(depth - 1)

    grow(4)
    text = "\n".join(lines)
    game = parse_efg(text)
    written = format_efg(game)
    assert_close(uniform_value(game), Twin(text).value)
    assert_close(spiel_value(written), Twin(text).value)
    assert parse_efg(written).digest == game.digest


def assert_same_game(game: Game, folder: Path) -> None:
    """Reading the game's file gives the same game, and a policy of one is a policy of the other."""
    write_efg(game, folder / "game.efg")
    again = read_efg(folder / "game.efg")
    assert again.digest == game.digest
    assert list(map(tuple, again.infoset_labels)) == list(map(tuple, game.infoset_labels))
    assert list(map(tuple, again.action_labels)) == list(map(tuple, game.action_labels))
    assert again.chance_labels == game.chance_labels
    assert again.player_labels == game.player_labels
    policy = random_policy(game, 0)
    save_policy(policy, folder / "policy.npz")
    loaded = load_policy(folder / "policy.npz", again)
    for (weight, behaviors), (weight_again, behaviors_again) in zip(
        policy.components(), loaded.components(), strict=True
    ):
        assert weight == weight_again
        for i in range(game.n_players):
            np.testing.assert_array_equal(behaviors[i], behaviors_again[i])
    one, other = (certify(g, p, k=1) for g, p in ((game, policy), (again, loaded)))
    assert one[1].gap == other[1].gap
    assert list(map(str, one[1].witnesses)) == list(map(str, other[1].witnesses))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*LIBRARY, "kuhn:players=3", "separation:k=2", "balanced:seed=3"])
def test_games_of_the_library_survive_the_round_trip(name: str, tmp_path: Path) -> None:
    assert_same_game(library_game(name), tmp_path)


@given(all_games())
@examples(60, fixed)
def test_games_that_are_built_survive_the_round_trip(game: Game) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert_same_game(game, Path(folder))


@pytest.mark.parametrize("seed", range(6))
def test_pomgs_survive_the_round_trip(seed: int, tmp_path: Path) -> None:
    """They pay along the path, and their probabilities are computed."""
    game = POMG.from_arrays(**random_pomg(seed, horizon=2)).game()
    assert (game.player[game.reward_node] != TERMINAL).any()
    assert_same_game(game, tmp_path)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "game.efg"
    game = game_of([0.5, 0.5])
    write_efg(game, file)
    write_efg(game, str(file))
    assert [f.name for f in tmp_path.iterdir()] == ["game.efg"]
    assert read_efg(file).digest == game.digest
    assert file.read_text() == format_efg(game)
    with pytest.raises(ArgumentError, match="nowhere"):
        write_efg(game, tmp_path / "nowhere" / "game.efg")


def test_invalid_games_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"try accord\.load_game\('kuhn'\)"):
        write_efg("kuhn", tmp_path / "kuhn.efg")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
