"""Trees, policies and devices, checked against OpenSpiel's own evaluations."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import open_spiel.python.games  # noqa: F401  registers the games written in Python
import pyspiel
import pytest
from open_spiel.python import policy as spiel_policy
from open_spiel.python.algorithms import expected_game_score

from accord._arrays import Floats
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import (
    AccordError,
    ArgumentError,
    BudgetError,
    GameError,
    ImperfectRecallError,
    MismatchError,
    MissingDependencyError,
    PolicyError,
)
from accord.game.tree import Game
from accord.interop.openspiel import load_openspiel
from accord.interop.openspiel_games import openspiel_game, openspiel_names
from accord.interop.openspiel_policies import (
    components_to_device,
    device_to_components,
    from_openspiel,
    to_openspiel,
)
from accord.treeplex.form import sequence_form
from accord.treeplex.strategy import random_behavior, uniform_behavior
from accord.treeplex.values import best_response, expected_values, immediate_loss, joint_reach

GOOFSPIEL = "goofspiel(imp_info=True,num_cards=4,points_order=descending)"

SIZES = {  # infosets of each player, and terminals
    "kuhn_poker": ((6, 6), 30),
    "kuhn_poker(players=3)": ((16, 16, 16), 312),
    "leduc_poker": ((468, 468), 5520),
    "sheriff": ((2341, 2340), 16384),
    GOOFSPIEL: ((81, 81), 576),
    "liars_dice(dice_sides=4)": ((512, 512), 4080),
    "liars_dice": ((12288, 12288), 147420),
    "tiny_bridge_2p": ((1792, 1792), 53340),
}

SMALL = ("kuhn_poker", "kuhn_poker(players=3)", GOOFSPIEL, "python_kuhn_poker", "tiny_hanabi")

KINDS = {kind.short_name: kind for kind in pyspiel.registered_games()}


loaded = cache(load_openspiel)


def behaviors_of(game: Game, seed: int) -> tuple[Floats, ...]:
    rng = np.random.default_rng(seed)
    return tuple(random_behavior(plex, rng) for plex in sequence_form(game).plexes)


def values(game: Game, behaviors: Sequence[Floats]) -> Floats:
    form = sequence_form(game)
    return expected_values(form.leaves, joint_reach(form.plexes, behaviors))


def spiel_values(spiel: Any, policy: Any) -> list[float]:
    return pyspiel.expected_returns(spiel.new_initial_state(), policy, -1, True)


# Loaded games


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_sizes(name: str) -> None:
    game = loaded(name)
    assert (game.n_infosets, game.n_terminals) == SIZES[name]
    assert game.name == name


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_values_agree_on_random_policies(name: str) -> None:
    spiel, game = openspiel_game(name), loaded(name)
    for seed in range(3):
        behaviors = behaviors_of(game, seed)
        expected = spiel_values(spiel, to_openspiel(game, behaviors, spiel))
        assert values(game, behaviors) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", SMALL)
def test_values_agree_with_the_python_evaluator(name: str) -> None:
    spiel = openspiel_game(name)
    game = load_openspiel(name)
    behaviors = behaviors_of(game, 0)
    policy = to_openspiel(game, behaviors, spiel)
    expected = expected_game_score.policy_value(
        spiel.new_initial_state(), [policy] * game.n_players
    )
    assert values(game, behaviors) == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(KINDS))
def test_every_registered_game_is_loaded_or_refused(name: str) -> None:
    """Every game either has OpenSpiel's values or is refused with a reason."""
    try:
        game = load_openspiel(name, max_nodes=20_000)
    except BudgetError as error:
        assert error.required > error.available == 20_000
        assert name in openspiel_names()
    except ArgumentError as error:
        assert not KINDS[name].default_loadable
        assert "cannot be loaded without parameters" in str(error)
    except GameError as error:
        assert name not in openspiel_names()
        assert "cannot be loaded: " in str(error)
    else:
        assert game.n_nodes <= 20_000
        spiel = openspiel_game(name)
        behaviors = behaviors_of(game, 0)
        policy = to_openspiel(game, behaviors, spiel)
        assert values(game, behaviors) == pytest.approx(spiel_values(spiel, policy), abs=1e-12)


def test_most_games_can_be_named() -> None:
    names = openspiel_names()
    assert {"kuhn_poker", "goofspiel", "python_kuhn_poker", "misere"} <= set(names) <= set(KINDS)
    assert not {"hanabi", "mfg_garnet", "tarok"} & set(names)
    assert len(names) == len(set(names)) >= 80


