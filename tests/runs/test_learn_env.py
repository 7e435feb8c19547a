"""Runs of environments: folders, resuming, files, loading by name."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accord._format import pretty
from accord.certifying.exact import certify
from accord.cli.progress import _Pace
from accord.equilibrium.policy_files import load_policy, save_policy
from accord.errors import (
    ArgumentError,
    BudgetError,
    MismatchError,
    ParseError,
    PolicyError,
    SimulatorError,
)
from accord.game.library import kuhn
from accord.interop.load_env import load_environment
from accord.interop.pettingzoo import PettingZooEnvironment
from accord.interop.python_files import names_python
from accord.reports.compare import compare
from accord.reports.page import run_page
from accord.reports.source import read_source
from accord.reports.summary import summarize
from accord.runs.checkpoint import Checkpoint
from accord.runs.learn import learn
from accord.runs.reading import Bounds
from tests.support.command import run
from tests.support.environments import Hidden, NoisyChicken, Open
from tests.support.resuming import resume

SEED = {"seed": 3, "episodes": 600}


def learned_bits(folder: Path) -> dict[str, bytes]:
    """The arrays of the saved policy, without the note, which has the time it took."""
    with np.load(folder / "policy.npz") as content:
        return {name: content[name].tobytes() for name in content.files if name != "note"}


class Breaks(Hidden):
    """Works until some play, and again when it is made anew."""

    def __init__(self, at: int) -> None:
        super().__init__(kuhn())
        self.at, self.plays = at, 0

    def reset(self, rng: np.random.Generator) -> None:
        self.plays += 1
        if self.plays == self.at:
            raise OSError("no connection")
        super().reset(rng)


def test_a_run_that_broke_continues_with_the_same_bits(tmp_path: Path) -> None:
    whole = learn(Hidden(kuhn()), 1, folder=tmp_path / "whole", **SEED)
    with pytest.raises(SimulatorError, match="no connection") as broken:
        learn(Breaks(200), 1, folder=tmp_path / "broken", **SEED)
    assert broken.value.learned.episodes == 198
    resumed = resume(Hidden(kuhn()), tmp_path / "broken")
    assert resumed.episodes == whole.episodes == 600
    assert learned_bits(tmp_path / "broken") == learned_bits(tmp_path / "whole")
    assert resumed.values == whole.values
    assert resumed.certificate is not None
    stored = json.loads((tmp_path / "broken" / "certificate.json").read_text())
    assert resumed.certificate.to_json().items() <= stored.items()


def test_a_finished_run_can_be_extended(tmp_path: Path) -> None:
    learn(Hidden(kuhn()), 1, folder=tmp_path / "a", plays=10, **SEED)
    more = resume(Hidden(kuhn()), tmp_path / "a", episodes=900)
    assert more.episodes == 900
    with pytest.raises(MismatchError, match="holds a run of 'kuhn'"):
        resume(NoisyChicken(), tmp_path / "a")
    learn(kuhn(), 1, episodes=30, folder=tmp_path / "game")
    with pytest.raises(MismatchError, match="holds a run of 'kuhn' with digest"):
        resume(Hidden(kuhn()), tmp_path / "game")


class OpenBreaks(Breaks, Open):
    """Is discovered by a walk."""


@pytest.mark.parametrize("options", [{"method": "swrhedge"}, {"exploration": "balanced"}])
def test_the_papers_policies_are_resumed(tmp_path: Path, options: dict[str, Any]) -> None:
    """The treeplexes are discovered again, and learning continues with the same bits."""
    whole = learn(Open(kuhn()), 1, folder=tmp_path / "whole", **SEED, **options)
    with pytest.raises(SimulatorError, match="no connection") as broken:
        learn(OpenBreaks(202), 1, folder=tmp_path / "broken", **SEED, **options)
    assert broken.value.learned.episodes == 200
    resumed = resume(Open(kuhn()), tmp_path / "broken")
    assert resumed.episodes == whole.episodes == 600
    assert learned_bits(tmp_path / "broken") == learned_bits(tmp_path / "whole")
    worked = learn(Open(kuhn()), 1, workers=2, batch=1, **SEED, **options)
    assert worked.policy.behavior.tobytes() == whole.policy.behavior.tobytes()


def test_learning_again_resumes(tmp_path: Path) -> None:
    """A cell of a notebook that is run again continues, and a finished run stays as it is."""
    with pytest.raises(SimulatorError, match="no connection"):
        learn(Breaks(200), 1, folder=tmp_path / "again", resume=True, **SEED)
    again = learn(Hidden(kuhn()), 1, folder=tmp_path / "again", resume=True, **SEED)
    learn(Hidden(kuhn()), 1, folder=tmp_path / "whole", **SEED)
    assert learned_bits(tmp_path / "again") == learned_bits(tmp_path / "whole")
    more = learn(Hidden(kuhn()), 1, folder=tmp_path / "again", resume=True, seed=3, episodes=900)
    assert (again.episodes, more.episodes) == (600, 900)
    with pytest.raises(MismatchError, match="holds a run with k = 1, not 2"):
        learn(Hidden(kuhn()), 2, folder=tmp_path / "again", resume=True, **SEED)
    with pytest.raises(ArgumentError, match="must be a new or empty folder"):
        learn(Hidden(kuhn()), 1, folder=tmp_path / "again", **SEED)


@pytest.mark.parametrize("at", [650, 1300])
def test_fresh_plays_that_break_lose_nothing(tmp_path: Path, at: int) -> None:
    """600 episodes, then 600 plays for the values and 600 for the bounds."""
    with pytest.raises(SimulatorError, match="no connection") as broken:
        learn(Breaks(at), 1, folder=tmp_path / "run", **SEED)
    kept = broken.value.learned
    assert (kept.episodes, kept.certificate) == (600, None)
    resumed = resume(Hidden(kuhn()), tmp_path / "run")
    assert resumed.policy.behavior.tobytes() == kept.policy.behavior.tobytes()
    assert resumed.plays == 600
    assert 590 < resumed.certificate.plays <= 600


def test_bounds_that_are_refused_leave_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = learn(NoisyChicken(), 1, episodes=30)
    assert (few.certificate, few.plays) == (None, 30)
    assert few.refusal == "bounds on the gap need at least 40 plays; there were 30"

    def refuse(*arguments: Any) -> Any:
        raise BudgetError("the rechistories need 7.4 GB", required=7, available=6)

    monkeypatch.setattr("accord.runs.learning_run.bounded_by_play", refuse)
    monkeypatch.chdir(tmp_path)
    Path("env.py").write_text("from tests.support.environments import NoisyChicken\n")
    text = run("learn", "env.py:NoisyChicken", "--episodes", "300", "--out", "run").stdout
    assert "no bounds on the gap: the rechistories need 7.4 GB" in text
    assert load_policy(tmp_path / "run" / "policy.npz").n_components > 10
    run("report", "run")
    page = Path("run/report.html").read_text("utf-8")
    assert "there are no bounds on the gap: the rechistories need 7.4 GB." in page


def test_running_values_and_memory(tmp_path: Path) -> None:
    seen: list[Checkpoint] = []
    learned = learn(
        NoisyChicken(), 1, episodes=900, plays=10, folder=tmp_path / "run",
        progress=seen.append,
    )  # fmt: skip
    last = learned.history[-1]
    assert seen[-1] == last
    assert (last.iteration, last.episodes, last.player_gaps) == (300, 900, ())
    assert last.seen is not None
    assert (last.seen.infosets, last.seen.full) == (2, False)
    assert last.seen.memory > 1000
    assert all(0.0 <= value <= 7.0 for value in last.values)
    assert all(0.0 <= margin < 1.5 for margin in last.seen.margins)  # of a hundred plays or so
    lines = (tmp_path / "run" / "progress.jsonl").read_text().splitlines()
    kept = [Checkpoint.from_json(json.loads(line)) for line in lines]
    assert [point.values for point in kept] == [point.values for point in learned.history]
    assert kept[-1].seen == last.seen
    words = _Pace(900, None).state(last)
    known = "100% of decisions known"
    assert re.fullmatch(rf"900 episodes, values \S+ \S+, 2 infosets in [\d.]+ kB, {known}", words)


def test_reports_of_unfinished_runs_and_of_several(tmp_path: Path) -> None:
    with pytest.raises(SimulatorError):
        learn(Breaks(200), 1, folder=tmp_path / "broken", **SEED)
    run("report", tmp_path / "broken")
    page = (tmp_path / "broken" / "report.html").read_text("utf-8")
    assert "<strong>This run has not finished.</strong> The page shows its last" in page
    assert "the episodes in which nobody explored" in page
    for seed in (3, 4):
        learn(Hidden(kuhn()), 1, folder=tmp_path / f"{seed}", seed=seed, episodes=300, plays=400)
    folders = [tmp_path / name for name in ("broken", "3", "4")]
    compared = compare([read_source(folder).facts for folder in folders])
    assert (compared.game, compared.best) == ("kuhn", None)
    assert [group.label for group in compared.groups] == ["prm"]
    assert [one.finished for _, one in compared.runs] == [False, True, True]
    run("report", *folders, "--out", tmp_path / "all.html")
    page = (tmp_path / "all.html").read_text("utf-8")
    run("report", tmp_path / "3")
    alone = (tmp_path / "3" / "report.html").read_text("utf-8")
    assert "player 1</h3>" in alone
    assert "more infosets" not in alone  # there are six
    for words in (
        "3 runs of kuhn",
        "(not finished)",
        "Bounds on the gap",
        '<td data-name="gap">0 to ',
    ):
        assert words in page
    assert (tmp_path / "all-bounds.svg").exists()
    learn(Hidden(kuhn()), 2, folder=tmp_path / "k2", episodes=300, plays=400)
    two = compare([read_source(tmp_path / name).facts for name in ("3", "k2")])
    assert [group.label for group in two.groups] == ["K = 1", "K = 2"]
    best = compare([read_source(tmp_path / name).facts for name in ("3", "4")])
    assert best.best in (0, 1)


def test_bounds_that_are_none_are_refused() -> None:
    learned = learn(NoisyChicken(), 1, episodes=100, plays=50)
    certificate = json.loads(json.dumps(learned.certificate.to_json()))
    bounds = Bounds.from_json(certificate, 2)
    assert (bounds.lower, bounds.upper) == (learned.certificate[1].lower, bounds.player_upper[0])
    (gap,) = certificate["gaps"]
    for change in (
        {"gaps": []},
        {"gaps": [{**gap, "player_lower": [0.0]}]},
        {"gaps": [{**gap, "player_upper": [1.0, math.inf]}]},
        {"gaps": [{**gap, "witness": [{}, {}]}]},
        {"confidence": None},
        {"plays": "many"},
    ):
        with pytest.raises(ValueError, match="certificate"):
            Bounds.from_json({**certificate, **change}, 2)


def test_runs_in_games_and_environments_side_by_side(tmp_path: Path) -> None:
    """Those in environments have bounds and no curve, and the page says so."""
    learn(Hidden(kuhn()), 1, folder=tmp_path / "env", episodes=300, plays=400)
    for seed in (1, 2):
        learn(kuhn(), 1, seed=seed, episodes=300, folder=tmp_path / f"game{seed}")
    folders = [tmp_path / name for name in ("env", "game1", "game2")]
    compared = compare([read_source(folder).facts for folder in folders])
    assert (compared.game, compared.relative, compared.best) == ("kuhn", False, None)
    assert [group.label for group in compared.groups] == [
        "prm, learned in an environment",
        "prm, learned",
    ]
    run("report", *folders, "--out", tmp_path / "all.html")
    page = (tmp_path / "all.html").read_text("utf-8")
    assert "cannot be ranked with the others" in page
    written = {path.name for path in tmp_path.glob("all-*.svg")}
    assert written == {"all-bounds.svg", "all-episodes.svg", "all-seconds.svg"}


def test_a_game_that_is_known_after_all_gives_exact_gaps(tmp_path: Path) -> None:
    learned = learn(Hidden(kuhn()), 1, folder=tmp_path / "run", episodes=300, plays=400)
    run("report", tmp_path / "run", "--game", "kuhn")
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    gap = certify(kuhn(), learned.policy, 1)[1].gap
    assert f"No player gains more than <strong>{pretty(gap)}</strong>" in page
    assert "<h2>Inspector</h2>" in page
    assert "Game tree" in page
    assert run("device", tmp_path / "run", "--game", "kuhn").stdout
    said = run("device", tmp_path / "run", code=2).stderr
    assert "in an environment, whose game is not known" in said
    assert (
        "the game must have all infosets"
        in run("report", tmp_path / "run", "--game", "chicken", code=2).stderr
    )


@pytest.mark.parametrize("suffix", ["json", "npz"])
def test_policies_of_environments_need_no_game(tmp_path: Path, suffix: str) -> None:
    learned = learn(Hidden(kuhn()), 1, plays=10, components=7, **SEED)
    path = tmp_path / f"policy.{suffix}"
    save_policy(learned.policy, path)
    policy = load_policy(path)
    assert policy.name == "kuhn"
    assert policy.player_labels == learned.policy.player_labels
    np.testing.assert_array_equal(policy.behavior, learned.policy.behavior)
    np.testing.assert_array_equal(policy.weights, learned.policy.weights)
    for one, other in zip(policy.plexes, learned.policy.plexes, strict=True):
        assert list(one.infoset_labels) == list(other.infoset_labels)
        assert list(one.action_labels) == list(other.action_labels)
        np.testing.assert_array_equal(one.parent_seq, other.parent_seq)
    assert load_policy(path, kuhn()).n_components == 7
    of_game = tmp_path / f"game.{suffix}"
    save_policy(learn(kuhn(), 1, episodes=30).policy, of_game)
    with pytest.raises(ArgumentError, match=r"is the policy of a game.*give the game too"):
        load_policy(of_game)


def test_damaged_policies_of_environments(tmp_path: Path) -> None:
    learned = learn(NoisyChicken(), 1, episodes=30, plays=10, components=2)
    path = tmp_path / "policy.json"
    save_policy(learned.policy, path)
    content = json.loads(path.read_text())
    content["components"][0]["weight"] = 0.9
    path.write_text(json.dumps(content))
    with pytest.raises(PolicyError, match=r"the weights must sum to one; they sum to 1\.4"):
        load_policy(path)
    content["components"][0] |= {"weight": 0.5, "policy": [{"the road": [0.5, 0.6]}] * 2}
    path.write_text(json.dumps(content))
    with pytest.raises(PolicyError, match=r"component 0, .* 'the road': .* must sum to one"):
        load_policy(path)
    del content["components"][0]["policy"]
    path.write_text(json.dumps(content))
    with pytest.raises(PolicyError, match='component 0 must have a number "weight" and a list'):
        load_policy(path)
    (tmp_path / "policy.npz").write_bytes(b"nothing")
    with pytest.raises(ParseError, match="damaged"):
        load_policy(tmp_path / "policy.npz")


# --- by name --------------------------------------------------------------------------------------

SOURCE = """
from tests.support.environments import NoisyChicken
from tests.support.pettingzoo_envs import Pennies, together

