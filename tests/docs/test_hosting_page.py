"""hosting.md: its example is an app of two agents, and what an update replaces is all that the library needs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.pages import ROOT, code, page, part

PAGE = page("docs/reference/hosting.md")


@pytest.mark.behaviour("docs.hosting")
def test_the_example_registers_both_agents_and_one_of_them_as_a_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENT_LOG", "memory")
    (example,) = code(PAGE, "python")
    names: dict[str, Any] = {}
    exec(example, names)
    registered = {function.get_function_name() for function in names["app"].get_functions()}

    assert {"http-guide", "dafx-guide", "mcptool-guide", "http-writer", "dafx-writer"} <= registered
    assert "mcptool-writer" not in registered


@pytest.mark.behaviour("docs.hosting")
def test_an_update_replaces_all_folders_that_the_library_imports() -> None:
    """What it imports of the clone stands in the command."""
    update = part(page("docs/guides/packages.md"), "## Update the library in your app")
    replaced = set(re.findall(r"^    git rm -rq (.*)$", update, re.MULTILINE)[0].split())
    folders = {path.name for path in ROOT.iterdir() if (path / "__init__.py").is_file()}
    imported = {
        name
        for path in (ROOT / "hosting").rglob("*.py")
        for name in re.findall(r"^\s*from (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }

    assert imported & folders <= replaced
    assert {name for name in update.split("-- ")[1].splitlines()[0].split() if not (ROOT / name).exists()} == set()
