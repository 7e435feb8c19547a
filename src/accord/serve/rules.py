"""The rules of a game in plain words, made from its tree: roles, course, payoffs, and a quiz.

Everything here follows from the game and the design of the session, which everybody may know.
Nothing depends on a play, so the rules tell nobody anything about a plan.

Payoffs are a *matrix* if two players choose once, at the same time, and chance has no say.
Otherwise they are a *list of endings*, each with what happens and what everybody earns, or only the
range of payoffs if there are more than ``MOST_ENDINGS``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random

import numpy as np
from markdown_it import MarkdownIt
from markupsafe import Markup

from accord._arrays import CHANCE, TERMINAL
from accord._check import as_number
from accord._format import one_line, pretty
from accord.deviations.notions import written_k
from accord.errors import ArgumentError
from accord.game.tree import Game, total_rewards
from accord.mediator.timing import timing
from accord.serve.design import Design, Treatment
from accord.serve.messages import Messages

MOST_ENDINGS = 60
MOST_NAMED = 8
"""Infosets or actions that a sentence lists."""

LARGEST = 10_000
"""Nodes of a game whose plays are looked at one by one."""

QUESTIONS = 3
CLOSE = 1e-6
"""How far an answer may be from the payoff, relative to it."""


@dataclass(frozen=True)
class Ending:
    """One way in which a play can end."""

    moves: tuple[tuple[str, str], ...]  # (who, what)
    payoffs: tuple[float, ...]

    def __str__(self) -> str:
        return ", ".join(f"{who}: {what}" for who, what in self.moves)


@dataclass(frozen=True)
class Matrix:
    """The payoffs of two players who choose once, at the same time."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[tuple[float, float], ...], ...]


@dataclass(frozen=True)
class Question:
    """A question on payoffs."""

    ending: str
    role: str
    answer: float

    def is_right(self, answer: str) -> bool:
        """Whether somebody's answer is right; a comma may stand for the point."""
        text = answer.strip().replace(",", ".").replace("\N{MINUS SIGN}", "-")
        try:
            given = as_number("an answer", text)
        except ArgumentError:
            return False
        return abs(given - self.answer) <= CLOSE * max(1.0, abs(self.answer))


@dataclass(frozen=True)
class Rules:
    """The rules, sentence by sentence."""

    roles: tuple[str, ...]
    about: tuple[str, ...]  # who plays, how often
    course: tuple[tuple[str, ...], ...]  # what happens, one after another; at once within each
    matrix: Matrix | None
    endings: tuple[Ending, ...]  # empty if there are too many
    ranges: tuple[str, ...]  # in that case
    pay: tuple[str, ...]
    mediator: tuple[str, ...]
    comment: str
    own: Markup  # the operator's own instructions

    def questions(self, person: int) -> tuple[Question, ...]:
        """The quiz of a person: some endings, each with a role."""
        rng = Random(hashlib.sha256(f"quiz {person}".encode()).digest())
        chosen = rng.sample(self.endings, min(QUESTIONS, len(self.endings)))
        players = list(range(len(self.roles)))
        rng.shuffle(players)
        return tuple(
            Question(str(ending), self.roles[i], ending.payoffs[i])
            for n, ending in enumerate(chosen)
            for i in [players[n % len(players)]]
        )

    def as_text(self, t: Messages) -> str:
        """The rules for a program that reads text."""
        lines = [*self.about, *(" ".join(step) for step in self.course)]
        if self.endings:
            lines.append(t.text("rules.payoffs"))
            for ending in self.endings:
                earned = zip(self.roles, ending.payoffs, strict=True)
                sums = ", ".join(f"{role} {payoff:g}" for role, payoff in earned)
                lines.append(f"- {ending} -> {sums}")
        return "\n".join([*lines, *self.ranges, *self.pay, *self.mediator, self.comment]).strip()


