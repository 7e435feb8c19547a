"""Check a proof that a mixture of plans is the best K-EFCE or EFCCE of a game, in plain Python.

    python check_proof.py GAME.efg proof.json

Nothing is rounded. First, the mixture must be an equilibrium: players who do not commit try every
action at every infoset, for all plans together that they cannot tell apart. Second, let xi[s] be
the probability that each player i is told s_i, an action and all before it. Nobody gains by leaving
after a sequence (in an EFCCE, "coarse", at an infoset) or at the start, so objective <= objective +
prices * losses of deviators: a sum of coefficients times xi[s], plus multiples of sum_a xi[.., (x,
a), ..] - xi[.., what leads to x, ..] = 0. If no other is positive, the first one is the bound.
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


class Game:
    """The plays of a game, and what leads to each infoset."""

    def __init__(self, text: str) -> None:
        self.tokens = TOKEN.findall(text)[:3:-1]  # from the last to the first after EFG 2 R "title"
        self.n = n = len(self.block())
        _ = self.tokens.pop() if self.next_is('"') else None  # a comment
        self.before: list[dict[str, Told]] = [{} for _ in range(n)]  # what leads to an infoset
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
        nothing, take = [Fraction(0)] * self.n, self.tokens.pop
        moves, outcomes = dict[Any, list[str]](), {"0": nothing}
        stack: list[Any] = [(Fraction(1), nothing, [None] * self.n)]
        while stack:
            prob, paid, told = stack.pop()
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
            if kind == "t" and prob:
                self.plays.append((prob, paid, tuple(told)))
            elif kind == "c":
                probs = list(map(Fraction, moves[i, x][1::2]))
                require(sum(probs) == 1 and min(probs) >= 0, "chances must add up to 1")
                stack += [(prob * p, paid, told) for p in probs[::-1]]
            elif kind == "p":
                require(self.before[i].setdefault(x, told[i]) == told[i], "players must not forget")
                self.size[i][x] = n = len(moves[i, x])
                self.names[i][x] = max(name, self.names[i].get(x, '""'))
                stack += [(prob, paid, [*told[:i], (x, a), *told[i + 1 :]]) for a in range(n)[::-1]]

    def path(self, i: int, s: Told) -> list[Told]:
        return [] if s is None else [s, *self.path(i, self.before[i][s[0]])]

    def told(self, i: int, given: Any) -> Told:
        require(i in range(self.n) and (not given or given[0] in self.infoset[i]), "no such place")
        found = (self.infoset[i][given[0]], given[1]) if given else None
        require(not found or found[1] in range(self.size[i][found[0]]), "there is no such action")
        return found


def checked_payoffs(game: Game, plans: Any, notion: Any, commits: Any) -> list[Fraction]:
    """The payoffs of an equilibrium; a plan is its weight and, per player, {infoset: action}."""
    values = [Fraction(0)] * game.n
    for i in range(game.n):
        paid: list[dict[Told, Fraction]] = []  # by plan, what i gets where if the others obey
        for weight, plan in plans:
            paid.append(defaultdict(Fraction))
            for chance, payoffs, told in game.plays:
                path = [game.path(j, s) for j, s in enumerate(told)]
                obeyed = [all(plan[j].get(x, 0) == a for x, a in path[j]) for j in range(game.n)]
                if all(obeyed[:i] + obeyed[i + 1 :]):
                    paid[-1][told[i]] += chance * payoffs[i]
                    values[i] += weight * chance * payoffs[i] * obeyed[i]
        gap = best((game, i, plans, paid, notion), None, range(len(plans)), 0) - values[i]
        require(i in commits or gap <= 0, f"player {i + 1} gains {gap} by deviating")
    return values


def best(who: Any, s: Told, of: Any, used: int) -> Any:
    """The most that a player gets from s on if the plans are ``of`` these, having left so often."""
    game, i, plans, paid, (k, coarse) = who
    total = sum((plans[c][0] * paid[c][s] for c in of if s in paid[c]), Fraction(0))
    for x in [x for x, before in game.before[i].items() if before == s]:
        heard = defaultdict(list)
        for c in of:
            heard[plans[c][1][i].get(x, 0) if used < k else None].append(c)
        values, blind = [], coarse and used < k  # who is blind obeys, or leaves before hearing r
        for r, left in [(-1, of)] if blind else heard.items():
            moves = [((x, a), used + (r not in (None, a))) for a in range(game.size[i][x])]
            values.append(max(best(who, t, left, more) for t, more in moves))
        obeying = [best(who, (x, r), left, used) for r, left in heard.items() if blind]
        total += max(sum(values), sum(obeying)) if blind else sum(values)
    return total


def proved_bound(game: Game, gradient: Any, k: float, coarse: bool, proof: Any) -> Fraction:
    """A bound on gradient . payoffs of every equilibrium."""
    total: dict[Any, Fraction] = defaultdict(Fraction)
    plays = [(p, list(map(Fraction.__sub__, u, game.worst)), told) for p, u, told in game.plays]
    prices, nobody = list(gradient), (None,) * game.n  # of payoffs, with those of floors
    for i, least, price in proof["floors"]:
        prices[i] += Fraction(price)
        total[nobody] -= Fraction(price) * (Fraction(least) - game.worst[i])
    for chance, paid, told in plays:
        total[told] += chance * sum(map(Fraction.__mul__, prices, paid))
    for i, given, amount, flows in proof["prices"]:
        start = game.told(i, given and [given[0], 0 if coarse else given[1]])
        mass, flow = Fraction(amount), {game.told(i, s): Fraction(y) for s, y in flows}
        require(i not in proof["commits"] and (start is None or k > 0), "they commit, or K is 0")
        require(min(flow.values(), default=0) >= 0 <= mass, "prices must not be negative")
        for x in {x for x, _ in flow}:
            first = game.before[i][x] is None if start is None else x == start[0]
            leaving = sum(flow.get((x, a), 0) for a in range(game.size[i][x]))
            require(leaving <= (mass if first else flow.get(game.before[i][x], 0)), "a flow grows")
        here = game.before[i][start[0]] if start and coarse else start
        for chance, paid, told in plays:
            path = game.path(i, told[i])
            if start is None or (start[0] in dict(path) if coarse else start in path):
                total[told] += chance * mass * paid[i]
            charged = mass if told[i] is start is None else flow.get(told[i], 0)
            total[(*told[:i], here, *told[i + 1 :])] -= chance * charged * paid[i]
    for i, label, given, factor in proof["multipliers"]:
        others, (x, _) = [game.told(j, s) for j, s in enumerate(given)], game.told(i, [label, 0])
        for a in range(game.size[i][x]):
            total[(*others[:i], (x, a), *others[i + 1 :])] += Fraction(factor)
        total[(*others[:i], game.before[i][x], *others[i + 1 :])] -= Fraction(factor)
    require(all(c <= 0 for s, c in total.items() if s != nobody), "a coefficient is positive")
    return total[nobody] + sum(map(Fraction.__mul__, gradient, game.worst))


def check(text: str, proof: Any) -> Fraction:
    """The value that is proved to be the best in the game of an .efg file, or an error."""
    require(not HUGE.search(json.dumps([TOKEN.findall(text), proof])), "a number is huge")
    game, value, plans = Game(text), Fraction(proof["value"]), list[Any]()
    for weight, plan in proof["plans"]:
        require(len(plan) == game.n and Fraction(weight) > 0, "plans must have positive weights")
        moves = [[game.told(i, move) for move in own.items()] for i, own in enumerate(plan)]
        plans.append((Fraction(weight), list(map(dict, moves))))
    require(sum(weight for weight, _ in plans) == 1, "weights must add up to 1")
    notion = (1.0, True) if proof["k"] == "efcce" else (float(proof["k"]), False)  # coarse?
    payoffs = checked_payoffs(game, plans, notion, proof["commits"])
    gradient, sign = list(map(Fraction, proof["gradient"])), -1 if proof["minimize"] else 1
    require(len(gradient) == game.n, "there must be a gradient for every player")
    if proof["objective"] == "egalitarian":
        require(min(gradient) >= 0 and sum(gradient) == sign, "the gradient must be a mean")
        worth = min(payoffs)
    else:
        require(gradient == [sign * Fraction(w) for w in proof["objective"]], "a wrong gradient")
        worth = sign * sum(map(Fraction.__mul__, gradient, payoffs), Fraction(0))
    require(value == worth, "the value must be that of the mixture")
    floors = [(payoffs[i] - Fraction(v), Fraction(price)) for i, v, price in proof["floors"]]
    require(min(map(min, floors), default=0) >= 0, "floors must hold, at prices from 0 on")
    bound = sign * proved_bound(game, gradient, *notion, proof)
    require(sign * bound <= sign * value, f"an equilibrium might be worth {bound}, not {value}")
    return value


if __name__ == "__main__":
    try:
        require(len(sys.argv) == 3, "give two files, GAME.efg and proof.json")
        text, proof = (Path(name).read_text(encoding="utf-8") for name in sys.argv[1:])
        print(f"proved: no equilibrium is better than {check(text, json.loads(proof))}")
    except (OSError, ValueError, LookupError, TypeError, ArithmeticError, RecursionError) as error:
        sys.exit(f"refused: {type(error).__name__}: {error}")
