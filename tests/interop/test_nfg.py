"""Gambit's .nfg files, and games as Python code."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

import accord
from accord.equilibrium.policy import CorrelatedPolicy
from accord.game.library import chicken, kuhn, shapley, signalling
from accord.interop.nfg import format_nfg, parse_nfg
from tests.support.strategies import examples, games

CHICKEN = """NFG 1 R "chicken" { "row" "col" }

{ { "dare" "yield" }
{ "dare" "yield" }
}
""
0 0  2 7  7 2  6 6
"""


def payoffs(game: accord.Game) -> dict[tuple[str, ...], list[float]]:
    """The payoffs of a strategic form by its actions."""
    ends = np.flatnonzero(game.player == accord.TERMINAL)
    return {game.history(end): game.reward[row].tolist() for row, end in enumerate(ends)}


def test_a_file_in_payoff_form() -> None:
    assert format_nfg(chicken()) == CHICKEN
    assert parse_nfg(CHICKEN).digest == chicken().digest
    game = parse_nfg('NFG 1 R "" { "a" "b" "c" } { 2 1 3 } ' + " ".join(map(str, range(18))))
    found = payoffs(game)
    assert found["1", "1", "1"] == [0, 1, 2]
    assert found["2", "1", "1"] == [3, 4, 5]  # the first player's strategy changes fastest
    assert found["1", "1", "3"] == [12, 13, 14]


def test_a_file_in_outcome_form() -> None:
    text = (
        'NFG 1 R "x" { "A" "B" } { { "u" "d" } { "l" "r" } } "a comment"\n'
        '{ { "first" 1, 2 } { "" 1/2 .25 } }\n1 2 0 1'
    )
    assert payoffs(parse_nfg(text)) == {
        ("u", "l"): [1, 2], ("d", "l"): [0.5, 0.25], ("u", "r"): [0, 0], ("d", "r"): [1, 2],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('EFG 2 R "x" { "A" } { 2 } 1 2', "must start with NFG"),
        ('NFG 1 R "x" { } { 2 } 1 2', "1 to 127 players"),
        ('NFG 1 R "x" { "A" } { 2 3 } 1 2', "strategies for 1 players; found 2"),
        ('NFG 1 R "x" { "A" } { 0 } 1 2', "at least one strategy"),
        ('NFG 1 R "x" { "A" } { 2 } 1', "2 times 1 payoffs; found the end of the file"),
        ('NFG 1 R "x" { "A" } { 2 } 1 2 3', "must end after the payoffs of 2 profiles"),
        ('NFG 1 R "x" { "A" } { 2 } 1 x', "2 times 1 payoffs; found x"),
        ('NFG 1 R "x" { "A" } { 2 } 1 1e999', "finite"),
        ('NFG 1 R "x" { "A" } { 2 } { { "o" 1 } } 1 2', "an outcome 2; found 1"),
        ('NFG 1 R "x" { "A" "B" } { 99999 99999 } 1', "at most 1,000,000 profiles"),
    ],
)
def test_malformed_files_are_refused(text: str, message: str) -> None:
    with pytest.raises(accord.errors.ParseError, match=message):
        parse_nfg(text, "bad.nfg")


def test_the_strategic_form_of_a_tree_is_that_of_its_plans() -> None:
    """Every profile of plans pays what the tree pays when they are followed."""
    game = signalling()
    found = payoffs(parse_nfg(format_nfg(game)))
    assert len(found) == 16
    for send, answer in product(product("XY", repeat=2), product(("accept", "refuse"), repeat=2)):
        plan = ({"good": send[0], "bad": send[1]}, {"X": answer[0], "Y": answer[1]})
        names = tuple(", ".join(f"{x}={a}" for x, a in own.items()) for own in plan)
        policy = CorrelatedPolicy.from_device(game, [(1.0, plan)])
        assert found[names] == pytest.approx(policy.values().tolist())


def test_a_strategic_form_that_is_too_large_is_refused() -> None:
    with pytest.raises(accord.errors.BudgetError, match="plans; try write_efg"):
        format_nfg(accord.load_game("kuhn:players=3"))


def test_files_are_loaded_by_their_ending(tmp_path: Path) -> None:
    accord.interop.write_nfg(shapley(), tmp_path / "shapley.nfg")
    game = accord.load_game(tmp_path / "shapley.nfg")
    assert (
        game.digest == shapley().digest == accord.interop.read_nfg(tmp_path / "shapley.nfg").digest
    )
    assert game.source == str(tmp_path / "shapley.nfg")


def rebuilt(game: accord.Game) -> accord.Game:
    names: dict[str, object] = {}
    exec(accord.interop.format_python(game), names)
    built = names["game"]()  # type: ignore[operator]
    assert isinstance(built, accord.Game)
    return built


@given(game=games())
@examples(40)
def test_the_code_of_a_game_builds_the_same_game(game: accord.Game) -> None:
    again = rebuilt(game)
    assert again.digest == game.digest
    assert again.player_labels == game.player_labels
    assert again.name == game.name


def test_code_quotes_labels_of_any_kind(tmp_path: Path) -> None:
    game = kuhn().replace(
        name='a "game"\n\\',
        player_labels=["two words", "x'y"],
        infoset_labels=[[f'{x} "\n' for x in range(6)], [f"\\{x}" for x in range(6)]],
        action_labels=[[("a b", "#")] * 6, [("", "c")] * 6],
    )
    assert rebuilt(game).digest == game.digest
    accord.interop.write_python(game, tmp_path / "game.py")
    assert (tmp_path / "game.py").read_text() == accord.interop.format_python(game)
