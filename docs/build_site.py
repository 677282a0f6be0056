"""Build the site: README, these pages and the samples as HTML in `site/html/`; `python dev.py docs` runs it.

Zensical makes it, and fails at a link to a page or a heading that is not there. It reads one folder, so the pages are
copied into `site/pages/` as they lie in the clone, with what they link to. docs/README.md is the table of contents: its
headings are the parts, the links of its rows the pages.

For language models the site has each page as Markdown too, `llms.txt` with a list of them (https://llmstxt.org), and
`llms-full.txt` with all of them in one file.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAME = "Durable agents on Azure Functions"
PAGES = ("*.md", "docs/**/*.md", "samples/README.md", "samples/*/README.md")
# What only GitHub shows: badges, and the word that colours a quotation.
ON_GITHUB = re.compile(r"^\[!\[.*\n|^> \[!\w+\]\n", re.MULTILINE)
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)")
HEADING = re.compile(r"^# (.+)$", re.MULTILINE)
PART = re.compile(r"^## (.+)$|^(\| .+)$", re.MULTILINE)
# Anchors as GitHub makes them, on which the pages are read too.
EXTENSIONS = """
[project.markdown_extensions.toc]
permalink = true
slugify = { object = "pymdownx.slugs.slugify", kwds = { case = "lower" } }
[project.markdown_extensions.tables]
[project.markdown_extensions.pymdownx.highlight]
[project.markdown_extensions.pymdownx.superfences]
custom_fences = [{ name = "mermaid", class = "mermaid" }]
"""
# What draws the diagrams, in the version that the generator would have each reader's browser load from unpkg.com.
MERMAID, MERMAID_SCRIPT = "mermaid@12.3.0", "mermaid.min.js"
# A route or a setting is one word.
STYLE = ".md-typeset td:first-child code { white-space: nowrap; }\n"


def main(arguments: list[str]) -> int:
    """The exit code of the generator; 1, with the links, where a page links to what is not in the clone."""
    parser = argparse.ArgumentParser(prog="python dev.py docs", description=(__doc__ or "").partition(";")[0])
    parser.add_argument("--clone", type=Path, default=ROOT, help=argparse.SUPPRESS)
    clone = parser.parse_args(arguments).clone.resolve()
    staged = clone / "site"
    shutil.rmtree(staged, ignore_errors=True)
    lost = stage(clone, staged / "pages")
    if lost:
        print(*lost, sep="\n", file=sys.stderr)
        return 1
    (staged / "pages" / "site.css").write_text(STYLE, encoding="utf-8")
    config = staged / "zensical.toml"
    scripts = [MERMAID_SCRIPT] if bring_mermaid(staged / "pages") else []
    config.write_text(configuration(clone, scripts), encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "--config-file", str(config)]
    ended = subprocess.run(command, cwd=staged, check=False)
    if ended.returncode == 0:
        write_for_models(parts_of(clone), staged / "pages", staged / "html")
        print(f"The site is in {staged / 'html'}: look at it with `python -m http.server --directory site/html`.")
    return ended.returncode


def stage(clone: Path, into: Path) -> list[str]:
    """Copy the pages and the files that they link to; return the links that lead nowhere.

    A folder has no page of its own, so a link to one becomes its text.
    """
    lost = []
    for page in sorted({path for pattern in PAGES for path in clone.glob(pattern)}):
        text = ON_GITHUB.sub("", page.read_text(encoding="utf-8"))
        for label, target, anchor in LINK.findall(text):
            linked = (page.parent / target).resolve()
            if not linked.exists() or clone not in linked.parents:
                lost.append(f"{page.relative_to(clone)}: there is no {target}")
            elif linked.is_dir():
                text = text.replace(f"[{label}]({target}{anchor})", label)
            elif linked.suffix != ".md":
                copied = into / linked.relative_to(clone)
                copied.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(linked, copied)
        staged = into / page.relative_to(clone)
        staged.parent.mkdir(parents=True, exist_ok=True)
        staged.write_text(text, encoding="utf-8")
    return lost


def bring_mermaid(pages: Path) -> bool:
    """Put the script that draws diagrams beside the pages, so that a reader loads nothing from elsewhere.

    Returns False, and says what follows, where npm is not there or cannot reach its registry.
    """
    npm = shutil.which("npm")
    command = [npm or "npm", "pack", "--silent", MERMAID, "--pack-destination", str(pages.parent)]
    quiet = subprocess.DEVNULL
    if npm is None or subprocess.run(command, cwd=pages, stdout=quiet, check=False).returncode != 0:
        print(f"npm is missing or cannot fetch {MERMAID}: readers of diagrams load it from unpkg.com.", file=sys.stderr)
        return False
    (archive,) = pages.parent.glob("mermaid-*.tgz")
    with tarfile.open(archive) as packed:
        script = packed.extractfile(f"package/dist/{MERMAID_SCRIPT}")
        assert script is not None
        (pages / MERMAID_SCRIPT).write_bytes(script.read())
    archive.unlink()
    return True


def parts_of(clone: Path) -> dict[str, list[str]]:
    """The pages of the site by the parts of its navigation, in order; the first page is in a part without a name."""
    parts: dict[str, list[str]] = {"": ["README.md"]}
    for part, row in PART.findall((clone / "docs" / "README.md").read_text(encoding="utf-8")):
        if part:
            parts[part] = []
        else:
            list(parts.values())[-1].extend(f"docs/{target}" for _, target, _ in LINK.findall(row))
    samples = sorted(str(path.relative_to(clone).as_posix()) for path in clone.glob("samples/*/README.md"))
    parts["Samples"] = ["samples/README.md", *samples]
    parts["Project"] = ["docs/README.md", "CONTRIBUTING.md", "SECURITY.md", "VERSIONING.md", "CHANGELOG.md"]
    return {part: pages for part, pages in parts.items() if pages}


def write_for_models(parts: dict[str, list[str]], pages: Path, site: Path) -> None:
    """Write `llms.txt`, `llms-full.txt`, and beside each page of the site the Markdown to which `llms.txt` leads."""
    first = (pages / "README.md").read_text(encoding="utf-8")
    listed, whole = [f"# {NAME}", "", f"> {summary(first)}", ""], []
    for part, names in parts.items():
        listed += [f"## {part}", ""] if part else []
        for name in names:
            text = (pages / name).read_text(encoding="utf-8")
            listed.append(f"- [{title(text, name)}]({name}): {summary(text)}".removesuffix(": "))
            whole.append(f"<!-- {name} -->\n\n{text.strip()}\n")
            (site / name).parent.mkdir(parents=True, exist_ok=True)
            (site / name).write_text(text, encoding="utf-8")
        listed.append("")
    (site / "llms.txt").write_text("\n".join(listed).rstrip() + "\n", encoding="utf-8")
    (site / "llms-full.txt").write_text("\n".join(whole), encoding="utf-8")


def title(text: str, name: str) -> str:
    """The first heading of a page, without marks; the page's name where it has none."""
    found = HEADING.search(text)
    return found[1].replace("`", "") if found else name


