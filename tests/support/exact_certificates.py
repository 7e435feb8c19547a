"""Certificates against what is exact: rational arithmetic, and the gaps of known games.

``make fuzz`` tries new seeds.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np

from accord import certify_by_play, learn
from accord.certifying.exact import certify
from accord.equilibrium.policy import CorrelatedPolicy
from accord.game.library import random_game
from accord.game.tree import Game
from accord.treeplex.form import sequence_form
from tests import reference
from tests.reference.exact_notions import NAMES, exact_notion_gap, trembled
from tests.support.environments import Hidden
from tests.support.policies import as_reference, random_policy

KS = (0, 1, 2, math.inf)
CONFIDENCE = 0.5
"""Of certificates from play, so low that failures show."""


def extreme_game(seed: int) -> Game:
    """A tiny game with payoffs over 30 decades, tiny chances, and payoffs shifted by 1e9."""
    rng = np.random.default_rng(seed)
    while True:
        game = random_game(
            seed=int(rng.integers(2**32)), players=int(rng.integers(1, 4)), depth=4,
            actions=int(rng.integers(2, 4)), observe=float(rng.choice([0.0, 0.5, 1.0])),
            chance=float(rng.choice([0.0, 0.3, 0.6])), stop=float(rng.choice([0.0, 0.3])),
            rewards=float(rng.choice([0.0, 0.5])), levels=9,
        )  # fmt: skip
        if 3 <= game.n_nodes <= 40:
            break
    reward = rng.choice([-1.0, 0.0, 1.0], game.reward.shape) * rng.random(game.reward.shape)
    decades = float(rng.choice([0.0, 3.0, 15.0]))
    reward *= 10.0 ** rng.uniform(-decades, decades, reward.shape)
    reward += float(rng.choice([0.0, 0.0, 1e9, -1e9]))
    prob = game.chance_prob.copy()
    smallest = float(rng.choice([1.0, 20.0, 300.0]))
    for node in np.flatnonzero(game.player == -1):
        below = np.flatnonzero(game.parent == node)
        prob[below[1:]] = 10.0 ** -rng.uniform(0.3, smallest, len(below) - 1) / len(below)
        prob[below[0]] = 1.0 - prob[below[1:]].sum()
    return game.replace(reward=reward, chance_prob=prob)


def extreme_policy(game: Game, seed: int) -> CorrelatedPolicy:
    """A mixture in which some actions and components have tiny probabilities."""
    policy = random_policy(game, seed)
    rng = np.random.default_rng(seed)
    if rng.random() < 0.5:
        return policy
    form = sequence_form(game)
    behavior = policy.behavior.copy()
    for plex, part in zip(form.plexes, form.split(behavior), strict=True):
        for x in range(plex.n_infosets):
            here = part[:, plex.first_seq[x] : plex.first_seq[x + 1]]
            here *= 10.0 ** -rng.uniform(0.0, float(rng.choice([1.0, 16.0, 200.0])), here.shape)
            here /= here.sum(axis=1, keepdims=True)
    weights = policy.weights * 10.0 ** -rng.uniform(0.0, 20.0, policy.n_components)
    return CorrelatedPolicy(game, weights / weights.sum(), behavior)


def assert_within(found: float, error: float, exact: Fraction) -> None:
    assert math.isfinite(found) and math.isfinite(error)
    assert abs(Fraction(found) - exact) <= Fraction(error)


def check_certificate(seed: int) -> int:
    """Every number of a certificate is within its error of the exact one; return how many."""
    game = extreme_game(seed)
    policy = extreme_policy(game, seed)
    certificate = certify(game, policy, KS)
    exact = reference.exact_policy(game, as_reference(policy))
    values = reference.exact_values(game, exact)
    for i in range(game.n_players):
        assert_within(certificate.values[i], certificate.value_errors[i], values[i])
        for k in KS:
            gap = certificate[k]
            assert_within(
                gap.player_gaps[i], gap.player_errors[i], reference.exact_gap(game, i, k, exact)
            )
    trigger = reference.exact_trigger_gap(game, exact)
    assert_within(certificate.trigger.gap, certificate.trigger.error, trigger)
    json.dumps(certificate.to_json(), allow_nan=False)
    return 1 + game.n_players * (1 + len(KS))


def check_notions(seed: int) -> int:
    """So is every gap of the other notions, against steady and trembling hands; return how many.

    Games in which a player has many pure plans are left out.
    """
    game, rng = extreme_game(seed), np.random.default_rng(seed)
    plexes = sequence_form(game).plexes
    if max(float(np.prod(plex.n_actions)) for plex in plexes) > 100:
        return 0
    policy, slip = extreme_policy(game, seed), float(rng.choice([0.01, 0.3, 1e-9, 1e-100, 0.999]))
    steady = certify(game, policy, NAMES)
    shaken = certify(game, policy, ("efcce", "afce", "afcce", *KS), tremble=slip)
    exact, checked = reference.exact_policy(game, as_reference(policy)), 0
    for i in range(game.n_players):
        others = trembled(game, i, exact, Fraction(slip))
        measured = [(gap, exact) for gap in steady.all_gaps]
        measured += [(gap, others) for gap in shaken.trembled]
        for gap, against in measured:
            name, k = gap.notion.name.lower(), gap.notion.k
            want = (
                exact_notion_gap(game, i, name, against)
                if k is None
                else reference.exact_gap(game, i, k, against)
            )
            assert_within(gap.player_gaps[i], gap.player_errors[i], want)
            checked += 1
    return checked


def is_covered(seed: int) -> bool:
    """Whether the certificate of a policy that was learned from plays, with the same seed as it is
    certified, contains its exact gap."""
    rng = np.random.default_rng(seed)
    shape = {"players": 2, "depth": 4, "actions": 2, "observe": 0.5, "chance": 0.4, "levels": 5}
    game = random_game(seed=seed, **shape)
    while min(plex.n_infosets for plex in sequence_form(game).plexes) == 0:
        game = random_game(seed=int(rng.integers(2**32)), **shape)
    env, k = Hidden(game), float(rng.integers(2))
    small = int(rng.integers(2**31))
    policy = learn(env, k, episodes=300, plays=20, components=5, seed=small).policy
    found = certify_by_play(env, policy, k, plays=200, confidence=CONFIDENCE, seed=small)
    exact = certify(game, policy.in_game(game), k)
    return bool(found[k].lower <= exact[k].gap <= found[k].upper)
