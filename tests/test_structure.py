"""The shape of the package: the direction of imports, the public names, what loads when."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from operator import attrgetter
from pathlib import Path

import pytest

import accord
from accord._kernel_cache import sources_of
from tests.support.public import public_names

PACKAGE = Path(accord.__file__).parent
DOCS = PACKAGE.parents[1] / "docs"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")

ORDER = (
    (
        "errors",
        "_lazy",
        "_above",
        "_activity",
        "_kernel_cache",
        "_jit",
        "_memory",
        "_arrays",
        "_draws",
        "_files",
        "_signals",
        "_check",
        "_format",
    ),
    ("game",),
    ("treeplex",),
    ("deviations",),
    ("regret",),
    ("equilibrium",),
    ("mediator",),
    ("play",),
    ("interop",),
    ("certifying",),
    ("learning",),
    ("optimal",),
    ("runs",),
    ("exports",),
    ("reports",),
    ("serve",),
    ("cli",),
)
"""Packages in the order of the data flow. A module may import from its own and earlier ones."""

RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
HEAVY = (
    "numpy", "numba", "scipy", "highspy", "matplotlib", "pyspiel", "open_spiel", "typer", "rich",
    "ray", "starlette", "uvicorn",
)  # fmt: skip

Graph = dict[str, set[str]]
"""The modules that each module imports."""


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(
        ".__init__"
    )


def first_part(name: str) -> str:
    return name.split(".", maxsplit=1)[0]


def import_graph(sources: Mapping[str, str]) -> Graph:
    """Imports among the modules, those in functions and for type checkers included."""
    return {name: imports(ast.parse(source), sources) for name, source in sources.items()}


def imports(tree: ast.AST, modules: Mapping[str, str]) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                found.add(inside if inside in modules else node.module or "")
    ours = {name for name in found if first_part(name) == "accord"}
    assert ours <= modules.keys(), f"no such module: {ours - modules.keys()}"
    return ours


def rank(name: str) -> int:
    """The place of a module in the order. The public names, ``accord``, stand at the end."""
    _, _, inside = name.partition(".")
    return RANK[first_part(inside)] if inside else len(ORDER)


def back_edges(graph: Graph) -> list[str]:
    """Imports that go against the data flow; only the command line may import ``accord``."""
    return [
        f"{name} imports {other}"
        for name, others in graph.items()
        for other in sorted(others)
        if rank(other) > rank(name) and (first_part(name[7:]), other) != ("cli", "accord")
    ]


def cycle(graph: Graph) -> list[str]:
    """Modules that import each other in a circle, or none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_imports_follow_the_data_flow() -> None:
    sources = {name_of(path): path.read_text() for path in MODULES}
    sources["accord"] = (PACKAGE / "__init__.pyi").read_text()
    graph = import_graph(sources)
    places = {first_part(name[7:]) for name in graph if name != "accord"}
    assert places <= RANK.keys(), f"{places - RANK.keys()} has no place in the order of packages"
    assert back_edges(graph) == []
    assert cycle(graph) == []


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_the_tables_of_packages_are_up_to_date(page: str) -> None:
    """Both list the packages in the order of imports."""
    text = (DOCS.parent / page).read_text()
    listed = re.findall(r"^\| `([a-z]+)/?` \|", text, re.MULTILINE)
    assert listed == [names[0] for names in ORDER[1:]]


def test_back_edges_are_noticed() -> None:
    sources = {
        "accord": "from accord.runs.solve import solve as solve",
        "accord.game.tree": "def f():\n    from accord.runs.solve import solve",
        "accord.learning.kefr": "import accord\nfrom accord.game import tree",
        "accord.runs.solve": "from accord.game.tree import Game",
        "accord.cli.main": "import accord",
    }
    assert back_edges(import_graph(sources)) == [
        "accord.game.tree imports accord.runs.solve",
        "accord.learning.kefr imports accord",
    ]