def make_rules(
    game: Game,
    treatment: Treatment,
    design: Design,
    t: Messages,
    limit: float | None = None,
    pace: float | None = None,
) -> Rules:
    """The rules for the people of a treatment."""
    roles = tuple(t.role(one_line(label)) for label in game.player_labels)
    endings = find_endings(game, roles, t.text("end.chance"))
    matrix = _matrix(game, endings)
    ranges: tuple[str, ...] = ()
    if not endings:
        low, high = _ranges(game)
        ranges = tuple(
            t.text("rules.range", role=role, low=pretty(low[i]), high=pretty(high[i]))
            for i, role in enumerate(roles)
        )
    about = [t.text("rules.roles", roles=", ".join(roles))]
    if design.rounds > 1:
        about.append(t.text("rules.rounds", rounds=design.rounds))
        about += [t.text(f"rules.{design.rematch}"), t.text(f"rules.{design.roles}")]
    if pace is not None:
        about.append(t.text("rules.pace", seconds=f"{pace:g}"))
    elif limit is not None:
        about.append(t.text("rules.limit", seconds=f"{limit:g}"))
    pay = []
    if design.rate is not None:
        cents = f"{design.rate:.2f}"
        rate = cents if float(cents) == design.rate else f"{design.rate:g}"
        pay.append(t.text("rules.money", rate=f"{rate} {design.currency}".strip()))
    if design.fee:
        pay.append(t.text("rules.fee", fee=f"{design.fee:.2f} {design.currency}".strip()))
    return Rules(
        roles=roles,
        about=tuple(about),
        course=_course(game, roles, t),
        matrix=matrix,
        endings=endings,
        ranges=ranges,
        pay=tuple(pay),
        mediator=mediator_rules(treatment, t),
        comment=design.comment,
        own=as_html(design.instructions or ""),
    )


def check_quiz(game: Game, design: Design) -> None:
    """Raise an ArgumentError if a quiz is asked for on payoffs that cannot be listed."""
    if design.quiz and int((game.player == TERMINAL).sum()) > MOST_ENDINGS:
        raise ArgumentError(
            f"a quiz needs a game with at most {MOST_ENDINGS} endings, which the rules list; this "
            "one has more, so put questions into your own instructions"
        )


def mediator_rules(treatment: Treatment, t: Messages) -> tuple[str, ...]:
    """What the mediator does, in words for players."""
    if not treatment.mediated:
        return (t.text("rules.mediator_none"),)
    what = t.text("rules.mediator_what")
    if treatment.k == 0:
        return (what, t.text("rules.mediator_moves"))
    return (
        what,
        t.text("rules.mediator_tells"),
        t.text("rules.mediator_free"),
        silence_rule(treatment.k, t),
    )


def silence_rule(k: float, t: Messages) -> str:
    """When the mediator stops to advise somebody."""
    if k == float("inf"):
        return t.text("rules.silent_never")
    if k == 1:
        return t.text("rules.silent_once")
    return t.text("rules.silent_times", times=written_k(k))


def as_html(text: str) -> Markup:
    """Markdown as HTML. Tags in it are shown as text, and nothing is loaded from elsewhere."""
    reader = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table")
    reader.disable(["image", "html_inline", "html_block"])
    # markdown-it refuses javascript:, vbscript:, file: and most data: links by itself
    html = reader.render(text).replace("<a href=", '<a target="_blank" rel="noreferrer" href=')
    return Markup(html)


def find_endings(game: Game, roles: Sequence[str], chance: str) -> tuple[Ending, ...]:
    """All ways in which a play can end, or none if there are more than ``MOST_ENDINGS``."""
    ends = np.flatnonzero(game.player == TERMINAL)
    if len(ends) > MOST_ENDINGS:
        return ()
    payoffs = total_rewards(game, ends)
    return tuple(
        Ending(_moves(game, int(node), roles, chance), tuple(map(float, row)))
        for node, row in zip(ends, payoffs, strict=True)
    )


def _moves(game: Game, node: int, roles: Sequence[str], chance: str) -> tuple[tuple[str, str], ...]:
    actions, movers = game.history(node), []
    while node:
        node = int(game.parent[node])
        i = int(game.player[node])
        movers.append(chance if i == CHANCE else roles[i])
    return tuple(zip(reversed(movers), map(one_line, actions), strict=True))


