r"""Gambit's ``.nfg`` files: games in strategic form as text.

A file has a prologue, the strategies of each player, and a payoff for every profile, in which the
first player's strategy changes fastest::

    NFG 1 R "title" { "Ann" "Bob" } { { "up" "down" } { "left" "right" } } "comment"
    0 0 7 2 2 7 6 6

or a list of outcomes and, for each profile, the number of its outcome; 0 pays nothing::

    { { "crash" 0, 0 } { "Ann wins" 7, 2 } ... }
    1 2 3 4

Strategies may also be given by their number only: ``{ 2 2 }``. In the tree the players move one
after another without seeing each other, so each has one infoset, labeled with the player's name.

:func:`write_nfg` writes any game. A strategy is a plan: an action at every infoset that the player
can reach by following it. A player with one infoset has its actions as strategies; otherwise a
strategy is called ``infoset=action, infoset=action``. Payoffs are expected values over chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from os import PathLike, fspath
from pathlib import Path

import numpy as np

from accord._arrays import Floats
from accord._files import write_whole
from accord.errors import BudgetError
from accord.game.exact import exact_plays
from accord.game.labels import player_name
from accord.game.library.matrix import matrix_game
from accord.game.tree import Game, checked_game
from accord.interop.efg_reader import read_text
from accord.interop.efg_tokens import IS_END, IS_TEXT, IS_WORD, Tokens, as_float, distinct
from accord.interop.efg_writer import quoted, written
from accord.treeplex.form import SequenceForm, sequence_form
from accord.treeplex.leaves import sequences_at
from accord.treeplex.treeplex import EMPTY_SEQUENCE, Treeplex

MOST_PROFILES = 1_000_000
"""The largest number of profiles that a file may have."""

PER_LINE = 10
"""Profiles in a line of a written file."""


def read_nfg(path: str | PathLike[str]) -> Game:
    """Read a game from a Gambit ``.nfg`` file.

    Raises:
        ParseError: If the file cannot be read or is malformed; it has the line and column.
        GameError: If the file does not describe a game.
    """
    name = fspath(path)
    return parse_nfg(read_text(name, ".nfg"), name)


def parse_nfg(text: str, path: str = "<string>") -> Game:
    """Read a game from the text of an ``.nfg`` file; errors call it ``path``.

    Raises:
        ParseError: If the text is malformed; it has the line and column.
        GameError: If the text does not describe a game.
    """
    tokens = Tokens(text, path)
    tokens.take_word(("NFG",), "an .nfg file must start with NFG")
    tokens.take_word(("1",), "the version of the format must be 1")
    tokens.take_word(("R", "D"), "the kind of numbers must be R or D")
    title = tokens.take_text("the title of the game must come next, in quotation marks")
    at = tokens.start
    players = _labels(tokens, "the players")
    if not 1 <= len(players) <= 127:
        tokens.fail(f"a game must have 1 to 127 players; found {len(players)}", at)
    actions = _strategies(tokens, len(players))
    comment = tokens.take_text("a comment must be text") if tokens.kind == IS_TEXT else ""
    sizes = [len(row) for row in actions]
    profiles = math.prod(sizes)
    if profiles > MOST_PROFILES:
        tokens.fail(f"a file must have at most {MOST_PROFILES:,} profiles; found {profiles:,}", at)
    read = _outcomes if tokens.token == "{" else _payoffs
    rationals: dict[float, Fraction] = {}
    rows = read(tokens, profiles, len(players), rationals)
    if tokens.kind != IS_END:
        tokens.refuse(f"the file must end after the payoffs of {profiles:,} profiles")
    # The first player's strategy changes fastest: the last axis of a tensor in C order.
    tensor = rows.T.reshape(len(players), *reversed(sizes))
    game = matrix_game(
        np.transpose(tensor, (0, *range(len(players), 0, -1))),
        actions=actions,
        players=distinct(players),
        name=title or Path(path).stem,
    )
    return game.replace(rationals=rationals, comment=comment)


def write_nfg(game: Game, path: str | PathLike[str]) -> None:
    """Write the strategic form of a game to a Gambit ``.nfg`` file.

    Raises:
        BudgetError: If it has more than a million profiles of plans.
        ArgumentError: If the file cannot be written.
    """
    data = format_nfg(game).encode("utf-8", errors="backslashreplace")
    write_whole(Path(fspath(path)), data)


def format_nfg(game: Game) -> str:
    """The text of the ``.nfg`` file of a game.

    Raises:
        BudgetError: If it has more than a million profiles of plans.
    """
    form = sequence_form(checked_game(game))
    counts = [_count_plans(plex) for plex in form.plexes]
    if math.prod(counts) > MOST_PROFILES:
        raise BudgetError(
            f"the strategic form must have at most {MOST_PROFILES:,} profiles; {game.name} has "
            f"{math.prod(counts):.3g}, because "
            + " and ".join(
                f"{player_name(label)} has {count:.3g} plans"
                for label, count in zip(game.player_labels, counts, strict=True)
            )
            + "; try write_efg, whose file is as large as the tree",
            required=int(min(math.prod(counts), 2**63)),
            available=MOST_PROFILES,
        )
    plans = [list(_plans(plex)) for plex in form.plexes]
    names = [
        distinct([_plan_name(plex, plan) for plan in own])
        for plex, own in zip(form.plexes, plans, strict=True)
    ]
    rows = _expected(form, plans)
    players = " ".join(map(quoted, distinct(game.player_labels)))
    lines = [f"NFG 1 R {quoted(game.name)} {{ {players} }}", ""]
    lines += ["{ " + "\n".join(f"{{ {' '.join(map(quoted, row))} }}" for row in names), "}"]
    lines.append(quoted(game.comment))
    numbers = [" ".join(map(written, row)) for row in rows]
    lines += ["  ".join(numbers[at : at + PER_LINE]) for at in range(0, len(numbers), PER_LINE)]
    return "\n".join(lines) + "\n"


def _labels(tokens: Tokens, what: str) -> list[str]:
    """Labels in braces."""
    tokens.take_word(("{",), f"the list of {what.removeprefix('the ')} must start with {{")
    labels = []
    while tokens.token != "}":
        labels.append(tokens.take_text(f"{what} must be labels in quotation marks, then }}"))
    tokens.advance()
    return labels


def _strategies(tokens: Tokens, n_players: int) -> list[tuple[str, ...]]:
    """The strategies of each player: labels, or their number."""
    at = tokens.start
    tokens.take_word(("{",), "the strategies of the players must start with {")
    found: list[tuple[str, ...]] = []
    while tokens.token != "}":
        start = tokens.start
        if tokens.token == "{":
            row = distinct(_labels(tokens, "the strategies"))
        else:
            count = tokens.take_integer("each player must have strategies: a number, or labels")
            if count > MOST_PROFILES:
                tokens.fail(f"a player must have at most {MOST_PROFILES:,} strategies", start)
            row = tuple(map(str, range(1, count + 1)))
        if not row:
            tokens.fail("each player must have at least one strategy", start)
        found.append(row)
    tokens.advance()
    if len(found) != n_players:
        tokens.fail(f"there must be strategies for {n_players} players; found {len(found)}", at)
    return found


def _payoffs(
    tokens: Tokens, profiles: int, n_players: int, rationals: dict[float, Fraction]
) -> Floats:
    """``[n_profiles, n_players]`` payoffs, listed one after another."""
    must = f"there must be {profiles:,} times {n_players} payoffs"
    rows = np.empty(profiles * n_players)
    for at in range(len(rows)):
        rows[at] = _payoff(tokens, must, rationals)
    return rows.reshape(profiles, n_players)


def _outcomes(
    tokens: Tokens, profiles: int, n_players: int, rationals: dict[float, Fraction]
) -> Floats:
    """``[n_profiles, n_players]`` payoffs, by the numbers of outcomes."""
    tokens.advance()
    outcomes = [[0.0] * n_players]
    while tokens.token != "}":
        tokens.take_word(("{",), "the outcomes must be in braces, then }")
        tokens.take_text("an outcome must have a label in quotation marks")
        must = f"an outcome must have {n_players} payoffs"
        outcomes.append([_payoff(tokens, must, rationals) for _ in range(n_players)])
        tokens.take_word(("}",), f"{must}, then }}")
    tokens.advance()
    table, rows = np.array(outcomes), np.empty(profiles, np.int64)
    for at in range(profiles):
        start = tokens.start
        rows[at] = tokens.take_integer(f"there must be the numbers of {profiles:,} outcomes")
        if rows[at] >= len(table):
            tokens.fail(f"there must be an outcome {rows[at]}; found {len(table) - 1}", start)
    chosen: Floats = table[rows]
    return chosen


def _payoff(tokens: Tokens, must: str, rationals: dict[float, Fraction]) -> float:
    """The next payoff; the number as written is added to ``rationals``."""
    if tokens.token == ",":
        tokens.advance()
    start = tokens.start
    if tokens.kind != IS_WORD:
        tokens.refuse(must)
    number = tokens.take_number(must)
    value = as_float(number)
    if value is None:
        tokens.fail("a payoff must be a finite number", start)
    if value and value not in rationals:
        rationals[value] = Fraction(number)
    return value


Plan = tuple[int, ...]
"""The sequences that the player plays by following a plan, without the empty one."""


def _count_plans(plex: Treeplex) -> float:
    """The number of plans, added up from the last infosets to the first."""
    after = np.ones(plex.n_sequences)
    for x in range(plex.n_infosets - 1, -1, -1):
        here = slice(plex.first_seq[x], plex.first_seq[x + 1])
        after[plex.parent_seq[x]] *= after[here].sum()
    return float(after[EMPTY_SEQUENCE])


def _plans(plex: Treeplex) -> Iterator[Plan]:
    """All plans, in the order of their actions at the first infosets."""

    def grown(plan: Plan, ahead: Plan) -> Iterator[Plan]:
        if not ahead:
            yield plan
            return
        x, *later = ahead
        for seq in range(plex.first_seq[x], plex.first_seq[x + 1]):
            yield from grown((*plan, seq), (*later, *plex.children(seq)))

    yield from grown((), tuple(plex.children(EMPTY_SEQUENCE)))


def _plan_name(plex: Treeplex, plan: Plan) -> str:
    moves: list[tuple[str, str]] = []
    for seq in sorted(plan):
        x = int(plex.seq_infoset[seq])
        moves.append((plex.infoset_labels[x], plex.action_labels[x][seq - plex.first_seq[x]]))
    if plex.n_infosets == 1:
        return moves[0][1]
    return ", ".join(f"{infoset}={action}" for infoset, action in moves)


def _expected(form: SequenceForm, plans: list[list[Plan]]) -> Iterator[tuple[Fraction, ...]]:
    """The expected payoffs of each profile, the first player's plan changing fastest.

    Sums are of integers: payoffs times chances, brought to a common denominator.
    """
    plays = exact_plays(form.game)
    seqs = sequences_at(form.game, form.plexes, np.array([node for node, _, _ in plays]))
    paid = [[chance * u for u in payoffs] for _, chance, payoffs in plays]
    unit = math.lcm(*(u.denominator for row in paid for u in row))
    whole = [[int(u * unit) for u in row] for row in paid]
    most = max(sum(abs(row[i]) for row in whole) for i in range(form.n_players))
    kind = np.int64 if most < 2**62 else object
    total = np.zeros((math.prod(map(len, plans)), form.n_players), kind)
    played = [[{EMPTY_SEQUENCE, *plan} for plan in own] for own in plans]
    for told, row in zip(seqs.tolist(), whole, strict=True):
        together = np.ones(1, bool)
        for own, seq in zip(played, told, strict=True):
            together = np.outer([seq in plan for plan in own], together).ravel()
        total[together] += np.array(row, kind)
    for sums in total.tolist():
        yield tuple(Fraction(u, unit) for u in sums)
