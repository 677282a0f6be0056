"""`python dev.py test --wheel`: the tests of this tree where the library and the local host are installed.

An environment has the wheels and what the tests need; a folder has the tests, the agents and all else of the tree but
the packages, with the names that these have in wheels. Nothing of the tree is on Python's path there.
`tests/support/tests_of_the_tree.py` says which tests stay with the tree.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from packages.build import NAMES, ROOT, renamed

PROGRAMS = "Scripts" if os.name == "nt" else "bin"
_IMPORT = re.compile(rf"^(\s*(?:from|import) )({'|'.join(NAMES)})\b", re.MULTILINE)
"""Where the code of a page imports ours: some of it is run by the tests."""
UV = (sys.executable, "-m", "uv")


def main(arguments: Sequence[str]) -> int:
    """Make the environment and the tests, and run these; return the exit code of pytest, which gets the rest."""
    parser = argparse.ArgumentParser("python -m packages.suite", description=__doc__, allow_abbrev=False)
    parser.add_argument("--folder", type=Path, default=Path(sys.prefix, "wheel"), help="for all that (.venv/wheel)")
    parser.add_argument("--python", default=sys.executable, help="of the environment (the one that runs this)")
    parser.add_argument("--prepare", action="store_true", help="run nothing")
    options, rest = parser.parse_known_args(arguments)
    folder = options.folder.resolve()
    python = install(folder, options.python)
    write_suite(folder / "suite")
    if options.prepare:
        return 0
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([python, "-m", "pytest", *rest], cwd=folder / "suite", env=environ, check=False).returncode


def install(folder: Path, python: str) -> str:
    """Return the Python of an environment that has the wheels, built by itself, and what the tests need."""
    shutil.rmtree(folder / "dist", ignore_errors=True)
    subprocess.run([*UV, "venv", "--quiet", "--allow-existing", "--python", python, str(folder / "venv")], check=True)
    own = str(folder / "venv" / PROGRAMS / "python")
    pip = [*UV, "pip", "install", "--quiet", "--python", own]
    needs = [part for name in ("dev", "build") for part in ("-r", str(ROOT / f"requirements-{name}.txt"))]
    subprocess.run([*pip, *needs], check=True)
    subprocess.run([own, str(ROOT / "packages" / "build.py"), "--out", str(folder / "dist")], check=True)
    wheels = map(str, sorted((folder / "dist").glob("*.whl")))
    subprocess.run([*pip, "--no-deps", "--reinstall", *wheels], check=True)
    return own


def write_suite(folder: Path) -> None:
    """Write what git has of the tree but the packages, with their names in wheels."""
    shutil.rmtree(folder, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if name.partition("/")[0] in NAMES or not (ROOT / name).is_file():
            continue
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
        if name.endswith((".py", ".md")):
            text = (ROOT / name).read_text(encoding="utf-8")
            text = (
                renamed(text) if name.endswith(".py") else _IMPORT.sub(lambda found: found[1] + NAMES[found[2]], text)
            )
            (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
