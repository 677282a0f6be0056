"""Every setting that the deployed code reads is found by a reader: in the template with its default, and in docs/."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from agents.models import READ_BY_LIBRARIES
from hosting.assembly import SETTINGS
from hosting.settings import names_of
from tests.support.settings_template import template_values

ROOT = Path(__file__).resolve().parents[2]
DEPLOYED = [ROOT / "function_app.py", *(ROOT / "agents").rglob("*.py"), *(ROOT / "hosting").rglob("*.py")]
SETTING = re.compile(r"\b(AGENT|OPENAI|AZURE_OPENAI)(_[A-Z]+)+\b")
PLATFORM = {
    "AzureWebJobsStorage",
    "FUNCTIONS_WORKER_RUNTIME",
    "Logging__LogLevel__Microsoft.AspNetCore",
    "PYTHON_ENABLE_INIT_INDEXING",
    "PYTHON_ISOLATE_WORKER_DEPENDENCIES",
    "PYTHON_THREADPOOL_THREAD_COUNT",
}


@cache
def settings_in_code() -> frozenset[str]:
    """Each setting that the deployed code names, which it takes a second of a processor to find."""
    literal = {text for path in DEPLOYED for text in texts_in(path) if SETTING.fullmatch(text)}
    return frozenset(literal - set(READ_BY_LIBRARIES) | set(names_of(SETTINGS)))


def texts_in(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    if not SETTING.search(text):
        return iter(())  # most have none, and to take them apart takes seconds
    tree = ast.parse(text)
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return (value for value in constants if isinstance(value, str))


@pytest.mark.behaviour("template.settings-documented")
def test_the_template_lists_every_setting_of_the_code_and_nothing_that_nobody_reads() -> None:
    """Both directions: a setting left out could not be found, one too many would do nothing."""
    assert set(template_values()) == settings_in_code() | PLATFORM


@pytest.mark.slow
@pytest.mark.behaviour("template.settings-documented")
def test_no_page_names_a_setting_that_does_nothing() -> None:
    """In a table or a sentence: one that neither the code reads by its name, nor the library by its member."""
    pages = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "hosting").rglob("*.py"))
    rows = {name for name in re.findall(r"^\| `(\w+)` \|", pages, re.MULTILINE) if SETTING.fullmatch(name)}

    named = {match[0] for match in SETTING.finditer(pages)} - set(READ_BY_LIBRARIES)

    assert rows - settings_in_code() == set()
    assert named - settings_in_code() == set()
    assert [name for part in SETTINGS for name in part.model_fields if not re.search(rf"\.{name}\b", source)] == []


@pytest.mark.behaviour("template.settings-documented")
def test_a_table_in_docs_has_a_row_for_every_setting() -> None:
    """A row begins with the setting's name in backquotes."""
    pages = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))

    assert settings_in_code() - set(re.findall(r"^\| `(\w+)` \|", pages, re.MULTILINE)) == set()
