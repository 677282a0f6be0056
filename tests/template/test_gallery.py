"""The template gallery's static rules, and the entry for it.

The rules are those of microsoft/template-validation-action as of 2026-04-06 (`src/rules.json`), restated here. What
needs Azure (`azd up`, `azd down`), GitHub (the repository's topics) or another program (PSRule, Playwright) is
left out.
"""

import json
import uuid
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


HERE, COMMUNITY, WORKFLOWS = (".",), (".", ".github"), (".github/workflows",)
FILES = {
    ("README.md",): HERE,
    ("LICENSE.md", "LICENSE"): HERE,
    ("SECURITY.md",): COMMUNITY,
    ("CODE_OF_CONDUCT.md",): COMMUNITY,
    ("CONTRIBUTING.md",): COMMUNITY,
    ("ISSUE_TEMPLATE.md", "ISSUE_TEMPLATE"): (".github",),
    ("azure-dev.yml", "azure-dev.yaml"): WORKFLOWS,
    ("azure.yml", "azure.yaml"): HERE,
}
"""A file of one of these names, in any letter case, is in one of the folders."""
HEADINGS = ("## Features", "## Getting Started", "## Guidance", "## Resources")

pytestmark = pytest.mark.behaviour("docs.gallery")


def test_each_file_that_the_gallery_asks_for_is_there() -> None:
    there = {folder: {path.name.lower() for path in (ROOT / folder).iterdir()} for folder in (*COMMUNITY, *WORKFLOWS)}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    for names, folders in FILES.items():
        assert any(name.lower() in there[folder] for name in names for folder in folders), names
    assert [heading for heading in HEADINGS if heading not in readme] == []


def test_the_entry_has_what_the_gallery_asks_for_and_only_its_tags() -> None:
    """A tag that it does not know is dropped there without a word."""
    read: dict[str, Any] = json.loads((ROOT / "docs" / "contributing" / "gallery.json").read_text(encoding="utf-8"))

    assert all(read[name] for name in ("title", "description", "author", "authorUrl", "source", "preview"))
    assert {name: set(read[name]) - known for name, known in KNOWN_TAGS.items() if set(read[name]) - known} == {}
    assert {"community", "new"} <= set(read["tags"])
    assert str(uuid.UUID(read["id"])) == read["id"]
    assert read["source"] == (ROOT / "packages" / "REPOSITORY").read_text(encoding="utf-8").strip()