def test_cycles_are_noticed() -> None:
    checker = "if TYPE_CHECKING:\n    from accord.game import tree"
    sources = {
        "accord.game.labels": "",
        "accord.game.tree": "from accord.game.validate import validated",
        "accord.game.validate": f"from accord.game.labels import Labels\n{checker}",
    }
    assert set(cycle(import_graph(sources))) == {"accord.game.tree", "accord.game.validate"}
    sources["accord.game.validate"] = "from accord.game.labels import Labels"
    assert cycle(import_graph(sources)) == []


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_kernels_have_one_decorator(path: Path) -> None:
    """Caching, the GIL and the error model are decided once, in ``_jit.py``."""
    found = {name for name, _ in foreign_names(path.read_text()) if first_part(name) == "numba"}
    allowed = {
        "_jit.py": {
            "numba", "numba.config", "numba.njit", "numba.typeof", "numba.extending",
            "numba.extending.overload", "numba.extending.typeof_impl",
        },
        "_kernel_cache.py": {"numba", "numba.config", "numba.njit", "numba.__version__"},
    }  # fmt: skip
    assert found <= allowed.get(path.name, set())


def foreign_names(source: str) -> Iterator[tuple[str, bool]]:
    """Names of other packages, with dots, that a module uses, and whether it assigns to them."""
    tree = ast.parse(source)
    local = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = first_part(alias.name)
                local[alias.asname or first] = alias.name if alias.asname else first
                yield alias.name, False
        elif isinstance(node, ast.ImportFrom):
            found = {
                alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names
            }
            local |= found
            yield from ((name, False) for name in found.values())
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            root, _, rest = ast.unparse(node).partition(".")
            if root in local and not isinstance(node.value, ast.Call):
                yield f"{local[root]}.{rest}", isinstance(node.ctx, ast.Store)


def is_foreign(name: str) -> bool:
    return first_part(name) not in {"accord", "__future__", *sys.stdlib_module_names}


def is_private(name: str) -> bool:
    return any(part.startswith("_") and not part.endswith("__") for part in name.split("."))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_dependencies_are_used_by_their_public_names(path: Path) -> None:
    """Nothing imports or reads private names of other packages, or puts something in them."""
    for name, assigned in foreign_names(path.read_text()):
        if is_foreign(name):
            assert not is_private(name), f"{name} is private"
            assert not assigned, f"{name} belongs to another package"


def test_private_names_of_dependencies_are_noticed() -> None:
    source = """
import numba.core as core
import typer
from click import _compat
from ray import worker as w

typer.main._get = None
w.shutdown = core.event._records[0]
"""
    found = {name for name, _ in foreign_names(source) if is_private(name)}
    assert found == {"click._compat", "typer.main._get", "numba.core.event._records"}
    assert {name for name, assigned in foreign_names(source) if assigned} == {
        "typer.main._get",
        "ray.worker.shutdown",
    }


def test_no_class_overrides_private_methods_of_dependencies() -> None:
    for path in MODULES:
        module = importlib.import_module(name_of(path))
        for own in vars(module).values():
            if inspect.isclass(own) and own.__module__ == module.__name__:
                foreign = [base for base in own.__mro__ if is_foreign(base.__module__)]
                private = [
                    name
                    for name, thing in vars(own).items()
                    if is_private(name) and inspect.isfunction(thing)
                ]
                for base in foreign:
                    assert not vars(base).keys() & set(private), own


def test_the_kernel_cache_sees_all_imports() -> None:
    """It finds them by a regular expression, which is quicker than parsing all sources."""
    sources = {name_of(path): path.read_text() for path in PACKAGE.rglob("*.py")}
    packages = {name_of(path) for path in PACKAGE.rglob("__init__.py")}
    for name, imported in import_graph(sources).items():
        assert sources_of(name, sources).keys() >= {name} | imported
        if "accord._jit" in imported:
            assert not imported & packages, "a package finds its names in modules, unseen"


def test_kernels_are_functions_of_modules() -> None:
    """What the kernel cache knows are imports of modules; a closure may hold anything."""
    for path in MODULES:
        assert not re.search(
            r"^ +@(jit|part|generic|generic_part|\w+\.kernel_for)\b", path.read_text(), re.M
        ), path


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


def test_one_module_imports_from_other_packages_by_name() -> None:
    """Such imports escape the tests above; ``_above.py`` says what they are for.

    The registry of methods imports minimizers of its own package, the command line its own
    commands, and ``load_env`` the user's module.
    """
    found = {name_of(path) for path in MODULES if "import_module" in path.read_text()}
    own = {"accord.regret.methods", "accord.cli.main"}
    assert found == own | {"accord._above", "accord._lazy", "accord.interop.python_files"}


