"""Certificates from play: they cover the exact gap."""

from __future__ import annotations

import json
import math
import re
import tracemalloc
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

import accord
from accord._arrays import TERMINAL
from accord._check import MAX_SEED
from accord.certifying.by_play import _Trial, certify_by_play, deviating, grown
from accord.certifying.evidence import Evidence, check_evidence
from accord.certifying.exact import certify
from accord.deviations.modification import Modification
from accord.deviations.rechistory import RechistoryTree
from accord.equilibrium.gap import MixtureMeter
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError, BudgetError, MismatchError
from accord.game.library import (
    kuhn,
    library_game,
    matrix_game,
    separation,
    separation_device,
)
from accord.game.tree import Game
from accord.interop.load import load_game
from accord.play.episodes import ENVIRONMENT
from accord.play.streams import Streams, seed_for
from accord.runs.learn import learn
from accord.treeplex.form import sequence_form
from accord.treeplex.strategy import behavior_to_reach, uniform_behavior
from accord.treeplex.treeplex import Treeplex
from tests.support.environments import Hidden
from tests.support.policies import grown_game

CHICKEN = matrix_game([[[6, 2], [7, 0]], [[6, 7], [2, 0]]], name="chicken")


def some_policy(game: Game, seed: int = 1) -> CorrelatedPolicy:
    return learn(game, 1, episodes=60, seed=seed, components=5).policy


def exact_evidence(game: Game, policy: CorrelatedPolicy, k: float) -> list[Evidence]:
    """Evidence whose means are exact: from the cells of the gap, as if from two plays each."""
    form = sequence_form(game)
    meter = MixtureMeter(form, k)
    for weight, parts in policy.components():
        meter.observe(parts, weight)
    found = []
    for i, plex in enumerate(form.plexes):
        evidence = Evidence(plex, k, form.split(policy.behavior)[i])
        evidence.explored = evidence.obeyed = 2
        evidence.loss[:] = 2.0 * meter.meters[i].deviation_loss
        found.append(evidence)
    return found


@pytest.mark.kernels
@pytest.mark.parametrize("k", [0, 1, 2, math.inf])
@pytest.mark.parametrize("game", [kuhn(), grown_game(0, 2, 60), grown_game(1, 3, 60), CHICKEN])
def test_the_sweep_finds_the_exact_gap(game: Game, k: float) -> None:
    """With exact means in place of estimates the best deviation gains the exact gap."""
    policy = some_policy(game)
    form, certificate = sequence_form(game), certify(game, policy, k)
    for i, evidence in enumerate(exact_evidence(game, policy, k)):
        tree = evidence.tree
        obeying = np.zeros(tree.plex.n_sequences)
        total = evidence.loss / 2.0
        for x in range(tree.plex.n_infosets - 1, -1, -1):  # obedient rows, from the last layer
            nodes = np.arange(tree.arrays.first_node[x], tree.arrays.first_node[x + 1])
            for node in nodes[evidence.obedient[nodes]]:
                n = int(tree.plex.n_actions[x])
                for r in range(n):
                    seq = int(tree.plex.first_seq[x]) + r
                    obeying[seq] += total[tree.arrays.first_cell[node] + r * n + r]
                    obeying[tree.plex.parent_seq[x]] += obeying[seq]
        if tree.k == 0:
            values = np.array(certificate.values)
            obeying[0] = ((form.leaves.best - values) * form.leaves.loss_scale)[i]
        gain, phi = evidence._sweep(evidence.loss / 2.0, obeying, np.zeros(len(obeying)))
        wanted = certificate[k].player_gaps[i] * form.leaves.loss_scale[i]
        assert gain == pytest.approx(wanted, abs=1e-9)
        assert (phi.tree.k, len(phi.choice)) == (tree.k, int(tree.first_row[-1]))