def summary(text: str) -> str:
    """The first sentence below the heading, without links; nothing where a list, a table or code comes first."""
    below = HEADING.split(text, maxsplit=1)[-1].lstrip()
    paragraph = " ".join(below.split("\n\n", 1)[0].split())
    if paragraph.startswith(("|", "#", "-", "`", "!", "[!", ">", "<")):
        return ""
    return re.split(r"(?<=[.!?])\s", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", paragraph))[0]


def configuration(clone: Path, scripts: list[str]) -> str:
    """What the generator is told: where to read and write, the parts of docs/README.md, and nothing of Google's."""
    parts = parts_of(clone)
    nav = ["README.md", *({part: pages} for part, pages in parts.items() if part)]
    project: dict[str, object] = {
        "site_name": NAME,
        "docs_dir": "pages",
        "site_dir": "html",
        "use_directory_urls": False,
    }
    project["extra_css"] = ["site.css"]
    project["extra_javascript"] = scripts
    lines = [f"{key} = {json.dumps(value)}" for key, value in project.items()]
    return "\n".join(["[project]", *lines, f"nav = {toml(nav)}", "[project.theme]", "font = false", EXTENSIONS])


def toml(value: object) -> str:
    """A list of strings and of tables with one key each."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(part)}" for key, part in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
