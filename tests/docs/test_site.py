"""The site that `python dev.py docs` makes of the pages: all of them, and no link that leads nowhere."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# The generator's name is a link.
ELSEWHERE = re.compile(r'<(?:script|link|img)[^>]*\b(?:src|href)="?(https?://[^" >]+)')

pytestmark = pytest.mark.behaviour("docs.site")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What the site is made of, to be broken."""
    ignored = shutil.ignore_patterns(".*", "site", "__pycache__", "*.pyc", "node_modules")
    for folder in ("docs", "samples", "infra", "tests", "agents", "hosting", "devhost", "state"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    for path in ROOT.iterdir():
        if path.is_file() and not path.name.startswith("."):
            shutil.copy(path, tmp_path)
    return tmp_path


@pytest.fixture
def small_clone(tmp_path: Path) -> Path:
    """The pages that each site has, and those that links are lost in, with nothing but their headings."""
    first = (
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "VERSIONING.md",
        "CHANGELOG.md",
        "docs/README.md",
        "samples/README.md",
    )
    names = ("reference/costs.md", "guides/models.md", "guides/tools.md", "explanation/why-it-is-safe.md")
    for path in (*first, *(f"docs/{name}" for name in names)):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(f"# {path}\n", encoding="utf-8")
    rows = "".join(f"| [{name}]({name}) | it |\n" for name in names)
    (tmp_path / "docs" / "README.md").write_text(f"# Pages\n\n## All\n\n| page | about |\n| --- | --- |\n{rows}")
    return tmp_path


def build(clone: Path, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess[str]:
    """Run what dev.py becomes, with the Python of the tests in the place of .venv, and the programs of the path."""
    command = [sys.executable, str(ROOT / "docs" / "build_site.py"), "--clone", str(clone)]
    environ = {**os.environ, "PATH": path}
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.slow
def test_every_page_is_in_the_site_under_its_own_path_and_so_is_what_draws_diagrams(clone: Path) -> None:
    """The README is the first one; nothing comes from elsewhere.

    The generator's own script loads what draws diagrams from elsewhere only where it is not there.
    """
    ended = build(clone)
    site = clone / "site" / "html"
    pages = [path.relative_to(ROOT) for pattern in ("docs/**/*.md", "samples/*/*.md") for path in ROOT.glob(pattern)]
    made = {path: path.with_suffix(".html") for path in pages}
    for path, page in made.items():
        if path.name == "README.md":
            made[path] = page.with_name("index.html")
    drawn = (site / "docs" / "explanation" / "architecture.html").read_text(encoding="utf-8")

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert [str(path) for path, page in made.items() if not (site / page).is_file()] == []
    assert "Getting Started" in (site / "index.html").read_text(encoding="utf-8")
    assert [url for page in site.rglob("*.html") for url in ELSEWHERE.findall(page.read_text("utf-8"))] == []
    assert 'class="mermaid"' in drawn
    assert_is_for_models(site, [path.as_posix() for path in pages])
    if "npm is missing" in ended.stderr:
        pytest.skip("npm's registry cannot be reached")
    assert "globalThis" in (site / "mermaid.min.js").read_text(encoding="utf-8")
    assert 'src="../../mermaid.min.js"' in drawn


OF_THE_PROJECT = ("README.md", "samples/README.md", "CONTRIBUTING.md", "SECURITY.md", "VERSIONING.md", "CHANGELOG.md")


def assert_is_for_models(site: Path, pages: list[str]) -> None:
    """Check that `llms.txt` leads to the Markdown of each page once, and that one file has them all, whole."""
    listed = (site / "llms.txt").read_text(encoding="utf-8")
    whole = (site / "llms-full.txt").read_text(encoding="utf-8")
    led_to = re.findall(r"^- \[[^\]]+\]\(([^)]+)\)(?:: .+)?$", listed, re.MULTILINE)

    assert listed.startswith("# Durable agents on Azure Functions\n\n> For Python developers who ")
    assert sorted(led_to) == sorted([*pages, *OF_THE_PROJECT])
    assert [name for name in led_to if (site / name).read_text(encoding="utf-8").strip() not in whole] == []
    assert re.findall(r"^<!-- (\S+) -->$", whole, re.MULTILINE) == led_to


LOST = {
    "a page, a file": {"reference/costs.md": "nowhere.md", "guides/models.md": "../../infra/nowhere.bicep"},
    "a heading": {"guides/tools.md": "../explanation/why-it-is-safe.md#nowhere"},
}


@pytest.mark.slow
@pytest.mark.parametrize("lost", LOST.values(), ids=LOST)
def test_each_link_that_leads_nowhere_fails_the_build_and_is_named_with_its_page(
    small_clone: Path, lost: dict[str, str]
) -> None:
    """To a page, to a file of the clone; to a heading, which the generator looks for when all others are there.

    Nobody reads this site, so npm is not there to bring what draws diagrams.
    """
    for name, link in lost.items():
        with (small_clone / "docs" / name).open("a", encoding="utf-8") as page:
            page.write(f"\n[lost]({link})\n")
    ended = build(small_clone, path="")
    printed = re.sub(r"\x1b\[[\d;]*m", "", ended.stdout + ended.stderr)

    assert ended.returncode != 0
    assert [name for name in lost if name not in printed] == []
    assert printed.count("nowhere") >= len(lost)