@pytest.mark.slow
@pytest.mark.parametrize("k", [0, 1, 2, math.inf])
def test_gains_and_values_are_within_their_margins(k: float) -> None:
    """Of the exact ones, after many plays of a small game."""
    game = kuhn()
    policy = some_policy(game)
    certificate = certify_by_play(Hidden(game), policy, k, plays=30_000, seed=2)
    exact = certify(game, policy, k)
    for found, gap in zip(certificate[k].witnesses, exact[k].player_gaps, strict=True):
        assert found.margin is not None
        assert found.gain <= gap + found.margin
        assert found.gain >= gap - 2.0 * found.margin
    for value, margin, wanted in zip(
        certificate.values, certificate.value_errors, exact.values, strict=True
    ):
        assert abs(value - wanted) <= margin


@pytest.mark.slow
@pytest.mark.parametrize(("game", "k"), [(CHICKEN, 1), (CHICKEN, 0), (grown_game(0, 2, 60), 2)])
def test_coverage(game: Game, k: float) -> None:
    """At 80% confidence far fewer than 20% of all certificates may be wrong."""
    policy = some_policy(game)
    gaps = certify(game, policy, k)[k].player_gaps
    missed = 0
    for seed in range(60):
        found = certify_by_play(Hidden(game), policy, k, plays=600, confidence=0.8, seed=seed)[k]
        missed += any(
            not lower <= gap + 1e-9 or not gap <= upper + 1e-9
            for lower, gap, upper in zip(found.player_lower, gaps, found.player_upper, strict=True)
        )
    assert missed <= 12


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_upper_bounds_hold_although_no_union_is_taken(seed: int) -> None:
    """The bound alone, at 60% confidence for each player, where many deviations compete."""
    game = grown_game(seed, 2, 60)
    policy = some_policy(game, seed)
    gaps = certify(game, policy, 1)[1].player_gaps
    span = 1.0 / sequence_form(game).leaves.loss_scale
    missed = 0
    for trial in range(60):
        run = _Trial(Hidden(game), policy, 1, 400, 0.6, trial, None)
        run._sit(grown(run.plays))
        run.delta = 0.2
        evidence = run._evidence(400)
        missed += any(one.most(0.4) * span[i] < gaps[i] - 1e-9 for i, one in enumerate(evidence))
    assert missed <= 12  # stated are up to 48; the maximum over deviations is on the safe side


@pytest.mark.kernels
@pytest.mark.parametrize("k", [0, 1, 2, math.inf])
def test_damped_cells_are_below_the_logarithm(k: float) -> None:
    """In every play and for every deviation d <= V, and its damped cells are at most log(1 + d)."""
    game, rng = grown_game(1, 3, 60), np.random.default_rng(5)
    policy = some_policy(game)
    form = sequence_form(game)
    for i, plex in enumerate(form.plexes):
        behavior = np.ascontiguousarray(form.split(policy.behavior)[i])
        for _ in range(30):
            first, evidence = Evidence(plex, k, behavior), Evidence(plex, k, behavior)
            evidence.rate = rng.uniform(0.01, 5.0)
            play = int(rng.integers(len(behavior))), random_path(plex, rng), rng.random()
            first.explore(*play)
            evidence.explore(*play)
            tree = evidence.tree
            informed = evidence.loss > 0.0
            if not informed.any():
                continue
            most = float((first.damped[informed] / first.loss[informed]).max())  # V
            for _ in range(10):
                rows = np.repeat(np.arange(tree.n_nodes), np.diff(tree.first_row))
                sizes = np.array([row_width(tree, int(node)) for node in rows])
                phi = Modification(tree, rng.integers(0, sizes).astype(np.int32))
                raw = evidence._chosen(phi, evidence.loss)
                damped = evidence._chosen(phi, evidence.damped)
                assert raw <= most * (1.0 + 1e-9)
                assert damped <= math.log1p(evidence.rate * raw) / evidence.rate + 1e-12