made = NoisyChicken()
zoo, parallel = Pennies, together

def broken():
    raise KeyError("a bug")

nothing = 7
"""


def test_environments_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some_envs.py").write_text(SOURCE)
    file = f"{tmp_path}/some_envs.py"
    monkeypatch.syspath_prepend(str(tmp_path))
    for place in (file, "some_envs", "tests.support.environments"):
        assert names_python(f"{place}:NoisyChicken")
        assert load_environment(f"{place}:NoisyChicken").name == "noisy chicken"
    assert load_environment(f"{file}:made").name == "noisy chicken"
    for name, known in (("zoo", "pennies"), ("parallel", "together")):
        env = load_environment(f"{file}:{name}", payoff_bounds=[-1, 1])
        assert isinstance(env, PettingZooEnvironment)
        assert env.name == known
        assert load_environment(f"{file}:{name}").payoff_bounds is None
    assert load_environment("kuhn_poker", play=True).name == "kuhn_poker"
    for wrong, message in (
        ("absent", "has no 'absent'"),
        ("nothing", "env must be an environment; got 7, which lacks"),
    ):
        with pytest.raises(ArgumentError, match=message):
            load_environment(f"{file}:{wrong}")
    with pytest.raises(SimulatorError, match="raised KeyError: 'a bug'"):
        load_environment(f"{file}:broken")
    with pytest.raises(ArgumentError, match="there is no module 'no'"):
        load_environment("no.such:thing")
    with pytest.raises(ArgumentError, match="must be a Python file"):
        load_environment("absent.py:thing")
    for game in ("kuhn", "kuhn:players=3", "separation:k=1", "kuhn_poker(players=3)", "a.efg"):
        assert not names_python(game)
    with pytest.raises(ArgumentError, match=r"FILE\.py:NAME"):
        load_environment("kuhn")


CHICKEN = "tests.support.environments:NoisyChicken"


@pytest.mark.slow
def test_the_command_line(tmp_path: Path) -> None:
    out = tmp_path / "run"
    learned = json.loads(
        run("learn", CHICKEN, "--episodes", "300", "--out", str(out), "--json").stdout
    )
    assert learned["game"] == "noisy chicken"
    assert learned["lower"] <= learned["upper"]
    longer = ("--episodes", "600", "--workers", "2")
    shown = run("learn", CHICKEN, "--resume", str(out), *longer).stdout
    assert "600 episodes" in shown
    assert "gap at least" in shown
    run("report", str(out))
    page = (out / "report.html").read_text("utf-8")
    for words in ("noisy chicken", "With 95", "expected payoff", "at least", "the road"):
        assert words in page
    source = read_source(out)
    bounds = source.facts.bounds
    texts = zip(bounds.found, (None, "somebody dares"), strict=True)
    bounds = replace(bounds, found=tuple(replace(one, text=text) for one, text in texts))
    source = replace(source, facts=replace(source.facts, bounds=bounds))
    page = run_page(summarize(source), None, None)
    for words in (
        "The plays that searched found no deviation that seemed to gain",
        "somebody dares",
    ):
        assert page.count(words) == 1
    policy = str(out / "policy.npz")
    for option in ("--plays", "--confidence"):  # 0 is not the default
        assert "; got 0" in run("certify", CHICKEN, policy, option, "0", code=2).stderr
    coarse = tmp_path / "coarse"  # at K = 0 a deviation leaves at once, whether it gains or not
    run("learn", CHICKEN, "-k", "0", "--episodes", "300", "--out", str(coarse))
    run("report", str(coarse))
    assert (coarse / "report.html").read_text("utf-8").count("In fresh plays it gained") == 2
    policy = str(out / "policy.npz")
    certified = run("certify", CHICKEN, policy, "-k", "0", "-k", "1", "--plays", "400").stdout
    assert certified.count("with 95% confidence") == 2
    refused = run("certify", "kuhn", policy, "--plays", "400", code=2)
    assert "are for environments" in refused.stderr
    assert "is for PettingZoo" in run(
        "learn", "kuhn", "--payoffs", "0", "1", "--episodes", "9", code=2
    ).stderr.replace("--payoffs is", "is")


KILLED = """
import sys
from accord.runs.learn import learn
from tests.support.environments import Hidden
from accord.game.library import kuhn

