"""The picture of a region that readers can touch: they choose payoffs and see a device.

Every point of a polygon is a mixture of at most three of its vertices, and the same mixture of
their devices is an equilibrium with these payoffs. ``templates/region.js`` finds it in the page.
Here are the data that it needs, and the layer of the picture that can be clicked: the area of the
axes, and a place for each equilibrium that stands out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure

from accord._format import pretty
from accord.game.labels import player_name
from accord.reports.chart import to_inline, to_svg
from accord.reports.page import render
from accord.reports.region import picture
from accord.reports.view import Picture
from accord.runs.region import PayoffPolygon, Point, Region

POINTS = 72
"""To the inch: the unit of length in an SVG file."""

MOST_TOLD = 50_000
"""Recommendations in the plans of all vertices that a page may have."""


def touchable(wide: Figure, narrow: Figure, label: str, found: Region) -> Picture:
    """The picture of a region with a layer that can be clicked; ``label`` says what it shows."""
    spots = [{"x": x, "y": y, "text": text} for (x, y), text in _spots(found)]
    return Picture(*(with_layer(figure, label, spots) for figure in (wide, narrow)))


def region_data(found: Region) -> dict[str, Any] | None:
    """What the page needs to find devices; None if the plans are too many for a page."""
    polygons = [_polygon_data(polygon) for polygon in found.polygons if polygon.vertices]
    told = sum(
        len(told)
        for polygon in polygons
        for vertex in polygon["vertices"]
        for plan in vertex["plans"]
        for told in plan["told"]
    )
    if not polygons or told > MOST_TOLD:
        return None
    labels = found.game.player_labels
    return {
        "players": list(map(player_name, labels)),
        "axes": [labels.index(player) for player in found.players],
        "polygons": polygons,
    }


def region_page(found: Region) -> str:
    """The picture and its devices as a page of its own."""
    one, other = map(player_name, found.players)
    label = f"The payoffs that {one} and {other} can have in equilibrium"
    drawn = touchable(picture(found), picture(found, narrow=True), label, found)
    return render("region_page.html", found=found, region=drawn, touch=region_data(found), data={})


def _polygon_data(polygon: PayoffPolygon) -> dict[str, Any]:
    return {
        "title": polygon.title,
        "name": polygon.notion.name,
        "outer": [list(point) for point in polygon.outer],
        "vertices": [
            {
                "payoffs": list(vertex.payoffs),
                "values": list(vertex.values),
                "plans": [
                    {"probability": plan["probability"], "told": plan["told"]}
                    for plan in vertex.to_json()["device"]
                ],
            }
            for vertex in polygon.vertices
        ],
    }


def _spots(found: Region) -> Iterator[tuple[Point, str]]:
    """The points that stand out, each place once, with what there is to say about it."""
    words: dict[tuple[str, str], tuple[Point, list[str]]] = {}

    def add(point: Point, text: str) -> None:
        key = (pretty(point[0]), pretty(point[1]))
        known = words.setdefault(key, (point, []))[1]
        if text not in known:
            known.append(text)

    for polygon in found.polygons:
        for vertex in polygon.vertices:
            add(vertex.payoffs, f"vertex of {polygon.title}")
        if polygon.welfare is not None and polygon.vertices:
            add(polygon.welfare.payoffs, f"best welfare of {polygon.title}")
    for point in found.nash or ():
        add(point, f"{'' if found.zero_sum else 'pure '}Nash equilibrium")
    for point in found.mixed_nash or ():
        add(point, "mixed Nash equilibrium")
    for point in found.feasible or ():
        add(point, "corner of the feasible payoffs")
    for (x, y), (point, texts) in words.items():
        yield point, f"{x}, {y}: {'; '.join(texts)}"


def with_layer(figure: Figure, label: str, spots: list[dict[str, Any]], tab: str = "0") -> Markup:
    """A figure with a layer that can be clicked, and its spots; ``tab`` is "-1" where the keyboard
    has another way to them."""
    svg = to_svg(figure)
    name = f"a{hashlib.sha256(svg.encode()).hexdigest()[:10]}"  # ids that no other figure has
    axes = figure.axes[0]
    width, height = (POINTS * inches for inches in figure.get_size_inches())
    box = axes.get_position()
    left, right = width * box.x0, width * box.x1
    top, bottom = height * (1 - box.y1), height * (1 - box.y0)
    x, y = axes.get_xlim(), axes.get_ylim()
    places = [
        {
            **spot,
            "left": left + (right - left) * (spot["x"] - x[0]) / (x[1] - x[0]),
            "top": bottom - (bottom - top) * (spot["y"] - y[0]) / (y[1] - y[0]),
        }
        for spot in spots
        if x[0] <= spot["x"] <= x[1] and y[0] <= spot["y"] <= y[1]
    ]
    layer = render(
        "touch.svg", left=left, right=right, top=top, bottom=bottom, x=x, y=y, spots=places,
        tab=tab,
    )  # fmt: skip
    head, end, _ = to_inline(svg, name, label).rpartition("</svg>")
    # Buttons inside must be found by readers who cannot see the picture.
    head = head.replace(' role="img"', ' role="group"', 1)
    return Markup(f"{head}{layer}{end}")
