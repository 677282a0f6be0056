"""The pages as a whole: each is found, none of the first ones is long, links lead somewhere, diagrams are diagrams."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
LINK = re.compile(r"\]\((?!https?:|#|\.\./\.\./actions/)([^)#]+)(?:#([^)]+))?\)")


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


@pytest.mark.parametrize(
    "page", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]), ids=lambda page: str(page.relative_to(ROOT))
)
def test_every_link_of_a_page_leads_to_what_is_there(page: Path) -> None:
    """A file of the clone, and a heading of it where one is named."""
    lost = []
    for target, heading in LINK.findall(page.read_text(encoding="utf-8")):
        path = page.parent / target
        if not path.exists() or (heading and heading not in headings(path)):
            lost.append(f"{target}#{heading}")

    assert lost == []
