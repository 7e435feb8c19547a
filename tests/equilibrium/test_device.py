"""Devices against brute force over all pure policies, and as tables that people read."""

from __future__ import annotations

import csv
import io
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import accord
from accord.certifying.exact import certify
from accord.equilibrium import plans as plans_module
from accord.equilibrium.device import Device
from accord.equilibrium.plans import DrawnPlans, Told, drawn_plans
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.tables import TextTable, as_latex, as_text
from accord.game.library import library_device
from accord.game.tree import Game
from accord.treeplex.form import sequence_form
from accord.treeplex.values import joint_reach
from tests import reference
from tests.support.policies import all_games, as_reference, grown_games, random_policy
from tests.support.strategies import examples

seeds = st.integers(0, 2**32 - 1)
ALL = 10**9
NASTY = 'a\r & b % c_d # $e$ {f} ~g ^h \\i, "j"\nk <l> |m| [n] *o -- `p`'


def drawn(policy: CorrelatedPolicy, most: int = ALL, *, off_path: bool = False) -> DrawnPlans:
    form = sequence_form(policy.game)
    return drawn_plans(form, policy.weights, policy.behavior, most, off_path=off_path)


def recommendations(told: tuple[Told, ...]) -> reference.Plan:
    return frozenset((one.player, one.infoset, one.action) for one in told)


def completed(policy: CorrelatedPolicy, seed: int, *, off_path: bool) -> CorrelatedPolicy:
    """The plans of ``policy``; where they recommend nothing, any action."""
    form = sequence_form(policy.game)
    rng = np.random.default_rng(seed)
    found = drawn(policy, off_path=off_path)
    assert found.rest == 0.0
    components = []
    for plan in found.plans:
        choices = [rng.integers(plex.n_actions) for plex in form.plexes]
        for one in plan.told:
            choices[one.player][one.infoset] = one.action
        pure = [np.zeros(plex.n_sequences) for plex in form.plexes]
        for plex, part, choice in zip(form.plexes, pure, choices, strict=True):
            part[0] = 1.0
            part[plex.first_seq[:-1] + choice] = 1.0
        components.append((plan.probability, pure))
    return CorrelatedPolicy.from_components(policy.game, components)


def play_distribution(policy: CorrelatedPolicy) -> np.ndarray:
    """The probability of each tuple of sequences with which plays end, when everybody obeys."""
    form = sequence_form(policy.game)
    total = np.zeros(len(form.leaves))
    for weight, behaviors in policy.components():
        reach = joint_reach(form.plexes, behaviors)
        places = form.leaves.first_reach[:-1] + form.leaves.seqs
        total += weight * form.leaves.prob * reach[places].prod(axis=1)
    return total


# The plans


@pytest.mark.parametrize("off_path", [False, True])
@examples(60)
@given(game=all_games(), seed=seeds)
def test_plans_are_those_of_brute_force(off_path: bool, game: Game, seed: int) -> None:
    assume(reference.n_profiles(game) <= 3000)
    policy = random_policy(game, seed)
    found = drawn(policy, off_path=off_path)
    wanted = reference.drawn_plans(game, as_reference(policy), off_path=off_path)
    got = {recommendations(plan.told): plan.probability for plan in found.plans}
    assert len(got) == len(found.plans)  # no plan is listed twice
    assert got.keys() == wanted.keys()
    for plan, p in wanted.items():
        assert got[plan] == pytest.approx(p, rel=1e-12)
    probabilities = [plan.probability for plan in found.plans]
    assert probabilities == sorted(probabilities, reverse=True)
    assert math.fsum(probabilities) == pytest.approx(1.0, abs=1e-12)
    assert (found.rest, found.rest_most) == (0.0, 0.0)


