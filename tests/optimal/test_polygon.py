"""Hulls, cuts and distances of polygons, also of segments and points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from accord.optimal.polygon import area, cut, distances, edges, hull
from tests.support.strategies import examples

SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
RIGHT, UP = np.array([1.0, 0.0]), np.array([0.0, 1.0])


@examples(100)
@given(st.integers(0, 2**32 - 1), st.integers(3, 40))
def test_hulls_are_those_of_scipy(seed, count):
    points = np.random.default_rng(seed).normal(size=(count, 2))
    corners = hull(points, 0.0)
    other = ConvexHull(points)
    assert set(corners) == set(other.vertices.tolist())
    assert area(points[corners]) == pytest.approx(other.volume)


def test_hulls_that_are_flat():
    assert hull(np.array([[1.0, 2.0]]), 0.0) == [0]
    assert hull(np.array([[1.0, 2.0]] * 3), 0.0) in ([0], [1], [2])
    assert sorted(hull(np.array([[0.0, 0.0], [2.0, 2.0], [1.0, 1.0]]), 0.0)) == [0, 1]
    bent = np.array([[0.0, 0.0], [1.0, 1e-6], [2.0, 0.0]])
    assert len(hull(bent, 1e-7)) == 3
    assert sorted(hull(bent, 1e-5)) == [0, 2]


def test_edges_face_outward():
    start, normal = edges(SQUARE)
    np.testing.assert_array_equal(start, SQUARE)
    np.testing.assert_array_equal(normal, [-UP, RIGHT, UP, -RIGHT])
    assert len(edges(SQUARE[:1])[0]) == 0
    np.testing.assert_array_equal(edges(SQUARE[:2])[1], [-UP, UP])


def test_cuts():
    assert area(cut(SQUARE, RIGHT, 0.25)) == pytest.approx(0.25)
    corner = cut(SQUARE, (RIGHT + UP) / np.sqrt(2), np.sqrt(0.5))
    assert area(corner) == pytest.approx(0.5)
    np.testing.assert_array_equal(cut(SQUARE, RIGHT, 2.0), SQUARE)
    assert area(cut(SQUARE, RIGHT, -1.0)) == 0.0  # the nearest part is left
    np.testing.assert_array_equal(np.unique(cut(SQUARE, RIGHT, -1.0), axis=0), [[0, 0], [0, 1]])
    np.testing.assert_array_equal(cut(SQUARE[:2], RIGHT, 0.5), [[0.0, 0.0], [0.5, 0.0]])
    np.testing.assert_array_equal(cut(SQUARE[:1], RIGHT, 0.5), SQUARE[:1])


def test_distances():
    places = np.array([[0.5, 0.5], [2.0, 0.5], [2.0, 2.0]])
    np.testing.assert_allclose(distances(places, SQUARE), [0.0, 1.0, np.sqrt(2)])
    np.testing.assert_allclose(distances(places, SQUARE[:2]), [0.5, np.sqrt(1.25), np.sqrt(5)])
    np.testing.assert_allclose(distances(places[:1], SQUARE[:1]), [np.sqrt(0.5)])


def test_corners_may_repeat():
    twice = np.repeat(SQUARE, 2, axis=0)
    points = np.array([[0.5, 0.5], [2.0, 0.5], [2.0, 2.0]])
    np.testing.assert_array_equal(distances(points, twice), distances(points, SQUARE))
    segment = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    np.testing.assert_array_equal(distances(np.array([[3.0, 0.0]]), segment), [2.0])
    np.testing.assert_array_equal(distances(np.array([[3.0, 0.0]]), segment[[0, 0, 0]]), [3.0])
