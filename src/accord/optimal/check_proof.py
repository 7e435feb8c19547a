"""Check a proof that a mixture of plans is the best K-EFCE of a game, in plain Python.

    python check_proof.py GAME.efg proof.json

The game is a Gambit file; all numbers are fractions, so nothing is rounded. First, the mixture must
be an equilibrium: every player who does not commit tries every action at every infoset, for all
plans together that they cannot tell apart there. Second, let xi[s] be the probability that every
player i is told s_i, an action and all that leads there. In an equilibrium none of them gains by
deviating after a sequence or from the start, so the objective plus what deviators would lose, at
any prices, is at least the objective. It is a sum of coefficients times xi[s], to which multiples
of the equations sum_a xi[.., (x, a), ..] = xi[.., what leads to x, ..] may be added. If only that
of "nobody was told a thing" is positive, it is a bound. Payoffs are measured from the worst.
"""

import json
import re
import sys
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[{}]|[^\s{},"]+')
HUGE = re.compile(r'"[-+._/\d]*[eE][-+]?[_\d]{5,}"')  # a number that it would take forever to read
Told = Any  # a sequence: None, or an infoset and an action


def require(holds: bool, what: str) -> None:
    """Refuse the proof unless something holds."""
    if not holds:
        raise ValueError(what)


def _dot(a: list[Fraction], b: list[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


class Game:
    """The plays of a game, and what leads to each infoset."""

    def __init__(self, text: str) -> None:
        self.tokens = TOKEN.findall(text)[:3:-1]  # from the last to the first after EFG 2 R "title"
        self.n = n = len(self.block())
        _ = self.tokens.pop() if self.next_is('"') else None  # a comment
        self.before: list[dict[str, Told]] = [{} for _ in range(n)]  # what leads to an infoset
        self.after: list[dict[Told, list[str]]] = [defaultdict(list) for _ in range(n)]
        self.size: list[dict[str, int]] = [{} for _ in range(n)]  # actions of an infoset
        self.names: list[dict[str, str]] = [{} for _ in range(n)]
        self.plays: list[tuple[Fraction, list[Fraction], tuple[Told, ...]]] = []
        self.read()
        require(not self.tokens, "the game must end with its last play")
        self.worst = [min(paid[i] for _, paid, _ in self.plays) for i in range(n)]
        self.infoset: list[dict[str, str]] = []  # by label: the name if it is unique, or the number
        for own in self.names:
            count = Counter([*own.values(), '""', '""'])
            label = {x: s[1:-1].replace('\\"', '"') if count[s] < 2 else x for x, s in own.items()}
            self.infoset.append({text: x for x, text in label.items()})

    def next_is(self, first: str) -> bool:
        return bool(self.tokens) and self.tokens[-1][0] == first

    def block(self) -> list[str]:
        return list(iter(self.tokens.pop, "}"))[1:]

    def read(self) -> None:
        moves: dict[Any, list[str]] = {}
        outcomes, take = {"0": [Fraction(0)] * self.n}, self.tokens.pop
        waiting = [(Fraction(1), [Fraction(0)] * self.n, [None] * self.n)]
        while waiting:
            chance, paid, told = waiting.pop()
            kind, _ = take(), take()
            i = int(take()) - 1 if kind == "p" else -1
            x = "" if kind == "t" else take()
            name = take() if x and self.next_is('"') else '""'
            if x and self.next_is("{"):
                moves.setdefault((i, x), self.block())
            outcome = take()
            _ = take() if self.next_is('"') else None
            if self.next_is("{"):
                outcomes[outcome] = list(map(Fraction, self.block()))
            paid = list(map(Fraction.__add__, paid, outcomes[outcome]))
            below: list[Any] = []
            if kind == "t" and chance:
                self.plays.append((chance, paid, tuple(told)))
            elif kind == "c":
                probs = list(map(Fraction, moves[i, x][1::2]))
                require(sum(probs) == 1 and min(probs) >= 0, "chances must add up to 1")
                below = [(chance * p, paid, told) for p in probs]
            elif kind == "p":
                self.after[i][told[i]] += [] if x in self.before[i] else [x]
                require(self.before[i].setdefault(x, told[i]) == told[i], "players must not forget")
                self.size[i][x] = n = len(moves[i, x])
                self.names[i][x] = max(name, self.names[i].get(x, '""'))
                below = [(chance, paid, [*told[:i], (x, a), *told[i + 1 :]]) for a in range(n)]
            waiting += reversed(below)

    def path(self, i: int, s: Told) -> list[Told]:
        return [None] if s is None else [s, *self.path(i, self.before[i][s[0]])]

    def told(self, i: int, given: Any) -> Told:
        require(i in range(self.n) and (not given or given[0] in self.infoset[i]), "no such place")
        found = (self.infoset[i][given[0]], given[1]) if given else None
        require(not found or found[1] in range(self.size[i][found[0]]), "there is no such action")
        return found


def checked_payoffs(game: Game, plans: Any, k: float, commits: Any) -> list[Fraction]:
    """The payoffs of an equilibrium; a plan is its weight and, per player, {infoset: action}."""
    values = [Fraction(0)] * game.n
    for i in range(game.n):
        paid: list[dict[Told, Fraction]] = []  # by plan, what i gets where if the others obey
        for weight, plan in plans:
            paid.append(defaultdict(Fraction))
            for chance, payoffs, told in game.plays:
                paths = [game.path(j, s)[:-1] for j, s in enumerate(told)]
                obeyed = [all(plan[j].get(x, 0) == a for x, a in p) for j, p in enumerate(paths)]
                if all(obeyed[:i] + obeyed[i + 1 :]):
                    paid[-1][told[i]] += chance * payoffs[i]
                    values[i] += weight * chance * payoffs[i] * obeyed[i]
        gap = best(game, i, plans, paid, k, None, range(len(plans)), 0) - values[i]
        require(i in commits or gap <= 0, f"player {i + 1} gains {gap} by deviating")
    return values


def best(game: Game, i: int, plans: Any, paid: Any, k: float, s: Told, of: Any, used: int) -> Any:
    """The most that i gets from s on if the plans are ``of`` these, after so many deviations."""
    total = sum((plans[c][0] * paid[c][s] for c in of if s in paid[c]), Fraction(0))
    for x in game.after[i][s]:
        heard = defaultdict(list)
        for c in of:
            heard[plans[c][1][i].get(x, 0) if used < k else None].append(c)
        for r, left in heard.items():
            moves = [((x, a), used + (r not in (None, a))) for a in range(game.size[i][x])]
            total += max(best(game, i, plans, paid, k, t, left, more) for t, more in moves)
    return total


def proved_bound(game: Game, gradient: Any, proof: Any) -> Fraction:
    """A bound on gradient . payoffs of every equilibrium."""
    total: dict[Any, Fraction] = defaultdict(Fraction)
    plays = [(p, list(map(Fraction.__sub__, u, game.worst)), told) for p, u, told in game.plays]
    for chance, paid, told in plays:
        total[told] += chance * _dot(gradient, paid)
    for i, given, most, prices in proof["prices"]:
        start, mass = game.told(i, given), Fraction(most)
        flow = {game.told(i, s): Fraction(y) for s, y in prices}
        require(i not in proof.get("commits", ()), "players who commit do not deviate")
        require(start is None or float(proof["k"]) > 0, "at K = 0 deviators hear nothing")
        require(min(flow.values(), default=0) >= 0 <= mass, "prices must not be negative")
        for x in {x for x, _ in flow}:
            before = game.before[i][x]
            first = before is None if start is None else x == start[0]
            leaving = sum(flow.get((x, a), 0) for a in range(game.size[i][x]))
            require(leaving <= (mass if first else flow.get(before, 0)), "flows must not grow")
        for chance, paid, told in plays:
            if start in game.path(i, told[i]):
                total[told] += chance * mass * paid[i]
            charged = mass if told[i] is start is None else flow.get(told[i], 0)
            total[(*told[:i], start, *told[i + 1 :])] -= chance * charged * paid[i]
    for i, label, given, factor in proof["multipliers"]:
        others = [game.told(j, s) for j, s in zip(range(game.n), given, strict=True)]
        x, _ = game.told(i, [label, 0])
        for a in range(game.size[i][x]):
            total[(*others[:i], (x, a), *others[i + 1 :])] += Fraction(factor)
        total[(*others[:i], game.before[i][x], *others[i + 1 :])] -= Fraction(factor)
    bound = total.pop((None,) * game.n, Fraction(0))
    require(max(total.values(), default=0) <= 0, "only the first coefficient may be positive")
    return bound + _dot(gradient, game.worst)


def check(text: str, proof: Any) -> Fraction:
    """The value that is proved to be the best in the game of an .efg file, or an error."""
    require(not HUGE.search(json.dumps([TOKEN.findall(text), proof])), "a number is huge")
    game, value = Game(text), Fraction(proof["value"])
    plans = []
    for weight, plan in proof["plans"]:
        require(len(plan) == game.n and Fraction(weight) > 0, "plans must have positive weights")
        moves = [[game.told(i, move) for move in own.items()] for i, own in enumerate(plan)]
        plans.append((Fraction(weight), list(map(dict, moves))))
    require(sum(weight for weight, _ in plans) == 1, "weights must add up to 1")
    payoffs = checked_payoffs(game, plans, float(proof["k"]), proof.get("commits", ()))
    gradient, sign = list(map(Fraction, proof["gradient"])), -1 if proof["minimize"] else 1
    if proof["objective"] == "egalitarian":
        require(min(gradient) >= 0 and sum(gradient) == sign, "the gradient must be a mean")
        worth = min(payoffs)
    else:
        require(gradient == [sign * Fraction(w) for w in proof["objective"]], "a wrong gradient")
        worth = sign * _dot(gradient, payoffs)
    require(value == worth, "the value must be that of the mixture")
    bound = sign * proved_bound(game, gradient, proof)
    require(sign * bound <= sign * value, f"an equilibrium might be worth {bound}, not {value}")
    return value


if __name__ == "__main__":
    text, proof = (Path(name).read_text(encoding="utf-8") for name in sys.argv[1:3])
    try:
        print(f"proved: no equilibrium is better than {check(text, json.loads(proof))}")
    except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError) as error:
        sys.exit(f"refused: {type(error).__name__}: {error}")