@examples(60)
@given(game=all_games(), seed=seeds, most=st.integers(1, 40))
def test_rare_plans_can_be_left_out(game: Game, seed: int, most: int) -> None:
    policy = random_policy(game, seed, pure=0.7)
    arrays = sequence_form(game), policy.weights, policy.behavior
    every = drawn_plans(*arrays, most)
    least = every.plans[len(every.plans) // 2].probability
    found = drawn_plans(*arrays, most, least=least)
    assert found.plans == tuple(plan for plan in every.plans if plan.probability >= least)
    listed = math.fsum(plan.probability for plan in found.plans)
    assert listed + found.rest == pytest.approx(1.0, abs=1e-12)


@examples(60)
@given(game=all_games(), seed=seeds)
def test_recommendations_off_the_path_are_told_after_deviations_only(game: Game, seed: int) -> None:
    policy = random_policy(game, seed, pure=1.0)
    for plan in drawn(policy, off_path=True).plans:
        choices = [[0] * len(list(reference.infosets(game, i))) for i in range(game.n_players)]
        for one in plan.told:
            choices[one.player][one.infoset] = one.action
        profile = tuple(map(tuple, choices))
        on_path = {(one.player, one.infoset) for one in plan.told if one.on_path}
        assert on_path == reference.reached_infosets(game, profile)
        told = {(one.player, one.infoset) for one in plan.told}
        assert told == reference.allowed_infosets(game, profile)


@examples(60)
@given(game=grown_games(most=300), seed=seeds)
def test_plans_have_the_plays_and_values_of_the_policy(game: Game, seed: int) -> None:
    policy = random_policy(game, seed, pure=1.0)
    again = completed(policy, seed, off_path=False)
    assert again.n_components <= policy.n_components
    np.testing.assert_allclose(play_distribution(again), play_distribution(policy), atol=1e-14)
    np.testing.assert_allclose(again.values(), policy.values(), rtol=1e-12, atol=1e-12)


@examples(30)
@given(game=grown_games(most=60), seed=seeds)
def test_plans_of_mixed_policies_have_their_plays_too(game: Game, seed: int) -> None:
    assume(reference.n_profiles(game) <= 3000)
    policy = random_policy(game, seed, pure=0.3)
    again = completed(policy, seed, off_path=False)
    np.testing.assert_allclose(play_distribution(again), play_distribution(policy), atol=1e-13)


@examples(30)
@given(game=grown_games(most=100), seed=seeds)
def test_reduced_plans_determine_the_gaps_up_to_one_deviation(game: Game, seed: int) -> None:
    """Whatever players who have deviated would be told next."""
    policy = random_policy(game, seed, pure=1.0)
    again = completed(policy, seed, off_path=True)
    for k in (0, 1):
        before, after = (certify(game, one, k)[k].player_gaps for one in (policy, again))
        np.testing.assert_allclose(after, before, atol=1e-9)


def test_plans_on_the_path_do_not_determine_the_gaps() -> None:
    game = accord.load_game("signalling")
    policy = CorrelatedPolicy.from_device(game, library_device("signalling"))
    gaps = {
        round(certify(game, completed(policy, seed, off_path=False), 1)[1].gap, 6)
        for seed in range(20)
    }
    assert certify(game, policy, 1)[1].gap == pytest.approx(0.0, abs=1e-12)
    assert max(gaps) > 0.1


@examples(40)
@given(game=grown_games(most=200), seed=seeds)
def test_equal_draws_are_one_plan(game: Game, seed: int) -> None:
    policy = random_policy(game, seed, pure=1.0)
    twice = CorrelatedPolicy(
        game,
        np.concatenate([policy.weights / 4, policy.weights * 3 / 4]),
        np.concatenate([policy.behavior, policy.behavior]),
    )
    once, again = drawn(policy), drawn(twice)
    assert len(once.plans) == len(again.plans) <= policy.n_components
    assert {one.told for one in once.plans} == {one.told for one in again.plans}
    for one, other in zip(once.plans, again.plans, strict=True):
        assert one.probability == pytest.approx(other.probability)


@examples(40)
@given(game=grown_games(most=60), seed=seeds, most=st.integers(1, 6))
def test_the_likeliest_plans_come_first(game: Game, seed: int, most: int) -> None:
    assume(reference.n_profiles(game) <= 3000)
    policy = random_policy(game, seed, pure=0.0)
    every, some = drawn(policy), drawn(policy, most)
    assert some.plans == every.plans[:most]
    missing = [plan.probability for plan in every.plans[most:]]
    assert some.rest == pytest.approx(math.fsum(missing))
    assert some.rest_most >= max(missing, default=0.0) * (1 - 1e-12)
    assert some.rest_most <= some.rest * (1 + 1e-12)


def test_a_search_that_is_too_long_still_bounds_every_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    game = accord.load_game("kuhn")
    policy = random_policy(game, 0, components=3, pure=0.0)
    every = drawn(policy)
    listed = set()
    for work in (1, 30, 300, 3000):
        monkeypatch.setattr(plans_module, "SEARCH_STEPS", work)
        some = drawn(policy)
        assert some.plans == every.plans[: len(some.plans)]
        total = math.fsum([some.rest, *(plan.probability for plan in some.plans)])
        assert total == pytest.approx(1.0)
        assert some.rest_most >= every.plans[len(some.plans)].probability
        listed.add(len(some.plans))
    assert 0 in listed
    assert len(listed) > 1


# The table


def device_of(name: str, *, off_path: bool = False, plans: int = 1000) -> Device:
    policy = CorrelatedPolicy.from_device(accord.load_game(name), library_device(name))
    return policy.device(plans, off_path=off_path)


def labeled(label: str, player: str = "one") -> Device:
    """A device in which every label but those of players is ``label``."""
    b = accord.GameBuilder("labels", players=[player, "two"])
    b.move(player=player, infoset=label, actions=[label, "other"])
    for action in (label, "other"):
        b.payoff([action], 1, 0)
    game = b.build()
    choice = [(1.0, [{label: label}, {}])]
    return CorrelatedPolicy.from_device(game, choice).device()


def test_a_device_has_labels() -> None:
    device = device_of("signalling")
    assert isinstance(device, accord.equilibrium.Device)
    assert device.players == ("student", "professor")
    assert device.infosets == (("good", "bad"), ("X", "Y"))
    first, *_, last = device.plans
    assert first.told == ({"good": "X", "bad": "X"}, {"X": "accept"})
    assert last.told == ({"good": "Y", "bad": "Y"}, {"Y": "accept"})
    assert first.off_path == (frozenset(), frozenset())
    assert device.is_complete
    reduced = device_of("signalling", off_path=True)
    assert reduced.plans[0].told[1] == {"X": "accept", "Y": "refuse"}
    assert reduced.plans[0].off_path == (frozenset(), {"Y"})
    assert repr(device) == "Device('signalling', plans=4, rest=0)"


def test_one_column_per_infoset_where_that_fits() -> None:
    device = device_of("signalling", off_path=True)
    assert str(device).splitlines() == [
        "             student    professor",
        "probability  good  bad  X         Y",
        "0.25         X     X    accept    (refuse)",
        "0.25         X     Y    accept    refuse",
        "0.25         Y     X    refuse    accept",
        "0.25         Y     Y    (refuse)  accept",
    ]


def test_one_line_per_recommendation_else() -> None:
    device = device_of("signalling", plans=2)
    assert device.to_text(36).splitlines() == [
        "probability  player     infoset  told",
        "0.25         student    good     X",
        "                        bad      X",
        "             professor  X        accept",
        "",
        "0.25         student    good     X",
        "                        bad      Y",
        "             professor  X        accept",
        "                        Y        refuse",
        "",
        "0.5          other plans, each at most 0.25",
    ]


def test_a_label_is_one_line() -> None:
    assert labeled("a\n b\tc").to_text().splitlines() == [
        "             one",
        "probability  a · b c",
        "1            a · b c",
    ]
    assert labeled(" ").to_text().splitlines()[1:] == [
        "probability  (no label)",
        "1            (no label)",
    ]


@pytest.mark.parametrize("width", [50, 72, 100])
def test_long_labels_are_wrapped(width: int) -> None:
    game = accord.load_game("sheriff(max_items=3,max_bribe=2,num_rounds=1)")
    device = accord.solve(game, k=1, iterations=50).policy.device(3)
    text = device.to_text(width)
    assert max(map(len, text.splitlines())) <= width
    assert text.split("\n")[0].split() == ["probability", "player", "infoset", "told"]
    starts = [line.split()[0] for line in text.splitlines()[1:] if line[:1].strip()]
    wanted = [*(plan.probability for plan in device.plans), device.rest]
    assert starts == [f"{p:.4g}" for p in wanted]


def test_wrapped_columns_are_aligned() -> None:
    table = TextTable(
        ("p", "player", "told"), (("1", "the first entrant in the north", "yes " * 9),)
    )
    lines = as_text(table, 33).splitlines()
    assert {at for line in lines for at in [line.find("told"), line.find("yes")] if at >= 0} == {19}


def test_players_are_named() -> None:
    game = accord.load_game("kuhn_poker")
    policy = accord.solve(game, k=0, iterations=5).policy
    assert policy.device(2).to_text().split("\n")[0].split("  ")[-1].strip() == "player 1"
    assert device_of("chicken").to_text().split("\n")[0].split() == ["row", "col"]


def test_plans_that_cannot_be_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans_module, "SEARCH_STEPS", 1)
    device = device_of("signalling")
    assert device.plans == ()
    assert not device.is_complete
    assert device.to_text() == "probability\n1            plans, each at most 1"
    assert device.to_csv() == "plan,probability,exact\nother,1.0,\n"
    assert "$1$ \\\\" in device.to_latex()


