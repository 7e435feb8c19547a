"""Digests of what compiled kernels compute."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

import accord
from accord.regret.methods import METHODS, SAMPLED_METHODS

GAMES = ("kuhn:players=3", "extended_shapley", "random:depth=5,actions=4,seed=9")


def digests() -> dict[str, str]:
    """Digests of the results of every method and of the certificate, on small games."""
    found = {}
    for name in GAMES:
        game = accord.load_game(name)
        for k in (0, 1, math.inf):
            for method in METHODS:
                solution = accord.solve(game, k, method=method, iterations=60, components=20)
                found[f"{name}, K = {k}, solve by {method}"] = _digest(solution)
            for method in SAMPLED_METHODS:
                learned = accord.learn(game, k, method=method, episodes=2000, components=20)
                found[f"{name}, K = {k}, learn by {method}"] = _digest(learned)
    return found


def _digest(result: Any) -> str:
    certificate = json.dumps(result.certificate.to_json())
    numbers = repr((result.gap, result.values, certificate))
    return hashlib.sha256(result.policy.behavior.tobytes() + numbers.encode()).hexdigest()


if __name__ == "__main__":
    print(json.dumps(digests()))
