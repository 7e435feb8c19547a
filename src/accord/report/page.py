"""The report of one run as one HTML page that loads nothing.

Whatever comes from a game or a file goes through :func:`accord.report.words.escape`, or into the
one JSON element that the page's script reads and shows as text only.
"""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from importlib.resources import files
from string import Template
from typing import Any

from accord.report.runs import LIMITS
from accord.report.summary import bound_at
from accord.report.words import NOTHING, NOTIONS, duration, escape, k_name, number, percent

N_COLOURS = 6


def run_page(summary: dict[str, Any], pictures: dict[str, str]) -> str:
    """The page of a run.

    Args:
        summary: What :func:`accord.report.summary.summarise` found.
        pictures: Inline SVG by name: ``convergence``, ``gaps``, each also ``...-narrow``, and
            ``tree``; whichever there are.
    """
    sections = [
        _head(summary),
        _convergence(summary, pictures),
        _gaps(summary, pictures),
        _deviations(summary),
        _file("inspector.html"),
        _tree(summary, pictures),
        _about(summary),
    ]
    k = _k(summary["k"])
    data = {
        **summary["inspector"],
        "ks": [
            gap["k"]
            for gap in summary["gaps"]
            if "gap" in gap and _has_k(summary["inspector"], gap["k"])
        ],
    }
    return fill_template(
        f"{summary['game']}: {NOTIONS.get(k, 'K-EFCE')}, K = {k_name(k)}", "\n".join(sections), data
    )


def fill_template(title: str, body: str, data: dict[str, Any]) -> str:
    """A whole page around ``body``."""
    return Template(_file("template.html")).substitute(
        title=escape(title),
        body=body,
        css=_file("template.css"),
        js=_file("template.js"),
        version=escape(version("accord")),
        data=json_in_html(data),
    )


