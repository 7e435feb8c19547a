"""Games keep the numbers that they were given, and files do, too."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord import POMG, Game, GameBuilder, matrix_game
from accord.errors import GameError
from accord.game.exact import exact_plays
from accord.interop.efg import format_efg, parse_efg
from accord.interop.nfg import format_nfg, parse_nfg
from accord.interop.python_code import format_python
from tests.support.strategies import examples

LONG = "0.12345678901234567890123"
NUMBERS = [
    ("1/3", Fraction(1, 3)),
    (" -2 / 7 ", Fraction(-2, 7)),
    (LONG, Fraction(LONG)),
    ("1e-3", Fraction(1, 1000)),
    (Fraction(123456789012345678901, 7), Fraction(123456789012345678901, 7)),
    (Decimal("0.10000000000000000000001"), Fraction("0.10000000000000000000001")),
    (2**60 + 1, Fraction(2**60 + 1)),
    (np.int64(2**60 + 1), Fraction(2**60 + 1)),
    (0.1, Fraction(1, 10)),
    (1 / 3, Fraction(1, 3)),
    (True, Fraction(1)),
]


def payoffs_of(game: Game) -> list[tuple[Fraction, ...]]:
    return [paid for _, _, paid in exact_plays(game)]


def built(*payoffs: object) -> Game:
    b = GameBuilder(players=1)
    b.move(player="1", actions=[f"a{n}" for n in range(len(payoffs))])
    for n, payoff in enumerate(payoffs):
        b.payoff(f"a{n}", payoff)
    return b.build()


def rebuilt(game: Game) -> Game:
    names: dict[str, object] = {}
    exec(format_python(game), names)
    return names["game"]()


@pytest.mark.parametrize(("given", "exact"), NUMBERS)
def test_payoffs_are_kept_as_given(given, exact):
    game = built(given, 5)
    assert payoffs_of(game) == [(exact,), (5,)]
    assert payoffs_of(matrix_game([(given,), (5,)])) == [(exact,), (5,)]
    for again in (parse_efg(format_efg(game)), parse_nfg(format_nfg(game)), rebuilt(game)):
        assert payoffs_of(again) == [(exact,), (5,)]
    assert parse_efg(format_efg(game)).digest == rebuilt(game).digest == game.digest


@pytest.mark.parametrize("chance", ["1/3", LONG, Fraction(1, 7**12), Decimal("0.3")])
def test_chances_are_kept_as_given(chance):
    exact = Fraction(chance)
    b = GameBuilder(players=1)
    b.chance({"rain": chance, "sun": 1 - exact})
    b.move("rain", player="1", actions="umbrella")
    b.payoff("rain umbrella", 1)
    b.payoff("sun", 0)
    game = b.build()
    for one in (game, parse_efg(format_efg(game)), rebuilt(game)):
        assert [p for _, p, _ in exact_plays(one)] == [exact, 1 - exact]
        assert one.digest == game.digest
    assert payoffs_of(parse_nfg(format_nfg(game))) == [(exact,)]  # the expected payoff


def test_rewards_on_the_way_add_up_exactly():
    b = GameBuilder(players=1)
    b.move(player="1", actions="go stay")
    b.reward("go", 0.1)
    b.payoff("go", 0.7)
    b.payoff("stay", "1/3")
    b.reward("go", 0.2)
    assert payoffs_of(b.build()) == [(1,), (Fraction(1, 3),)]
    pomg = POMG(
        actions=[2],
        horizon=3,
        initial={"s": 1},
        transition=lambda h, state, joint: {"s": "1"},
        reward=lambda h, state, joint: [(0.1, "1/10")[joint[0]]],
        emission=lambda i, state: state,
    )
    game = pomg.game()
    assert set(payoffs_of(game)) == {(Fraction(3, 10),)}
    assert set(payoffs_of(parse_efg(format_efg(game)))) == {(Fraction(3, 10),)}
    assert parse_efg(format_efg(game)).digest == game.digest


@pytest.mark.parametrize("tiny", ["1e-999999999", "-1e-99999999", Decimal("1e-99999999")])
def test_numbers_that_are_too_small_are_zero(tiny):
    """As fractions they would have a billion digits."""
    builder = GameBuilder(players="a")
    builder.move(player="a", actions="x y")
    builder.payoff("x", tiny)
    builder.payoff("y", 1)
    assert [paid for _, _, paid in exact_plays(builder.build())] == [(0,), (1,)]


def test_outcomes_on_the_way_of_a_file_add_up_exactly():
    text = 'EFG 2 R "sums" { "1" } p "" 1 1 "" { "a" "b" } 1 "" { 0.1 } '
    text += 't "" 2 "" { 0.2 } t "" 3 "" { 2/3 }'
    game = parse_efg(text)
    assert payoffs_of(game) == [(Fraction(3, 10),), (Fraction(23, 30),)]
    assert payoffs_of(parse_efg(format_efg(game))) == payoffs_of(game)


@pytest.mark.parametrize("bad", ["1/0", "one third", "1//3", "", "1/3/5", None])
def test_what_is_no_number_is_refused(bad):
    with pytest.raises(GameError, match="must have numbers"):
        built(bad)
    with pytest.raises(GameError, match=r"payoffs must be|must be finite"):
        matrix_game([[(bad, 1)], [(1, 1)]])


@examples(100)
@given(st.lists(st.fractions(), min_size=1, max_size=5))
def test_files_keep_every_fraction(payoffs):
    if len({float(u) for u in payoffs}) < len(set(payoffs)):
        return  # a double stands for one number
    game = built(*payoffs)
    wanted = [(u,) for u in payoffs]
    assert payoffs_of(game) == wanted
    for again in (parse_efg(format_efg(game)), parse_nfg(format_nfg(game)), rebuilt(game)):
        assert payoffs_of(again) == wanted
