"""The rational numbers that the doubles of a game stand for.

Payoffs and chances are written as decimals and fractions and kept as doubles. A double stands for
the reals that round to it, and one of them was written: the shortest decimal, if that has at most
15 digits; else the fraction with the smallest denominator up to 10^9, so that 0.3333333333333333
is 1/3; else the shortest decimal again. Numbers that were written otherwise, such as 17 digits, are
kept beside the doubles in ``Game.rationals``, one for each double. The chances of a node sum to
exactly one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from accord._arrays import CHANCE, NO_NODE, TERMINAL
from accord.game.rationals import LARGEST_DENOMINATOR, as_rational, simplest
from accord.game.tree import Game

Rationals = tuple[Fraction, ...]


@lru_cache(maxsize=4096)
def exact_chances(probs: tuple[float, ...]) -> Rationals:
    """Numbers that sum to exactly one and round to these doubles.

    They exist for the probabilities of a game (``game/chance.py``), except in borderline cases of
    rounding; there the doubles are first divided by their sum.
    """
    simple = [simplest(p) for p in probs]
    for found in (simple, [as_rational(p) for p in probs]):
        if (known := _summing_to_one(found)) is not None:
            return known
    total = sum(map(Fraction, probs))
    exact = tuple(Fraction(p) / total for p in probs)
    return _as_decimals(probs) or _as_decimals(tuple(map(float, exact))) or exact


def _summing_to_one(given: Sequence[Fraction | None]) -> Rationals | None:
    found = tuple(p for p in given if p is not None)
    common = 1
    for denominator in {p.denominator for p in found}:
        common = math.lcm(common, denominator)
        if common > LARGEST_DENOMINATOR**2:  # unrelated denominators will not sum to one
            return None
    sums = sum(p.numerator * (common // p.denominator) for p in found) == common
    return found if sums and len(found) == len(given) else None


def _as_decimals(probs: Sequence[float]) -> Rationals | None:
    """The shortest decimals, with last digits shifted within rounding so that the sum is one."""
    digits = 4 + max(len(format(Decimal(repr(p)), "f").partition(".")[2]) for p in probs)
    one = 10**digits
    units = [int(Fraction(repr(p)) * one) for p in probs]
    missing = one - sum(units)
    for j in sorted(range(len(probs)), key=lambda j: -probs[j]):
        if not missing:
            break
        p = Fraction(probs[j])
        lowest = (p + Fraction(math.nextafter(probs[j], 0.0))) / 2 * one
        highest = (p + Fraction(math.nextafter(probs[j], 2.0))) / 2 * one
        shifted = min(max(units[j] + missing, math.floor(lowest) + 1), math.ceil(highest) - 1)
        missing -= shifted - units[j]
        units[j] = shifted
    return None if missing else tuple(Fraction(n, one) for n in units)


def chances_at(game: Game, below: Sequence[int]) -> Rationals:
    """The chances of the outcomes of one chance node, which lead to the nodes ``below``."""
    probs = tuple(game.chance_prob[list(below)].tolist())
    kept = tuple(game.rationals.get(p, p) for p in probs)
    if any(isinstance(p, Fraction) for p in kept):
        exact = tuple(p if isinstance(p, Fraction) else as_rational(p) for p in kept)
        if sum(exact) == 1:
            return exact
    return exact_chances(probs)


def exact_rewards(game: Game) -> list[Rationals]:
    """Per node, the sums of the rewards from the root to it; at terminals these are the payoffs.

    At terminals they round to the payoffs in doubles. If the sum of the exact rewards does not, it
    is the number that the double stands for.
    """
    nothing = (Fraction(0),) * game.n_players
    rows = dict(zip(game.reward_node.tolist(), game.reward.tolist(), strict=True))
    exact: list[Rationals] = []
    doubles = np.zeros((game.n_nodes, game.n_players))
    known = game.rationals
    for node, above in enumerate(game.parent.tolist()):
        before = nothing if above == NO_NODE else exact[above]
        if above != NO_NODE:
            doubles[node] = doubles[above]
        paid = rows.get(node)
        if paid is None:
            exact.append(before)
            continue
        doubles[node] += paid
        sums = _added(before, paid, known)
        if game.player[node] == TERMINAL:
            pairs = zip(sums, doubles[node].tolist(), strict=True)
            sums = tuple(u if float(u) == v else as_rational(v + 0.0) for u, v in pairs)
        exact.append(sums)
    return exact


def _added(before: Rationals, paid: Sequence[float], known: Mapping[float, Fraction]) -> Rationals:
    return tuple(b + known.get(v, as_rational(v)) for b, v in zip(before, paid, strict=True))


def with_rounded_sums(game: Game) -> Game:
    """The game with payoffs that are the sums of its rewards, where these are simple numbers.

    Rewards .1 and .2 on the way add up to 0.30000000000000004 in doubles. The last one is changed
    by its last digit, so that they add up to .3.
    """
    if (game.player[game.reward_node] == TERMINAL).all() or not (game.reward % 1.0).any():
        return game
    exact: list[Rationals] = []
    doubles = np.zeros((game.n_nodes, game.n_players))
    reward, known, changed = game.reward.copy(), dict(game.rationals), False
    rows = {node: row for row, node in enumerate(game.reward_node.tolist())}
    for node, above in enumerate(game.parent.tolist()):
        before = (Fraction(0),) * game.n_players if above == NO_NODE else exact[above]
        start = doubles[above] if above != NO_NODE else np.zeros(game.n_players)
        row = rows.get(node)
        if row is None:
            exact.append(before)
            doubles[node] = start
            continue
        exact.append(_added(before, game.reward[row].tolist(), game.rationals))
        doubles[node] = start + game.reward[row]
        if game.player[node] != TERMINAL:
            continue
        for i, total in enumerate(exact[node]):
            wanted = float(total)
            simple = total.denominator <= LARGEST_DENOMINATOR and as_rational(wanted) == total
            if wanted == doubles[node, i] or not simple:
                continue
            last = wanted - float(start[i])
            near = (last, math.nextafter(last, -math.inf), math.nextafter(last, math.inf))
            fits = [value for value in near if float(start[i]) + value == wanted]
            paid = total - before[i]
            if fits and known.get(fits[0], paid) == paid:
                known[fits[0]], reward[row, i], changed = paid, fits[0], True
    return game.replace(reward=reward, rationals=known) if changed else game


def exact_plays(game: Game) -> list[tuple[int, Fraction, Rationals]]:
    """Every terminal, with the chance of all chance moves on the way and the payoffs."""
    paid = exact_rewards(game)
    children: dict[int, list[int]] = {}
    for node, above in enumerate(game.parent.tolist()):
        if above != NO_NODE and game.player[above] == CHANCE:
            children.setdefault(above, []).append(node)
    here: dict[int, Fraction] = {}
    for below in children.values():
        here.update(zip(below, chances_at(game, below), strict=True))
    chance = [Fraction(1)] * game.n_nodes
    for node, above in enumerate(game.parent.tolist()):
        if above != NO_NODE:
            chance[node] = chance[above] * here[node] if node in here else chance[above]
    ends = np.flatnonzero(game.player == TERMINAL).tolist()
    return [(node, chance[node], paid[node]) for node in ends]