def test_whole_numbers_may_stand_for_reals() -> None:
    name = "battleship(board_width=2,board_height=2,num_shots=1,ship_sizes=[1],ship_values=[1],{})"
    game = load_openspiel(name.format("loss_multiplier=2"))
    assert game.digest == load_openspiel(name.format("loss_multiplier=2.0")).digest
    assert game.reward.min() == -2


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "misere(game=kuhn_poker())",
        "misere(game=python_kuhn_poker())",
        "zerosum(game=matrix_pd())",
        "cached_tree(game=kuhn_poker())",
        "start_at(game=kuhn_poker(),history=0;1)",
        "restricted_nash_response(game=kuhn_poker())",
        "normal_form_extensive_game(game=tiny_hanabi())",
        "turn_based_simultaneous_game(game=matrix_pd())",
        "goofspiel(imp_info=True,num_cards=3,players=3)",
        "oshi_zumo(coins=3,horizon=4,size=1)",
        "cliff_walking(horizon=5)",
        "blotto(coins=3,fields=2,players=3)",
    ],
)
def test_parameters_and_transformations(name: str) -> None:
    spiel = openspiel_game(name)
    game = load_openspiel(name)
    behaviors = behaviors_of(game, 1)
    expected = spiel_values(spiel, to_openspiel(game, behaviors, spiel))
    assert values(game, behaviors) == pytest.approx(expected, abs=1e-12)


def test_a_game_is_loaded_by_name_or_itself() -> None:
    by_name = load_openspiel(" kuhn_poker(players=3) ")
    assert by_name.name == "kuhn_poker(players=3)"
    assert by_name.digest == load_openspiel(pyspiel.load_game("kuhn_poker(players=3)")).digest
    again = load_openspiel(load_openspiel(GOOFSPIEL).name)
    assert again.digest == load_openspiel(GOOFSPIEL).digest
    matrix = pyspiel.create_matrix_game("own", "own", ["u"], ["l", "r"], [[1, 2]], [[3, 4]])
    assert load_openspiel(matrix).reward.tolist() == [[1, 3], [2, 4]]


def test_labels_are_those_of_openspiel() -> None:
    game = load_openspiel("leduc_poker")
    assert game.player_labels == ("0", "1")
    state = pyspiel.load_game("leduc_poker").new_initial_state()
    for move in (0, 1, 2):  # two cards are dealt, the first player raises
        state.apply_action(move)
    assert state.legal_actions() == [0, 1, 2]
    x = game.infoset_labels[1].index(state.information_state_string())
    assert game.action_labels[1][x] == ("Fold", "Call", "Raise")
    assert ("Chance outcome:0", "Chance outcome:1", "Raise") in {
        game.history(node) for node in np.flatnonzero(game.player == 1)
    }
    state = pyspiel.load_game("leduc_poker").new_initial_state().child(0).child(1)
    assert state.legal_actions() == [1, 2]  # folding is not possible yet
    x = game.infoset_labels[0].index(state.information_state_string())
    assert game.action_labels[0][x] == ("Call", "Raise")


class Unconverted(spiel_policy.Policy):  # type: ignore[misc]
    """A policy of a simultaneous game, from a policy of its turn-based version."""

    def __init__(self, spiel: Any, table: dict[str, list[tuple[int, float]]]) -> None:
        super().__init__(spiel, list(range(spiel.num_players())))
        self.table = table

    def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
        seen = state.information_state_string(player_id)
        return dict(self.table[f"Current player: {player_id}\n{seen}"])


@pytest.mark.parametrize("name", ["matrix_rpsw", "matching_pennies_3p", GOOFSPIEL])
def test_a_simultaneous_move_is_a_sequence_of_hidden_moves(name: str) -> None:
    """The value is that of the original simultaneous game."""
    spiel = pyspiel.load_game(name)
    assert spiel.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS
    game = load_openspiel(spiel)
    behaviors = behaviors_of(game, 2)
    policy = Unconverted(spiel, to_openspiel(game, behaviors, spiel).policy_table())
    expected = expected_game_score.policy_value(spiel.new_initial_state(), policy)
    assert values(game, behaviors) == pytest.approx(expected, abs=1e-12)


def reward_sums(state: Any, total: Floats) -> Iterator[list[float]]:
    """The sum of the rewards on the path to each terminal, depth first."""
    total = total + state.rewards() if not state.is_chance_node() else total
    if state.is_terminal():
        yield total.tolist()
    for action in state.legal_actions():
        yield from reward_sums(state.child(action), total)


