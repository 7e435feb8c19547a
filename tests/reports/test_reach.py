"""Reach probabilities in reports of environments."""

from __future__ import annotations

from pathlib import Path

import pytest

import accord
from accord.errors import ParseError
from accord.game.library import library_game
from accord.reports.source import source_of_result
from accord.reports.summary import advice_of
from accord.reports.write import write_report
from accord.runs.folder import RunFolder
from accord.runs.reading import read_run
from accord.treeplex.form import sequence_form
from tests.support.environments import Hidden

KUHN = library_game("kuhn")


def test_they_are_the_shares_of_plays(tmp_path: Path) -> None:
    learned = accord.learn(Hidden(KUHN), 1, episodes=900, value_plays=4_000, plays=0,
                           folder=tmp_path / "run")  # fmt: skip
    exact = _reach_of(learned.policy.in_game(KUHN))
    for i, (own, plex) in enumerate(zip(learned.reached, learned.policy.plexes, strict=True)):
        shares = [share for _, share in own]
        assert shares == sorted(shares, reverse=True)
        for x, share in own:
            assert share == pytest.approx(exact[i][plex.infoset_labels[x]], abs=0.04)
    page = write_report(tmp_path / "run", tmp_path / "page.html")[0].read_text()
    assert '<th scope="col">reached</th>' in page
    assert read_run(RunFolder.open(tmp_path / "run")).reached == learned.reached


def _reach_of(policy: accord.CorrelatedPolicy) -> list[dict[str, float]]:
    """By brute force over the nodes of the game."""
    form = sequence_form(KUHN)
    found: list[dict[str, float]] = [{} for _ in form.plexes]
    env = Hidden(KUHN)
    parts = [form.split(row) for row in policy.behavior]

    def walk(node: int, share: list[float]) -> None:
        i = int(KUHN.player[node])
        for a, child in enumerate(env.children[node]):
            if i < 0:
                walk(child, [one * float(KUHN.chance_prob[child]) for one in share])
                continue
            seq = int(form.plexes[i].first_seq[KUHN.infoset[node]]) + a
            walk(child, [one * parts[c][i][seq] for c, one in enumerate(share)])
        if i >= 0:
            label = KUHN.infoset_labels[i][int(KUHN.infoset[node])]
            found[i][label] = found[i].get(label, 0.0) + sum(share)

    walk(0, policy.weights.tolist())
    return found


def test_infosets_that_plays_reach_most_come_first() -> None:
    learned = accord.learn(Hidden(KUHN), 1, episodes=300, value_plays=200, plays=0)
    advice = advice_of(learned.policy, source_of_result(learned).reached, most=3)
    for own in advice:
        reaches = [one.reach for one in own]
        assert None not in reaches and reaches == sorted(reaches, reverse=True)  # type: ignore[type-var]
    assert all(one.reach is None for own in advice_of(learned.policy) for one in own)


@pytest.mark.parametrize("wrong", [5, [[[0, 2.0]], []], [[[99, 0.5]], []], [[[0, 0.5]]], [["ab"]]])
def test_damaged_files_are_refused(tmp_path: Path, wrong: object) -> None:
    import json

    from accord.equilibrium.policy_files import load_policy_with_note, save_policy_with_note

    accord.learn(Hidden(KUHN), 1, episodes=30, value_plays=20, plays=0, folder=tmp_path)
    policy, note = load_policy_with_note(tmp_path / "policy.npz")
    content = {**json.loads(note or ""), "reached": wrong}
    save_policy_with_note(policy, tmp_path / "policy.npz", json.dumps(content))
    with pytest.raises(ParseError, match="the reached infosets must be"):
        read_run(RunFolder.open(tmp_path))