def test_plans_must_be_a_number() -> None:
    with pytest.raises(
        accord.errors.ArgumentError, match="plans must be a whole number, 1 or more; got"
    ):
        device_of("chicken", plans=0)


# CSV and JSON


def test_csv() -> None:
    assert device_of("signalling", plans=3).to_csv().splitlines() == [
        "plan,probability,exact,student: good,student: bad,professor: X,professor: Y",
        "1,0.25,1/4,X,X,accept,",
        "2,0.25,1/4,X,Y,accept,refuse",
        "3,0.25,1/4,Y,X,refuse,accept",
        "other,0.25,,,,,",
    ]


@examples(30)
@given(game=grown_games(most=100), seed=seeds)
def test_csv_and_json_have_everything(game: Game, seed: int) -> None:
    device = random_policy(game, seed, pure=1.0).device()
    header, *rows = csv.reader(io.StringIO(device.to_csv()))
    places = [(i, x) for i, infosets in enumerate(device.infosets) for x in infosets]
    assert header[3:] == [f"{device.players[i]}: {x}" for i, x in places]
    data = json.loads(json.dumps(device.to_json(), allow_nan=False))
    for row, plan, written in zip(rows, device.plans, data["plans"], strict=True):
        assert float(row[1]) == plan.probability == written["probability"]
        assert row[2] == (plan.exact or "") and written["exact"] == plan.exact
        if plan.exact is not None:
            assert float(Fraction(plan.exact)) == pytest.approx(plan.probability, abs=1e-14)
        cells = dict(zip(places, row[3:], strict=True))
        for i, told in enumerate(plan.told):
            assert {x: cells[i, x] for x in device.infosets[i] if cells[i, x]} == told
            assert written["told"][i] == told
    assert data["rest"] == 0.0