@pytest.mark.parametrize("name", ["cliff_walking(horizon=5)", "kuhn_poker"])
def test_payoffs_are_the_sum_of_all_rewards(name: str) -> None:
    spiel = pyspiel.load_game(name)
    sums = list(reward_sums(spiel.new_initial_state(), np.zeros(spiel.num_players())))
    np.testing.assert_allclose(load_openspiel(spiel).reward, sums, atol=1e-12)


# Refused games


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("leduk_poker", ArgumentError, "no game called 'leduk_poker'; did you mean leduc_poker"),
        ("zzzzzz", ArgumentError, "no game called 'zzzzzz'"),
        ("", ArgumentError, "no game called ''"),
        (
            "kuhn_poker(player=3)",
            ArgumentError,
            "no parameter 'player'; kuhn_poker takes players=2",
        ),
        ("kuhn_poker(players=99)", ArgumentError, "max_num_players"),
        ("kuhn_poker(players=x)", ArgumentError, "Wrong type for parameter players"),
        ("kuhn_poker(players=3", ArgumentError, "brackets must match"),
        ("kuhn_poker(players=3))", ArgumentError, "brackets must match"),
        ("kuhn_poker(players=\0)", ArgumentError, "cannot load"),
        ("misere(game=kuhn_pokr())", ArgumentError, "Unknown game 'kuhn_pokr'"),
        ("efg_game", ArgumentError, "without parameters; efg_game takes filename"),
        ("efg_game(filename=nowhere.efg)", ArgumentError, "'nowhere.efg' does not exist"),
        ("hanabi(players=100)", GameError, "no information state string"),
        ("repeated_game(stage_game=matrix_pd(),num_repetitions=2)", GameError, "state string"),
        ("bridge_uncontested_bidding", GameError, "chance moves are sampled"),
        ("mfg_crowd_modelling", GameError, "mean field"),
        ("dark_hex_ir(board_size=2)", ImperfectRecallError, "player 1 forgets at infoset"),
        ("leduc_poker(action_mapping=True)", ImperfectRecallError, "player 0 forgets"),
        ("chess", BudgetError, "at most 2,000,000 nodes, but it has 2,000,0"),
        ("chess", BudgetError, r"load_game\(..., max_nodes=...\), or accord --max-nodes N"),
        ("oshi_zumo", BudgetError, r"choose smaller parameters \(oshi_zumo takes .*coins=50"),
        ("blotto(players=-1)", GameError, "OpenSpiel failed to enumerate"),
        ("universal_poker(numRanks=100)", ArgumentError, "OpenSpiel crashes on universal_poker"),
        # before OpenSpiel 1.6.9 it had no rows
        ("connect_four(rows=0)", ArgumentError, "crashes on connect_four|takes no parameters"),
        (None, ArgumentError, "by name or as a pyspiel.Game; got None"),
    ],
)
def test_refusals(name: Any, kind: type[AccordError], message: str) -> None:
    with pytest.raises(kind, match=message):
        load_openspiel(name)


