"""The pages that docstrings and the manifest of rules cite: each is one of the clone."""

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
MANIFEST = sorted((ROOT / "tests" / "behaviours").glob("*.md"))
ELSEWHERE = {"PROTOCOL.md", "SKILL.md"}
"""The protocol of Durable Streams, which its own repository has, with numbers; and the page of each skill."""
NAMES = {path.name for path in (ROOT / "docs").rglob("*.md")}
PAGE = re.compile(r"[\w./-]*\b[\w-]+\.md\b")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def cited(path: Path) -> Iterator[str]:
    """Return the pages that a module cites in its docstrings, or an area of the manifest anywhere."""
    source = path.read_text(encoding="utf-8")
    if path in MANIFEST:
        yield from PAGE.findall(source)
        return
    if ".md" not in source:
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED):
            yield from PAGE.findall(ast.get_docstring(node) or "")


def is_there(page: str) -> bool:
    """Return whether a reader finds that page."""
    return page in ELSEWHERE or (ROOT / page).is_file() or page in NAMES


@pytest.mark.slow
@pytest.mark.behaviour("docs.cited-pages")
def test_each_page_that_is_cited_exists() -> None:
    """A page that was renamed or removed leaves its citations behind."""
    assert [
        (str(path.relative_to(ROOT)), page)
        for path in [*SOURCES, *MANIFEST]
        for page in cited(path)
        if not is_there(page)
    ] == []
