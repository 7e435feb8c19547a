r"""Gambit's ``.efg`` files: games as text that other programs can open.

A file is a prologue and the nodes of one tree in prefix order::

    EFG 2 R "title" { "player" ... } "comment"
    c "node" event          "name" { "action" probability ... } outcome "name" { payoff ... }
    p "node" player infoset "name" { "action" ... }             outcome "name" { payoff ... }
    t "node"                                                    outcome "name" { payoff ... }

An infoset (numbered per player), a chance event and an outcome (Gambit's word for a row of payoffs)
are described where they first appear. Later the description may be left out; given again, it must
be the same. Outcome 0 pays nothing. Outcomes may stand at inner nodes too: a play pays the sum of
what it passes. Numbers are exact: integers, decimals (``.5``, ``1e-3``) or rationals (``1/3``);
commas between payoffs are optional; a quotation mark within a label is written ``\"``.

What becomes of a file that :func:`read_efg` reads:

* An infoset's label is its own if it has one that is unique for the player, else its number. Empty
  labels of players, actions and chance outcomes become their numbers, and of repeated ones the
  second becomes ``a#2``, the third ``a#3``.
* A chance outcome of probability zero is left out with everything below it. Probabilities that
  miss one by no more than 1e-9 are divided by their sum; any other sum is refused.
* Every terminal has a row of rewards, an inner node only if it pays somebody.
* What is malformed is refused with :class:`~accord.errors.ParseError`, which knows the line and
  column, and a game without perfect recall with :class:`~accord.errors.ImperfectRecallError`.

What :func:`write_efg` writes, OpenSpiel and Gambit read: every description is given in full,
payoffs stand at terminals only, probabilities sum to exactly one. Reading it gives the same game:
its digest, the numbers of its nodes and infosets, and all labels, so that policies of one are
policies of the other. Some labels fare badly: OpenSpiel does not know ``\"``; one that ends in a
backslash gets a space after it, because the format has no way to write it; half a surrogate pair is
spelled out; and empty or repeated ones become what is said above. If that happens to an infoset or
an action, it is another game.
"""

from __future__ import annotations

from accord.interop.efg_reader import parse_efg, read_efg
from accord.interop.efg_writer import format_efg, write_efg

__all__ = ["format_efg", "parse_efg", "read_efg", "write_efg"]
