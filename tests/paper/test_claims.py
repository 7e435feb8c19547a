"""The pages about the paper's claims: made from the data that is kept, and able to say no."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from accord.errors import ParseError
from paper.frame import (
    DATA,
    FAILED,
    PAGES,
    Finding,
    compute,
    find_claims,
    log_slope,
    read_data,
    redraw,
)

pytestmark = pytest.mark.slow

CLAIMS = find_claims()


def labels(svg: str) -> list[str]:
    """What is written in a figure, without spaces: matplotlib places exponents in various ways."""
    texts = re.findall(r"<text\b[^>]*>(.*?)</text>", svg, re.S)
    return ["".join(re.sub(r"<[^>]+>", "", text).split()) for text in texts]


@pytest.fixture(scope="module")
def redrawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All pages, drawn from the data that is kept."""
    folder = tmp_path_factory.mktemp("pages")
    redraw(CLAIMS, DATA, folder)
    return folder


def test_the_pages_are_made_from_the_data(redrawn: Path) -> None:
    kept = {path.name for path in PAGES.iterdir()}
    assert {path.name for path in redrawn.iterdir()} == kept
    for name in kept:
        new, old = (redrawn / name).read_text(), (PAGES / name).read_text()
        if name.endswith(".svg"):
            new, old = labels(new), labels(old)
        assert new == old, f"{name} is not what `make paper` draws"


@pytest.mark.parametrize("number", CLAIMS)
def test_what_is_kept_is_what_the_tasks_ask_for(number: int) -> None:
    results = read_data(DATA / f"claim{number}.json")["results"]
    assert list(results) == list(CLAIMS[number].TASKS)


@pytest.mark.parametrize("number", CLAIMS)
def test_small_tasks_run_and_draw(number: int, tmp_path: Path) -> None:
    claim = CLAIMS[number]
    compute(claim, claim.SMALL, tmp_path / "build", tmp_path / "data")
    redraw({number: claim}, tmp_path / "data", tmp_path / "pages")
    page = (tmp_path / "pages" / f"claim-{number}.md").read_text()
    figures = re.findall(r"\]\((claim[\w-]+\.svg)\)", page)
    assert figures
    for name in figures:
        assert labels((tmp_path / "pages" / name).read_text())
    assert f"claim-{number}.md" in (tmp_path / "pages" / "index.md").read_text()
    assert not any((tmp_path / "build").iterdir())


def test_data_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match=r"claim1\.json: .*python -m paper --full 1"):
        redraw(CLAIMS, tmp_path, tmp_path / "pages")


def test_slopes() -> None:
    assert log_slope([1, 10, 100], [5, 0.5, 0.05]) == pytest.approx(-1)


# Verdicts can be negative