def test_unknown_names_are_suggested_from_python_games_too() -> None:
    with pytest.raises(ArgumentError, match="python_block_dominoes"):
        load_openspiel("python_blok_dominoes")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [*SMALL, "leduc_poker", "trade_comm(num_items=2)", "hex(board_size=2)"]
)
def test_the_count_is_the_number_of_nodes(name: str) -> None:
    """A game loads if the limit is its number of nodes, and not if the limit is one less."""
    n_nodes = load_openspiel(name).n_nodes
    assert load_openspiel(name, max_nodes=n_nodes).n_nodes == n_nodes
    for max_nodes in (1, n_nodes // 2, n_nodes - 1):
        with pytest.raises(BudgetError) as refusal:
            load_openspiel(name, max_nodes=max_nodes)
        assert max_nodes < refusal.value.required <= n_nodes
    with pytest.raises(ArgumentError, match="max_nodes must be at least 1; got 0"):
        load_openspiel(name, max_nodes=0)


def test_openspiel_is_imported_when_it_is_needed() -> None:
    script = "import sys, accord.interop.openspiel; sys.exit('pyspiel' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_openspiel_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(MissingDependencyError, match="open_spiel"):
        load_openspiel("kuhn_poker")


# Games that OpenSpiel does not have


class Oddity(pyspiel.Game):  # type: ignore[misc]
    """Chance, then ``depth`` decisions of one player; ``odd`` names its peculiarity."""

    def __init__(self, odd: str = "", depth: int = 1) -> None:
        self.odd, self.depth = odd, depth
        kind = pyspiel.GameType(
            short_name="oddity", long_name="Oddity",
            dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
            chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
            information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
            utility=pyspiel.GameType.Utility.GENERAL_SUM,
            reward_model=pyspiel.GameType.RewardModel.TERMINAL,
            max_num_players=1, min_num_players=1,
            provides_information_state_string=True, provides_information_state_tensor=False,
            provides_observation_string=False, provides_observation_tensor=False,
        )  # fmt: skip
        info = pyspiel.GameInfo(
            num_distinct_actions=10, max_chance_outcomes=6, num_players=1,
            min_utility=0.0, max_utility=10.0, max_game_length=depth,
        )  # fmt: skip
        super().__init__(kind, info, {})

    def new_initial_state(self) -> OddState:
        return OddState(self)


class OddState(pyspiel.State):  # type: ignore[misc]
    def __init__(self, game: Oddity) -> None:
        super().__init__(game)
        self.odd, self.depth = game.odd, game.depth
        self.deal = -1
        self.moves: list[int] = []

    def current_player(self) -> int:
        if self.deal < 0:
            return int(pyspiel.PlayerId.CHANCE)
        if len(self.moves) == self.depth:
            return int(pyspiel.PlayerId.TERMINAL)
        return int(pyspiel.PlayerId.SIMULTANEOUS) if self.odd == "simultaneous" else 0

    def chance_outcomes(self) -> list[tuple[int, float]]:
        if self.odd == "chance":
            return [(0, 0.25), (5, 0.5)]
        if self.depth > 1:
            return [(5, 1.0)]
        return [(0, 0.25), (3, 0.0), (0, 0.25), (5, 0.5)]

    def _legal_actions(self, player: int) -> list[int]:
        if self.depth > 1:
            return [4]
        return [2, 7] if self.odd == "legal" and self.deal == 5 else [2, 7, 9]

    def _apply_action(self, action: int) -> None:
        if self.deal < 0:
            self.deal = action
        else:
            self.moves.append(action)

    def _action_to_string(self, player: int, action: int) -> str:
        return "go" if action in (2, 7) else f"move {action}"

    def information_state_string(self, player: int = 0) -> str:
        if self.odd == "information":
            raise RuntimeError("nobody knows anything")
        return f"after {len(self.moves)}"

    def is_terminal(self) -> bool:
        return self.deal >= 0 and len(self.moves) == self.depth

    def returns(self) -> list[float]:
        if not self.is_terminal():
            return [0.0]
        return [float("nan") if self.odd == "payoff" else float(self.deal + self.moves[-1])]

    def __str__(self) -> str:
        return f"{self.deal} {self.moves}"


def test_moves_are_merged_dropped_and_made_distinct() -> None:
    game = load_openspiel(Oddity())
    assert game.chance_labels == (("move 0", "move 5"),)
    assert game.chance_prob[game.parent == 0].tolist() == [0.5, 0.5]
    assert game.infoset_labels == (("after 0",),)
    assert game.action_labels == ((("go #2", "go #7", "move 9"),),)
    assert game.reward.ravel().tolist() == [2, 7, 9, 7, 12, 14]


def test_odd_policies_survive_the_round_trip() -> None:
    spiel = Oddity()
    game = load_openspiel(spiel)
    behaviors = (np.array([1.0, 0.2, 0.3, 0.5]),)
    policy = to_openspiel(game, behaviors, spiel)
    assert policy.policy_table() == {"after 0": [(2, 0.2), (7, 0.3), (9, 0.5)]}
    assert from_openspiel(game, policy, spiel)[0].tolist() == behaviors[0].tolist()


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        ("chance", "the probabilities of a chance node must sum to one"),
        ("legal", r"the same legal actions; player 0 has both \[2, 7, 9\] and \[2, 7\]"),
        ("payoff", "payoffs must be finite"),
        ("information", "OpenSpiel failed to enumerate oddity: nobody knows anything"),
        ("simultaneous", "a turn-based game must have one player to move"),
    ],
)
def test_invalid_games_are_refused(odd: str, message: str) -> None:
    with pytest.raises(GameError, match=message):
        load_openspiel(Oddity(odd))


def test_deep_games_need_no_recursion() -> None:
    depth = 3 * sys.getrecursionlimit()
    game = load_openspiel(Oddity(depth=depth))
    assert (game.n_infosets, game.n_nodes) == ((depth,), depth + 2)


