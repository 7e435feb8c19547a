"""What a release promises and what is checked agree: versions, dependencies, Pythons, folders."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
OLDEST = (ROOT / ".ci" / "oldest.txt").read_text()
WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
HOOKS = (ROOT / ".pre-commit-config.yaml").read_text()

TOOLS = ("test", "docs")
"""Extras for developers. Their lower bounds are not tested."""


def requirements(project: dict[str, Any]) -> dict[str, list[Requirement]]:
    """What each extra needs; what everybody needs stands under the empty name."""
    lists = {"": project["dependencies"], **project["optional-dependencies"]}
    return {extra: [Requirement(text) for text in texts] for extra, texts in lists.items()}


def lower_bounds(project: dict[str, Any]) -> dict[str, tuple[str, Version]]:
    """The extra and lower bound of each package, the empty extra first and tools last."""
    wanted = requirements(project)
    bounds: dict[str, tuple[str, Version]] = {}
    for extra in sorted(wanted, key=TOOLS.__contains__):
        for one in wanted[extra]:
            (lowest,) = [part.version for part in one.specifier if part.operator == ">="] or [None]
            if lowest is not None:
                bounds.setdefault(canonicalize_name(one.name), (extra, Version(lowest)))
    return bounds


def pins(constraints: str) -> dict[str, Version]:
    found = re.findall(r"^([\w.-]+)==(\S+)$", constraints, re.M)
    return {canonicalize_name(name): Version(version) for name, version in found}


def disagreements(project: dict[str, Any], constraints: str) -> set[str]:
    """Packages whose lower bound is not the pinned version, or is not pinned."""
    bounds, pinned = lower_bounds(project), pins(constraints)
    different = {name for name in pinned.keys() & bounds if pinned[name] != bounds[name][1]}
    needed = {name for name, (extra, _) in bounds.items() if extra not in TOOLS}
    return different | (needed - pinned.keys())


def test_every_dependency_has_a_lower_bound() -> None:
    bounds = lower_bounds(PROJECT["project"])
    for extra, wanted in requirements(PROJECT["project"]).items():
        names = {canonicalize_name(one.name) for one in wanted} - {PROJECT["project"]["name"]}
        assert names <= bounds.keys(), extra


def test_the_oldest_dependencies_are_the_lower_bounds() -> None:
    lines = [line for line in OLDEST.splitlines() if line and not line.startswith("#")]
    assert len(pins(OLDEST)) == len(lines) > 15
    assert disagreements(PROJECT["project"], OLDEST) == set()


def test_disagreements_are_noticed() -> None:
    project = {
        "dependencies": ["numpy>=1.26", "numba>=0.60,<0.70"],
        "optional-dependencies": {"serve": ["uvicorn>=1"], "test": ["numpy>=1", "ruff>=0.6"]},
    }
    assert disagreements(project, "numpy==1.26\nnumba==0.60.0\nuvicorn==1\nclick==8\n") == set()
    assert disagreements(project, "numpy==1.25\nnumba==0.60\nruff==0.5\n") == {
        "numpy", "uvicorn", "ruff",
    }  # fmt: skip


def test_every_python_is_tested() -> None:
    (listed,) = re.findall(r"^\s+python: \[(.+)\]$", WORKFLOW, re.M)
    tested = re.findall(r'"([\d.]+)"', listed)
    prefix = "Programming Language :: Python :: "
    classifiers = PROJECT["project"]["classifiers"]
    named = [line.removeprefix(prefix) for line in classifiers if line.startswith(f"{prefix}3.")]
    assert tested == named
    assert PROJECT["project"]["requires-python"] == f">={named[0]}"


def test_the_workflow_calls_targets_that_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):(?!=)", MAKEFILE, re.M))
    used = re.findall(r"check: \[?([\w ]+)", WORKFLOW)
    assert used == ["suite", "suite", "lint docs"]
    assert {target for one in used for target in one.split()} <= targets
    (of_test,) = re.findall(r"^test: (.+)$", MAKEFILE, re.M)
    assert set(of_test.split()) == {target for one in used for target in one.split()}


def test_nobody_is_told_to_install_from_the_public_index() -> None:
    """The name there is not ours. Messages name the packages that an extra needs."""
    bare = re.compile(r"pip install\s+(?:-\S+\s+)*['\"]?accord\b|accord\[(?!\\)")
    told = (
        "pip install --upgrade accord",
        "pip install accord[a]",
        "`pip install\n'accord[pandas]'`",
    )
    assert all(map(bare.search, told))
    folders = ("src", "docs", "examples", "tools")
    texts = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    texts = [path for path in texts if path.suffix in (".py", ".md", ".ipynb", ".html")]
    assert len(texts) > 200
    told = [path for path in [*texts, ROOT / "README.md"] if bare.search(path.read_text("utf-8"))]
    assert told == []


def test_hooks_check_the_folders_that_lint_checks() -> None:
    checked, formatted = re.findall(r"ruff (?:check|format --check) (.+)$", MAKEFILE, re.M)
    (hooked,) = re.findall(r"files: &ours \^\(([\w|]+)\)/$", HOOKS, re.M)
    assert checked == formatted == hooked.replace("|", " ")
    typed = PROJECT["tool"]["mypy"]["files"]
    assert f"files: ^({'|'.join(typed)})/\n" in HOOKS
