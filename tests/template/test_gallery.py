"""The template gallery's static rules, and the entry for it.

The rules are those of microsoft/template-validation-action as of 2026-04-06 (`src/rules.json`), restated here. What
needs Azure (`azd up`, `azd down`), GitHub (the repository's topics) or another program (PSRule, Playwright) is
left out.
"""

import json
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.pages import ROOT

KNOWN_TAGS = {
    "tags": {"community", "msft", "new", "ai", "mcp"},
    "languages": {"python"},
    "IaC": {"bicep"},
    "azureServices": {
        "functions", "openai", "azurestorage", "blobstorage", "managedidentity", "appinsights", "loganalytics", "vnets",
        "privateEndpoints", "cosmosdb", "keyvault",
    },
}  # fmt: skip


@dataclass(frozen=True)
class FileRule:
    """A file of one of these names, in any letter case, is in one of the folders and has each of the texts."""

    names: tuple[str, ...]
    folders: tuple[str, ...] = (".",)
    texts: tuple[str, ...] = ()
    is_folder_enough: bool = False


COMMUNITY = (".", ".github")
FILE_RULES = {
    "README": FileRule(("README.md",), texts=("## Features", "## Getting Started", "## Guidance", "## Resources")),
    "LICENSE": FileRule(("LICENSE.md", "LICENSE")),
    "SECURITY": FileRule(("SECURITY.md",), COMMUNITY),
    "CODE_OF_CONDUCT": FileRule(("CODE_OF_CONDUCT.md",), COMMUNITY),
    "CONTRIBUTING": FileRule(("CONTRIBUTING.md",), COMMUNITY),
    "ISSUE_TEMPLATE": FileRule(("ISSUE_TEMPLATE.md", "ISSUE_TEMPLATE"), (".github",), is_folder_enough=True),
    "azure-dev": FileRule(("azure-dev.yml", "azure-dev.yaml"), (".github/workflows",)),
    "azure": FileRule(("azure.yml", "azure.yaml")),
}

pytestmark = pytest.mark.behaviour("docs.gallery")


def faults(root: Path, rule: FileRule) -> list[str]:
    """Return what the action says of a rule: nothing where it passes."""
    names = {name.lower() for name in rule.names}
    fitting = [
        path
        for folder in rule.folders
        for path in ((root / folder).iterdir() if (root / folder).is_dir() else ())
        if path.name.lower() in names and (path.is_file() or rule.is_folder_enough)
    ]
    if not fitting:
        return [f"{rule.names[0]} is missing"]
    texts = [path.read_text(encoding="utf-8").lower() for path in fitting if path.is_file()]
    return [text for text in rule.texts if not any(text.lower() in content for content in texts)]


@pytest.mark.parametrize("rule", FILE_RULES.values(), ids=list(FILE_RULES))
def test_a_rule_of_the_gallery_about_a_file_passes(rule: FileRule) -> None:
    assert faults(ROOT, rule) == []


def entry() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((ROOT / "docs" / "contributing" / "gallery.json").read_text(encoding="utf-8"))
    return read


def test_the_entry_has_what_the_gallery_asks_for_and_only_its_tags() -> None:
    """A tag that it does not know is dropped there without a word."""
    read = entry()

    assert [
        name for name in ("title", "description", "author", "authorUrl", "source", "preview") if not read[name]
    ] == []
    assert {name: set(read[name]) - known for name, known in KNOWN_TAGS.items() if set(read[name]) - known} == {}
    assert {"community", "new"} <= set(read["tags"])
    assert str(uuid.UUID(read["id"])) == read["id"]
    assert read["source"] == (ROOT / "packages" / "REPOSITORY").read_text(encoding="utf-8").strip()
