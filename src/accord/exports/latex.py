"""A certificate as a LaTeX table."""

from __future__ import annotations

from accord._format import fraction, number, small_fraction
from accord.certifying.certificate import Certificate
from accord.equilibrium.device import heading
from accord.equilibrium.tables import NEEDS, escaped, in_mathematics


def certificate_latex(certificate: Certificate) -> str:
    r"""The gap of every notion and player as a ``tabular`` for ``\input``; it needs booktabs."""
    labels = list(map(heading, certificate.players))
    lines = [
        NEEDS,
        rf"\begin{{tabular}}{{@{{}}lr{'r' * len(labels)}r@{{}}}}",
        r"\toprule",
        _row("notion", "$K$", *map(escaped, labels), "share of range"),
        r"\midrule",
    ]
    for gap in certificate.all_gaps:
        cells = [in_mathematics(number(value)) for value in (*gap.player_gaps, gap.relative)]
        if not gap.is_exact:
            bounds = zip(gap.player_lower, gap.player_upper, strict=True)
            cells = [" to ".join(in_mathematics(number(end)) for end in ends) for ends in bounds]
            cells.append("")
        k = "" if gap.k is None else r"$\infty$" if gap.k == float("inf") else str(int(gap.k))
        lines.append(_row(gap.notion.name, k, *cells))
    lines.append(r"\midrule")
    values = (in_mathematics(_exactly(value)) for value in certificate.values)
    lines.append(_row("expected payoff", "", *values, ""))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _exactly(value: float) -> str:
    """A payoff as a fraction with a small denominator, if it is one; else four digits."""
    exact = small_fraction(value)
    return number(value) if exact is None else fraction(exact)


def _row(*cells: str) -> str:
    return f"{' & '.join(cells)} \\\\"
