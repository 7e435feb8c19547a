"""Many players and many actions: counted before anything is built, and answered another way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import accord
from accord.errors import BudgetError
from accord.game.tree import Game
from accord.optimal import tuples
from accord.optimal.free_play import best_plan_together, most_above_worst
from accord.optimal.incentives import Incentives
from accord.optimal.tuples import Tuples, count_entries
from accord.treeplex.form import sequence_form
from tests.support.peaks import peak
from tests.support.strategies import examples, games


def chain(n: int) -> Game:
    """Each player in turn stops, which pays them 1 and the others nothing, or passes; if all pass,
    everybody gets 2. All pass in an equilibrium, and nobody alone can lead there from another."""
    players = [f"p{i}" for i in range(n)]
    b = accord.GameBuilder(f"chain of {n}", players=players)
    passed: list[str] = []
    for i, player in enumerate(players):
        b.move(passed, player=player, infoset=f"x{i}", actions="stop pass")
        b.payoff([*passed, "stop"], *(float(j == i) for j in range(n)))
        passed = [*passed, "pass"]
    b.payoff(passed, *([2.0] * n))
    return b.build()


@pytest.mark.parametrize("k", [0, 1, 2, "afce"])
@pytest.mark.parametrize("n", [5, 24, 60])
def test_a_chain_of_players_passes(n: int, k: object) -> None:
    """There are 3^n relevant tuples."""
    best = accord.optimize(chain(n), k)
    assert best.optimal
    assert best.value == pytest.approx(2.0 * n)
    assert best.policy.n_components == 1


def test_tuples_are_counted_before_they_are_built() -> None:
    incentives = Incentives.build(sequence_form(chain(30)), 1)

    def refused() -> None:
        with pytest.raises(BudgetError, match="relevant tuples"):
            Tuples(incentives, 50_000)

    refused()
    assert peak(refused) < 2**24


def separate(n: int) -> Game:
    """Chance chooses a pair of players, who play on their own: few tuples, many sets of players."""
    players = [f"p{i}" for i in range(2 * n)]
    b = accord.GameBuilder("separate", players=players)
    b.chance(outcomes={f"room {i}": 1 / n for i in range(n)})
    for i in range(n):
        one, other = players[2 * i : 2 * i + 2]
        b.move([f"room {i}"], player=one, infoset=one, actions="l r")
        b.move([f"room {i}", "l"], [f"room {i}", "r"], player=other, infoset=other, actions="l r")
        for first in "lr":
            for second in "lr":
                paid = [float(first == second and j // 2 == i) for j in range(2 * n)]
                b.payoff([f"room {i}", first, second], *paid)
    return b.build()


def test_only_sets_of_players_who_meet_are_looked_at() -> None:
    found = Tuples(Incentives.build(sequence_form(separate(15)), 1), 10_000)
    assert len(found) == 1 + 15 * (2 + 2 + 4)


@examples(40)
@given(games())
def test_entries_are_counted_as_they_are(game: Game) -> None:
    for k in (0, 1, 2, "afce", "efcce"):
        incentives = Incentives.build(sequence_form(game), k)
        try:
            built = Tuples(incentives, 20_000)
        except BudgetError:
            continue
        made = sum(len(part.rows) for part in built.deviating)
        assert count_entries(incentives) == made


def test_an_infoset_with_many_actions_needs_no_tuples(monkeypatch: pytest.MonkeyPatch) -> None:
    """One with 2,000 has 8 million losses of deviators at tuples, which took four gigabytes."""
    rng, n = np.random.default_rng(0), 300
    game = accord.matrix_game(rng.integers(0, 9, (2, n, 2)).astype(float).tolist())
    exact = accord.optimize(game, 1)
    monkeypatch.setattr(tuples, "MOST_ENTRIES", 10_000)
    grown = accord.optimize(game, 1)
    assert exact.optimal
    assert grown.value == pytest.approx(exact.value)


@examples(40)
@given(games())
def test_the_best_plan_together_is_no_better_than_the_best_play(game: Game) -> None:
    form = sequence_form(game)
    gradient = np.ones(game.n_players)
    plans = best_plan_together(form, gradient)
    behavior = np.ones(form.n_sequences)
    for part, plex, plan in zip(form.split(behavior), form.plexes, plans, strict=True):
        part[1:] = 0.0
        part[plex.first_seq[:-1] + plan] = 1.0
    policy = accord.CorrelatedPolicy(game, np.ones(1), behavior[np.newaxis])
    above = float(policy.values().sum() - form.leaves.worst.sum())
    most = float(most_above_worst(form, gradient[np.newaxis])[0])
    assert above <= most + 1e-9 * (1.0 + abs(most))
    if all(len(set(game.infoset[game.player == i].tolist())) == int((game.player == i).sum())
           for i in range(game.n_players)):  # fmt: skip
        assert above == pytest.approx(most)  # everybody knows everything