def _ranges(game: Game) -> tuple[list[float], list[float]]:
    payoffs = total_rewards(game, np.flatnonzero(game.player == TERMINAL))
    return payoffs.min(axis=0).tolist(), payoffs.max(axis=0).tolist()


def _matrix(game: Game, endings: tuple[Ending, ...]) -> Matrix | None:
    """The payoffs as a matrix, if two players choose once at the same time without chance."""
    if game.n_players != 2 or any(game.n_infosets[i] != 1 for i in (0, 1)):
        return None
    if (game.player == CHANCE).any() or not endings or game.player[0] != 0:
        return None
    rows, columns = (tuple(map(one_line, game.action_labels[i][0])) for i in (0, 1))
    if any(len(ending.moves) != 2 for ending in endings) or len(endings) != len(rows) * len(
        columns
    ):
        return None
    found = {tuple(what for _, what in ending.moves): ending.payoffs for ending in endings}
    if len(found) != len(endings):
        return None  # two actions have the same label
    cells = tuple(tuple((found[a, b][0], found[a, b][1]) for b in columns) for a in rows)
    return Matrix(rows, columns, cells)


def _course(game: Game, roles: Sequence[str], t: Messages) -> tuple[tuple[str, ...], ...]:
    """What happens, round by round; nothing if the game has no rounds."""
    times = timing(game)
    if not times.exists:
        return ()
    steps: list[tuple[str, ...]] = []
    if game.player[0] == CHANCE:
        steps.append((_first_draw(game, t),))
    for round in range(times.n_rounds):
        said = []
        for i, role in enumerate(roles):
            here = np.flatnonzero(times.rounds[i] == round).tolist()
            if here:
                sentence = _decision(game, i, here, role, t)
                sure = _is_certain(game, i, here)
                said.append(sentence if sure else t.text("rules.perhaps", sentence=sentence))
        if len(said) > 1:
            said.insert(0, t.text("rules.at_once"))
        steps.append(tuple(said))
    return tuple(steps)


def _is_certain(game: Game, player: int, here: list[int]) -> bool:
    """Whether every play passes one of these infosets of the player."""
    if len(game.player) > LARGEST:
        return False
    passed = np.zeros(len(game.player), bool)
    for node, (i, x, parent) in enumerate(
        zip(game.player.tolist(), game.infoset.tolist(), game.parent.tolist(), strict=True)
    ):
        passed[node] = (node > 0 and passed[parent]) or (i == player and x in here)
    return bool(passed[game.player == TERMINAL].all())


def _first_draw(game: Game, t: Messages) -> str:
    below = np.flatnonzero(game.parent == 0)
    labels = game.chance_labels[game.infoset[0]]
    outcomes = [
        f"{one_line(labels[game.action[node]])} ({_share(float(game.chance_prob[node]))})"
        for node in below
    ]
    return t.text("rules.chance_first", outcomes=_listed(outcomes, t))


def _share(prob: float) -> str:
    near = Fraction(prob).limit_denominator(100)
    return str(near) if abs(float(near) - prob) < 1e-12 else f"{100 * prob:.4g} %"


def _decision(game: Game, player: int, here: list[int], role: str, t: Messages) -> str:
    """What a player decides in a round."""
    actions = dict.fromkeys(
        one_line(action) for x in here for action in game.action_labels[player][x]
    )
    if len(actions) > MOST_NAMED:
        return t.text("rules.one_deciding", role=role)
    listed = _listed(actions, t)
    if 1 < len(here) <= MOST_NAMED:
        known = _listed((one_line(game.infoset_labels[player][x]) for x in here), t)
        return t.text("rules.one_knowing", role=role, infosets=known, actions=listed)
    return t.text("rules.one", role=role, actions=listed)


def _listed(items: Iterable[str], t: Messages) -> str:
    *most, last = list(items)
    return f"{', '.join(most)} {t.text('rules.or')} {last}" if most else last
