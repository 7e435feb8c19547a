r"""A drawn game tree as a TikZ picture, for papers.

The picture is the one of ``tree.py``, in the same places. It needs only the package tikz, and all
its styles can be changed: ``\input`` it after ``\tikzset{accord/payoff/.style=...}``. Labels in
other scripts than Latin need LuaLaTeX or XeLaTeX.
"""

from __future__ import annotations

import re

from accord._format import SUPERSCRIPTS, TIMES
from accord.equilibrium.tables import escaped
from accord.reports.colors import LIGHT, MUTED, SERIES
from accord.reports.tree import TreeView

SCALE = 0.0264
"""Centimetres per unit of the drawing: 96 units are an inch."""

EXPONENT = {raised: plain for plain, raised in SUPERSCRIPTS.items()}
POWER = re.compile(f"{TIMES}10([{''.join(map(chr, EXPONENT))}]+)")
"""A power of ten as :func:`accord._format.pretty` writes it, and its exponent in plain digits."""

STYLES = (
    r"accord/edge/.style={draw=accordmuted}",
    r"accord/never/.style={accord/edge, dotted}",
    r"accord/deviation/.style={draw=accordwarn}",
    r"accord/threat/.style={draw=accordwarn, dashed}",
    r"accord/joint/.style={dashed}",
    r"accord/node/.style={circle, inner sep=1.6pt}",
    r"accord/chance/.style={circle, draw=accordmuted, fill=white, inner sep=1.4pt}",
    r"accord/move/.style={anchor=south east, inner sep=1pt, font=\scriptsize}",
    r"accord/infoset/.style={anchor=north east, inner sep=1pt, font=\tiny, text=accordmuted}",
    r"accord/payoff/.style={anchor=west, inner sep=2pt, font=\scriptsize}",
    r"accord/key/.style={anchor=west, inner sep=2pt, font=\scriptsize}",
)


def tree_tikz(tree: TreeView) -> str:
    r"""The tree as a ``tikzpicture`` for ``\input``."""
    lines = [
        r"% needs \usepackage{tikz}; with graphicx, \resizebox{!}{.9\textheight}{\input{...}}",
        r"% makes a large tree fit the page; labels in other scripts need LuaLaTeX or XeLaTeX",
        *(f"\\definecolor{{accordp{i}}}{{HTML}}{{{_hex(c)}}}" for i, c in enumerate(SERIES)),
        f"\\definecolor{{accordmuted}}{{HTML}}{{{_hex(MUTED)}}}",
        f"\\definecolor{{accordwarn}}{{HTML}}{{{_hex(LIGHT['warn'])}}}",
        r"\begin{tikzpicture}[",
        *(f"  {style}," for style in STYLES),
        "]",
    ]
    for joint in tree.joints:
        lines.append(f"\\draw[accord/joint, accord{_player(joint.player)}] {_path(joint.path)};")
    for edge in tree.edges:
        style = "never" if edge.never else "edge"
        style = "deviation" if edge.marked else "threat" if edge.threat else style
        width = f"{0.4 * edge.width:.2f}pt"
        lines.append(f"\\draw[accord/{style}, line width={width}] {_path(edge.path)};")
        lines.append(_label("move", edge.x, edge.y + 3, _typeset(edge.text)))
    for node in tree.nodes:
        lines.append(_dot(node.player, node.x, node.y))
        if node.player is not None:
            lines.append(_label("infoset", node.x + 2, node.y + 5, _typeset(node.text)))
    for leaf in tree.payoffs:
        lines.append(_label("payoff", leaf.x - 4, leaf.y - 4, _typeset(leaf.text)))
    for entry in tree.key:
        lines.append(_dot(entry.player, entry.x + 5, entry.y))
        lines.append(_label("key", entry.x + 10, entry.y, _typeset(entry.text)))
    if tree.note:
        lines.append(_label("key", 12, tree.note_y - 4, _typeset(tree.note)))
    return "\n".join([*lines, r"\end{tikzpicture}", ""])


def _path(data: str) -> str:
    """SVG path data, which has the commands M, L, C and Q, in TikZ."""
    parts: list[str] = []
    here = (0.0, 0.0)
    for command, numbers in re.findall(r"([MLCQ])([^MLCQ]*)", data):
        values = [float(number) for number in numbers.split()]
        points = list(zip(values[::2], values[1::2], strict=True))
        if command == "Q":  # a quadratic curve is the cubic one with these points
            (x, y), end = points
            points = [
                (here[0] + 2 / 3 * (x - here[0]), here[1] + 2 / 3 * (y - here[1])),
                (end[0] + 2 / 3 * (x - end[0]), end[1] + 2 / 3 * (y - end[1])),
                end,
            ]
        here = points[-1]
        first, *more = [_at(*point) for point in points]
        if command == "M":
            parts.append(first)
        elif command == "L":
            parts.append(f"-- {first}")
        else:
            parts.append(f".. controls {first} and {more[0]} .. {more[1]}")
    return " ".join(parts)


def _at(x: float, y: float) -> str:
    return f"({SCALE * x:.3f},{-SCALE * y:.3f})"


def _dot(player: int | None, x: float, y: float) -> str:
    style = "chance" if player is None else f"node, fill=accord{_player(player)}"
    return f"\\node[accord/{style}] at {_at(x, y)} {{}};"


def _label(style: str, x: float, y: float, text: str) -> str:
    return f"\\node[accord/{style}] at {_at(x, y)} {{{text}}};"


def _typeset(text: str) -> str:
    """A label, with powers of ten, minus signs and ellipses as LaTeX writes them."""
    plain = POWER.sub(_power, escaped(text))
    return plain.replace("\N{MINUS SIGN}", "$-$").replace("…", r"\ldots{}").replace("  ", r"\ ")


def _power(found: re.Match[str]) -> str:
    return rf"$\times10^{{{found[1].translate(EXPONENT)}}}$"


def _player(player: int) -> str:
    return f"p{player % len(SERIES)}"


def _hex(color: str) -> str:
    return color.removeprefix("#").upper()
