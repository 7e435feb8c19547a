"""A mutation fuzzer for everything that Accord reads: games, policies, run folders, sweeps.

A mutant is a valid file with one to three mutations, drawn from a seed. Reading it must succeed or
raise an :class:`AccordError` with a message of reasonable length. Any other exception is a finding,
and so are a reader that does not come back, one that takes far more memory than the valid file, and
a run that continues from a damaged state to a number that cannot be. Bounds, certificates and the
terminal are checked with new random games.

``make fuzz`` draws new seeds for a minute per kind, or as long as ``SECONDS`` says, and prints how
to repeat each finding.
"""

from __future__ import annotations

import io
import json
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import accord
from accord.equilibrium import policy_npz
from accord.equilibrium.correlation_plan import CorrelationPlan, PlanSteps
from accord.equilibrium.packing import Packed
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import AccordError
from accord.optimal import check_proof
from accord.runs.folder import RunFolder
from accord.runs.reading import read_run
from accord.runs.result import Solution
from accord.runs.sweep import sweep
from accord.serve.messages import load_messages
from accord.treeplex.form import sequence_form
from tests.support.command import run
from tests.support.environments import NoisyChicken
from tests.support.exact_bounds import check_bounds, check_optimum, check_region, check_tree_bounds
from tests.support.exact_certificates import (
    CONFIDENCE,
    check_certificate,
    check_notions,
    is_covered,
)
from tests.support.hostile import check_harmless, hostile_game
from tests.support.resuming import resume

LONGEST_MESSAGE = 5_000
MOST_MEMORY = 2**28
"""More than any of the valid files takes, and less than what a small archive can expand to."""

PATIENCE = 60
"""Seconds after which a reader is taken for one that never ends."""

JUNK: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**63, -(2**63), 10**400, 0.5, -0.0, 1e308, -1e308, 5e-324,
    "", "x", "inf", "nan", "-1", "\x00", "\x1b[31m", "é" * 50, "a" * 100_000, [], [[]], {}, [None],
    {"": {}}, [1e400],
)  # fmt: skip
TOKENS = (
    b"{", b"}", b"[", b"]", b'"', b",", b":", b"-", b"1e999", b"NaN", b"Infinity", b"null", b"\xff",
    b"\x00", b"9" * 400, b"0", b"1/0", b"1/3", b"p", b"c", b"t", b"\\", b"\n", b"EFG 2 R",
)  # fmt: skip


class Endless(Exception):
    """A reader that did not come back."""


def mutated_bytes(data: bytes, rng: random.Random) -> bytes:
    """Bytes flipped, lost, repeated, moved or replaced by a token."""
    place = rng.randrange(len(data) + 1)
    end = min(len(data), place + rng.choice((1, 2, 8, 64, 1000)))
    match rng.randrange(6):
        case 0 if place < len(data):
            return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]
        case 1:
            return data[:place] + data[end:]
        case 2:
            return data[:end] + data[place:]
        case 3:
            return data[:place]
        case 4:
            other = rng.randrange(len(data) + 1)
            return data[:other] + data[place:end] + data[other:]
        case _:
            return data[:place] + rng.choice(TOKENS) + data[place + rng.randrange(3) :]


def mutated_json(content: Any, rng: random.Random) -> Any:
    """One entry, at any depth, lost, repeated or replaced by junk."""
    if not isinstance(content, (dict, list)) or not content or rng.random() < 0.1:
        if isinstance(content, (int, float)) and not isinstance(content, bool):
            return rng.choice((*JUNK, -content, content + 1, str(content)))
        return rng.choice(JUNK)
    if isinstance(content, dict):
        key = rng.choice(sorted(content))
        rest = {name: value for name, value in content.items() if name != key}
        match rng.randrange(5):
            case 0:
                return rest
            case 1:
                return {**rest, rng.choice(("x", key + "x", "")): content[key]}
            case _:
                return {**content, key: mutated_json(content[key], rng)}
    place = rng.randrange(len(content))
    match rng.randrange(6):
        case 0:
            return content[:place] + content[place + 1 :]
        case 1:
            return [*content, content[place]]
        case _:
            return [*content[:place], mutated_json(content[place], rng), *content[place + 1 :]]


