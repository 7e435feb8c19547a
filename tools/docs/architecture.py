"""The pictures of docs/architecture.md: a request goes down the left, its result up the right.

``python tools/docs/architecture.py`` writes them to docs/images. Each box is a package with the
files that take part; each arrow carries data to the next box. The pictures have their own
background, so that they are readable on light and dark pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

IMAGES = Path(__file__).parents[2] / "docs" / "images"

WIDTH, BOX, MARGIN = 780, 340, 20
LEFT, RIGHT = MARGIN, WIDTH - MARGIN - BOX
LINE, HEAD, GAP = 19, 34, 44

STYLE = """
  text { font: 13px system-ui, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; fill: #22313a; }
  .card { fill: #fbfcfc; stroke: #c9d3d8; }
  .box { fill: #e9f1f4; stroke: #1d4e63; }
  .base { fill: none; stroke: #8fa3ac; stroke-dasharray: 5 4; }
  .end { fill: #24343d; stroke: #24343d; }
  .package { font-weight: 600; fill: #1d4e63; font-size: 15px; }
  .file { font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
  .file { font-size: 12px; fill: #8a3f12; }
  .end-text { font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
  .end-text { font-size: 12px; fill: #f4f7f8; }
  .data { font-style: italic; fill: #51636d; }
  .arrow { fill: none; stroke: #b3541e; stroke-width: 2; }
  .tip { fill: #b3541e; }
  @media (prefers-color-scheme: dark) {
    text { fill: #dfe7ea; }
    .card { fill: #1b2429; stroke: #3c4a52; }
    .box { fill: #24343d; stroke: #7fc4dd; }
    .end { fill: #0f1518; stroke: #7f929b; }
    .package { fill: #9bd6ea; }
    .file { fill: #f0a36b; }
    .data { fill: #a9b8bf; }
    .arrow { stroke: #f0a36b; }
    .tip { fill: #f0a36b; }
  }"""


@dataclass(frozen=True)
class Box:
    """A package with ``(file, what it does)`` lines; without a package, lines of a terminal."""

    package: str
    lines: tuple[tuple[str, str], ...]
    data: str = ""  # what the arrow out of this box carries

    @property
    def height(self) -> int:
        return LINE * len(self.lines) + (HEAD if self.package else 20)


SOLVE = (
    "The path of accord solve through the packages",
    (
        Box("", (("", "$ accord solve kuhn_poker -k 1 --out runs/x"),), "arguments"),
        Box(
            "cli",
            (("solve.py", "reads the options"), ("loading.py", "loads the game by its name")),
            "Game, request",
        ),
        Box(
            "runs",
            (("request.py", "checks what was asked"), ("loop.py", "runs blocks of iterations")),
            "treeplexes, table of leaves",
        ),
        Box(
            "learning",
            (("self_play.py", "lets all players play"), ("kefr.py", "one learner per player")),
            "losses, rechistory trees",
        ),
    ),
    Box(
        "regret",
        (
            ("methods.py", "chooses the minimizer and its kernel"),
            ("regret_matching.py", "adds up regrets at each infoset"),
            ("fixed_point.py", "stationary distribution: the next policy"),
        ),
        "policies, summed losses",
    ),
    (
        Box(
            "equilibrium",
            (("gap.py", "the exact gap"), ("policy.py", "the mixture of iterates")),
            "CorrelatedPolicy",
        ),
        Box("certifying", (("exact.py", "the best deviations"),), "Certificate"),
        Box(
            "runs",
            (("folder.py", "writes the files of runs/x"), ("result.py", "holds the outcome")),
            "Solution",
        ),
        Box("cli", (("outcome.py", "prints the tables"),), "text"),
        Box("", (("", "gap 1.025e-06 ... Written to runs/x"),)),
    ),
    Box(
        "game, treeplex, deviations",
        (
            ("tree.py", "the game: flat arrays, one entry per node"),
            ("treeplex.py, leaves.py", "each player's decisions, and the payoffs at the leaves"),
            ("rechistory.py", "what a deviator remembers, for each K"),
        ),
    ),
)

LEARN = (
    "The path of learn on a PettingZoo environment through the packages",
    (
        Box("", (("", "learn(PettingZooEnvironment(...), k=1, ...)"),), "Environment"),
        Box(
            "runs",
            (("learn.py", "checks what was asked"), ("loop.py", "runs blocks of iterations")),
            "Environment",
        ),
        Box(
            "learning",
            (("episode_play.py", "players take turns"), ("whole_plays.py", "one learner each")),
            "policies to explore",
        ),
        Box(
            "play",
            (("episodes.py", "plays episodes"), ("own_tree.py", "numbers the infosets")),
            "infosets, losses",
        ),
    ),
    Box(
        "regret",
        (
            ("methods.py", "chooses the minimizer and its kernels"),
            ("sampled_matching.py", "adds up regrets along the play"),
            ("fixed_point.py", "stationary distribution: the next policy"),
        ),
        "policies",
    ),
    (
        Box("equilibrium", (("policy.py", "the mixture of components"),), "CorrelatedPolicy"),
        Box("certifying", (("by_play.py", "bounds from fresh plays"),), "Certificate"),
        Box("runs", (("result.py", "holds the outcome"),), "Learned"),
        Box("", (("", "learned.policy, learned.certificate"),)),
    ),
    Box(
        "treeplex, deviations",
        (
            ("treeplex.py", "each player's decisions"),
            ("rechistory.py", "what a deviator remembers, for each K"),
        ),
    ),
)

OPTIMIZE = (
    "The path of accord optimize through the packages",
    (
        Box("", (("", "$ accord optimize chicken -k 1 --out runs/y"),), "arguments"),
        Box(
            "cli",
            (("optimize.py", "reads the options"), ("loading.py", "loads the game by its name")),
            "Game, request",
        ),
        Box(
            "runs",
            (("optimize.py", "chooses the search"), ("loop.py", "runs its rounds")),
            "treeplexes, table of leaves",
        ),
        Box(
            "optimal",
            (
                ("column_generation.py", "adds joint plans"),
                ("program.py", "finds the best lottery"),
                ("pricing.py", "finds plans to add"),
                ("tuples.py", "bounds all equilibria"),
                ("polish.py", "makes the lottery exact"),
            ),
            "lottery, bound",
        ),
    ),
    Box("equilibrium", (("policy.py", "the mixture of joint plans"),), "CorrelatedPolicy"),
    (
        Box("certifying", (("exact.py", "the best deviations"),), "Certificate"),
        Box("runs", (("folder.py", "writes the files of runs/y"),), "Optimum"),
        Box("", (("", "welfare 10.5, proved optimal; ..."),)),
    ),
    Box(
        "game, treeplex, deviations",
        (
            ("tree.py", "the game: flat arrays, one entry per node"),
            ("treeplex.py, leaves.py", "each player's decisions, and the payoffs at the leaves"),
            ("rechistory.py", "what a deviator remembers, for each K"),
        ),
    ),
)


def picture(title: str, down: tuple[Box, ...], turn: Box, up: tuple[Box, ...], base: Box) -> str:
    """``down`` on the left, ``turn`` across, ``up`` on the right; below, what all of them read."""
    parts: list[str] = []
    y = MARGIN
    for box in down:
        parts.append(_box(box, LEFT, y, BOX))
        y += box.height
        parts.append(_arrow(LEFT + BOX / 2, y, y + GAP, box.data))
        y += GAP
    parts.append(_box(turn, LEFT, y, WIDTH - 2 * MARGIN))
    bottom = y + turn.height + MARGIN
    parts.append(_box(base, LEFT, bottom, WIDTH - 2 * MARGIN, "base"))
    bottom += base.height
    spare = y - MARGIN - sum(box.height for box in up)
    gap = spare / len(up)  # the last box stands level with the first
    for before, box in zip((turn, *up), up, strict=False):
        parts.append(_arrow(RIGHT + BOX / 2, y, y - gap, before.data))
        y -= gap + box.height
        parts.append(_box(box, RIGHT, y, BOX))
    height = bottom + MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
        f'width="{WIDTH}" height="{height:g}" role="img" aria-label="{escape(title)}">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}\n</style>\n"
        f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1:g}" rx="10"/>'
        + "".join(f"\n{part}" for part in parts)
        + "\n</svg>\n"
    )


def _box(box: Box, x: float, y: float, width: float, kind: str = "box") -> str:
    kind = kind if box.package else "end"
    parts = [
        f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{box.height}" rx="6"/>'
    ]
    if box.package:
        name = ", ".join(f"{part}/" for part in box.package.split(", "))
        parts.append(_text("package", x + 14, y + 21, name))
    longest = max(len(file) for file, _ in box.lines)
    for row, (file, what) in enumerate(box.lines):
        line = y + (HEAD if box.package else 10) + LINE * row + 8
        if not file:
            parts.append(_text("end-text", x + 14, line + 4, what))
            continue
        parts.append(_text("file", x + 14, line, file))
        parts.append(_text("", x + 24 + 7.4 * longest, line, what))
    return "\n".join(parts)


def _arrow(x: float, start: float, end: float, label: str) -> str:
    way = 1 if end > start else -1
    tip = end - 9 * way
    return "\n".join(
        (
            f'<path class="arrow" d="M{x:g} {start:g}V{tip:g}"/>',
            f'<path class="tip" d="M{x - 6:g} {tip:g}h12L{x:g} {end - way:g}z"/>',
            _text("data", x + 14, (start + end) / 2 + 4, label),
        )
    )


def _text(kind: str, x: float, y: float, text: str) -> str:
    style = f' class="{kind}"' if kind else ""
    return f'<text{style} x="{x:g}" y="{y:g}">{escape(text, quote=False)}</text>'


PICTURES = {"solve.svg": SOLVE, "learn.svg": LEARN, "optimize.svg": OPTIMIZE}


if __name__ == "__main__":
    for name, parts in PICTURES.items():
        (IMAGES / name).write_text(picture(*parts))
