"""The shape of the package: which way imports go, what is public, what is loaded when."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import accord

PACKAGE = Path(accord.__file__).parent
DOCS = PACKAGE.parents[1] / "docs"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")

ORDER = (
    ("errors", "_jit", "_arrays", "_check", "_format"),
    ("game",),
    ("treeplex",),
    ("deviations",),
    ("regret",),
    ("equilibrium",),
    ("mediator",),
    ("play",),
    ("learning",),
    ("runs",),
    ("interop",),
    ("report",),
    ("cli",),
)
"""Packages as data flows. A module may import from its own and from earlier ones."""

RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
HEAVY = ("numpy", "numba", "scipy", "matplotlib", "pyspiel", "open_spiel", "typer", "rich", "ray")


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def first_part(name: str) -> str:
    return name.split(".", maxsplit=1)[0]


def imports(tree: ast.AST) -> list[str]:
    """Every module of Accord that is imported anywhere in ``tree``, inside functions too."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found.append(node.module or "")
    return [name for name in found if first_part(name) == "accord"]


def back_edges(name: str, tree: ast.AST) -> list[str]:
    """Imports of module ``name`` that go against the flow."""
    own = RANK[first_part(name)]
    edges = []
    for imported in imports(tree):
        _, _, inside = imported.partition(".")
        rank = RANK[first_part(inside)] if inside else RANK["cli"]  # accord itself: all of it
        if rank > own:
            edges.append(f"{name} imports {imported}")
    return edges


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_follow_the_data_flow(path: Path) -> None:
    name = name_of(path)
    assert first_part(name) in RANK, f"{name} has no place in the order of packages"
    assert back_edges(name, ast.parse(path.read_text())) == []


def test_a_back_edge_is_noticed() -> None:
    late = ast.parse("def f():\n    from accord.runs.solve import solve")
    assert back_edges("game.tree", late) == ["game.tree imports accord.runs.solve"]
    assert back_edges("learning.kefr", ast.parse("import accord")) == [
        "learning.kefr imports accord"
    ]
    assert back_edges("learning.kefr", ast.parse("from accord.game.tree import Game")) == []


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_kernels_have_one_decorator(path: Path) -> None:
    """Caching, the GIL and the error model are decided once, in ``_jit.py``."""
    if path.name == "_jit.py":
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and first_part(node.module or "") == "numba":
            assert {alias.name for alias in node.names} <= {"event"}, ast.unparse(node)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "numba":
            assert node.attr in ("config", "core"), ast.unparse(node)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_are_documented(path: Path) -> None:
    tree = ast.parse(path.read_text())
    if not tree.body:
        return
    assert ast.get_docstring(tree), f"{name_of(path)} says nothing about itself"
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            overload = any(ast.unparse(one) == "overload" for one in node.decorator_list)
            documented = overload or ast.get_docstring(node)
            assert documented, f"{name_of(path)}.{node.name} has no docstring"


def test_no_module_is_called_utils() -> None:
    assert not [path for path in MODULES if path.stem in ("utils", "util", "helpers", "common")]


def test_line_counts() -> None:
    """Reported, not asserted: a file as long as its algorithm is as long as it has to be."""
    counts = {name_of(path): len(path.read_text().splitlines()) for path in MODULES}
    for name, lines in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"{lines:5d}  {name}{'  (long)' if lines > 300 else ''}")
    print(f"{sum(counts.values()):5d}  in {len(counts)} modules")


# What is public


@pytest.mark.parametrize("name", [name for name in accord.__all__ if name != "__version__"])
def test_public_names_exist_and_are_documented(name: str) -> None:
    thing = getattr(accord, name)
    assert inspect.getdoc(thing)
    assert thing.__module__.startswith("accord.")
    if inspect.isclass(thing) and not issubclass(thing, Exception):
        for attribute, member in vars(thing).items():
            if inspect.isfunction(member) and not attribute.startswith("_"):
                assert inspect.getdoc(member), f"{name}.{attribute} has no docstring"


def test_all_errors_are_public() -> None:
    errors = importlib.import_module("accord.errors")
    family = {
        name for name, thing in vars(errors).items() if inspect.isclass(thing) and "Error" in name
    }
    assert family <= set(accord.__all__)
    for name in family:
        assert issubclass(getattr(accord, name), accord.AccordError)


def test_type_checkers_see_what_is_imported_lazily() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    seen = {
        alias.asname: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("accord.")
        for alias in node.names
    }
    assert set(seen) == set(accord.__all__) - {"__version__"}
    for name, place in seen.items():
        module, _, attribute = place.rpartition(".")
        assert getattr(accord, name) is getattr(importlib.import_module(module), attribute)


def test_dir_and_unknown_names() -> None:
    assert set(accord.__all__) <= set(dir(accord))
    with pytest.raises(AttributeError, match="'accord' has no attribute 'nonsense'"):
        accord.nonsense  # noqa: B018


def test_version() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", accord.__version__)
    assert accord.__version__ in (PACKAGE.parents[1] / "CHANGELOG.md").read_text()
    citation = (PACKAGE.parents[1] / "CITATION.cff").read_text()
    assert f"\nversion: {accord.__version__}\n" in citation


@pytest.mark.parametrize(
    ("statement", "allowed"),
    [("import accord", ()), ("import accord.cli.main", ("typer", "rich"))],
)
def test_nothing_heavy_is_imported_early(statement: str, allowed: tuple[str, ...]) -> None:
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {first_part(name) for name in run.stdout.split()}
    assert loaded & set(HEAVY) <= set(allowed)


# docs/notation.md


def notation() -> list[str]:
    return re.findall(r"\| `(accord\.[\w.]+)` \|$", (DOCS / "notation.md").read_text(), re.M)


def test_the_table_of_notation_is_read() -> None:
    rows = re.findall(r"^\| .*\|$", (DOCS / "notation.md").read_text(), re.M)
    headers = [row for row in rows if row.endswith("in code |")]
    assert len(headers) == 2
    assert len(notation()) == len(rows) - len(headers) > 30


@pytest.mark.parametrize("name", notation())
def test_every_name_in_the_notation_exists(name: str) -> None:
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:size]))
        except ModuleNotFoundError:
            continue
        break
    for part in parts[size:]:
        fields = getattr(thing, "__annotations__", {})  # of dataclasses, also those without default
        assert hasattr(thing, part) or part in fields, f"{name}: {thing} has no {part}"
        thing = getattr(thing, part, None)
