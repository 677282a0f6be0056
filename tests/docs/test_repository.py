"""The repository's address: written once, in packages/REPOSITORY, and named by every page that has you clone it."""

import re

import pytest

from tests.support.pages import ROOT

ADDRESS = (ROOT / "packages" / "REPOSITORY").read_text(encoding="utf-8").strip()
CLONED = re.compile(r"(?:git clone|git remote add template|azd init --template) (<[^>]+>|[^\s`]+)")
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("samples/*/README.md")])

pytestmark = pytest.mark.behaviour("docs.repository")


def test_every_command_that_clones_names_the_address_of_the_file() -> None:
    cloned = {str(page.relative_to(ROOT)): CLONED.findall(page.read_text(encoding="utf-8")) for page in PAGES}

    assert {page: named for page, named in cloned.items() if set(named) - {ADDRESS}} == {}
    assert len(cloned["README.md"]) == 2