# Policies


@pytest.mark.parametrize("name", [*SMALL, "leduc_poker"])
def test_policies_survive_the_round_trip(name: str) -> None:
    game = load_openspiel(name)
    behaviors = behaviors_of(game, 3)
    back = from_openspiel(game, to_openspiel(game, behaviors, name), name)
    assert all((one == other).all() for one, other in zip(back, behaviors, strict=True))


@pytest.mark.parametrize("name", SMALL)
def test_python_policies(name: str) -> None:
    spiel = openspiel_game(name)
    game = load_openspiel(spiel)
    uniform = from_openspiel(game, spiel_policy.UniformRandomPolicy(spiel), spiel)
    for behavior, plex in zip(uniform, sequence_form(game).plexes, strict=True):
        assert behavior.tolist() == uniform_behavior(plex).tolist()

    table = spiel_policy.TabularPolicy(spiel)
    noisy = table.copy_with_noise(alpha=0.7, beta=2.0, random_state=np.random.RandomState(0))
    expected = expected_game_score.policy_value(spiel.new_initial_state(), [noisy] * game.n_players)
    assert values(game, from_openspiel(game, noisy, spiel)) == pytest.approx(expected, abs=1e-12)


def gains(game: Game, mixture: CorrelatedPolicy) -> Floats:
    """The gain of each player from leaving the mixture before it starts."""
    form = sequence_form(game)
    result = np.empty(game.n_players)
    for i, plex in enumerate(form.plexes):
        loss = np.zeros(plex.n_sequences)
        for weight, behaviors in mixture.components():
            loss += weight * immediate_loss(form.leaves, i, joint_reach(form.plexes, behaviors))
        result[i] = form.leaves.best[i] - best_response(plex, loss)[0] * form.leaves.payoff_range[i]
    return result - mixture.values()


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_nash_conv_of_policies_solved_by_openspiel(name: str) -> None:
    spiel = openspiel_game(name)
    game = load_openspiel(spiel)
    solver = pyspiel.CFRSolver(spiel)
    for _ in range(20):
        solver.evaluate_and_update_policy()
    average = solver.tabular_average_policy()
    mixture = CorrelatedPolicy.product(game, from_openspiel(game, average, spiel))
    expected = pyspiel.nash_conv(spiel, average)
    assert gains(game, mixture).sum() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", ["kuhn_poker", "kuhn_poker(players=3)", GOOFSPIEL, "matrix_rpsw"])
def test_the_distance_of_a_device_to_coarse_equilibria(name: str) -> None:
    spiel = openspiel_game(name)
    game = load_openspiel(spiel)
    weights = np.random.default_rng(0).dirichlet(np.ones(4))
    mixture = CorrelatedPolicy.from_components(
        game, [(weight, behaviors_of(game, seed)) for seed, weight in enumerate(weights)]
    )
    device = components_to_device(game, mixture.components(), spiel)
    distance = pyspiel.cce_dist(spiel, device)
    assert mixture.values() == pytest.approx(distance.on_policy_values, abs=1e-12)
    found = np.maximum(gains(game, mixture), 0.0)
    assert found == pytest.approx(distance.deviation_incentives, abs=1e-6)
    assert found.max() > 1e-3

    back = CorrelatedPolicy.from_components(game, device_to_components(game, device, spiel))
    assert (back.weights == mixture.weights).all()
    assert (back.behavior == mixture.behavior).all()


def test_devices_made_by_openspiel() -> None:
    game = load_openspiel("kuhn_poker")
    policies = [to_openspiel(game, behaviors_of(game, seed), "kuhn_poker") for seed in range(3)]
    device = pyspiel.uniform_correlation_device(policies)
    components = device_to_components(game, device, "kuhn_poker")
    assert [weight for weight, _ in components] == pytest.approx([1 / 3] * 3)
    for seed, (_, behaviors) in enumerate(components):
        assert (
            np.concatenate(behaviors).tolist() == np.concatenate(behaviors_of(game, seed)).tolist()
        )


def test_actions_left_out_have_probability_zero() -> None:
    game = load_openspiel("kuhn_poker")
    table = {label: [(1, 1.0)] for labels in game.infoset_labels for label in labels}
    for behavior in from_openspiel(game, pyspiel.TabularPolicy(table), "kuhn_poker"):
        assert behavior.tolist() == [1.0] + [0.0, 1.0] * 6


