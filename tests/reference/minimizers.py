"""Wide-range regret minimizers with every expert kept: the twin of ``accord.regret``.

WRHedge (Algorithm 5), SWRHedge (Algorithm 6) and regret matching, each for one infoset, and the
regret bound that the paper proves for WRHedge.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import product
from typing import Any

from tests.reference.fixed_point import stationary
from tests.reference.types import Matrix, Rechistory

WideRangeRound = tuple[dict[Rechistory, float], list[float], list[float]]
"""Time selections S, policy p and losses of one round."""


def swap_maps(n_actions: int) -> list[tuple[int, ...]]:
    """Psi^s: all maps from actions to actions."""
    return list(product(range(n_actions), repeat=n_actions))


def constant_maps(n_actions: int) -> list[tuple[int, ...]]:
    """Psi^e."""
    return [(a,) * n_actions for a in range(n_actions)]


def swapped_loss(psi: tuple[int, ...], p: list[float], loss: list[float]) -> float:
    """<psi o p, loss>."""
    return sum(p[r] * loss[psi[r]] for r in range(len(p)))


class WRHedge:
    """Algorithm 5, with every expert (b, psi) kept. Weights are kept as logarithms."""

    def __init__(
        self,
        n_actions: int,
        swap: Iterable[Rechistory],
        external: Iterable[Rechistory],
        learning_rate: float,
    ) -> None:
        self.n_actions = n_actions
        self.eta = learning_rate
        psi_s, psi_e = swap_maps(n_actions), constant_maps(n_actions)
        self.log_q: dict[tuple[Rechistory, tuple[int, ...]], float] = {}
        for b in swap:
            self.log_q |= {(b, psi): math.log(len(psi_e)) for psi in psi_s}
        for b in external:
            self.log_q |= {(b, psi): math.log(len(psi_s)) for psi in psi_e}
        self.S: dict[Rechistory, float] = dict.fromkeys((b for b, _ in self.log_q), 0.0)
        self.p = [1 / n_actions] * n_actions
        self._normalize()

    def _normalize(self) -> None:
        top = max(self.log_q.values())
        log_total = top + math.log(sum(math.exp(v - top) for v in self.log_q.values()))
        self.log_q = {key: v - log_total for key, v in self.log_q.items()}

    @property
    def q(self) -> dict[tuple[Rechistory, tuple[int, ...]], float]:
        return {key: math.exp(v) for key, v in self.log_q.items()}

    def observe_time_selection(self, S: dict[Rechistory, float]) -> None:
        self.S = dict(S)

    def rates(self) -> Matrix:
        """sum S_b q(b, psi) M_psi / sum S_b q(b, psi)."""
        logs = {
            (b, psi): math.log(self.S[b]) + v for (b, psi), v in self.log_q.items() if self.S[b] > 0
        }
        top = max(logs.values())
        total = sum(math.exp(v - top) for v in logs.values())
        matrix = [[0.0] * self.n_actions for _ in range(self.n_actions)]
        for (_, psi), v in logs.items():
            for r in range(self.n_actions):
                matrix[r][psi[r]] += math.exp(v - top) / total
        return matrix

    def recommend(self) -> list[float]:
        self.p = stationary(self.rates())
        return self.p

    def observe_loss(self, loss: list[float]) -> None:
        sup, expected = max(loss), dot(self.p, loss)
        swapped = {psi: swapped_loss(psi, self.p, loss) for psi in {psi for _, psi in self.log_q}}
        kept = {b: math.exp(-self.eta * sup) * S * expected for b, S in self.S.items()}
        for (b, psi), v in self.log_q.items():
            self.log_q[b, psi] = v + self.eta * (kept[b] - self.S[b] * swapped[psi])
        self._normalize()


class SWRHedge(WRHedge):
    """Algorithm 6: one loss estimate per b; ``loss_bound`` bounds S_b times any of them."""

    def __init__(
        self,
        n_actions: int,
        swap: Iterable[Rechistory],
        external: Iterable[Rechistory],
        learning_rate: float,
        *,
        loss_bound: float = 1.0,
    ) -> None:
        super().__init__(n_actions, swap, external, learning_rate)
        self.loss_bound = loss_bound

    def observe_losses(self, losses: dict[Rechistory, list[float]]) -> None:
        for (b, psi), v in self.log_q.items():
            kept = math.exp(-self.eta * self.loss_bound) * self.S[b] * dot(self.p, losses[b])
            swapped = self.S[b] * swapped_loss(psi, self.p, losses[b])
            self.log_q[b, psi] = v + self.eta * (kept - swapped)
        self._normalize()


class RegretMatching:
    """Regret matching over the same pairs: SWAP (b, r -> a) and EXTERNAL (b, a).

    ``kind`` is "rm" (regrets add up), "rm+" (they are cut at 0) or "prm+" (as rm+, and the last
    regret is expected once more).
    """

    def __init__(
        self,
        n_actions: int,
        swap: Iterable[Rechistory],
        external: Iterable[Rechistory],
        kind: str = "rm",
    ) -> None:
        if kind not in {"rm", "rm+", "prm+"}:
            raise ValueError(kind)
        self.n_actions = n_actions
        self.kind = kind
        self.swap, self.external = list(swap), list(external)
        A = range(n_actions)
        keys = [(b, r, a) for b in self.swap for r in A for a in A]
        self.regret: dict[tuple[Any, ...], float] = dict.fromkeys(keys, 0.0)
        self.regret |= {(b, a): 0.0 for b in self.external for a in A}
        self.last = dict.fromkeys(self.regret, 0.0)
        self.S = dict.fromkeys([*self.swap, *self.external], 0.0)
        self.p = [1 / n_actions] * n_actions

    def observe_time_selection(self, S: dict[Rechistory, float]) -> None:
        self.S = dict(S)

    def weight(self, key: tuple[Any, ...]) -> float:
        if self.kind == "prm+":
            return max(self.regret[key] + self.last[key], 0.0)
        return max(self.regret[key], 0.0)

    def rates(self) -> Matrix:
        A = range(self.n_actions)
        matrix = [[0.0] * self.n_actions for _ in A]
        for r in A:
            for a in A:
                if r != a:
                    matrix[r][a] = sum(self.S[b] * self.weight((b, r, a)) for b in self.swap)
                    matrix[r][a] += sum(self.S[b] * self.weight((b, a)) for b in self.external)
        return matrix

    def recommend(self) -> list[float]:
        self.p = stationary(self.rates())
        return self.p

    def observe_loss(self, loss: list[float]) -> None:
        A = range(self.n_actions)
        for b in self.swap:
            for r in A:
                for a in A:
                    self.last[b, r, a] = self.S[b] * self.p[r] * (loss[r] - loss[a])
        for b in self.external:
            for a in A:
                self.last[b, a] = self.S[b] * (dot(self.p, loss) - loss[a])
        for key, regret in self.last.items():
            total = self.regret[key] + regret
            self.regret[key] = total if self.kind == "rm" else max(total, 0.0)


def wide_range_regrets(
    rounds: list[WideRangeRound], swap: Iterable[Rechistory], external: Iterable[Rechistory]
) -> dict[Rechistory, float]:
    """For each b: max over psi of sum_t S_b (<p, loss> - <psi o p, loss>)."""
    A = len(rounds[0][1])
    maps = dict.fromkeys(swap, swap_maps(A)) | dict.fromkeys(external, constant_maps(A))
    return {
        b: max(
            sum(S[b] * (dot(p, loss) - swapped_loss(psi, p, loss)) for S, p, loss in rounds)
            for psi in psis
        )
        for b, psis in maps.items()
    }


def wide_range_bounds(
    rounds: list[WideRangeRound],
    swap: Iterable[Rechistory],
    external: Iterable[Rechistory],
    learning_rate: float,
) -> dict[Rechistory, float]:
    """The bound of Lemma A.2 on the regret of WRHedge, for each b."""
    swap, external = list(swap), list(external)
    A = len(rounds[0][1])
    sizes = dict.fromkeys(swap, A**A) | dict.fromkeys(external, A)
    return {
        b: sum(learning_rate * max(loss) * S[b] * dot(p, loss) for S, p, loss in rounds)
        + math.log(len(sizes) * size) / learning_rate
        for b, size in sizes.items()
    }


def dot(u: Iterable[float], v: Iterable[float]) -> float:
    return sum(a * b for a, b in zip(u, v, strict=True))
