"""The names that `durable_agent_host` exports, their signatures, and the tests that run where it is installed."""

import ast
import contextlib
import inspect
import re

import pytest

import packages.durable_agent_host as library
from packages.build import ROOT
from tests.support.tests_of_the_tree import OF_THE_TREE

INIT = ROOT / "packages" / "durable_agent_host" / "__init__.py"
USERS = [
    ROOT / "function_app.py",
    *(path for top in ("agents", "samples") for path in sorted((ROOT / top).rglob("*.py"))),
]
PAGES = sorted(
    path
    for path in (ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("samples/*/README.md"))
    if path.parent.name != "contributing"  # for those who change the library itself
)


def imported(source: str) -> dict[str, str]:
    """Each name that a module imports from the library, with the module that has it."""
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    return {
        alias.name: node.module
        for node in found
        if node.module and node.module.startswith("hosting.")
        for alias in node.names
    }


def in_pages() -> dict[str, str]:
    lines = [line for page in PAGES for line in page.read_text(encoding="utf-8").splitlines()]
    return imported("\n".join(line for line in lines if line.startswith("from hosting.")))


def exported() -> dict[str, str]:
    (table,) = [
        node.value
        for node in ast.parse(INIT.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_MODULES"
    ]
    return dict(ast.literal_eval(table))


@pytest.mark.behaviour("packages.public")
def test_what_the_template_and_its_samples_import_is_exported() -> None:
    names = {name for path in USERS for name in imported(path.read_text(encoding="utf-8"))}

    assert sorted(names - exported().keys()) == []


@pytest.mark.behaviour("packages.public")
def test_what_the_pages_import_is_exported() -> None:
    """The documentation's names are the public ones; what tests import has modules of its own, which need pytest."""
    names = {name for name, module in in_pages().items() if not module.startswith("hosting.testing.")}

    assert sorted(names - exported().keys()) == []


CANARY = "kept-in-the-environment"


@pytest.mark.behaviour("packages.public")
def test_no_signature_shows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the app's secrets: a default is None, and not the variables of the process."""
    monkeypatch.setenv("API_KEY", CANARY)
    shown = []
    for name in library.__all__:
        public = getattr(library, name)
        members = inspect.getmembers(public, inspect.isroutine) if inspect.isclass(public) else []
        for member in (public, *(member for _, member in members)):
            with contextlib.suppress(TypeError, ValueError):  # what C makes has none
                shown.append((name, str(inspect.signature(member))))

    assert [name for name, signature in shown if CANARY in signature] == []
    assert len(shown) > len(library.__all__)


@pytest.mark.behaviour("packages.suite")
def test_what_is_left_out_is_there() -> None:
    """A file or a folder, or a test of a file; and why it is of the tree."""
    for entry in OF_THE_TREE:
        name, _, test = entry.tests.partition("::")
        files = [path for path in ROOT.glob(name) if path.is_file()]
        pattern = re.compile(rf"^(?:async )?def {test.replace('*', '')}", re.MULTILINE)

        assert files != [], entry
        assert entry.why.endswith(".")
        assert not test or pattern.search(files[0].read_text(encoding="utf-8")), entry