def test_csv_quotes_labels() -> None:
    _, row = csv.reader(io.StringIO(labeled(NASTY).to_csv()))
    assert row == ["1", "1.0", "1", NASTY]
    header, _ = csv.reader(io.StringIO(labeled("x", 'p, "q"').to_csv()))
    assert header == ["plan", "probability", "exact", 'p, "q": x']


# LaTeX


def test_latex() -> None:
    assert device_of("signalling", off_path=True, plans=1).to_latex().splitlines() == [
        r"% needs \usepackage{booktabs}; labels in other scripts need LuaLaTeX or XeLaTeX",
        r"\begin{tabular}{@{}rllll@{}}",
        r"\toprule",
        r" & \multicolumn{2}{l}{student} & \multicolumn{2}{l}{professor} \\",
        r"\cmidrule(lr){2-3}\cmidrule(lr){4-5}",
        r"probability & good & bad & X & Y \\",
        r"\midrule",
        r"$0.25$ & X & X & accept & (refuse) \\",
        r"\midrule",
        r"$0.75$ & \multicolumn{4}{l}{other plans, each at most 0.25} \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_rare_plans_are_not_listed_in_papers() -> None:
    """A mixture that was solved for still has its first iterates, with tiny weights."""
    game = accord.load_game("chicken")
    names = {"dare": [1.0, 0.0], "yield": [0.0, 1.0]}
    weights = {("dare", "yield"): 0.5, ("yield", "dare"): 0.5 - 3e-5}
    weights |= {("dare", "dare"): 2e-5, ("yield", "yield"): 1e-5}
    policy = CorrelatedPolicy.from_components(
        game,
        [(w, [np.array([1.0, *names[a]]) for a in pair]) for pair, w in weights.items()],
    )
    device = policy.device()
    likely = device.likely()
    assert len(device.plans) == 4
    assert [plan.probability for plan in likely.plans] == pytest.approx([0.5, 0.5 - 3e-5])
    assert (likely.rest, likely.rest_most) == pytest.approx((3e-5, 2e-5))
    assert "other plans, each at most 2e-05" in device.to_latex()
    assert len(device.to_csv().splitlines()) == 5
    one = policy.device(3).likely()  # a single rare plan is listed, for it takes one line
    assert len(one.plans) == 3


def test_latex_escapes_labels() -> None:
    text = labeled(NASTY).to_latex()
    assert r"a \& b \% c\_d \# \$e\$ \{f\} \textasciitilde{}g \textasciicircum{}h " in text
    assert r"\textbackslash{}i, ''j'' \textperiodcentered{} k \textless{}l\textgreater{} " in text
    assert r"\textbar{}m\textbar{} {[}n{]} {*}o -{}- \textasciigrave{}p\textasciigrave{}" in text


@examples(200)
@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=30))
def test_no_label_breaks_a_latex_table(label: str) -> None:
    """Every row has the same number of cells, and all braces are closed, in either layout."""
    for text in (labeled(label).to_latex(), labeled(f"{label} {'long' * 30}").to_latex()):
        body = text.split("\\midrule\n")[1].split("\\bottomrule")[0]
        columns = text.count("p{0.36") + 2 if "p{0.36" in text else 2
        for line in body.splitlines():
            assert line.endswith(r" \\")
            plain = line.removesuffix(r" \\").replace("\\\\", "")
            depth = 0
            cells = 1
            for before, letter in zip(" " + plain, plain, strict=False):
                if before == "\\":
                    continue
                depth += (letter == "{") - (letter == "}")
                cells += letter == "&"
                assert depth >= 0
                assert letter not in "%#_~^" or before == "\\"
            assert (depth, cells) == (0, columns)


