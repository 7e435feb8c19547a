"""Damaged files of every kind are read or refused; ``make fuzz`` tries new seeds for longer."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support import fuzzing
from tests.support.fuzzing import Kind, kinds

MUTANTS = 60
NAMES = (
    "efg", "policy.json", "policy.npz", "other game", "run.json", "arrays of solve",
    "run.json of learn", "arrays of learn", "packed", "run.json of an environment",
    "arrays of an environment", "nfg", "correlation plan", "run.json of joint plays",
    "arrays of joint plays", "run.json of optimize", "arrays of optimize", "proof", "language",
    "sweep",
)  # fmt: skip


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Kind]:
    return kinds(tmp_path_factory.mktemp("fuzz") / "valid")


def test_every_kind_is_tried(targets: dict[str, Kind]) -> None:
    assert tuple(targets) == NAMES


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_mutants_are_read_or_refused(name: str, targets: dict[str, Kind], tmp_path: Path) -> None:
    findings = [(seed, targets[name].try_mutant(seed, tmp_path)) for seed in range(MUTANTS)]
    for seed, finding in findings:
        assert finding is None, f"seed {seed}: {finding}"


class Talkative(fuzzing.AccordError):
    """Errors shorten what they say; this one does not."""

    def __str__(self) -> str:
        return "x" * 10**6


def test_the_fuzzer_finds_what_is_there(targets: dict[str, Kind], tmp_path: Path) -> None:
    """A reader that breaks on damaged bytes, says too much or never ends is noticed."""

    def breaks(folder: Path) -> None:
        (folder / "game.efg").read_bytes().decode("ascii")
        raise IndexError

    def babbles(folder: Path) -> None:
        raise Talkative

    valid = targets["efg"]
    found = [
        Kind(valid.files, valid.source, valid.mutate, read).try_mutant(1, tmp_path)
        for read in (breaks, babbles)
    ]
    assert "Error" in str(found[0])
    assert found[1] == "a message of 1000000 characters"


def test_a_reader_that_never_ends_is_noticed(
    targets: dict[str, Kind], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hangs(folder: Path) -> None:
        while True:
            pass

    monkeypatch.setattr(fuzzing, "PATIENCE", 1)
    valid = targets["efg"]
    finding = Kind(valid.files, valid.source, valid.mutate, hangs).try_mutant(1, tmp_path)
    assert "no answer within 1 s" in str(finding)


def test_the_same_seed_makes_the_same_mutant() -> None:
    data = b'{"a": [1, 2.5, "x"]}'
    for mutate in (fuzzing.mutated_bytes, fuzzing.mutated_text):
        one, other = (mutate(data, random.Random(5)) for _ in range(2))
        assert one == other
