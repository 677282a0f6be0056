"""The pages as a whole: links and citations lead somewhere, commands can be typed, and each page is listed."""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from dev import HOST_COMMANDS, HOST_OPTIONS, command_line
from packages.durable_agent_host.__main__ import COMMANDS
from tests.support.pages import ROOT, page, part

PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("samples/README.md"), *ROOT.glob("samples/*/README.md")]
)
COMMAND = re.compile(r"(?:(?<=[^`]`)|^(?:\$ | {4}|))((?:python3?|pip|func|uv|\S*venv/\S*)(?: [^`\n|]+))", re.MULTILINE)
ELSEWHERE = (
    *("python -m http.server", "python samples/reliable_streaming/follow.py"),
    *("pip install durable-agent-host", "pip install functions-local-host"),
)
"""Programs that any Python runs as it is, and commands of a person who has the packages instead of a clone."""


def commands_in(path: Path) -> list[str]:
    """Return what the page gives to type: in a block, at the beginning of a line, or as code in a sentence."""
    return [" ".join(found[1].split()) for found in COMMAND.finditer(path.read_text(encoding="utf-8"))]


def refusal(command: str) -> str:
    """Return what is wrong with typing the command in a clone, nothing if it works."""
    if command.startswith(ELSEWHERE):
        return ""
    command = re.sub(r"^python (?:\.\./)+dev", "python dev", command)
    if not command.startswith("python dev.py "):
        return "needs an activated environment"
    try:
        options, rest = command_line().parse_known_args(command.split()[2:])
    except (SystemExit, argparse.ArgumentError):
        return "dev.py does not take it"
    if options.command == "run" and rest:
        return f"`run` does not know {rest}"
    if options.command == "exec" and options.program == "python" and options.arguments[0] == "-m":
        module = ROOT / options.arguments[1].replace(".", "/")
        return "" if module.with_suffix(".py").is_file() or (module / "__main__.py").is_file() else "no such module"
    return ""


@pytest.mark.behaviour("docs.commands-work")
def test_every_command_of_a_page_exists_and_needs_no_activated_environment() -> None:
    """On Windows too: only `python` itself is assumed to be there."""
    commands = {command: path.name for path in PAGES for command in commands_in(path)}

    assert len(commands) > 80
    assert {(page, command): why for command, page in commands.items() if (why := refusal(command))} == {}


@pytest.mark.behaviour("docs.commands-work")
def test_every_option_and_command_of_dev_py_is_documented() -> None:
    text = page("docs/reference/commands.md")
    (listed,) = [action.choices for action in command_line()._actions if isinstance(action.choices, dict)]

    assert [name for name in listed if not re.search(rf"^\| `python dev\.py {name}\b", text, re.MULTILINE)] == []
    assert [name for name in HOST_OPTIONS if f"| `--{name}` |" not in text] == []
    assert [name for name in HOST_COMMANDS if f"`python dev.py host {name}`" not in text] == []


@pytest.mark.behaviour("docs.commands-work")
def test_every_command_of_the_library_is_documented_and_no_other() -> None:
    text = part(page("docs/reference/commands.md"), "## `durable-agent-host`")

    assert sorted(re.findall(r"^\| `durable-agent-host (\w+)", text, re.MULTILINE)) == sorted(COMMANDS)


DOCS = sorted((ROOT / "docs").rglob("*.md"))
LINK = re.compile(r"\]\((?!https?:|#|\.\./\.\./actions/)([^)#]+)(?:#([^)]+))?\)")


@cache
def headings(page: Path) -> set[str]:
    """Return the names by which a page's headings are linked."""
    found = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def test_the_list_of_pages_has_each_of_them_once() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    listed = [name for row in re.findall(r"^\| .*", index, re.MULTILINE) for name in re.findall(r"\]\(([^)]+)\)", row)]
    there = [page.relative_to(ROOT / "docs").as_posix() for page in DOCS]

    assert sorted(listed) == sorted(page for page in there if page != "README.md")
    assert "](docs/README.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_link_of_a_page_leads_to_what_is_there() -> None:
    """A file of the clone, and a heading of it where one is named."""
    lost = [
        (path.name, target, heading)
        for path in [*ROOT.glob("*.md"), *DOCS]
        for target, heading in LINK.findall(path.read_text(encoding="utf-8"))
        if not (path.parent / target).exists() or (heading and heading not in headings(path.parent / target))
    ]

    assert lost == []


ADDRESS = (ROOT / "packages" / "REPOSITORY").read_text(encoding="utf-8").strip()
CLONED = re.compile(r"(?:git clone|git remote add template|azd init --template) (<[^>]+>|[^\s`]+)")


@pytest.mark.behaviour("docs.repository")
def test_every_command_that_clones_names_the_address_of_the_file() -> None:
    cloned = {str(page.relative_to(ROOT)): CLONED.findall(page.read_text(encoding="utf-8")) for page in PAGES}

    assert {page: named for page, named in cloned.items() if set(named) - {ADDRESS}} == {}
    assert len(cloned["README.md"]) == 2


SOURCES = sorted(
    path
    for folder in ("agents", "benchmarks", "conformance", "devhost", "hosting", "samples", "state", "tests")
    for path in (ROOT / folder).rglob("*.py")
)
MANIFEST = sorted((ROOT / "tests" / "behaviours").glob("*.md"))
OF_OTHERS = {"PROTOCOL.md", "SKILL.md"}
"""The protocol of Durable Streams, which its own repository has, with numbers; and the page of each skill."""
PAGE_NAMES = {path.name for path in (ROOT / "docs").rglob("*.md")}
CITED = re.compile(r"[\w./-]*\b[\w-]+\.md\b")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def cited(path: Path) -> Iterator[str]:
    """Return the pages that a module cites in its docstrings, or an area of the manifest anywhere."""
    source = path.read_text(encoding="utf-8")
    if path in MANIFEST:
        yield from CITED.findall(source)
        return
    if ".md" not in source:
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED):
            yield from CITED.findall(ast.get_docstring(node) or "")


def is_there(page: str) -> bool:
    """Return whether a reader finds that page."""
    return page in OF_OTHERS or (ROOT / page).is_file() or page in PAGE_NAMES


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