learn(Hidden(kuhn()), 1, folder=sys.argv[1], episodes=20_000, seed=5)
"""


@pytest.mark.slow
def test_killed_and_resumed_has_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "killed"
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import accord.runs.folder
            accord.runs.folder.SAVE_SECONDS = 0.0
            """
        )
        + KILLED
    )
    env: dict[str, Any] = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, str(script), str(folder)], env=env)
    while not (folder / "checkpoint.npz").exists():
        time.sleep(0.05)
        assert process.poll() is None
    time.sleep(1.0)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (folder / "policy.npz").exists()
    resume(Hidden(kuhn()), folder)
    learn(Hidden(kuhn()), 1, folder=tmp_path / "whole", episodes=20_000, seed=5)
    assert learned_bits(folder) == learned_bits(tmp_path / "whole")


def test_a_run_stopped_before_its_first_component_leaves_no_workers() -> None:
    told = []

    def interrupt_once(now: Checkpoint) -> None:
        told.append(now)
        if len(told) == 1:
            signal.raise_signal(signal.SIGINT)

    found = learn(NoisyChicken(), episodes=30_000, components=1, workers=2, progress=interrupt_once)
    assert found.interrupted
    assert found.episodes < 30_000
    assert found.policy.n_components == 1
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(
    ("name", "array"),
    [("regret", np.zeros(1)), ("n_spread", np.array(2))],  # each has one infoset
)
def test_a_damaged_checkpoint_is_refused_and_left_alone(
    tmp_path: Path, name: str, array: np.ndarray
) -> None:
    """What was restored before the damage was noticed must not be saved over it."""
    learn(NoisyChicken(), 1, episodes=200, components=4, folder=tmp_path)
    file = tmp_path / "checkpoint.npz"
    with np.load(file) as content:
        arrays = {name: content[name] for name in content.files}
    np.savez(file, **{**arrays, f"play_learner1_{name}": array})
    damaged = file.read_bytes()
    with pytest.raises(ParseError, match=r"checkpoint\.npz: is damaged"):
        resume(NoisyChicken(), tmp_path, episodes=400)
    assert file.read_bytes() == damaged