def json_in_html(data: Any) -> str:
    """JSON that no parser of HTML can take for the end of its element, or for anything else."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def table(
    header: list[str], rows: list[list[str]], own: int | None = None, *, stacked: bool = False
) -> str:
    """A table; cells are HTML already.

    Args:
        header: Of the columns.
        rows: Cells with their tags.
        own: The row to be stressed.
        stacked: Too wide for a phone, which shows the cells of a row below each other.
    """
    left = (
        [cell.startswith(('<td class="left"', "<td class=left")) for cell in rows[0]]
        if rows
        else []
    )
    if stacked:
        rows = [[*map(_named, row, header)] for row in rows]
    head = "".join(
        f'<th scope="col"{" class=left" if rank < len(left) and left[rank] else ""}>{cell}</th>'
        for rank, cell in enumerate(header)
    )
    body = "".join(
        f"<tr{' class=own' if rank == own else ''}>{''.join(row)}</tr>"
        for rank, row in enumerate(rows)
    )
    inside = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    kind = " class=stacked" if stacked else ""
    return f'<div class="scroll"><table{kind}>{inside}</table></div>'


def _named(cell: str, column: str) -> str:
    """A cell with the name of its column; as it is if it spans several."""
    name = re.sub("<[^>]*>", "", column)
    spans = "colspan" in cell.partition(">")[0]
    return cell if spans else f'{cell[:3]} data-name="{name}"{cell[3:]}'


def figure(pictures: dict[str, str], name: str, caption: str) -> str:
    """A plot in both widths with its caption."""
    return (
        f'<figure><div class="wide">{pictures[name]}</div>'
        f'<div class="narrow">{pictures[name + "-narrow"]}</div>'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def facts(pairs: list[tuple[str, str]]) -> str:
    """A few large numbers."""
    return (
        '<dl class="facts">'
        + "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in pairs)
        + "</dl>"
    )


def _head(summary: dict[str, Any]) -> str:
    k = _k(summary["k"])
    own = next(gap for gap in summary["gaps"] if gap["k"] == summary["k"])
    gap = own.get("gap", summary["saved_gap"])
    kicker = f"{NOTIONS.get(k, 'K-EFCE')}, K = {k_name(k)},"
    effort = _effort(summary)
    times = f"by disobeying up to {k_name(k)} times"
    if k in (0, 1) or summary["k"] == "inf":
        often = {"0": "ignoring the mediator", "1": "disobeying once"}
        times = f"by {often.get(summary['k'], 'disobeying, however often')}"
    if gap is None:
        lead = "The gap of the saved mixture was not recorded."
    elif gap <= 0:
        lead = f"Nobody gains anything {times}: this is an exact equilibrium, to rounding."
    else:
        share = f", {percent(own['relative'])} of the payoff range" if "relative" in own else ""
        lead = f"Nobody gains more than <strong>{number(gap)}</strong> {times}{share}."
    pairs = [("gap of the saved mixture", NOTHING if gap is None else number(gap))]
    if summary["average_gap"] is not None:
        pairs.append(("gap of the full average", number(summary["average_gap"])))
    if summary["episodes"] is not None:
        pairs.append(("episodes", f"{summary['episodes']:,}"))
    pairs.append(
        ("iterations", NOTHING if summary["iterations"] is None else f"{summary['iterations']:,}")
    )
    if summary["seconds"] is not None:
        pairs.append(("time", duration(summary["seconds"])))
    pairs.append(("components saved", f"{summary['components']:,}"))
    return (
        f'<header><p class="kicker">{escape(kicker)} {effort}</p><h1>{escape(summary["game"])}</h1>'
        f'<p class="lead">{lead}</p>{facts(pairs)}</header>'
    )


def _convergence(summary: dict[str, Any], pictures: dict[str, str]) -> str:
    learned = summary["command"] == "learn"
    record = summary["record"]
    parts = ["<section><h2>Convergence</h2>"]
    if "convergence" not in pictures:
        why = "was 0 from the start" if record else "has not been recorded on the way"
        return f"{parts[0]}<p>There is no curve: the gap {why}.</p></section>"
    what = (
        "The exact gap of the mixture of the iterates saved so far, against episodes played."
        if learned
        else "The exact gap of the average of all iterates so far."
    )
    zero = next((p for p in record if p["gap"] <= 0), None)
    if zero is not None and all(
        p["gap"] <= 0 for p in record if p["iteration"] >= zero["iteration"]
    ):
        what += f" From iteration {zero['iteration']:,} on it is 0 and off any logarithmic axis."
    parts.append(figure(pictures, "convergence", f"{what} {_bound_words(summary)}"))
    return "".join(parts) + "</section>"


def _bound_words(summary: dict[str, Any]) -> str:
    bound, record = summary["bound"], summary["record"]
    last = record[-1]["iteration"]
    at_end = bound_at(bound, last)
    if not at_end:
        return "Nobody has a choice, so the paper's bound is 0."
    learned = bound["theorem"] == "bandit"
    who = "Balanced K-EFR" if learned else "WRHedge"
    sure = f" with probability {percent(1 - bound['failure_prob'])}" if learned else ""
    words = (
        f"The paper's bound, for {who} at its learning rate and {last:,} iterations, guarantees"
        f"{sure} a gap of at most {number(at_end, 3)}"
    )
    if at_end >= max(bound["ranges"]):
        words += ", the whole payoff range"
    constant = max(bound["constants"])
    if constant > 0 and record[-1]["gap"] > 0:
        needed = float(f"{(constant / record[-1]['gap']) ** 2:.2g}")
        words += (
            f"; it guarantees the gap reached here after {number(needed)} iterations. "
            "It falls like one over the square root of the iterations, the "
            f"slope {number(-1)}/2"
        )
    return f"{words}."


def _gaps(summary: dict[str, Any], pictures: dict[str, str]) -> str:
    players = summary["players"]
    rows: list[list[str]] = []
    own = None
    for rank, gap in enumerate(summary["gaps"]):
        if gap["k"] == summary["k"]:
            own = rank
        k = _k(gap["k"])
        name = f'<th scope="row">{k_name(k)}</th>'
        if "refused" in gap:
            rows.append(
                [name, f'<td class="words" colspan="{len(players) + 1}">not computed: '
                 f"{escape(gap['refused'])}</td>"]
            )  # fmt: skip
            continue
        spans = summary["ranges"]
        cells = [
            f"<td>{number(_clean(value, span))}</td>"
            for value, span in zip(gap["players"], spans, strict=True)
        ]
        rows.append([name, *cells, f"<td>{percent(_clean(gap['relative'], 1.0))}</td>"])
    header = ["K", *(_player(summary, i) for i in range(len(players))), "share of range"]
    beside = [f"trigger gap {number(summary['trigger_gap'])}"]
    if summary["nfce_gap"] is not None:
        beside.append(f"normal-form gap {number(summary['nfce_gap'])}")
    plot = ""
    if "gaps" in pictures:
        plot = figure(
            pictures, "gaps",
            "Each player's gap. It cannot fall as K grows; an open triangle means 0 or less.",
        )  # fmt: skip
    return (
        "<section><h2>Gaps and payoffs</h2>"
        "<p>The most that each player gains, in expectation and in payoff units, if she alone may "
        "disobey up to K recommendations, seeing each before. Exact, for the saved mixture.</p>"
        f'<div class="columns"><div>{table(header, rows, own, stacked=len(players) > 2)}'
        f'<p class="note">Beside them: {"; ".join(beside)}.</p></div>'
        f"<div>{plot}</div></div>{_payoffs(summary)}</section>"
    )


def _payoffs(summary: dict[str, Any]) -> str:
    rows = []
    for i, value in enumerate(summary["values"]):
        low, high = summary["worst"][i], summary["best"][i]
        place = (value - low) / (high - low) * 100 if high > low else 50
        rows.append(
            [
                f'<th scope="row">{_player(summary, i)}</th>',
                f"<td>{number(_clean(value, high - low))}</td>",
                f"<td>{number(low)}</td>",
                f'<td><span class="span c{i % N_COLOURS}"><i style="left:{place:.2f}%"></i></span>'
                "</td>",
                f"<td>{number(high)}</td>",
            ]
        )
    head = ["", "earns by obeying", "least", "", "most"]
    return f"<h3>Payoffs</h3>{table(head, rows)}"


def _deviations(summary: dict[str, Any]) -> str:
    shown = summary["k"] if any(d["k"] == summary["k"] for d in summary["deviations"]) else None
    own = [d for d in summary["deviations"] if d["k"] == shown]
    others = [d for d in summary["deviations"] if d["k"] != shown]
    cards = "".join(_card(summary, d) for d in sorted(own, key=lambda d: -d["gain"]))
    rest = "".join(
        f"<tr><th scope=row>K = {k_name(_k(d['k']))}</th>"
        f"<td class=left>{_player(summary, d['player'])}</td><td>{number(d['gain'])}</td>"
        f"<td class=words>{_first_words(summary, d)}</td></tr>"
        for d in others
    )
    more = (
        f'<details><summary>Best deviations for other K</summary><div class="scroll"><table>'
        f"<tbody>{rest}</tbody></table></div></details>"
        if rest
        else ""
    )
    return (
        "<section><h2>The best deviation</h2>"
        "<p>What proves the gap: the best a player can do while everybody else obeys.</p>"
        f"{cards}{more}</section>"
    )


def _card(summary: dict[str, Any], deviation: dict[str, Any]) -> str:
    i = deviation["player"]
    gain = deviation["gain"]
    title = f"<h3>{_player(summary, i)} gains {number(gain)}</h3>"
    body = f"<p>{_first_words(summary, deviation)}</p>"
    if deviation["steps"]:
        body += _along(deviation)
    if len(deviation["places"]) > 1:
        body += _places(i, deviation)
    return f'<div class="deviation-card c{i % N_COLOURS}">{title}{body}</div>'


def _first_words(summary: dict[str, Any], deviation: dict[str, Any]) -> str:
    """A deviation in a sentence or two."""
    i = deviation["player"]
    if not summary["infosets"][i]:
        return "She never decides."
    if deviation["places"]:
        first = deviation["places"][0]
        words = (
            f"At {_link(i, first['infoset'])}, told <strong>{escape(first['told'])}</strong>, she "
            f"plays <strong>{escape(first['plays'])}</strong> instead. She is told so there in "
            f"{percent(first['probability'])} of plays, and gains {number(first['gain'])} by it."
        )
        more = len(deviation["places"]) - 1 + deviation["more_places"]
        if more == 1:
            words += " There is one more place where she disobeys first."
        elif more:
            words += f" There are {more:,} more places where she disobeys first."
        return words
    if deviation["k"] == "0" and deviation["gain"] > 0:
        return "She ignores every recommendation and follows a plan of her own."
    return "She cannot gain by deviating."


def _along(deviation: dict[str, Any]) -> str:
    """The deviation along the tree, as a list that is indented as deep as the tree."""
    i = deviation["player"]
    items = []
    for depth, (label, action) in enumerate(deviation["way"]):
        items.append(
            f'<li style="--depth:{depth}">at {_link(i, label)} she is told '
            f"<strong>{escape(action)}</strong> and obeys</li>"
        )
    base = len(deviation["way"])
    for step in deviation["steps"]:
        off = step["told"] is not None and step["told"] != step["plays"]
        if step["told"] is None:
            words = f"plays <strong>{escape(step['plays'])}</strong>, told nothing"
        elif off:
            words = (
                f"is told {escape(step['told'])} and plays <strong>{escape(step['plays'])}</strong>"
            )
        else:
            words = f"is told <strong>{escape(step['plays'])}</strong> and obeys"
        items.append(
            f'<li class="{"off" if off else ""}" style="--depth:{base + step["depth"]}">'
            f"at {_link(i, step['label'])} she {words} "
            f'<span class="p">{percent(step["probability"])} of plays</span></li>'
        )
    if deviation["more_steps"]:
        items.append(f"<li>and {deviation['more_steps']:,} more steps</li>")
    title = "The plan along the tree" if deviation["k"] == "0" else "Along the tree"
    is_open = " open" if len(items) <= 12 else ""
    return (
        f"<details{is_open}><summary>{title}</summary>"
        f'<ol class="steps">{"".join(items)}</ol></details>'
    )


def _places(i: int, deviation: dict[str, Any]) -> str:
    """Every place where the deviation leaves the mediator first."""
    rows = [
        [
            f'<td class="left">{_link(i, place["infoset"])}</td>',
            f'<td class="left">{escape(place["told"])}</td>',
            f'<td class="left">{escape(place["plays"])}</td>',
            f"<td>{percent(place['probability'])}</td>",
            f"<td>{number(place['gain'])}</td>",
        ]
        for place in deviation["places"]
    ]
    more = deviation["more_places"]
    note = f'<p class="note">and {more:,} more, each gaining less</p>' if more else ""
    header = ["at", "told", "plays", "of plays", "gains"]
    return (
        f"<details><summary>All {len(rows) + more:,} places where she disobeys first</summary>"
        f"{table(header, rows)}{note}</details>"
    )


def _tree(summary: dict[str, Any], pictures: dict[str, str]) -> str:
    if "tree" not in pictures:
        return (
            "<section><h2>Game tree</h2>"
            f'<p class="note">With {summary["nodes"]:,} nodes it is too large to be drawn; the '
            "inspector walks through it.</p></section>"
        )
    players = "".join(f"<li>{_player(summary, i)}</li>" for i in range(len(summary["players"])))
    return (
        "<section><h2>Game tree</h2>"
        "<p>On the edges: how often an obedient player at that infoset is told to go there. Dashed "
        "lines join the nodes that she cannot tell apart. Choose a node to inspect its infoset.</p>"
        f'<ul class="key">{players}<li>○ chance</li><li>┈ never told</li>'
        '<li class="red">best deviation</li></ul>'
        f'<figure class="scroll" tabindex="0">{pictures["tree"]}</figure></section>'
    )


def _about(summary: dict[str, Any]) -> str:
    asked = [
        (f"asked{' first' if name in LIMITS else ''}: {name.replace('_', ' ')}", value)
        for name, value in summary["asked"].items()
        if value is not None
    ]
    done = [f"{summary[unit]:,} {unit}" for unit in ("episodes", "iterations") if summary[unit]]
    if summary["seconds"] is not None:
        done.append(duration(summary["seconds"]))
    pairs = [
        *asked,
        ("done in all", ", ".join(done) or NOTHING),
        ("infosets", ", ".join(f"{n:,}" for n in summary["infosets"])),
        ("nodes", f"{summary['nodes']:,}"),
        ("game digest", summary["digest"]),
        ("begun with", ", ".join(f"{name} {value}" for name, value in summary["versions"].items())),
    ]
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in pairs)
    return f'<section><h2>About this run</h2><dl class="pairs">{rows}</dl></section>'


def _effort(summary: dict[str, Any]) -> str:
    if summary["command"] == "learn":
        seed = f", seed {summary['seed']}" if summary["seed"] is not None else ""
        return f"learned from episodes by {escape(summary['method'])}{escape(seed)}"
    return f"solved by {escape(summary['method'])}"


def _file(name: str) -> str:
    return files("accord.report").joinpath(name).read_text(encoding="utf-8")


def _player(summary: dict[str, Any], i: int) -> str:
    return (
        f'<span class="dot c{i % N_COLOURS}" aria-hidden="true"></span>'
        f"player {escape(summary['players'][i])}"
    )


def _link(player: int, label: str) -> str:
    one_line = " · ".join(line.strip() for line in label.split("\n") if line.strip())
    return (
        f'<a href="#inspector" data-go="{player}" data-label="{escape(label)}">'
        f'<span class="label">{escape(one_line or label)}</span></a>'
    )


def _clean(value: float, span: float) -> float:
    """``value`` without what is only rounding, next to payoffs of range ``span``."""
    return 0.0 if abs(value) < 1e-13 * span else value


def _has_k(inspector: dict[str, Any], k: str) -> bool:
    if k == "0":
        return any(x["plan"] for player in inspector["players"] for x in player["infosets"])
    return any(k in x["gain"] for player in inspector["players"] for x in player["infosets"])


def _k(text: str) -> float:
    return float("inf") if text == "inf" else int(text)
