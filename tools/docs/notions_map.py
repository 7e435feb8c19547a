"""The picture of docs/theory/notions.md: every notion, and whose gap is at most whose.

``python tools/docs/notions_map.py`` writes it to docs/images. Arrows are the covering pairs of
``Notion.is_bounded_by``, which the tests compare with gaps of random games. The picture has its own
background, so that it is readable on light and dark pages.
"""

from __future__ import annotations

from pathlib import Path

from accord.deviations.notions import (
    AFCCE,
    AFCE,
    BCE,
    EFCCE,
    EFCE,
    LADDER,
    LCE,
    NFCCE,
    NFCE,
    Notion,
)

IMAGE = Path(__file__).parents[2] / "docs" / "images" / "notions.svg"

WIDTH, HEIGHT, BOX, TALL = 900, 348, 112, 58
TWO = Notion(2)
PLACES = {
    NFCCE: (20, 150), EFCCE: (172, 150), EFCE: (324, 150), TWO: (476, 150), BCE: (628, 150),
    NFCE: (768, 150), LCE: (552, 32), AFCCE: (172, 262), AFCE: (324, 262),
}  # fmt: skip
SAYS = {
    NFCCE: ("commits before", "the play"), EFCCE: ("leaves before", "being told"),
    EFCE: ("leaves after", "being told"), TWO: ("disobeys", "twice"),
    BCE: ("is told", "everywhere"), NFCE: ("sees the whole", "plan first"),
    LCE: ("asks along", "one path"), AFCCE: ("as EFCCE,", "then obeys"),
    AFCE: ("as EFCE,", "then obeys"),
}  # fmt: skip

STYLE = """
  text { font: 12px system-ui, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; fill: #22313a; }
  .card { fill: #fbfcfc; stroke: #c9d3d8; }
  .box { fill: #e9f1f4; stroke: #1d4e63; }
  .few { fill: #f6ede4; stroke: #b3541e; }
  .same { fill: none; stroke: #8fa3ac; stroke-dasharray: 5 4; }
  .name { font-weight: 600; fill: #1d4e63; font-size: 15px; }
  .note { font-style: italic; fill: #51636d; }
  .arrow { fill: none; stroke: #51636d; stroke-width: 1.6; }
  .tip { fill: #51636d; }
  @media (prefers-color-scheme: dark) {
    text { fill: #dfe7ea; }
    .card { fill: #1b2429; stroke: #3c4a52; }
    .box { fill: #24343d; stroke: #7fc4dd; }
    .few { fill: #3a2a20; stroke: #f0a36b; }
    .name { fill: #9bd6ea; }
    .note { fill: #a9b8bf; }
    .arrow { stroke: #a9b8bf; }
    .tip { fill: #a9b8bf; }
  }"""


def covering() -> list[tuple[Notion, Notion]]:
    """Pairs of notions with nothing in between, the weaker one first."""
    pairs = [
        (one, other)
        for one in LADDER
        for other in LADDER
        if one != other and one.is_bounded_by(other)
    ]
    return [
        (one, other)
        for one, other in pairs
        if not any((one, mid) in pairs and (mid, other) in pairs for mid in LADDER)
    ]


def arrow(one: Notion, other: Notion) -> str:
    """A line from a notion to one that bounds it: straight along a row, else into a side."""
    (x, y), (to_x, to_y) = PLACES[one], PLACES[other]
    if y == to_y:
        start, end = (x + BOX, y + TALL / 2), (to_x - 3, to_y + TALL / 2)
    elif to_y < y and to_x - x > BOX:  # up, to the left side or from the right one
        start, end = (x + BOX, y + 12), (to_x - 3, to_y + TALL - 12)
    else:
        start, end = (x + BOX, y + TALL - 12), (to_x - 3, to_y + 12)
    return (
        f'<line class="arrow" x1="{start[0]}" y1="{start[1]}" x2="{end[0]}" y2="{end[1]}" '
        'marker-end="url(#tip)"/>'
    )


def drawn() -> str:
    """The whole picture."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" role="img">',
        "<title>Equilibrium notions; along each arrow the gap does not decrease</title>",
        f"<style>{STYLE}\n</style>",
        '<defs><marker id="tip" markerWidth="9" markerHeight="8" refX="7" refY="4" '
        'orient="auto"><path class="tip" d="M0,0 L8,4 L0,8 z"/></marker></defs>',
        f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8"/>',
    ]
    left, right = PLACES[EFCE][0] - 12, PLACES[BCE][0] + BOX + 12
    lines.append(
        f'<rect class="same" x="{left}" y="138" width="{right - left}" height="98" rx="8"/>'
    )
    note = "the same outcomes, for all K ≥ 1"
    lines.append(f'<text class="note" x="{PLACES[TWO][0]}" y="227">{note}</text>')
    lines += [arrow(*pair) for pair in covering()]
    for notion, (x, y) in PLACES.items():
        kind = "few" if notion.has_no_tree else "box"
        named = notion is not TWO and notion.k is not None
        name = f"{notion}, K={notion.symbol}" if named else notion.name
        lines.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{BOX}" height="{TALL}" rx="6"/>')
        lines.append(f'<text class="name" x="{x + 9}" y="{y + 19}">{name}</text>')
        for n, words in enumerate(SAYS[notion]):
            lines.append(f'<text x="{x + 9}" y="{y + 35 + 14 * n}">{words}</text>')
    lines.append('<text class="note" x="20" y="32">Along each arrow gaps do not decrease.</text>')
    lines.append('<text class="note" x="20" y="50">Blue: solve and learn compute it.</text>')
    lines.append('<text class="note" x="20" y="68">Brown: certify measures it.</text>')
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    IMAGE.write_text(drawn())
