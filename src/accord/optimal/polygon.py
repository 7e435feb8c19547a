"""Convex polygons in the plane: the hull of points, cuts by half-planes, and distances.

A polygon is an array ``[n, 2]`` of its corners, counterclockwise. A segment has two corners and a
point one, so nothing here divides by an area.
"""

from __future__ import annotations

import numpy as np

from accord._arrays import Floats


def hull(points: Floats, flat: float) -> list[int]:
    """The corners of the convex hull of ``[n, 2]`` points, counterclockwise, by their numbers.

    The first is the lowest of those that are farthest to the left.

    Args:
        points: At least one point.
        flat: Corners that stand out by at most this much are left out, and so are points that close
            to another corner.
    """
    order = [int(i) for i in np.lexsort((points[:, 1], points[:, 0]))]
    corners = _chain(points, order)[:-1] + _chain(points, order[::-1])[:-1] or order[:1]
    while len(corners) > 1:
        standing = [_standing(points, corners, place) for place in range(len(corners))]
        place = int(np.argmin(standing))
        if standing[place] > flat:
            break
        del corners[place]
    left = points[corners, 0].min() + flat  # rounding does not choose among these
    first = min(
        range(len(corners)), key=lambda n: (points[corners[n], 0] > left, *points[corners[n], ::-1])
    )
    return corners[first:] + corners[:first]


def _chain(points: Floats, order: list[int]) -> list[int]:
    """The lower chain of the hull (Andrew 1979), in the order of the points."""
    chain: list[int] = []
    for i in order:
        while len(chain) > 1 and _turn(points[chain[-2]], points[chain[-1]], points[i]) <= 0.0:
            chain.pop()
        chain.append(i)
    return chain


def _turn(a: Floats, b: Floats, c: Floats) -> float:
    """Positive if a, b, c turn left."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _standing(points: Floats, corners: list[int], place: int) -> float:
    """How far a corner stands out from the segment between its neighbors."""
    before, after = corners[place - 1], corners[(place + 1) % len(corners)]
    return float(distances(points[[corners[place]]], points[[before, after]])[0])


def edges(polygon: Floats) -> tuple[Floats, Floats]:
    """The start of each edge, and its outward normal of length 1; a point has none.

    The two edges of a segment face opposite ways.
    """
    if len(polygon) < 2:
        return polygon[:0], polygon[:0]
    way = np.roll(polygon, -1, axis=0) - polygon
    normal = np.stack([way[:, 1], -way[:, 0]], axis=1)
    return polygon, normal / np.linalg.norm(normal, axis=1, keepdims=True)


def cut(polygon: Floats, direction: Floats, most: float) -> Floats:
    """The part of a polygon where ``direction . z <= most``; never empty.

    If rounding would cut everything off, the part nearest to the half-plane is left.
    """
    height = polygon @ direction
    most = max(most, float(height.min()))
    corners = []
    for i in range(len(polygon)):
        j = (i + 1) % len(polygon)
        if height[i] <= most:
            corners.append(polygon[i])
        if (height[i] < most < height[j]) or (height[j] < most < height[i]):
            share = (most - height[i]) / (height[j] - height[i])
            corners.append(polygon[i] + share * (polygon[j] - polygon[i]))
    kept = [
        corners[i] for i in range(len(corners)) if i == 0 or (corners[i] != corners[i - 1]).any()
    ]
    if len(kept) > 1 and (kept[0] == kept[-1]).all():
        kept.pop()
    return np.array(kept)


def distances(points: Floats, polygon: Floats) -> Floats:
    """``[n]`` how far each point is from the polygon, whose corners may repeat; 0 inside."""
    moves = (np.roll(polygon, -1, axis=0) != polygon).any(axis=1)
    polygon = polygon[moves] if moves.any() else polygon[:1]
    start, way = polygon, np.roll(polygon, -1, axis=0) - polygon
    length = np.maximum((way**2).sum(axis=1), np.finfo(float).tiny)
    offset = points[:, None, :] - start[None]
    share = np.clip((offset * way).sum(axis=2) / length, 0.0, 1.0)
    gap = np.linalg.norm(offset - share[..., None] * way, axis=2).min(axis=1)
    if len(polygon) > 2:
        _, normal = edges(polygon)
        inside = ((offset * normal[None]).sum(axis=2) <= 0.0).all(axis=1)
        gap = np.where(inside, 0.0, gap)
    return np.asarray(gap)


def area(polygon: Floats) -> float:
    """The area of a polygon."""
    after = np.roll(polygon, -1, axis=0)
    return float((polygon[:, 0] * after[:, 1] - polygon[:, 1] * after[:, 0]).sum()) / 2


def nearest_mixture(polygon: Floats, point: Floats) -> Floats:
    """``[n]`` weights of the corners, of which at most three are positive, whose mean is ``point``
    or, if that is outside, the nearest point of the polygon."""
    weights = np.zeros(len(polygon))
    for i in range(1, len(polygon) - 1):  # triangles with the first corner
        corners = polygon[[0, i, i + 1]]
        shares, *_ = np.linalg.lstsq(
            np.vstack([corners.T, np.ones(3)]), np.append(point, 1.0), rcond=None
        )
        if shares.min() >= 0.0 and np.allclose(shares @ corners, point, rtol=0, atol=1e-12):
            weights[[0, i, i + 1]] = shares / shares.sum()
            return weights
    way = np.roll(polygon, -1, axis=0) - polygon
    length = np.maximum((way**2).sum(axis=1), np.finfo(float).tiny)
    share = np.clip(((point - polygon) * way).sum(axis=1) / length, 0.0, 1.0)
    edge = int(np.linalg.norm(point - polygon - share[:, None] * way, axis=1).argmin())
    weights[edge] += 1.0 - share[edge]
    weights[(edge + 1) % len(polygon)] += share[edge]
    return weights
