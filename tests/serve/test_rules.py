"""The rules in words: complete, true, the same for everybody, and harmless."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import accord
from accord.errors import ArgumentError
from accord.mediator.mediator import Mediator
from accord.mediator.referee import Referee
from accord.serve.design import Design, Treatment
from accord.serve.messages import load_messages
from accord.serve.rules import MOST_ENDINGS, Rules, as_html, check_quiz, make_rules
from tests.support.policies import random_policy

T = load_messages()


def rules_of(game: accord.Game, k: float = 1, mediated: bool = True, **design: Any) -> Rules:
    policy = random_policy(game, 1, components=2)
    treatment = Treatment(Referee(Mediator(game, policy, k)), mediated=mediated)
    return make_rules(game, treatment, Design(**design), T)


def test_a_matrix() -> None:
    rules = rules_of(accord.load_game("chicken"))
    assert rules.matrix is not None
    assert rules.matrix.rows == rules.matrix.columns == ("dare", "yield")
    assert rules.matrix.cells == (((0, 0), (7, 2)), ((2, 7), (6, 6)))
    assert len(rules.course) == 1
    assert rules.course[0][0] == "At the same time, without seeing each other's choice:"


def test_money_has_cents() -> None:
    for rate, shown in ((0.1, "0.10 EUR"), (2, "2.00 EUR"), (0.005, "0.005 EUR")):
        rules = rules_of(accord.load_game("chicken"), rate=rate, currency="EUR", fee=4)
        assert any(shown in line for line in rules.pay), rules.pay
        assert any("4.00 EUR" in line for line in rules.pay)


def test_a_game_with_chance() -> None:
    rules = rules_of(accord.load_game("signalling"))
    assert rules.matrix is None
    assert rules.course == (
        ("First chance decides: good (1/2) or bad (1/2).",),
        ("student learns one of good or bad and chooses X or Y.",),
        ("professor learns one of X or Y and chooses accept or refuse.",),
    )
    text = rules.as_text(T)
    assert "- chance: bad, student: Y, professor: accept -> student 6, professor 0" in text


@pytest.mark.filterwarnings("ignore::accord.mediator.TimingWarning")
@given(st.integers(0, 60), st.integers(1, 3))
def test_every_ending_is_listed_with_its_payoffs(seed: int, players: int) -> None:
    """Playing any listed ending in the tree pays what the rules say."""
    game = accord.load_game(f"random:seed={seed},players={players},depth=4,rewards=0.3")
    rules = rules_of(game)
    ends = [node for node in range(len(game.player)) if not (game.parent == node).any()]
    if len(ends) > MOST_ENDINGS:
        assert not rules.endings
        assert len(rules.ranges) == players
        return
    assert len(rules.endings) == len(ends)
    for node, ending in zip(ends, rules.endings, strict=True):
        paid, here = np.zeros(players), node
        while here >= 0:
            paid += sum(game.reward[game.reward_node == here], np.zeros(players))
            here = int(game.parent[here])
        assert ending.payoffs == pytest.approx(paid)
        assert tuple(what for _, what in ending.moves) == game.history(node)


@pytest.mark.filterwarnings("ignore::accord.mediator.TimingWarning")
def test_what_may_not_happen_is_said_to_be_possible() -> None:
    b = accord.GameBuilder("trust", players=["Ann", "Bob"])
    b.move(player="Ann", infoset="start", actions="keep send")
    b.move("send", player="Bob", infoset="sent", actions="share take")
    for history, pay in (("keep", (1, 1)), ("send share", (2, 2)), ("send take", (0, 3))):
        b.payoff(history, *pay)
    first, second = rules_of(b.build()).course
    assert first == ("Ann chooses keep or send.",)
    assert second == ("If it comes to that: Bob chooses share or take.",)


@pytest.mark.parametrize(
    ("k", "mediated", "words"),
    [
        (1, True, "After you have disobeyed once, the mediator is silent"),
        (2, True, "After you have disobeyed 2 times"),
        (float("inf"), True, "However often you disobey"),
        (0, True, "It recommends nothing."),
        (0, False, "Nobody advises you."),
    ],
)
def test_what_the_mediator_does(k: float, mediated: bool, words: str) -> None:
    text = rules_of(accord.load_game("chicken"), k, mediated).as_text(T)
    assert words in text
    assert ("computer program" in text) == mediated


def test_questions_have_right_answers() -> None:
    rules = rules_of(accord.load_game("signalling"), quiz=True)
    asked = set()
    for person in range(30):
        for question in rules.questions(person):
            ending = next(one for one in rules.endings if str(one) == question.ending)
            assert question.answer == ending.payoffs[rules.roles.index(question.role)]
            for text in (f"{question.answer:g}", f" {question.answer:.2f} ".replace(".", ",")):
                assert question.is_right(text)
            for text in ("", "x", "1/0", "nan", "1e999", f"{question.answer + 1}", "9" * 5000):
                assert not question.is_right(text)
            asked.add(question)
        assert rules.questions(person) == rules.questions(person)
    assert len(asked) > 8


@pytest.mark.parametrize("answer", ["1e999999999", "-1e-999999999", "1/1e999999999", "nan", "inf"])
def test_an_answer_cannot_keep_the_server_busy(answer: str) -> None:
    """Ten characters can stand for a number with a billion digits."""
    rules = rules_of(accord.load_game("signalling"), quiz=True)
    questions = [question for person in range(5) for question in rules.questions(person)]
    assert not any(question.is_right(answer) for question in questions if question.answer)


def test_a_quiz_needs_a_list_of_payoffs() -> None:
    with pytest.raises(ArgumentError, match="at most 60 endings"):
        check_quiz(accord.load_game("kuhn:players=3"), Design(quiz=True))


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "a <img src=x onerror=alert(1)> b",
        "[x](javascript:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "![x](http://elsewhere.example/x.png)",
        "<iframe src='http://elsewhere.example'></iframe>",
        '[x](http://a.example "onmouseover=alert(1)")',
        "<div style='position:fixed'>",
    ],
)
def test_instructions_are_harmless(text: str) -> None:
    html = str(as_html(text))
    tags = set(re.findall(r"<(\w+)", html))
    assert tags <= {"p", "a"}
    for link in re.findall(r'href="([^"]*)"', html):
        assert link.startswith("http")
    assert not re.search(r"<[^>]*\son\w+=", html)


def test_instructions_are_markdown() -> None:
    html = str(as_html("# Head\n\n*soft* **loud**\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n"))
    for tag in ("<h1>", "<em>", "<strong>", "<table>", "<li>"):
        assert tag in html
