"""The names that `durable_agent_host` exports."""

import ast
from pathlib import Path

import pytest

from packages.build import ROOT

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

pytestmark = pytest.mark.behaviour("packages.public")


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


@pytest.mark.parametrize("path", USERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_the_template_and_its_samples_import_is_exported(path: Path) -> None:
    assert sorted(imported(path.read_text(encoding="utf-8")).keys() - exported().keys()) == []


def test_what_the_pages_import_is_exported() -> None:
    """The documentation's names are the public ones; what tests import has modules of its own, which need pytest."""
    names = {name for name, module in in_pages().items() if not module.startswith("hosting.testing.")}

    assert sorted(names - exported().keys()) == []