def mutated_array(array: np.ndarray, rng: random.Random) -> np.ndarray:
    """An array with another value, shape or type."""
    match rng.randrange(7):
        case 0:
            return array.reshape(-1)[: rng.randrange(array.size + 1)]
        case 1:
            return np.stack([array, array])
        case 2:
            return np.zeros(array.shape, rng.choice(("f4", "f8", "i8", "u1", "U5", "?", "c16")))
        case 3:
            return np.array(rng.choice((-1, 0, 2**40, np.nan, np.inf, "text")))
        case 4 if array.dtype.kind == "U" and array.size:
            words = array.copy().reshape(-1)
            words[rng.randrange(words.size)] = rng.choice(("", "x", "[", "\x00"))
            return words.reshape(array.shape)
        case _ if array.size and array.dtype.kind in "fiu":
            values = array.astype(float).reshape(-1)
            value = rng.choice((-1.0, 0.0, 0.5, 2.0, 1e300, np.nan, np.inf, -1e-7))
            values[rng.randrange(values.size)] = value
            with np.errstate(invalid="ignore"):
                return values.astype(array.dtype).reshape(array.shape)
        case _:
            return np.zeros((0,) * rng.randrange(3), array.dtype)


def mutated_npz(data: bytes, rng: random.Random) -> bytes:
    """An archive with an array lost, added or mutated; now and then with damaged bytes."""
    if rng.random() < 0.2:
        return mutated_bytes(data, rng)
    with np.load(io.BytesIO(data), allow_pickle=False) as content:
        arrays: dict[str, Any] = {name: content[name] for name in content.files}
    name = rng.choice(sorted(arrays))
    match rng.randrange(6):
        case 0:
            del arrays[name]
        case 1:
            arrays[name] = arrays[rng.choice(sorted(arrays))]
        case 2 if name == "note":
            note = mutated_json(json.loads(bytes(arrays[name])), rng)
            arrays[name] = np.frombuffer(json.dumps(note).encode(), np.uint8)
        case _:
            arrays[name] = mutated_array(arrays[name], rng)
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def mutated_packed(data: bytes, rng: random.Random) -> bytes:
    """An archive with damage to its packed probabilities (``equilibrium/packing.py``)."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    packed = [name for name in members if _is_packed(name)]
    name, other = rng.choice(packed), rng.choice(packed)
    array = np.load(io.BytesIO(members[name]))
    match rng.randrange(8):
        case 0:  # a stream that ends too early or too late
            content = members[name]
            members[name] = content[: rng.randrange(len(content))] + bytes(rng.choice((0, 5)))
        case 1:  # a header that promises another size
            shape = list(array.shape)
            shape[rng.randrange(len(shape))] = rng.choice((-1, 0, 1, 7, 2**20, 2**31, 2**62))
            members[name] = _npy(array, tuple(shape))
        case 2:
            members[name], members[other] = members[other], members[name]
        case 3:  # flipped bits
            flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            for _ in range(rng.choice((1, 3, 50)) if flat.size else 0):
                flat[rng.randrange(flat.size)] ^= 1 << rng.randrange(8)
            members[name] = _npy(flat.view(array.dtype).reshape(array.shape))
        case 4:
            kind = rng.choice(("i1", "i2", "i4", "i8", "u1", "u8", "f4", "f8", "U3", "?", "c16"))
            with np.errstate(all="ignore"):
                members[name] = _npy(array.astype(kind))
        case 5:  # rows or columns more or less
            axis = rng.randrange(array.ndim)
            longer = np.concatenate([array, array], axis)
            index = range(rng.randrange(longer.shape[axis] + 1))
            members[name] = _npy(longer.take(index, axis))
        case 6:  # a bomb: many zeros in few bytes
            shape = tuple(2**22 if n == max(array.shape) else n for n in array.shape)
            members[name] = _npy(np.zeros(shape, array.dtype))
        case _:
            members[name] = _npy(mutated_array(array, rng))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def _is_packed(name: str) -> bool:
    stem = name.removeprefix("iterates_").removesuffix(".npy").rstrip("_0123456789")
    return stem in Packed._fields


def _npy(array: np.ndarray, shape: tuple[int, ...] | None = None) -> bytes:
    """An array as a file, whose header may say another shape."""
    file = io.BytesIO()
    header = np.lib.format.header_data_from_array_1_0(np.ascontiguousarray(array))
    np.lib.format.write_array_header_1_0(file, header | {"shape": shape or array.shape})
    return file.getvalue() + array.tobytes()


def mutated_text(data: bytes, rng: random.Random) -> bytes:
    """A JSON file, mutated as JSON or as bytes."""
    if rng.random() < 0.3:
        return mutated_bytes(data, rng)
    lines = data.decode().splitlines()
    place = rng.randrange(len(lines))
    lines[place] = json.dumps(mutated_json(json.loads(lines[place]), rng))
    return "\n".join(lines).encode()


@dataclass(frozen=True)
class Kind:
    """Something that Accord reads."""

    files: tuple[str, ...]  # that are mutated, in ``source``
    source: Path  # a folder with valid files
    mutate: Callable[[bytes, random.Random], bytes]
    read: Callable[[Path], object]  # the folder with the mutant

    def try_mutant(self, seed: int, base: Path) -> str | None:
        """What goes wrong with the mutant of this seed, or None."""
        rng, folder = random.Random(seed), base / "mutant"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.source, folder)
        file = folder / rng.choice(self.files)
        data = file.read_bytes()
        for _ in range(rng.choice((1, 1, 2, 3))):
            try:
                data = self.mutate(data, rng)
            except Exception:  # what is mutated already cannot be read
                data = mutated_bytes(data, rng)
        file.write_bytes(data)
        before = _memory("VmRSS", reset=True)
        try:
            with limited_time():
                self.read(folder)
        except AccordError as error:
            length = len(str(error))
            if length > LONGEST_MESSAGE:
                return f"a message of {length} characters"
        except Exception:
            return traceback.format_exc()
        taken = _memory("VmHWM") - before
        return f"{taken} bytes of memory" if taken > MOST_MEMORY else None


def _memory(name: str, *, reset: bool = False) -> int:
    """What this process takes, or took at most since the last reset; 0 if the system hides it."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        return 0
    return 1024 * int(found[1]) if found else 0