def random_path(plex: Treeplex, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Moves from a first decision to a last one."""
    path, seq = [], 0
    while children := plex.children(seq):
        x = int(rng.choice(children))
        a = int(rng.integers(plex.n_actions[x]))
        path.append((x, a))
        seq = int(plex.first_seq[x]) + a
    return path


def row_width(tree: RechistoryTree, node: int) -> int:
    """How many actions a row of a node has; the root has none to choose."""
    x = int(np.searchsorted(tree.arrays.first_node, node, side="right")) - 1
    return int(tree.plex.n_actions[x]) if node else 1


@pytest.mark.parametrize("heavy", [False, True])
def test_the_lemma_of_the_upper_bound(heavy: bool) -> None:
    """Both inequalities fail at most as often as stated, also for rare large values."""
    rng, delta, n, wrong = np.random.default_rng(1), 0.2, 200, np.zeros(2)
    for _ in range(400):
        small = rng.random(n) < 0.05
        values = np.where(small, 20.0, 0.0) if heavy else small.astype(float)
        mean, rate = (1.0, 0.05) if heavy else (0.05, 0.5)
        lower = (np.log1p(rate * values).sum() - math.log(1 / delta)) / (rate * n)
        ones = values / values.max(initial=1.0)
        upper = (rate * ones.sum() + math.log(1 / delta)) / n / -math.expm1(-rate)
        wrong += (lower > mean, upper < 0.05)
    assert (wrong <= 0.25 * 400).all()
    assert wrong[0] > 0


def test_plays_outside_of_the_tree_count_as_losses() -> None:
    """Who never deviates where plays were seen may still gain all of the loss elsewhere."""
    plex = sequence_form(kuhn()).plexes[0]
    found = []
    for complete in (True, False):
        evidence = Evidence(plex, 1, np.tile(uniform_behavior(plex), (1, 1)))
        for _ in range(4000):
            evidence.obey([], 1.0, complete=complete)
        evidence.explore(0, [], 1.0)
        evidence.damp(4000, 0.1)
        for _ in range(4000):
            evidence.explore(0, [], 1.0)
        found.append(evidence.most(0.1))
    assert found[0] < 0.2
    assert found[1] > 1.0


@pytest.mark.slow
def test_more_plays_say_more() -> None:
    policy = CorrelatedPolicy(
        CHICKEN, np.ones(1), np.array([[1.0, 0.5, 0.5, 1.0, 0.5, 0.5]])
    )  # everybody flips a coin: daring gains nothing, but yielding 0.25
    exact = certify(CHICKEN, policy, 1)[1].gap
    found = [
        certify_by_play(Hidden(CHICKEN), policy, 1, plays=plays, seed=4)[1]
        for plays in (100, 4000, 40_000)
    ]
    uppers = [gap.upper for gap in found]
    assert uppers[0] > uppers[1] > uppers[2] > exact
    assert found[0].vacuous[0]
    assert not found[2].vacuous[0]


def test_a_clear_deviation_is_found_and_told() -> None:
    """Both always yield; daring gains 1."""
    policy = CorrelatedPolicy(CHICKEN, np.ones(1), np.array([[1.0, 1.0, 0.0, 1.0, 1.0, 0.0]]))
    certificate = certify_by_play(Hidden(CHICKEN), policy, 1, plays=6000)
    assert 0.5 < certificate[1].lower <= 1.0 <= certificate[1].upper
    words = str(certificate)
    assert "with 95% confidence the EFCE gap is at least" in words
    assert "told '0' plays '1' instead" in words
    content = certificate.to_json()
    (gap,) = content["gaps"]
    assert gap["lower"] == certificate[1].lower
    assert len(gap["player_lower"]) == len(gap["player_upper"]) == len(gap["witness"]) == 2
    json.dumps(content, allow_nan=False)


def keys(content: object) -> object:
    """The shape of a JSON object: its keys, and those of the first object in each list."""
    if isinstance(content, dict):
        return {name: keys(part) for name, part in content.items() if name != "trigger"}
    return keys(content[0]) if isinstance(content, list) and content else None


def test_bounds_and_exact_gaps_are_certificates_of_one_shape() -> None:
    policy = CorrelatedPolicy(CHICKEN, np.ones(1), np.array([[1.0, 1.0, 0.0, 1.0, 1.0, 0.0]]))
    exact = certify(CHICKEN, policy, 1)
    played = certify_by_play(Hidden(CHICKEN), policy, 1, plays=600)
    assert keys(played.to_json()) == keys(exact.to_json())
    assert (exact.is_exact, played.is_exact) == (True, False)
    assert (exact.confidence, exact.plays, exact.infosets) == (None, None, 2)
    assert (played.confidence, played.players, played.infosets) == (0.95, exact.players, 2)
    gap = played[1]
    assert math.isnan(gap.gap) and all(map(math.isnan, gap.player_gaps))
    assert played.to_json()["gaps"][0]["gap"] is None
    assert gap.lower <= exact[1].lower <= exact[1].upper <= gap.upper
    assert exact[1].vacuous == (False, False)
    bounds = f"lower={gap.lower:.4g}, upper={gap.upper:.4g}"
    assert repr(gap) == f"Gap(EFCE, {bounds})"
    assert (
        repr(played) == f"Certificate('chicken', gaps={{EFCE: {gap.lower:.4g} to {gap.upper:.4g}}})"
    )
    with pytest.raises(KeyError, match="no gap of NFCE; there are: EFCE"):
        played["nfce"]


def test_finding_no_deviation_proves_nothing() -> None:
    """In a pure equilibrium the search finds none; only the upper bound says what that means."""
    policy = CorrelatedPolicy(CHICKEN, np.ones(1), np.array([[1.0, 0.0, 1.0, 1.0, 1.0, 0.0]]))
    certificate = certify_by_play(Hidden(CHICKEN), policy, 1, plays=600)
    assert certificate[1].upper > 0.0
    (gap,) = certificate.to_json()["gaps"]
    assert [witness["text"] for witness in gap["witness"]] == [None, None]
    assert [found.gain for found in certificate[1].witnesses] == [0.0, 0.0]  # play by play
    assert "no deviation has been shown to gain" in str(certificate)
    assert "cannot gain" not in str(certificate)


def uniform_policy(game: Game) -> CorrelatedPolicy:
    parts = [uniform_behavior(plex) for plex in sequence_form(game).plexes]
    return CorrelatedPolicy(game, np.ones(1), np.concatenate(parts)[np.newaxis])


def exact_gain(policy: CorrelatedPolicy, i: int, phi: Modification) -> float:
    """What player i gains by ``phi``, from the leaves of the game."""
    form = sequence_form(policy.game)
    seqs = form.leaves.first_reach[:-1] + form.leaves.seqs
    gain = -float(policy.values()[i])
    plex, own = form.plexes[i], phi.tree.plex  # the same infosets in another order
    number = {label: x for x, label in enumerate(plex.infoset_labels)}
    starts = [int(plex.first_seq[number[label]]) for label in own.infoset_labels]
    spans = zip(starts, own.n_actions.tolist(), strict=True)
    place = np.concatenate([[0], *(start + np.arange(n) for start, n in spans)])
    for weight, behaviors in policy.components():
        parts = list(map(behavior_to_reach, form.plexes, behaviors))
        parts[i][place] = phi.sequence_form(behaviors[i][place])
        reach = np.concatenate(parts)
        gain += weight * float(reach[seqs].prod(axis=1) @ form.leaves.payoff[:, i])
    return gain


@pytest.mark.slow
@pytest.mark.parametrize("k", [0, 1, 2, math.inf])
def test_the_search_finds_most_of_the_gap(k: float) -> None:
    """In games of a thousand infosets, where most rows are never visited, two thirds of it."""
    for game in (kuhn(), library_game("kuhn:players=3"), load_game("leduc_poker")):
        policy = uniform_policy(game)
        gaps = certify(game, policy, k)[k].player_gaps
        certificate = certify_by_play(Hidden(game), policy, k, plays=20_000, seed=5)
        gains = [
            exact_gain(policy, i, witness.modification)
            for i, witness in enumerate(certificate[k].witnesses)
        ]
        assert sum(gains) >= 0.65 * sum(gaps)
        assert certificate[k].lower >= 0.4 * max(gaps)
        for lower, gain, gap in zip(certificate[k].player_lower, gains, gaps, strict=True):
            assert lower <= gain + 1e-9 <= gap + 2e-9


@pytest.mark.slow
def test_the_search_uses_all_deviations() -> None:
    """A policy against which only two deviations gain."""
    game, device = separation(1), separation_device(1)
    policy = CorrelatedPolicy.from_device(game, device)
    found = [certify_by_play(Hidden(game), policy, k, plays=6000)[k] for k in (1, 2)]
    assert found[0].lower == 0.0
    assert 0.4 < found[1].lower <= 0.5


@pytest.mark.slow
def test_deviators_play_the_same_game_until_they_leave() -> None:
    """Both plays of a pair agree in all moves before the first one that differs by choice."""
    game = library_game("kuhn:players=3")
    policy = some_policy(game)
    trial = _Trial(Hidden(game), policy, 1, 2000, 0.9, 3, None)
    trial._search(500)
    evidence = trial._evidence(1000)
    for i, (search, one) in enumerate(zip(trial.searches, evidence, strict=True)):
        phi, _ = search.best(one.tree, one.obedient)
        obedient = trial.plays.play(5000, 5200)
        for before, after in zip(
            obedient, trial.plays.play(5000, 5200, i, deviating(phi)), strict=True
        ):
            assert before.component == after.component
            pairs = list(zip(before.moves, after.moves, strict=False))
            split = next((n for n, (a, b) in enumerate(pairs) if a != b), len(pairs))
            if split == len(pairs):
                assert before.losses == after.losses
            else:
                assert before.moves[split][:-1] == after.moves[split][:-1]
                assert before.moves[split][0] == i


def test_infosets_that_the_policy_does_not_know() -> None:
    """A policy of a few plays; plays of the certificate find the rest."""
    learned = learn(Hidden(kuhn()), 1, episodes=6, plays=10)
    known = sum(plex.n_infosets for plex in learned.policy.plexes)
    assert known < 12
    certificate = certify_by_play(Hidden(kuhn()), learned.policy, 1, plays=2000)
    assert certificate.infosets == 12


def test_evidence_takes_the_memory_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    form, told = sequence_form(load_game("liars_dice(numdice=1,dice_sides=4)")), {}
    where = "accord.certifying.evidence.check_memory"
    monkeypatch.setattr(where, lambda what, parts, *_: told.update(parts))
    check_evidence(form.plexes, math.inf)

    def gathered() -> list[Evidence]:
        found = [Evidence(plex, math.inf, uniform_behavior(plex)[None]) for plex in form.plexes]
        for one in found:
            one.explored = one.obeyed = 10
            one.damp(10, 0.1)
            one.explored += 10
            one.most(0.1)
        return found

    gathered()  # compiles
    tracemalloc.start()
    try:
        kept = gathered()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(kept) == 2
    assert 0.75 < peak / sum(told.values()) < 1.25


def test_evidence_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = some_policy(kuhn())
    refusal = r"bounding the gain of every deviation takes .*smaller"
    monkeypatch.setattr("accord.certifying.footprint.available_memory", lambda: 1000)
    found = certify_by_play(Hidden(kuhn()), policy, math.inf, plays=200)
    assert re.match(refusal, found.upper_refusal or "")
    assert found[math.inf].vacuous == (True, True)
    assert found.to_json()["upper_refusal"] == found.upper_refusal
    assert found.upper_refusal is not None
    assert found.upper_refusal in str(found)
    monkeypatch.setattr("accord.certifying.footprint.available_memory", lambda: 10)
    with pytest.raises(BudgetError, match=refusal):
        certify_by_play(Hidden(kuhn()), policy, math.inf, plays=200)


class Types:
    """A guess at a coin of 95 to 5, after one of many types has been dealt, which says nothing.

    Most types of an episode are new, so whoever learns remembers single coins; the plays of a
    certificate must not have the same types and coins.
    """

    name, players, payoff_bounds = "types", ("guesser", "idler"), ((0.0, 1.0), (0.0, 1.0))
    kinds, heads = 4000, 0.95

    def reset(self, rng: np.random.Generator) -> None:
        self.kind, self.coin = int(rng.integers(self.kinds)), int(rng.random() < self.heads)
        self.done: list[int] = []

    def turn(self) -> int:
        return 0 if not self.done else TERMINAL

    def infoset(self) -> str:
        return str(self.kind)

    def actions(self) -> Sequence[str]:
        return ("tails", "heads")

    def step(self, action: int) -> None:
        self.done.append(action)

    def payoffs(self) -> Sequence[float]:
        return (float(self.done[0] == self.coin), 0.0)

    def exact(self, policy: CorrelatedPolicy) -> tuple[float, float]:
        """The value and the EFCE gap of a policy for the guesser."""
        plex, part = policy.plexes[0], policy.split(policy.behavior)[0]
        mean = policy.weights @ part
        known = sum(float(mean[plex.first_seq[x] + 1]) for x in range(plex.n_infosets))
        heads = (known + 0.5 * (self.kinds - plex.n_infosets)) / self.kinds
        value = heads * self.heads + (1.0 - heads) * (1.0 - self.heads)
        return value, self.heads - value


@pytest.mark.slow
@pytest.mark.parametrize("k", [0, 1])
def test_the_default_workflow_is_covered(k: float) -> None:
    """Learn and certify with the same seed, at a confidence at which failures would show."""
    failed, seeds = Counter[str](), 20
    for seed in range(seeds):
        env = Types()
        policy = accord.learn(env, k, episodes=2000, seed=seed, components=20).policy
        value, gap = env.exact(policy)
        found = certify_by_play(env, policy, k, plays=1500, confidence=0.5, seed=seed)
        paid = accord.rollout(env, policy, plays=1500, seed=seed)
        failed["gap"] += not found[k].lower <= gap <= found[k].upper
        failed["value"] += abs(found.values[0] - value) > found.value_errors[0]
        failed["rollout"] += abs(float(paid.mean[0]) - value) > 2.0 * float(paid.margin[0])
    assert max(failed.values()) <= 15, failed  # more would have a probability below 0.006


def test_several_k_hold_together() -> None:
    policy = some_policy(CHICKEN)
    both = certify_by_play(Hidden(CHICKEN), policy, [0, 1], plays=600, confidence=0.9, seed=3)
    alone = certify_by_play(Hidden(CHICKEN), policy, 1, plays=600, confidence=0.95, seed=3)
    assert [gap.k for gap in both.gaps] == [0, 1]
    assert (both.confidence, both.plays) == (0.9, 2 * (alone.plays or 0))
    first = certify_by_play(Hidden(CHICKEN), policy, 0, plays=600, confidence=0.95, seed=3)
    for i in range(2):  # gaps do not decrease in K
        assert both[1].player_lower[i] == max(alone[1].player_lower[i], first[0].player_lower[i])
        assert both[1].player_upper[i] == alone[1].player_upper[i]
        assert both[0].player_upper[i] == min(alone[1].player_upper[i], first[0].player_upper[i])
    assert str(both).count("with 90% confidence") == 2


def test_no_two_purposes_share_their_plays() -> None:
    seeds = {seed_for(purpose, seed) for purpose in ("certificate 1", "rollout") for seed in (0, 1)}
    assert len(seeds | {0, 1}) == 6
    assert max(seeds) <= MAX_SEED
    env = Types()
    dealt = {
        name: np.array([Streams(seed, ENVIRONMENT).at(n).integers(env.kinds) for n in range(200)])
        for name, seed in (("learn", 0), ("certify", seed_for("certificate 1", 0)))
    }
    assert np.mean(dealt["learn"] == dealt["certify"]) < 0.05


def test_arguments_of_certificates() -> None:
    policy = some_policy(CHICKEN)
    with pytest.raises(ArgumentError, match="confidence must be between 0 and 1"):
        certify_by_play(Hidden(CHICKEN), policy, 1, confidence=1.0)
    with pytest.raises(ArgumentError, match="plays must be a whole number, 40 or more"):
        certify_by_play(Hidden(CHICKEN), policy, 1, plays=39)
    with pytest.raises(ArgumentError, match=r"policy must be an accord\.CorrelatedPolicy"):
        certify_by_play(Hidden(CHICKEN), "policy", 1)  # type: ignore[arg-type]
    with pytest.raises(MismatchError, match="has 3 players; the policy is for 2"):
        certify_by_play(Hidden(grown_game(1, 3, 60)), policy, 1)
