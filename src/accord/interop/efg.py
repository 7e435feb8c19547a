r"""Gambit's ``.efg`` files: games as text that other programs can open.

A file consists of a prologue and the nodes of one tree in prefix order::

    EFG 2 R "title" { "player" ... } "comment"
    c "node" event          "name" { "action" probability ... } outcome "name" { payoff ... }
    p "node" player infoset "name" { "action" ... }             outcome "name" { payoff ... }
    t "node"                                                    outcome "name" { payoff ... }

An infoset (numbered per player), a chance event and an outcome (Gambit's word for a row of payoffs)
are described where they first appear. Later the description may be omitted; if it is repeated, it
must be the same. Outcome 0 pays nothing. Inner nodes may have outcomes too: the payoff of a play is
the sum of the outcomes on its path. Numbers are exact: integers, decimals (``.5``, ``1e-3``) or
rationals (``1/3``). Commas between payoffs are optional. A quotation mark within a label is written
``\"``.

:func:`read_efg` treats a file as follows:

* An infoset keeps its label if the label is unique for the player; otherwise the label is its
  number. Empty labels of players, actions and chance outcomes become their numbers. A second label
  ``a`` becomes ``a#2``, a third one ``a#3``.
* A chance outcome of probability zero is left out, with everything below it. If the sum of the
  probabilities differs from one by at most 1e-9, they are divided by it; any other sum is refused.
* Every terminal has a row of rewards, an inner node only if it pays somebody.
* A malformed file raises :class:`~accord.errors.ParseError` with line and column, and a game
without
  perfect recall raises :class:`~accord.errors.ImperfectRecallError`.

OpenSpiel and Gambit can read the files of :func:`write_efg`: every description is given in full,
payoffs are at terminals only, and probabilities sum to exactly one. Reading a file back gives the
same game, with the same digest, numbers of nodes and infosets, and labels, so policies of one fit
the other. Some labels cause trouble. OpenSpiel does not know ``\"``. A label that ends in a
backslash gets a space after it, because the format cannot express it. Half a surrogate pair is
spelled out. Empty and repeated labels change as described above. If this changes the label of an
infoset or an action, the file describes a different game.
"""

from __future__ import annotations

from accord.interop.efg_reader import parse_efg, read_efg
from accord.interop.efg_writer import format_efg, write_efg

__all__ = ["format_efg", "parse_efg", "read_efg", "write_efg"]