def finding(number: int, results: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Finding:
    """What the claim's own ``draw`` says of these results, without drawing anything."""
    monkeypatch.setattr(CLAIMS[number], "write_figure", lambda figure, path: None)
    found: Finding = CLAIMS[number].draw(json.loads(json.dumps(results)), Path())
    return found


def verdict(number: int, results: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether every check succeeds."""
    found = finding(number, results, monkeypatch)
    assert found.verdict.startswith(found.shown if found.holds else FAILED)
    return found.holds


def kept(number: int) -> dict[str, Any]:
    return copy.deepcopy(read_data(DATA / f"claim{number}.json")["results"])


@pytest.mark.parametrize("number", [1, 5])
def test_claims_1_and_5_hold(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict(number, kept(number), monkeypatch)


def a_case(results: dict[str, Any]) -> dict[str, Any]:
    cases = results["random-0"]["cases"].values()
    return next(case for case in cases if case["naive_trigger"] > 0.01)


BAD_1 = {
    "trigger above": lambda r: a_case(r).update(naive_trigger=a_case(r)["gaps"][1] + 1e-6),
    "gap above XA": lambda r: a_case(r).update(sequences=0),
    "gap 0, trigger not": lambda r: a_case(r).update(gaps=[0.0] * 4),
    "chain falls": lambda r: a_case(r)["gaps"].append(a_case(r)["gaps"][-1] - 1e-6),
    "no gap grows": lambda r: [
        case.update(gaps=[case["gaps"][1]] * 4)
        for result in r.values()
        for case in result.get("cases", {}).values()
    ],
    "not 0 at K": lambda r: r["separation-k2"]["gaps"].__setitem__(2, 0.01),
    "too small at K + 1": lambda r: r["separation-k4"]["gaps"].__setitem__(5, 0.3),
    "coarse differs": lambda r: a_case(r).update(naive_nfcce=a_case(r)["gaps"][0] + 1e-6),
    "normal form below": lambda r: a_case(r).update(naive_nfce=a_case(r)["gaps"][-1] - 1e-6),
    "foresight no equilibrium": lambda r: r["foresight"].update(gap=0.01),
    "foresight no example": lambda r: r["foresight"].update(nfce=0.04),
}


@pytest.mark.parametrize("spoil", BAD_1.values(), ids=BAD_1)
def test_claim_1_can_fail(spoil: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    results = kept(1)
    spoil(results)
    assert not verdict(1, results, monkeypatch)


def each(results: dict[str, Any], start: str, change: Any) -> None:
    """Change all runs whose names start so."""
    for name, run in results.items():
        if name.startswith(start):
            run.update(change(run))


def grown(scale: float, power: float) -> Any:
    return lambda run: {"regret": [scale * t**power for t in run["times"]]}


BAD_4 = {
    "above the bound, once": lambda r: r["full-random-k1-exploits-seed101"].update(
        regret=[2 * bound for bound in r["full-random-k1-exploits-seed101"]["bound"]]
    ),
    "faster than a square root": lambda r: each(r, "full-random-k1-exploits", grown(0.1, 0.6)),
    "linear": lambda r: each(r, "full-kuhn-kinf-switches", grown(1e-4, 1.0)),
    "linear from bandit feedback": lambda r: each(r, "bandit-kuhn-k1-fixed", grown(1e-4, 1.0)),
    "every bound is empty": lambda r: each(r, "full", lambda run: {"bound": run["times"]}),
    "who never learns does as well": lambda r: each(r, "none", grown(1.0, 0.5)),
}


def test_claim_4_is_consistent_with_the_bound_but_not_with_the_rate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = finding(4, kept(4), monkeypatch)
    failed = [line for line in found.text.splitlines() if "**no**" in line]
    assert failed
    assert all("| full |" in line for line in failed)
    assert found.verdict.startswith(FAILED)
    assert "at most the bound in 315 of 315 runs. It could have been above it in " in found.verdict


@pytest.mark.parametrize("spoil", BAD_4.values(), ids=BAD_4)
def test_claim_4_can_fail(spoil: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    results = kept(4)
    each(results, "full", grown(0.5, 0.5))  # then all checks succeed
    assert verdict(4, results, monkeypatch)
    spoil(results)
    assert not verdict(4, results, monkeypatch)


def flat(gap: float, curve: dict[str, Any]) -> list[float]:
    return [gap] * len(curve["iteration"])


def falling(curve: dict[str, Any]) -> list[float]:
    return [t**-0.5 for t in curve["iteration"]]


BAD_5 = {
    "a gap falls with K'": lambda r: r["leduc-rm-k1"].update(gaps=[0.2, 0.2, 0.1, 0.2, 0.2]),
    "CFR is no NFCCE": lambda r: r["shapley-kefr0"].update(
        {"0": flat(0.01, r["shapley-kefr0"]), "1": flat(0.2, r["shapley-kefr0"])}
    ),
    "CFR is an EFCE": lambda r: r["shapley-openspiel"].update(
        {"1": falling(r["shapley-openspiel"])}
    ),
    "K-EFR is no EFCE": lambda r: r["shapley-kefr1"].update({"1": flat(0.1, r["shapley-kefr1"])}),
}


@pytest.mark.parametrize("spoil", BAD_5.values(), ids=BAD_5)
def test_claim_5_can_fail(spoil: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    results = kept(5)
    spoil(results)
    assert not verdict(5, results, monkeypatch)
