"""From the text of an ``.efg`` file to a :class:`Game`. ``efg.py`` describes the format.

Each description of an infoset, an event or an outcome is parsed token by token, once. Most nodes of
a large file repeat a description literally or omit it; one regular expression and two look-ups
recognize those. There is no recursion, so a tree may be a million levels deep.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from os import PathLike, fspath
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from accord._arrays import CHANCE, NO_INFOSET, NO_NODE, TERMINAL
from accord._files import read_bytes
from accord.errors import ParseError
from accord.game.chance import CHANCE_TOLERANCE
from accord.game.exact import with_rounded_sums
from accord.game.tree import Game
from accord.interop.efg_tokens import (
    IS_END,
    IS_TEXT,
    SPACE,
    TEXT,
    Tokens,
    as_float,
    as_probability,
    brief,
    distinct,
    line_and_column,
)
from accord.interop.infoset_names import Step, names_by_paths, paths_to

_NO_MOVE = -1  # the move of a terminal
_NO_OUTCOME = 0  # pays nothing
_EXACT_BITS = 4096  # probabilities with a longer common denominator are summed as doubles

_LIST = rf'\{{(?:[^"{{}}]++|{TEXT})*+\}}'
_INTEGER = r'[0-9]++(?![^ \t\n\r\f\v"{}])'
_DESCRIPTION = rf"((?:{TEXT}{SPACE})?+(?:{_LIST})?+)"
# A node. Groups: player, infoset or event, its description, outcome, its description.
_NODE = re.compile(
    rf"{SPACE}(?:t{SPACE}{TEXT}{SPACE}"
    rf"|(?:p{SPACE}{TEXT}{SPACE}({_INTEGER}){SPACE}|c{SPACE}{TEXT}{SPACE})"
    rf"({_INTEGER}){SPACE}{_DESCRIPTION}{SPACE}"
    rf")({_INTEGER}){SPACE}{_DESCRIPTION}(?!{SPACE}[\"{{])"
)


def read_efg(path: str | PathLike[str]) -> Game:
    """Read a game from a Gambit ``.efg`` file.

    Raises:
        ParseError: If the file cannot be read or is malformed; it has the line and column.
        GameError: If the file does not describe a game with perfect recall and at least one
            decision.
    """
    name = fspath(path)
    return parse_efg(read_text(name, ".efg"), name)


def read_text(name: str, ending: str) -> str:
    """The text of a file of Gambit's.

    Raises:
        ParseError: If it cannot be read or is not text.
    """
    try:
        data = read_bytes(name)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ParseError(
            name,
            0,
            0,
            f"an {ending} file must be readable: {reason}; check the path and permissions",
        ) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", errors="replace")
        raise ParseError(
            name,
            *line_and_column(before, len(before)),
            f"an {ending} file must be UTF-8 text; found byte 0x{data[error.start]:02x}; "
            "if it is text, save it again as UTF-8",
        ) from None


def parse_efg(text: str, path: str = "<string>") -> Game:
    """Read a game from the text of an ``.efg`` file; errors call it ``path``.

    Raises:
        ParseError: If the text is malformed; it has the line and column.
        GameError: If the text does not describe a game with perfect recall and at least one
            decision.
    """
    tokens = Tokens(text, path)
    title, players, comment = _read_prologue(tokens)
    described = _Descriptions(tokens, len(players))
    tree = _read_tree(tokens, described)
    return _build_game(title or Path(path).stem, players, described, tree).replace(comment=comment)


def _read_prologue(tokens: Tokens) -> tuple[str, tuple[str, ...], str]:
    """Read up to the first node; return the title, the players and the comment."""
    if tokens.token == "NFG":
        tokens.fail(
            "an .efg file must hold a game in extensive form, but this one is in strategic form; "
            "rename it so that it ends in .nfg",
            tokens.start,
        )
    if tokens.token.startswith("<"):
        tokens.refuse("an .efg file must start with EFG, but this looks like XML; save it as .efg")
    tokens.take_word(("EFG",), "an .efg file must start with EFG")
    tokens.take_word(("2",), "the version of the format must be 2")
    tokens.take_word(("R", "D"), "the kind of numbers must be R or D")
    title = tokens.take_text("the title of the game must come next, in quotation marks")
    at = tokens.start
    tokens.take_word(("{",), "the list of players must start with {")
    players = []
    while tokens.token != "}":
        players.append(tokens.take_text("the players must be labels in quotation marks, then }"))
    tokens.advance()
    if not 1 <= len(players) <= 127:
        tokens.fail(f"a game must have 1 to 127 players; found {len(players)}", at)
    comment = tokens.take_text("a comment must be text") if tokens.kind == IS_TEXT else ""
    return title, distinct(players), comment


@dataclass(slots=True)
class _Description:
    """An infoset or a chance event."""

    player: int  # CHANCE for an event
    number: int
    name: str
    actions: tuple[str, ...]
    probs: tuple[float, ...]  # of an event; empty for an infoset


class _Descriptions:
    """The infosets, events and outcomes described so far."""

    def __init__(self, tokens: Tokens, n_players: int) -> None:
        self.n_players = n_players
        self.moves: list[_Description] = []
        self.rationals: dict[float, Fraction] = {}  # the numbers as written, by their doubles
        self.payoffs: list[tuple[float, ...]] = [(0.0,) * n_players]  # [_NO_OUTCOME] pays nothing
        self._tokens = tokens
        self._move_of: dict[tuple[int, int], int] = {}
        self._outcome_of = {0: _NO_OUTCOME}
        self.outcome_names = [""]

    def read_node(self) -> tuple[int, int]:
        """Read a node; return its move (or ``_NO_MOVE``) and its outcome."""
        tokens = self._tokens
        kind = tokens.take_word(("c", "p", "t"), "a node must start with c, p or t")
        tokens.take_text("the name of the node must come next, in quotation marks")
        move = _NO_MOVE
        if kind == "p":
            at = tokens.start
            player = tokens.take_integer("the number of the player must come next")
            if not 1 <= player <= self.n_players:
                tokens.fail(f"a player must be 1 to {self.n_players}; found {player}", at)
            move = self._read_move(player - 1)
        elif kind == "c":
            move = self._read_move(CHANCE)
        return move, self._read_outcome()

    def _read_move(self, player: int) -> int:
        tokens = self._tokens
        is_event = player == CHANCE
        what = "event" if is_event else "infoset"
        number = tokens.take_integer(f"the number of the {what} must come next")
        called = f"event {number}" if is_event else f"infoset {number} of player {player + 1}"
        index = self._move_of.get((player, number))
        known = None if index is None else self.moves[index]
        name = self._read_name(called, known.name if known else "")
        if known is None or tokens.token == "{":
            at = tokens.start
            tokens.take_word(("{",), f"{called} must list its actions where it first appears")
            actions, probs = self._read_actions(called, is_event)
            normalized = _normalized(probs) if is_event else ()
            if normalized and all(p.denominator.bit_length() < _EXACT_BITS for p in probs):
                self.rationals.update(zip(normalized, probs, strict=True))
            if normalized is None:
                tokens.fail(
                    f"the probabilities of {called} must sum to one; these {len(probs)} sum to "
                    f"{math.fsum(probs)!r}; try writing them as rationals, such as 1/3",
                    at,
                )
            if known is None:
                index = self._move_of[player, number] = len(self.moves)
                known = _Description(player, number, name, actions, normalized)
                self.moves.append(known)
            self._check_kept(called, "actions", known.actions, actions, at)
            self._check_kept(called, "probabilities", known.probs, normalized, at)
        known.name = name
        assert index is not None  # known now
        return index

    def _read_actions(self, called: str, is_event: bool) -> tuple[tuple[str, ...], list[Fraction]]:
        """Read the rest of a list of actions, for an event with their probabilities."""
        tokens = self._tokens
        actions: list[str] = []
        probs: list[Fraction] = []
        while tokens.token != "}" or not actions:
            must = f"the actions of {called} must be labels in quotation marks"
            actions.append(tokens.take_text(must))
            if is_event:
                at = tokens.start
                number = tokens.take_number(f"the probability of {actions[-1]!r} must follow it")
                prob = as_probability(number)
                if prob is None:
                    tokens.fail(
                        "a probability must be between 0 and 1, and 0 or large enough for a "
                        f"double; found {brief(number)}",
                        at,
                    )
                probs.append(prob)
        tokens.advance()
        return tuple(actions), probs

    def _read_outcome(self) -> int:
        tokens = self._tokens
        number = tokens.take_integer("the number of the outcome must come next, or 0 for none")
        if number == 0 and (tokens.kind == IS_TEXT or tokens.token == "{"):
            tokens.refuse("outcome 0 pays nothing and must have no name and no payoffs")
        called = f"outcome {number}"
        index = self._outcome_of.get(number)
        name = self._read_name(called, "" if index is None else self.outcome_names[index])
        if index is None or tokens.token == "{":
            at = tokens.start
            tokens.take_word(("{",), f"{called} must list its payoffs where it first appears")
            payoffs = self._read_payoffs(called)
            if index is None:
                index = self._outcome_of[number] = len(self.payoffs)
                self.payoffs.append(payoffs)
                self.outcome_names.append(name)
            self._check_kept(called, "payoffs", self.payoffs[index], payoffs, at)
        self.outcome_names[index] = name
        return index

    def _read_payoffs(self, called: str) -> tuple[float, ...]:
        """Read the rest of a list of payoffs."""
        tokens = self._tokens
        must = f"{called} must have {self.n_players} payoffs, one for each player, then }}"
        payoffs = []
        for _ in range(self.n_players):
            at = tokens.start
            number = tokens.take_number(must)
            payoff = as_float(number)
            if payoff is None:
                tokens.fail(f"a payoff must be a finite number; found {brief(number)}", at)
            payoffs.append(payoff + 0.0)  # no negative zero
            if payoff:
                self.rationals.setdefault(payoff, Fraction(number))
            if tokens.token == ",":
                tokens.advance()
        tokens.take_word(("}",), must)
        return tuple(payoffs)

    def _read_name(self, called: str, known: str) -> str:
        """Read the name if there is one; return it, or else the name given before."""
        tokens, at = self._tokens, self._tokens.start
        if tokens.kind != IS_TEXT:
            return known
        name = tokens.take_text("a name")
        if name and known:
            self._check_kept(called, "name", known, name, at)
        return name or known

    def _check_kept(self, called: str, what: str, known: object, now: object, at: int) -> None:
        if now != known:
            self._tokens.fail(
                f"{called} must keep its {what} {brief(repr(known))}; found {brief(repr(now))}", at
            )


def _normalized(probs: Sequence[Fraction]) -> tuple[float, ...] | None:
    """Probabilities divided by their sum, rounded once; ``None`` if the sum is not one."""
    if abs(math.fsum(probs) - 1.0) > 2 * CHANCE_TOLERANCE:
        return None
    common = 1
    for denominator in {prob.denominator for prob in probs}:
        common = math.lcm(common, denominator)
        if common.bit_length() > _EXACT_BITS:
            total = Fraction(math.fsum(probs))
            break
    else:
        total = Fraction(sum(p.numerator * (common // p.denominator) for p in probs), common)
    if abs(total - 1) > Fraction(CHANCE_TOLERANCE):
        return None
    return tuple(float(p) if total == 1 else float(p / total) for p in probs)


@dataclass(frozen=True)
class _Tree:
    """The nodes in prefix order."""

    parent: NDArray[np.int64]  # [n_nodes]
    action: NDArray[np.int64]  # [n_nodes] index among the actions of the parent's move
    move: NDArray[np.int64]  # [n_nodes] an infoset or event, or _NO_MOVE
    outcome: NDArray[np.int64]  # [n_nodes]


def _read_tree(tokens: Tokens, described: _Descriptions) -> _Tree:
    text, at = tokens.text, tokens.start
    known_moves: dict[tuple[str | None, ...], int] = {(None, None, None): _NO_MOVE}
    known_outcomes: dict[tuple[str, str], int] = {}
    parents: list[int] = []
    actions: list[int] = []
    moves: list[int] = []
    outcomes: list[int] = []
    path: list[tuple[int, Iterator[int]]] = []  # inner nodes and their remaining actions
    above, action = NO_NODE, 0
    while True:
        match = _NODE.match(text, at)
        move = outcome = None
        if match is not None:
            player, number, actions_text, outcome_number, payoffs_text = match.groups()
            move = known_moves.get((player, number, actions_text))
            outcome = known_outcomes.get((outcome_number, payoffs_text))
            at = match.end()
        if move is None or outcome is None:
            tokens.go_to(match.start() if match is not None else at)
            move, outcome = described.read_node()
            at = tokens.start
            if match is not None:
                known_moves[player, number, actions_text] = move
                known_outcomes[outcome_number, payoffs_text] = outcome
        if move != _NO_MOVE:
            path.append((len(parents), iter(range(len(described.moves[move].actions)))))
        parents.append(above)
        actions.append(action)
        moves.append(move)
        outcomes.append(outcome)
        while path:
            above, rest = path[-1]
            following = next(rest, None)
            if following is not None:
                action = following
                break
            path.pop()
        else:
            break
    tokens.go_to(at)
    if tokens.kind != IS_END:
        tokens.refuse("the file must end here, because every action has led to a terminal")
    return _Tree(*(np.array(items, np.int64) for items in (parents, actions, moves, outcomes)))


def _build_game(
    title: str, players: tuple[str, ...], described: _Descriptions, tree: _Tree
) -> Game:
    moves = described.moves
    first = np.cumsum([0, *(len(m.actions) for m in moves)])  # start of each among all actions
    probs = np.array(list(chain.from_iterable(m.probs or (1.0,) * len(m.actions) for m in moves)))
    prob = np.ones(len(tree.parent))
    prob[1:] = probs[first[tree.move[tree.parent[1:]]] + tree.action[1:]]
    if not prob.all():
        tree, prob = _without_impossible(tree, prob, first, probs)

    owner = np.array([*(m.player for m in moves), TERMINAL])  # the last stands for _NO_MOVE
    player = owner[tree.move]
    infoset = np.full(len(moves) + 1, NO_INFOSET)
    used = []
    for i in (CHANCE, *range(len(players))):
        mine = sorted(np.unique(tree.move[player == i]), key=lambda m: moves[m].number)
        infoset[mine] = np.arange(len(mine))
        used.append([moves[m] for m in mine])

    payoffs = np.array(described.payoffs)
    pays = np.any(payoffs != 0.0, axis=1)
    paid = np.flatnonzero(pays[tree.outcome] | (player == TERMINAL))
    game = Game.from_arrays(
        n_players=len(players),
        player=player,
        parent=tree.parent,
        action=tree.action,
        infoset=infoset[tree.move],
        chance_prob=prob,
        reward_node=paid,
        reward=payoffs[tree.outcome[paid]],
        name=title,
        rationals=described.rationals,
        player_labels=players,
        infoset_labels=_infoset_labels(used[1:], moves, tree),
        action_labels=[[distinct(m.actions) for m in mine] for mine in used[1:]],
        chance_labels=list(map(_possible, used[0])),
    )
    return with_rounded_sums(game).named(_names_of_ends(described.outcome_names, player, tree))


def _possible(move: _Description) -> tuple[str, ...]:
    """The labels of the actions; of an event, of outcomes with a positive probability."""
    labels = distinct(move.actions)
    if move.player != CHANCE:
        return labels
    return tuple(label for label, p in zip(labels, move.probs, strict=True) if p)


def _names_of_ends(names: Sequence[str], player: NDArray[np.int64], tree: _Tree) -> dict[int, str]:
    """The names of the outcomes on the way to each terminal, if there are any."""
    if not any(names):
        return {}
    so_far: list[str] = []
    for above, outcome in zip(tree.parent.tolist(), tree.outcome.tolist(), strict=True):
        before = so_far[above] if above != NO_NODE else ""
        so_far.append(", ".join(filter(None, (before, names[outcome]))))
    return {
        node: so_far[node] for node in np.flatnonzero(player == TERMINAL).tolist() if so_far[node]
    }


def _infoset_labels(
    infosets: Sequence[Sequence[_Description]], moves: Sequence[_Description], tree: _Tree
) -> list[list[str]]:
    """Per player, the names of infosets if unique; others are named by what leads to them, or in
    very large trees by their numbers (``2#2`` if another infoset is called ``2``)."""
    unique = []
    for mine in infosets:
        count = Counter(x.name for x in mine)
        unique.append({x.name for x in mine if x.name and count[x.name] == 1})
    unnamed: dict[int, list[int]] = {
        at: []
        for at, m in enumerate(moves)
        if m.player != CHANCE and m.name not in unique[m.player]
    }
    move, parent = tree.move.tolist(), tree.parent.tolist()
    paths: dict[int, list[list[Step]]] = {}
    if unnamed:
        for node, at in enumerate(move):
            if at in unnamed:
                unnamed[at].append(node)
        words = list(map(_possible, moves))
        steps = [
            (CHANCE, "")
            if above == NO_NODE
            else (moves[move[above]].player, words[move[above]][action])
            for above, action in zip(parent, tree.action.tolist(), strict=True)
        ]
        paths = paths_to(unnamed, parent, steps) or {}
    labels = []
    for i, known in enumerate(unique):
        own = {at: paths[at] for at in unnamed if moves[at].player == i and paths.get(at)}
        found = names_by_paths(own, sorted(known), {at: moves[at].number for at in own})
        named = {moves[at].number: name for at, name in found.items()}
        row, taken = [], set(known)
        for x in infosets[i]:
            name = x.name if x.name in known else named.get(x.number, str(x.number))
            row.append(name if x.name in known else _different(name, taken))
            taken.add(row[-1])
        labels.append(row)
    return labels


def _different(label: str, taken: Collection[str]) -> str:
    """The label, with ``#2`` or a larger number after it if it is taken."""
    found, copies = label, 1
    while found in taken:
        copies += 1
        found = f"{label}#{copies}"
    return found


def _without_impossible(
    tree: _Tree, prob: NDArray[np.float64], first: NDArray[np.int64], probs: NDArray[np.float64]
) -> tuple[_Tree, NDArray[np.float64]]:
    """The tree without chance outcomes of probability zero and their subtrees."""
    dead = (prob == 0.0).tolist()
    for node, above in enumerate(tree.parent[1:].tolist(), 1):
        dead[node] = dead[node] or dead[above]
    kept = np.flatnonzero(~np.array(dead))
    number = np.full(len(dead), NO_NODE)
    number[kept] = np.arange(len(kept))
    before = np.cumsum([0, *(probs > 0.0)])  # number of possible actions before each
    parent, action = tree.parent[kept], tree.action[kept]
    start = first[tree.move[parent[1:]]]
    action[1:] = before[start + action[1:]] - before[start]
    parent[1:] = number[parent[1:]]
    return _Tree(parent, action, tree.move[kept], tree.outcome[kept]), prob[kept]