def test_no_module_is_called_utils() -> None:
    assert not [path for path in MODULES if path.stem in ("utils", "util", "helpers", "common")]


# What is public


PUBLIC = sorted(public_names())
LISTS = sorted(PACKAGE.rglob("__init__.pyi"))


def test_a_newcomer_meets_few_names() -> None:
    assert len(accord.__all__) <= 35
    assert len(PUBLIC) > 80


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_exist_and_are_documented(name: str) -> None:
    thing = attrgetter(name.removeprefix("accord."))(accord)
    if isinstance(thing, int):
        return  # see below
    assert inspect.getdoc(thing)
    assert thing.__module__.startswith("accord.")
    if inspect.isclass(thing) and not issubclass(thing, Exception):
        for attribute, member in vars(thing).items():
            if inspect.isfunction(member) and not attribute.startswith("_"):
                assert inspect.getdoc(member), f"{name}.{attribute} has no docstring"


def test_public_constants_are_documented() -> None:
    source = (PACKAGE / "_arrays.py").read_text()
    assert {"accord.CHANCE", "accord.TERMINAL", "accord.game.NO_NODE"} <= set(PUBLIC)
    for name in (name.split(".")[-1] for name in PUBLIC if name.isupper()):
        assert re.search(rf'^{name} = .*\n"""\w', source, re.M), f"{name} has no docstring"


def test_all_errors_are_ours() -> None:
    for name, thing in vars(accord.errors).items():
        if inspect.isclass(thing) and "Error" in name:
            assert issubclass(thing, accord.AccordError)


def test_type_checkers_see_what_is_imported_lazily() -> None:
    """Both read ``__init__.pyi``; a name that is imported there as itself is public, once."""
    seen: dict[str, str] = {}
    for path in LISTS:
        package = name_of(path)
        for node in ast.parse(path.read_text()).body:
            for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                assert alias.asname == alias.name, ast.unparse(node)
                assert alias.name not in seen, f"{alias.name} is listed twice"
                seen[alias.name] = package
                home = importlib.import_module(str(node.module))
                assert getattr(importlib.import_module(package), alias.name) is getattr(
                    home, alias.name
                )
                assert not (path.parent / f"{alias.name}.py").is_file() or package == "accord"
    packages = {name_of(path.parent).removeprefix("accord.") for path in LISTS[1:]}
    assert {f"{package}.{name}" for name, package in seen.items()} == {
        *PUBLIC,
        *(f"accord.{name}" for name in (*packages, "errors")),
    }


def test_dir_shows_public_names_and_packages() -> None:
    assert set(accord.__all__) < set(dir(accord))
    assert {"solve", "Game", "TERMINAL", "treeplex", "errors"} <= set(dir(accord))
    assert not {"annotations", "import_module", "ast", "Path"} & set(dir(accord))
    assert dir(accord.regret) == accord.regret.__all__
    with pytest.raises(AttributeError, match="'accord' has no attribute 'nonsense'"):
        accord.nonsense  # noqa: B018


def test_version() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", accord.__version__)
    changelog = (PACKAGE.parents[1] / "CHANGELOG.md").read_text()
    assert re.search(rf"^## \[{accord.__version__}\] - \d{{4}}-\d\d-\d\d$", changelog, re.M)
    citation = (PACKAGE.parents[1] / "CITATION.cff").read_text()
    assert f"\nversion: {accord.__version__}\n" in citation


def test_each_release_in_the_changelog_has_one_section_per_kind() -> None:
    _, *releases = re.split(r"^## ", (PACKAGE.parents[1] / "CHANGELOG.md").read_text(), flags=re.M)
    assert releases[0].startswith("[Unreleased]")
    for release in releases:
        kinds = re.findall(r"^### (\w+)$", release, re.M)
        assert len(set(kinds)) == len(kinds)
        assert kinds or release == "[Unreleased]\n\n"


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
        kinds = getattr(thing, "__mro__", (thing,))
        fields = {name for kind in kinds for name in getattr(kind, "__annotations__", {})}
        assert hasattr(thing, part) or part in fields, f"{name}: {thing} has no {part}"
        thing = getattr(thing, part, None)