@contextmanager
def limited_time() -> Iterator[None]:
    """Raise :class:`Endless` if the context takes too long; without effect on Windows."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def give_up(*_: Any) -> None:
        raise Endless(f"no answer within {PATIENCE} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def kinds(base: Path) -> dict[str, Kind]:
    """Every kind of file, with valid files in ``base``."""
    game, small = accord.load_game("kuhn"), accord.load_game("signalling")
    games, policies, solved = base / "games", base / "policies", base / "solved"
    learned, tasks, played, large, joint, best, texts = (
        base / name for name in ("learned", "tasks", "played", "large", "joint", "best", "texts")
    )
    for folder in (games, policies, texts):
        folder.mkdir(parents=True)
    accord.interop.write_efg(game, games / "game.efg")
    accord.save_game(chicken := accord.load_game("chicken"), games / "game.nfg")
    steps = PlanSteps.of_game(sequence_form(chicken))
    plan = CorrelationPlan(steps, _shares(steps))
    accord.save_policy(CorrelatedPolicy.of_plan(plan), policies / "plan.npz")
    accord.learn(game, 1, feedback="joint", episodes=2000, components=4, folder=joint)
    accord.optimize(small, folder=best)
    accord.interop.write_efg(small, best / "game.efg")
    german = (resources.files("accord.serve") / "languages" / "de.toml").read_text("utf-8")
    (texts / "own.toml").write_text(german, encoding="utf-8")
    solution = accord.solve(game, 1, iterations=20, components=4, folder=solved)
    accord.save_policy(solution.policy, policies / "policy.json")
    accord.save_policy(solution.policy, policies / "policy.npz")
    accord.learn(game, 1, episodes=200, components=4, folder=learned)
    accord.learn(NoisyChicken(), 1, episodes=200, components=4, folder=played)
    plain, policy_npz.PLAIN_BYTES = policy_npz.PLAIN_BYTES, 0
    accord.solve(game, 1, iterations=20, components=10, folder=large)  # packed, as large ones are
    policy_npz.PLAIN_BYTES = plain
    made = {"one": {"n": 1}}
    sweep(_job, made, tasks)

    def read_solved(folder: Path) -> Solution:
        read_run(RunFolder.open(folder), game)
        return resume(game, folder, iterations=25)

    def read_learned(folder: Path) -> None:
        read_run(RunFolder.open(folder), game)
        resume(game, folder, episodes=250)

    def read_played(folder: Path) -> None:
        read_run(RunFolder.open(folder))
        resume(NoisyChicken(), folder, episodes=250)

    def read_large(folder: Path) -> None:
        certificate = accord.certify(game, accord.load_policy(folder / "policy.npz", game))
        _check_numbers(certificate.values, [gap.gap for gap in certificate.gaps])
        (folder / "policy.npz").unlink()  # so that the checkpoint is read
        found = read_solved(folder)
        _check_numbers(found.values, [found.gap, found.average_gap])

    def read_joint(folder: Path) -> None:
        read_run(RunFolder.open(folder), game)
        resume(game, folder, episodes=2500)

    def read_best(folder: Path) -> None:
        read_run(RunFolder.open(folder), small)
        accord.optimize(small, folder=folder, resume=True)

    def check(folder: Path) -> None:
        """The checker may refuse a proof, but by no other errors than those that it reports."""
        with suppress(ValueError, LookupError, TypeError, ArithmeticError, RecursionError):
            proof = json.loads((folder / "proof.json").read_text())
            assert check_proof.check((folder / "game.efg").read_text(), proof) == 10

    json_files = ("run.json",)
    arrays = ("checkpoint.npz", "policy.npz")
    return {
        "efg": Kind(
            ("game.efg",), games, mutated_bytes, lambda f: accord.load_game(str(f / "game.efg"))
        ),
        "policy.json": Kind(
            ("policy.json",), policies, mutated_text,
            lambda f: accord.load_policy(f / "policy.json", game),
        ),
        "policy.npz": Kind(
            ("policy.npz",), policies, mutated_npz,
            lambda f: accord.load_policy(f / "policy.npz", game),
        ),
        "other game": Kind(
            ("policy.npz",), policies, mutated_npz,
            lambda f: accord.load_policy(f / "policy.npz", small),
        ),
        "run.json": Kind(json_files, solved, mutated_text, read_solved),
        "arrays of solve": Kind(arrays, solved, mutated_npz, read_solved),
        "run.json of learn": Kind(json_files, learned, mutated_text, read_learned),
        "arrays of learn": Kind(arrays, learned, mutated_npz, read_learned),
        "packed": Kind(arrays, large, mutated_packed, read_large),
        "run.json of an environment": Kind(json_files, played, mutated_text, read_played),
        "arrays of an environment": Kind(arrays, played, mutated_npz, read_played),
        "nfg": Kind(
            ("game.nfg",), games, mutated_bytes, lambda f: accord.load_game(str(f / "game.nfg"))
        ),
        "correlation plan": Kind(
            ("plan.npz",), policies, mutated_npz,
            lambda f: accord.certify(chicken, accord.load_policy(f / "plan.npz", chicken)),
        ),
        "run.json of joint plays": Kind(json_files, joint, mutated_text, read_joint),
        "arrays of joint plays": Kind(arrays, joint, mutated_npz, read_joint),
        "run.json of optimize": Kind(json_files, best, mutated_text, read_best),
        "arrays of optimize": Kind(("policy.npz",), best, mutated_npz, read_best),
        "proof": Kind(("proof.json", "game.efg"), best, mutated_text, check),
        "language": Kind(
            ("own.toml",), texts, mutated_bytes,
            lambda f: load_messages.__wrapped__(str(f / "own.toml")),
        ),
        "sweep": Kind(
            ("one/result.json", ".one.json"), tasks, mutated_text, lambda f: sweep(_job, made, f)
        ),
    }  # fmt: skip


def _shares(steps: PlanSteps) -> np.ndarray:
    """Equal shares at every step."""
    share = np.zeros(steps.n_tuples)
    for first, size in zip(steps.sharing.first, steps.sharing.size, strict=True):
        share[first : first + max(size, 0)] = 1.0 / max(size, 1)
    return share


def _check_numbers(values: Sequence[float], gaps: Sequence[float]) -> None:
    """Values and gaps of Kuhn poker, in which nobody wins or loses more than 2."""
    assert all(-2.0 <= value <= 2.0 for value in values), values
    assert all(-4.0 <= gap <= 4.0 for gap in gaps), gaps


def _job(folder: Path, n: int) -> dict[str, int]:
    return {"n": n}


def check_labels(seed: int) -> int:
    """No command obeys random labels; return how many were tried."""
    rng = random.Random(seed)
    evil = "".join(chr(rng.choice([*range(1, 32), *range(127, 160), 8238, 8294])) for _ in "12345")
    label = evil.replace("\n", "").replace("\r", "") + rng.choice(["[2J", "]0;x", "x"])
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "game.efg"
        quoted = label.replace("\\", "").replace('"', "")
        path.write_text(hostile_game(quoted), encoding="utf-8")
        commands = [("info", path), ("solve", path, "--iterations", 3), ("optimize", path)]
        for command in commands:
            result = run(*command)
            check_harmless(result.stdout + result.stderr)
    return len(commands)


CHECKS = {
    "bounds": (check_bounds, "exact equilibria"),
    "bounds of trees": (check_tree_bounds, "exact equilibria"),
    "optima": (check_optimum, "proved optima"),
    "regions": (check_region, "directions"),
    "certificates": (check_certificate, "numbers within their errors"),
    "notions": (check_notions, "gaps within their errors"),
    "labels": (check_labels, "commands"),
}
"""Random games, and how many of what is checked in them."""


def _try_coverage(seconds: float) -> int:
    """Certificates from play with new seeds for so long; 1 if too many do not hold."""
    end, tried, failed = time.monotonic() + seconds, 0, 0
    while time.monotonic() < end:
        tried += 1
        failed += not is_covered(random.SystemRandom().randrange(2**32))
    print(f"coverage: {tried:,} certificates at {CONFIDENCE:.0%} confidence, {failed:,} failed")
    return int(stats.binom.sf(failed - 1, tried, 1.0 - CONFIDENCE) < 1e-6)


def _try_games(kind: str, seconds: float) -> int:
    """Check games with new seeds for so long; the number of findings."""
    check, what = CHECKS[kind]
    end, tried, checked, found = time.monotonic() + seconds, 0, 0, 0
    while time.monotonic() < end:
        seed = random.SystemRandom().randrange(2**32)
        tried += 1
        try:
            checked += check(seed)
        except Exception:
            found += 1
            print(f"{kind}, seed {seed}:\n{traceback.format_exc()}", flush=True)
    print(f"{kind}: {tried:,} games, {checked:,} {what}", flush=True)
    return found


def main(seconds: float, *names: str) -> int:
    """Fuzz every kind, or those with these names, with new seeds for so long; the number of
    findings."""
    found = 0
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        for kind, target in kinds(base / "valid").items():
            if names and kind not in names:
                continue
            end, tried = time.monotonic() + seconds, 0
            while time.monotonic() < end:
                seed = random.SystemRandom().randrange(2**32)
                tried += 1
                if (finding := target.try_mutant(seed, base)) is not None:
                    found += 1
                    print(f"{kind}, seed {seed}:\n{finding}", flush=True)
            print(f"{kind}: {tried:,} mutants", flush=True)
    for kind in CHECKS:
        if not names or kind in names:
            found += _try_games(kind, seconds)
    if not names or "coverage" in names:
        found += _try_coverage(seconds)
    print(f"{found} findings")
    return found


if __name__ == "__main__":
    given = sys.argv[1:] or ["60"]
    sys.exit(min(1, main(float(given[0]), *given[1:])))