@pytest.mark.parametrize(
    ("at_first", "message"),
    [
        ([], "infoset '0': probabilities must sum to one; they sum to 0.0"),
        ([(0, 0.5), (1, 0.4)], "infoset '0': probabilities must sum to one"),
        ([(0, 1.5), (1, -0.5)], "infoset '0': probabilities must be non-negative"),
        ([(0, float("nan")), (1, 1.0)], "infoset '0': probabilities must be non-negative"),
        (
            [(0, 0.5), (7, 0.5)],
            r"'0' are \[0, 1\], but the policy gives probability 0.5 to 7",
        ),
    ],
)
def test_invalid_policies_are_refused(at_first: list[tuple[int, float]], message: str) -> None:
    game = load_openspiel("kuhn_poker")
    table = to_openspiel(game, behaviors_of(game, 0), "kuhn_poker").policy_table()
    table["0"] = at_first
    with pytest.raises(PolicyError, match=message):
        from_openspiel(game, pyspiel.TabularPolicy(table), "kuhn_poker")


def test_policies_of_another_game_are_refused() -> None:
    kuhn, leduc = load_openspiel("kuhn_poker"), load_openspiel("leduc_poker")
    behaviors = behaviors_of(kuhn, 0)
    for name in ("leduc_poker", "kuhn_poker(players=3)", "matrix_pd", "liars_dice(dice_sides=3)"):
        with pytest.raises(MismatchError, match=r"the game must be load_openspiel\('"):
            to_openspiel(kuhn, behaviors, name)
    with pytest.raises(PolicyError, match="one probability per sequence"):
        to_openspiel(leduc, behaviors, "leduc_poker")
    simultaneous = spiel_policy.TabularPolicy(pyspiel.load_game("matrix_pd"))
    with pytest.raises(PolicyError, match=r"a policy of openspiel_game\(spiel_game\)"):
        from_openspiel(load_openspiel("matrix_pd"), simultaneous, "matrix_pd")
    with pytest.raises(PolicyError, match="weights must sum to one"):
        components_to_device(kuhn, [(0.5, behaviors)], "kuhn_poker")


def test_a_game_given_in_another_order_is_the_same() -> None:
    """Breadth first; the walk through OpenSpiel's states follows the node numbers."""
    kuhn = load_openspiel("kuhn_poker")
    order = sorted(range(kuhn.n_nodes), key=lambda node: len(kuhn.history(node)))
    rank = np.argsort(order)
    parent = np.where(kuhn.parent[order] >= 0, rank[kuhn.parent[order]], -1)
    moved = kuhn.replace(
        player=kuhn.player[order],
        parent=parent,
        action=kuhn.action[order],
        infoset=kuhn.infoset[order],
        chance_prob=kuhn.chance_prob[order],
        reward_node=rank[kuhn.reward_node],
    )
    assert moved.digest == kuhn.digest
    one, other = (
        to_openspiel(game, behaviors_of(game, 0), "kuhn_poker").policy_table()
        for game in (kuhn, moved)
    )
    assert one == other


# Speed


def test_loading_costs_little_more_than_walking_through_the_states() -> None:
    """CPU time is about three times that of a walk that asks only for the necessary data."""

    def walk() -> None:
        states = [pyspiel.load_game("leduc_poker").new_initial_state()]
        while states:
            state = states.pop()
            if state.is_terminal():
                state.returns()
            elif state.is_chance_node():
                states += [state.child(outcome) for outcome, _ in state.chance_outcomes()]
            else:
                state.information_state_string()
                states += [state.child(action) for action in state.legal_actions()]

    def best_of_three(work: Callable[[], object]) -> float:
        times = []
        for _ in range(3):
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
        return min(times)

    assert best_of_three(lambda: load_openspiel("leduc_poker")) < 15 * best_of_three(walk)


@pytest.mark.slow
def test_games_that_are_too_large_are_refused() -> None:
    for name in ("chess", "bridge", "cursor_go"):
        with pytest.raises(BudgetError):
            load_openspiel(name)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak from /proc")
def test_liars_dice_loads_in_half_a_gigabyte() -> None:
    script = (
        "import pathlib\n"
        "from accord.interop.openspiel import load_openspiel\n"
        "load_openspiel('kuhn_poker')\n"
        "assert load_openspiel('liars_dice').n_nodes == 294_883\n"
        "status = pathlib.Path('/proc/self/status').read_text()\n"
        "peak = status.partition('VmHWM:')[2].split()[0]\n"
        "print(int(peak) / 1024)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert float(run.stdout) < 500