def test_wide_tables_are_wrapped_in_latex() -> None:
    game = accord.load_game("sheriff(max_items=3,max_bribe=2,num_rounds=1)")
    text = accord.solve(game, k=1, iterations=50).policy.device(2).to_latex()
    assert r"\begin{tabular}{@{}rlp{0.36\linewidth}p{0.36\linewidth}@{}}" in text
    assert r"{\raggedright T=0 num\_\allowbreak{}illegal\_\allowbreak{}items:" in text
    assert r"Inspection\allowbreak{}Feedback(\allowbreak{}will" in text
    assert text.count(r"\addlinespace") == 1


def test_small_probabilities_in_latex() -> None:
    game = accord.load_game("chicken")
    profiles = [({"row": a}, {"col": "dare"}) for a in ("dare", "yield")]
    device = CorrelatedPolicy.from_device(
        game, list(zip([1 - 2e-7, 2e-7], profiles, strict=True))
    ).device()
    assert r"$2 \times 10^{-7}$ & yield & dare \\" in device.to_latex()


@pytest.mark.parametrize("name", ["signalling", "kuhn_poker"])
def test_a_policy_is_made_from_its_own_device(name: str) -> None:
    """With what it recommends off the path, on which its gap depends, whether listed or not."""
    game = accord.load_game(name)
    best = accord.optimize(game, 1).policy
    for off_path in (False, True):
        again = CorrelatedPolicy.from_device(game, best.device(off_path=off_path))
        np.testing.assert_array_equal(again.behavior, best.behavior)
        assert accord.certify(game, again, 1)[1].gap == accord.certify(game, best, 1)[1].gap
    with pytest.raises(accord.errors.MismatchError):
        CorrelatedPolicy.from_device(accord.load_game("chicken"), best.device())


@pytest.mark.parametrize(
    "device", [{1: 2}, [1], ["ab"], [(1,)], [(1, 2)], [(1, [2, 3])], [(1, {"row": 3})]]
)
def test_what_is_not_a_weight_and_a_plan_is_refused(device: list[object]) -> None:
    with pytest.raises(accord.errors.PolicyError, match="component 0 must be a weight and a plan"):
        CorrelatedPolicy.from_device(accord.load_game("chicken"), device)


def test_a_device_that_has_no_components_at_all_is_refused() -> None:
    with pytest.raises(accord.errors.PolicyError, match=r"list of weights and plans, .* got 5"):
        CorrelatedPolicy.from_device(accord.load_game("chicken"), 5)
    with pytest.raises(accord.errors.ArgumentError, match=r"game must be an accord\.Game"):
        CorrelatedPolicy.from_device("chicken", [])


