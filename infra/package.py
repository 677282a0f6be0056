"""Makes the folder that is deployed: what .funcignore leaves of the app, with its bytecode, in dist/app.

azd runs this before it packages (azure.yaml). Without bytecode each new instance compiles every module of the app
before it serves, for a deployed package is read-only. Bytecode is known by the time of its source as a rule, and a
package does not keep times: this bytecode is never compared with its source. So it is made in a folder that is new each
time, and never beside sources that somebody edits.

It must be of the Python that runs there (infra/app/api.bicep), which ignores all other. Where that Python is not on
this machine, the package has no bytecode, and a sentence says so. Standard library only.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("dist", "app")
MAGIC_NUMBERS = {"3.11": 3495, "3.12": 3531, "3.13": 3571, "3.14": 3627}
"""With which the bytecode of a Python begins."""
UNCHECKED = 0b01
"""How bytecode says that it is known by its source's hash, and that nobody is to compare it."""
NEVER = frozenset({".azure", ".git", "__pycache__", "local.settings.json"})
"""What is not deployed, whatever .funcignore says."""
OWN_FUNCIGNORE = "# All of this folder is deployed. Without this file azd would leave the bytecode out.\n"
_RUNTIME = re.compile(r"name: 'python'\s+version: '(\d+\.\d+)'")


class PackageError(Exception):
    """The folder cannot be made; the message says what to do about it."""


@dataclass(frozen=True)
class Rule:
    """A line of .funcignore: what it fits, and whether that is left out or taken back."""

    fits: re.Pattern[str]
    is_of_folders: bool
    leaves_out: bool

    @classmethod
    def of(cls, line: str) -> Rule | None:
        """Return the rule of a line, which Git would read the same way; None for a comment or a blank line."""
        pattern = line.rstrip()
        if not pattern or pattern.startswith("#"):
            return None
        takes_back = pattern.startswith("!")
        pattern = pattern[1:] if takes_back else pattern
        parts = pattern.strip("/").split("/")
        anywhere = len(parts) == 1 and not pattern.startswith("/")
        regex = "".join(_part(part, is_last=place == len(parts)) for place, part in enumerate(parts, 1))
        return cls(re.compile(("(?:.*/)?" if anywhere else "") + regex), pattern.endswith("/"), not takes_back)


def _part(part: str, *, is_last: bool) -> str:
    """Return the regular expression of a name in a pattern, with the slash behind it."""
    if part == "**":
        return ".*" if is_last else "(?:.*/)?"
    name = "".join(_SIGNS.get(piece[:1], _literal)(piece) for piece in re.split(r"(\\.|\*|\?|\[[^]]+])", part))
    return name if is_last else f"{name}/"


def _literal(piece: str) -> str:
    return re.escape(piece)


_SIGNS: Mapping[str, Callable[[str], str]] = {
    "*": lambda _: "[^/]*",
    "?": lambda _: "[^/]",
    "\\": lambda piece: re.escape(piece[1:]),
    "[": lambda piece: f"[^{piece[2:]}" if piece.startswith("[!") else piece,
}


def main() -> int:
    """Make the folder and say what is in it; return 1 where it cannot be made."""
    try:
        print(make_package(ROOT, ROOT / PACKAGE))
    except (PackageError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def make_package(root: Path, package: Path) -> str:
    """Make the folder anew and return a sentence about it; raises PackageError with one about what is wrong."""
    version = deployed_python(root)
    if package.exists():
        shutil.rmtree(package)
    count = copy_deployed(root, package)
    python = find_python(version)
    if python is None:
        return (
            f"{package}: {count} files, WITHOUT bytecode: Python {version}, which runs there, is not on this machine. "
            f"Each new instance compiles the app. Install Python {version} and package again."
        )
    compile_all(package, python)
    return f"{package}: {count} files, with bytecode of Python {version}."


def deployed_python(root: Path) -> str:
    """Return the version of Python that the function app is made with."""
    file = root / "infra" / "app" / "api.bicep"
    version = _RUNTIME.search(file.read_text(encoding="utf-8"))
    if version is None:
        raise PackageError(f"{file} has no runtime with the name 'python' and a version. Write both there as literals.")
    if version[1] not in MAGIC_NUMBERS:
        raise PackageError(f"{file} has Python {version[1]}. Take one of {', '.join(MAGIC_NUMBERS)}.")
    return version[1]


def copy_deployed(root: Path, package: Path) -> int:
    """Copy what .funcignore leaves, without what Python compiled there; return how many files that are."""
    funcignore = root / ".funcignore"
    lines = funcignore.read_text(encoding="utf-8-sig").splitlines() if funcignore.is_file() else []
    paths = list(deployed(root, [rule for rule in map(Rule.of, lines) if rule], package))
    package.mkdir(parents=True)
    for path in paths:
        copy = package / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / path, copy)
    (package / ".funcignore").write_text(OWN_FUNCIGNORE, encoding="utf-8")
    return len(paths)


def deployed(root: Path, rules: Sequence[Rule], package: Path, below: str = "") -> Iterator[str]:
    """Iterate over the files in `root` that are deployed, as paths in it; a folder that is left out stays unread."""
    for entry in sorted((root / below).iterdir()):
        path, is_folder = f"{below}{entry.name}", entry.is_dir()
        fitting = [rule for rule in rules if rule.fits.fullmatch(path) and (is_folder or not rule.is_of_folders)]
        if entry.name in NEVER or entry == package or (fitting and fitting[-1].leaves_out):
            continue
        if not is_folder:
            yield path
        elif not (entry / "pyvenv.cfg").exists():
            yield from deployed(root, rules, package, f"{path}/")


def find_python(version: str) -> str | None:
    """Return the program whose bytecode a Python of that version takes; None where this machine has none."""
    uv = shutil.which("uv")
    listed = [_said_by(uv, "python", "find", version)] if uv else []
    listed += [_said_by("py", f"-{version}", "-c", "import sys; print(sys.executable)")] if os.name == "nt" else []
    for program in (sys.executable, shutil.which(f"python{version}"), *listed):
        # A pre-release, or another implementation, has bytecode of its own.
        asked = "import importlib.util; print(int.from_bytes(importlib.util.MAGIC_NUMBER[:2], 'little'))"
        if program and _said_by(program, "-I", "-c", asked) == str(MAGIC_NUMBERS[version]):
            return program
    return None


def _said_by(*command: str) -> str | None:
    """Return what a command printed; None where it cannot be run or fails."""
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ended.stdout.strip() if ended.returncode == 0 else None


def compile_all(package: Path, python: str) -> None:
    """Put its bytecode beside each module; raises PackageError with the lines that are no Python."""
    # Isolated: a variable of this shell (PYTHONPYCACHEPREFIX) would put the bytecode elsewhere. Paths below `.`, for
    # the bytecode keeps them until it is loaded.
    command = [python, "-I", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "."]
    ended = subprocess.run(command, cwd=package, capture_output=True, text=True, check=False)
    if ended.returncode:
        said = f"{ended.stdout}{ended.stderr}".strip()
        raise PackageError(f"{said}\nThat Python cannot read this. Mend it, or leave the file out in .funcignore.")


if __name__ == "__main__":
    sys.exit(main())
