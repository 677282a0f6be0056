"""The pages that docstrings and the manifest of rules cite: each is one of the clone, or of its specification."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.pages import ROOT

SOURCES = sorted(
    path
    for folder in ("agents", "benchmarks", "conformance", "devhost", "hosting", "samples", "state", "tests")
    for path in (ROOT / folder).rglob("*.py")
)
MANIFEST = sorted((ROOT / "tests" / "behaviours").glob("[!t]*.py"))
# What the product was written from. It lies beside the clone, not in it; so does the protocol of Durable Streams.
SPECIFICATION = {"design.md", "http-api.md", "local-host.md", "state.md", "style.md", "thread-log.md", "PROTOCOL.md"}
PAGE = re.compile(r"[\w./-]*\b[\w-]+\.md\b")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def cited(path: Path) -> Iterator[str]:
    """Return the pages that a module cites: in its docstrings, and one of the manifest anywhere."""
    source = path.read_text(encoding="utf-8")
    if path in MANIFEST:
        yield from PAGE.findall(source)
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED):
            yield from PAGE.findall(ast.get_docstring(node) or "")


def is_there(page: str) -> bool:
    """Return whether a reader finds that page."""
    return page in SPECIFICATION or (ROOT / page).is_file() or (ROOT / "docs" / page).is_file()


@pytest.mark.behaviour("docs.cited-pages")
def test_each_page_that_is_cited_exists() -> None:
    """A page that was renamed or removed leaves its citations behind."""
    assert [(str(path.relative_to(ROOT)), page) for path in SOURCES for page in cited(path) if not is_there(page)] == []