def test_a_device_with_plans_left_out_makes_no_policy() -> None:
    device = device_of("signalling", plans=1)
    with pytest.raises(
        accord.errors.PolicyError, match=r"must list all its plans, .* of 0\.75; list more"
    ):
        CorrelatedPolicy.from_device(accord.load_game("signalling"), device)


def test_plans_by_player_names_and_weights_as_fractions() -> None:
    game = accord.load_game("chicken")
    (_, first), *_ = library_device("chicken")
    named = [("1/3", dict(zip(game.player_labels, first, strict=True))), ("2/3", first)]
    policy = CorrelatedPolicy.from_device(game, named)
    assert policy.weights.tolist() == [1 / 3, 2 / 3]
    assert np.array_equal(policy.behavior[0], policy.behavior[1])


def test_a_plan_says_nothing_where_its_own_actions_never_lead() -> None:
    b = accord.GameBuilder("twice", players=["one"])
    b.move(player="one", infoset="first", actions="stop go")
    b.payoff("stop", 0)
    b.move("go", player="one", infoset="second", actions="left right")
    b.payoff("go left", 1)
    b.payoff("go right", 2)
    game = b.build()
    policy = CorrelatedPolicy.from_device(game, [(1, ({"first": "stop"},))])
    assert policy.behavior.tolist() == [[1.0, 1.0, 0.0, 1.0, 0.0]]
    with pytest.raises(accord.errors.PolicyError, match="infoset 'second': no action is given"):
        CorrelatedPolicy.from_device(game, [(1, ({"first": "go"},))])


def seven_rounds(plans: int) -> tuple[Game, CorrelatedPolicy]:
    """A game with too many infosets for the columns of a page, and a device with few plans."""
    b = accord.GameBuilder(players=["ann", "bob"])
    for n in range(7):
        b.move(["go on"] * n, player=("ann", "bob")[n % 2], infoset=n, actions=["go on", "stop"])
        b.payoff([*["go on"] * n, "stop"], n, -n)
    b.payoff(["go on"] * 7, 7, 7)
    game = b.build()
    told = [
        {str(n): "stop" if n >= rank else "go on" for n in range(7)}
        for rank in range(7, 7 - plans, -1)
    ]
    own = [{i: {x: a for x, a in one.items() if int(x) % 2 == i} for i in (0, 1)} for one in told]
    return game, CorrelatedPolicy.from_device(
        game, [(1 / plans, (parts[0], parts[1])) for parts in own]
    )


def test_plans_are_columns_where_rows_would_be_too_wide():
    device = seven_rounds(2)[1].device()
    assert device.to_text(40).splitlines() == [
        "     probability  0.5    0.5",
        "ann  0            go on  go on",
        "     2            go on  go on",
        "     4            go on  go on",
        "     6            go on  stop",
        "bob  1            go on  go on",
        "     3            go on  go on",
        "     5            go on  go on",
    ]
    assert "probability  player  infoset  told" in device.to_text(25)
    assert device.to_text(200).startswith("             ann")


def test_columns_of_plans_in_latex_have_their_numbers_above():
    device = seven_rounds(4)[1].device()
    table = as_latex(device._by_plan())
    assert r" & probability & $0.25$ & $0.25$" in table
    assert r"ann & 0 & go on" in table
    assert r"\begin{tabular}{@{}llllll@{}}" in table


def test_probabilities_of_one_table_are_written_alike() -> None:
    third = CorrelatedPolicy.from_device(
        game := accord.load_game("chicken"),
        [(p, ({"row": r}, {"col": c})) for p, r, c in (
            (1 / 2, "dare", "yield"), (1 / 3, "yield", "dare"), (1 / 6, "yield", "yield"))],
    ).device()  # fmt: skip
    assert third.probabilities() == ["1/2", "1/3", "1/6"]
    assert r"$\frac{1}{6}$" in third.to_latex() == third._repr_latex_()
    assert [plan["exact"] for plan in third.to_json()["plans"]] == ["1/2", "1/3", "1/6"]
    half = CorrelatedPolicy.from_device(game, [(1.0, ({"row": "dare"}, {"col": "yield"}))])
    assert half.device().probabilities() == ["1"]


def test_many_recommendations_are_read_in_rows() -> None:
    kuhn = accord.load_game("kuhn")
    device = accord.optimize(kuhn).policy.device()
    assert device.is_tall == (len(device.plans) > 1 and device._by_plan().width <= 100)
    assert not device_of("chicken").is_tall and not device_of("signalling").is_tall
