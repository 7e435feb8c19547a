"""Packed mixtures: every bit comes back, and what regret matching makes becomes small."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.equilibrium import packing
from accord.equilibrium.packing import Packed, pack, round_vectors, unpack
from accord.game.library import kuhn, library_game
from accord.runs.components import vectors_of
from accord.runs.solve import solve
from accord.treeplex.form import sequence_form
from tests.support.strategies import examples


def again(packed: Packed, sizes: Any, count: int) -> Any:
    out = np.full((count, int(np.sum(sizes))), 7.0)
    unpack(packed, sizes, out)
    return out


@st.composite
def mixtures(draw: Any) -> tuple[list[int], Any]:
    """Rows of probability vectors: pure, mixed, repeated, and now and then anything at all."""
    sizes = draw(st.lists(st.integers(1, 4), max_size=6))
    count = draw(st.integers(0, 20))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = np.zeros((count, sum(sizes)))
    first = 0
    for size in sizes:
        weights = rng.random((count, size)) * (rng.random((count, size)) < draw(st.floats(0, 1)))
        weights[weights.sum(axis=1) == 0, rng.integers(size)] = 1.0
        rows[:, first : first + size] = weights / weights.sum(axis=1, keepdims=True)
        first += size
    strange = draw(st.lists(st.floats(), max_size=3))
    for value in strange if rows.size else []:
        rows.flat[rng.integers(rows.size)] = value
    return sizes, rows


@examples(150)
@given(mixtures(), st.sampled_from([1, 7, 2**18]))
def test_every_bit_comes_back(mixture, block):
    sizes, rows = mixture
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "PACKED_AT_ONCE", block)
        packed = pack(rows, sizes)
        assert again(packed, sizes, len(rows)).tobytes() == rows.tobytes()
    for ours, other in zip(packed, pack(rows, sizes), strict=True):  # whatever the blocks were
        np.testing.assert_array_equal(ours, other)


def test_what_is_implied_is_not_stored():
    rows = np.array([
        [1.0, 0.0, 0.25, 0.75, 0.25, 0.75],
        [0.0, 1.0, 0.50, 0.50, 0.50, 0.50],
    ])  # fmt: skip
    packed = pack(rows, [2, 2, 2])
    assert packed.same.tolist() == [0, 1, 1]
    assert np.unpackbits(packed.support, axis=1, count=2).tolist() == [
        [1, 0],
        [0, 1],
        [1, 1],
        [1, 1],
    ]
    assert np.ascontiguousarray(packed.values.T).view("<f8").tolist() == [[0.25], [0.5]]
    assert packed.off.tolist() == [[0, 0], [0, 0]]
    assert packed.off.dtype == np.int8


@pytest.mark.kernels
def test_iterates_of_regret_matching_become_small():
    game = library_game("kuhn:players=3")
    form = sequence_form(game)
    behavior = solve(game, 1, iterations=400).policy.behavior
    packed = pack(behavior, vectors_of(form.plexes))
    size = sum(len(zlib.compress(array.tobytes(), 1)) for array in packed)
    assert size < behavior.nbytes / 10
    assert size < len(zlib.compress(behavior.tobytes(), 9)) / 2


@pytest.mark.parametrize(
    "spoil",
    [
        {"same": np.array([0, 0], np.int32)},
        {"same": np.array([1, 0, 0], np.int32)},
        {"same": np.array([0, 2, 2], np.int32)},
        {"same": np.array([0, -1, 0], np.int32)},
        {"same": np.array([0, 1, 0], np.int32)},  # columns of two lengths
        {"support": np.zeros((8, 2), np.uint8)},
        {"support": np.zeros((7, 1), np.uint8)},
        {"support": np.full((8, 1), 255, np.uint8)},
        {"support": np.zeros((8, 1), np.uint8)},
        {"support": np.zeros((8, 1), np.uint16)},
        {"values": np.zeros((8, 0), np.uint8)},
        {"values": np.zeros((8, 99), np.uint8)},
        {"values": np.zeros((4, 2), np.uint16)},
        {"values": np.zeros(8, np.uint8)},
        {"off": np.zeros((3, 3), np.int8)},
        {"off": np.zeros((2, 2), np.int8)},
    ],
    ids=str,
)
def test_parts_that_do_not_fit_are_refused(spoil):
    rows = np.array([[0.25, 0.75, 0.5, 0.5, 0.0, 0.1, 0.2, 0.7]] * 2)
    packed = pack(rows, [2, 3, 3])._replace(**spoil)
    with pytest.raises((ValueError, TypeError)):
        again(packed, [2, 3, 3], 2)


def test_nothing_can_be_packed():
    assert again(pack(np.empty((3, 0)), []), [], 3).shape == (3, 0)
    form = sequence_form(kuhn())
    empty = pack(np.empty((0, form.n_sequences)), vectors_of(form.plexes))
    assert again(empty, vectors_of(form.plexes), 0).shape == (0, form.n_sequences)


@pytest.mark.kernels
@examples(60)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(0, 2**32 - 1))
def test_rounded_vectors_sum_to_one_and_hardly_change(sizes, seed):
    rng = np.random.default_rng(seed)
    rows = rng.random((7, sum(sizes))) ** rng.integers(1, 40)
    starts = np.cumsum([0, *sizes[:-1]])
    rows /= np.repeat(np.add.reduceat(rows, starts, axis=1), sizes, axis=1)
    rounded = rows.copy()
    round_vectors(rounded, sizes)
    assert np.abs(rounded - rows).max() <= 5 * 2.0**-33
    assert (rounded * 2.0**32 % 1 == 0).all()
    assert (rounded >= 0).all()
    assert (np.add.reduceat(rounded, starts, axis=1) == 1.0).all()
    again = rounded.copy()
    round_vectors(again, sizes)
    np.testing.assert_array_equal(again, rounded)
    assert not pack(rounded, sizes).off.any()
