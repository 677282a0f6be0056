"""`python dev.py build`: the wheels, made of this tree.

A wheel has what the tree has, below a name that no user's module has: `hosting` is `durable_agent_host` there, `state`
is `durable_agent_host.state`, `devhost` is `functions_local_host`, `conformance` is `durable_agents_conformance`. A
source file differs from the tree's in nothing but these names, where an import, a comment or a plain string says them
with a module behind, in what the commands are called, and in what a user of the wheel does not have: pages of docs/ and
the requirements files of the extras. What a wheel has besides (its metadata, its README, the
library's `__init__.py` and its commands) is the folder of its name beside this file.

The same tree gives the same bytes: names are sorted, times and modes are fixed, and the tools are pinned in
requirements-build.txt.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ROOT / "packages"
NAMES = {
    "hosting": "durable_agent_host",
    "state": "durable_agent_host.state",
    "devhost": "functions_local_host",
    "conformance": "durable_agents_conformance",
}
COMMANDS = {
    "python -m hosting.commands.tail": "durable-agent-host tail",
    "python dev.py evaluate": "durable-agent-host evaluate",
    "dev.py evaluate": "durable-agent-host evaluate",
    "python dev.py operations": "durable-agent-host operations",
    "dev.py operations": "durable-agent-host operations",
    "python dev.py owners": "durable-agent-host owners",
    "dev.py owners": "durable-agent-host owners",
    "python -m state": "durable-agent-host state",
    "python -m devhost": "functions-local-host",
    "python -m conformance": "durable-agents-conformance",
}
PAGES = "{} of the documentation"
"""What a page is called where nobody knows the address of the repository."""
TEMPLATE = (
    *(".devcontainer", ".funcignore", ".gitignore", ".vscode", "agents", "api.http", "azure.yaml", "function_app.py"),
    *("host.json", "infra", "local.settings.json.template", ".github/workflows/azure-dev.yml"),
)
"""What `durable-agent-host new` takes of the template, beside the files of packages/new_app."""
EPOCH = "1577836800"  # 2020-01-01: the time of each file in a wheel
IGNORED = shutil.ignore_patterns("__pycache__", "*.py[cod]", ".*")


@dataclass(frozen=True)
class Wheel:
    """What goes into one wheel. `needs` are the requirements files that it installs, the `extras` on request."""

    name: str
    folders: Sequence[str]
    needs: str
    shared_needs: Sequence[str] = ()
    extras: Sequence[str] = ()


WHEELS = (
    Wheel(
        "durable_agent_host",
        ("hosting", "state"),
        needs="requirements.txt",
        extras=("auth", "console", "cosmos", "file-search", "model", "redis"),
    ),
    # Of what an app needs, the local host itself imports the SDK, and the client of blobs with its transport.
    Wheel(
        "functions_local_host",
        ("devhost",),
        needs="requirements-local.txt",
        shared_needs=("azure-functions", "azure-storage-blob", "aiohttp"),
    ),
    Wheel("durable_agents_conformance", ("conformance",), needs="requirements-conformance.txt"),
)


def main(arguments: Sequence[str]) -> int:
    """Build the wheels into a folder and print their paths."""
    parser = argparse.ArgumentParser(prog="dev.py build", description="Build the wheels.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="FOLDER", help="for the wheels (dist/)")
    parser.add_argument("--url", help="where the repository is, for the wheels' metadata (packages/REPOSITORY)")
    options = parser.parse_args(arguments)
    os.umask(0o022)  # a wheel keeps the modes of its files
    for wheel in WHEELS:
        print(build(wheel, options.out.resolve(), options.url or repository()))
    return 0


def build(wheel: Wheel, out: Path, url: str | None = None) -> Path:
    """Make one wheel in `out` and return its path; exits with what the tools said if they refuse the sources."""
    environ = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH}
    with tempfile.TemporaryDirectory() as folder:
        stage = Path(folder)
        write_sources(wheel, stage, url)
        # Not asked whether the tools are there: it takes as long as to build, and who builds has the pinned ones.
        command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--skip-dependency-check"]
        command += ["--outdir", str(out), str(stage)]
        ended = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    if ended.returncode:
        sys.exit(f"{ended.stdout}{ended.stderr}\nThe wheel {wheel.name} could not be built. The lines above say why.")
    return next(out.glob(f"{wheel.name}-{version()}-*.whl"))


def version() -> str:
    """Return the version of all wheels."""
    return (PACKAGES / "VERSION").read_text(encoding="utf-8").strip()


def repository() -> str | None:
    """Return the address of the repository; None as long as it has none."""
    address = (PACKAGES / "REPOSITORY").read_text(encoding="utf-8").strip()
    return address if address.startswith("https://") else None


def write_sources(wheel: Wheel, stage: Path, url: str | None = None) -> None:
    """Write a project that any build tool takes: the renamed sources, and the metadata beside them."""
    for folder in wheel.folders:
        shutil.copytree(ROOT / folder, stage / NAMES[folder].replace(".", "/"), ignore=IGNORED, dirs_exist_ok=True)
    own = stage / wheel.name
    shutil.copytree(PACKAGES / wheel.name, own, ignore=IGNORED, dirs_exist_ok=True)
    for name in ("pyproject.toml", "README.md"):
        shutil.move(own / name, stage / name)
    for name in ("LICENSE", *(f"requirements-{extra}.txt" for extra in wheel.extras)):
        shutil.copy(ROOT / name, stage / name)
    shutil.copy(PACKAGES / "VERSION", stage / "VERSION")
    (stage / "requirements.txt").write_text("\n".join(requirements(wheel)) + "\n", encoding="utf-8")
    if url:
        with (stage / "pyproject.toml").open("a", encoding="utf-8") as metadata:
            metadata.write(f'\n[project.urls]\nRepository = "{url}"\nChanges = "{url}/blob/main/CHANGELOG.md"\n')
    pages = f"{url}/blob/v{version()}/docs/{{}}" if url else PAGES
    if wheel.name == "durable_agent_host":
        write_template(own / "template", pages)
    for path in stage.rglob("*"):
        if path.suffix == ".py":
            text = _OF_ITSELF.sub(r"\1", renamed(path.read_text(encoding="utf-8"), pages))
            path.write_text(text, encoding="utf-8", newline="\n")
        path.chmod(0o755 if path.is_dir() else 0o644)


def write_template(folder: Path, pages: str) -> None:
    """Write the files of a new app. They import public names, which the package itself has."""
    shutil.copytree(PACKAGES / "new_app", folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in TEMPLATE:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    for path in filter(Path.is_file, folder.rglob("*")):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            text = _OF_A_MODULE.sub("from durable_agent_host import", renamed(text, pages))
        path.write_text(_as_users_find_it(text, pages), encoding="utf-8", newline="\n")
    editor = folder / ".vscode" / "launch.json"
    editor.write_text(
        editor.read_text(encoding="utf-8").replace('"devhost"', f'"{NAMES["devhost"]}"'), encoding="utf-8"
    )


def requirements(wheel: Wheel) -> Iterator[str]:
    """Iterate over the lines that the wheel's requirements file has itself, and those that it shares with the app's."""
    for line in (ROOT / wheel.needs).read_text(encoding="utf-8").splitlines():
        if not line.startswith(("-r", "#")):
            yield line
    for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines():
        if re.split(r"[^\w.-]", line, maxsplit=1)[0].rstrip("-.") in wheel.shared_needs:
            yield line


def _modules() -> Iterator[str]:
    for name in NAMES:
        for path in sorted([*(ROOT / name).glob("*.py"), *(ROOT / name).glob("*/__init__.py")]):
            yield rf"{name}\.{path.parent.name if path.parent.parent == ROOT / name else path.stem}"


_OF_ITSELF = re.compile(r"^(from )packages\.(?=durable_agent_host\b)", re.MULTILINE)
"""How the files that a wheel has besides import one another."""
_OF_A_MODULE = re.compile(r"^from durable_agent_host\.[\w.]+ import", re.MULTILINE)
_SAID = re.compile(rf"(?P<command>{'|'.join(COMMANDS)})|(?<![\w./-])(?P<module>{'|'.join(_modules())})\b")
"""A command, or a module of the packages by its dotted name: never `state.head` of some variable, nor a path."""


_PAGE = re.compile(r"(?<![\w./-])docs/([a-z]+/[a-z0-9-]+\.md)(?![\"'])|(?<![\"'\w./-])docs/([a-z]+/[a-z0-9-]+\.md)")
"""A page that a sentence names. A string that is nothing else is a path."""
_EXTRA = re.compile(r"the lines? of requirements-([\w-]+)\.txt")


def _as_users_find_it(text: str, pages: str) -> str:
    """Return the text of any file with the pages and extras as somebody finds them who has the wheel alone."""
    text = _PAGE.sub(lambda found: pages.format(found[1] or found[2]), text)
    return _EXTRA.sub(r"durable-agent-host[\1]", text)


def renamed(source: str, pages: str = PAGES) -> str:
    """Return the source of a module with the packages' names in wheels. The text between the names stays as it is."""
    changes = []
    begins, expected = True, ""  # whether a statement begins here; the keyword of an import whose module comes next
    before = ["", ""]
    plainly_imported: set[str] = set()  # those are said with all their names, wherever the module uses them
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        text = token.string
        if token.type == tokenize.NAME and text in NAMES:
            if expected == "import":
                plainly_imported.add(text)
            if expected or (text in plainly_imported and before[1] != "."):
                changes.append((token, NAMES[text]))
        elif token.type == tokenize.STRING and before == ['"-m"', ","] and text.strip('"') in NAMES:
            changes.append((token, f'"{NAMES[text.strip(chr(34))]}"'))
        elif token.type == tokenize.COMMENT or (token.type == tokenize.STRING and _is_plain(text)):
            changes.append((token, _SAID.sub(_as_in_wheels, text)))
        expected = text if begins and text in ("from", "import") else ""
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            begins = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
            before = [before[1], text]
    lines = source.splitlines(keepends=True)
    for token, text in reversed(changes):
        (row, column), (last, end) = token.start, token.end
        lines[row - 1 : last] = [lines[row - 1][:column] + text + lines[last - 1][end:]]
    return _as_users_find_it("".join(lines), pages)


def _is_plain(literal: str) -> bool:
    """Tell whether a literal holds no expressions, which would be code: Python 3.12 has other tokens for those."""
    return "f" not in literal[: re.search("['\"]", literal).start()].lower()  # type: ignore[union-attr]


def _as_in_wheels(found: re.Match[str]) -> str:
    if found["command"]:
        return COMMANDS[found[0]]
    package, _, module = found[0].partition(".")
    return f"{NAMES[package]}.{module}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
