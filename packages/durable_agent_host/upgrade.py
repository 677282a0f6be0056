"""`durable-agent-host upgrade`: an app that `new` made is brought to this version.

The pin is raised. Of the files that came from the template, those that nobody changed become the new version's. What
the user changed is not touched: what the template changed there is shown, and what both together would be. That stays
so until the file has both, or the user declines the change: a later call can do either.
"""

from __future__ import annotations

import argparse
import difflib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

from packages.durable_agent_host.template import RECORD, TEMPLATE, Record, digest, hashes, read_record, template_files

PROJECT = "durable-agent-host"
_PINNED = ("requirements.txt", "requirements-dev.txt")
"""Only the pin of these is the template's business: what else an app needs is the user's."""
_PIN = re.compile(
    r"^(?P<before>\s*(?:durable[-_.]agent[-_.]host|functions[-_.]local[-_.]host)\s*(?:\[[^\]]*\])?\s*==\s*)"
    r"(?P<version>[\w.+!-]+)",
    re.MULTILINE | re.IGNORECASE,
)


def main(arguments: Sequence[str]) -> int:
    """Upgrade the app; return 0, or 1 where it is none, is newer, or cannot be written."""
    parser = argparse.ArgumentParser("durable-agent-host upgrade", description="Bring an app to this version.")
    parser.add_argument("folder", metavar="FOLDER", type=Path, nargs="?", default=Path(), help="the app's folder (.)")
    parser.add_argument("--dry-run", action="store_true", help="show the changes and write nothing")
    parser.add_argument(
        "--merge",
        metavar="FILE",
        action="append",
        default=[],
        help="merge your changes of this file with the template's, and mark conflicts",
    )
    parser.add_argument(
        "--keep",
        metavar="FILE",
        action="append",
        default=[],
        help="decline the template's changes of this file; later upgrades compare it with newer changes only",
    )
    options = parser.parse_args(arguments)
    if both := sorted({*options.merge} & {*options.keep}):
        parser.error(f"{both[0]} is given to both --merge and --keep. Choose one of them.")
    folder, own = options.folder.resolve(), version(PROJECT)
    pins = [found["version"] for name in _PINNED for found in _PIN.finditer(_text(folder / name))]
    if not pins:
        print(f"{folder} pins no {PROJECT} in requirements.txt, so there is nothing to upgrade.", file=sys.stderr)
        return 1
    if any(_numbers(pin) > _numbers(own) for pin in pins):
        print(
            f"{folder} is of {max(pins, key=_numbers)}, and this is {own}. Run the command of that version.",
            file=sys.stderr,
        )
        return 1
    upgrade = Upgrade(folder, own, read_record(folder))
    try:
        upgrade.compare(options.merge, options.keep)
        if not options.dry_run:
            upgrade.write()
    except OutsideError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{folder} cannot be written: {error.strerror}.", file=sys.stderr)
        return 1
    print("\n".join(upgrade.report(is_dry=options.dry_run)))
    return 0


class OutsideError(Exception):
    """A file of the app's record is not in the app: somebody else may have written the record."""


@dataclass
class Upgrade:
    """What becomes of an app's files. `written` has their new content, or None where the template has none now."""

    folder: Path
    version: str
    record: Record | None
    written: dict[str, bytes | None] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    older: dict[str, str] = field(default_factory=dict)
    """The files that lack what the template changed, each with the version that it was made of."""
    _templates: dict[str, Mapping[str, bytes]] = field(default_factory=dict)

    def compare(self, merged: Sequence[str], kept: Sequence[str]) -> None:
        """Decide over the pin, and over each file of the template, the old one's or the new one's.

        `merged` are the files whose changes the user takes, `kept` those whose changes the user declines.
        """
        for name in _PINNED:
            text = _text(self.folder / name)
            raised = _PIN.sub(lambda found: found["before"] + self.version, text)
            if raised != text:
                self.said.append(f"{name}: the pin is {self.version} now.")
                self.written[name] = raised.encode()
        if self.said and any(self.folder.glob("requirements-3.*.txt")):
            self.said.append("requirements-3.*.txt: they lock the old versions. Run `durable-agent-host lock`.")
        if self.record is None:
            self.said.append(f"There is no {RECORD} that can be read, so the template's files are not known.")
            return
        is_newer = self.record.version != self.version
        for name in sorted({*self.record.files, *self._new} if is_newer else self.record.older):
            if name not in _PINNED and self.record.files.get(name) != _digest(self._new.get(name)):
                self._decide(self.record, name, is_merged=name in merged, is_kept=name in kept)
        for choice, names in (("merge", merged), ("keep", kept)):
            self.said += [f"{name}: there is nothing to {choice}." for name in names if not self._says(name)]
        files = {} if is_newer else dict(self.record.files)
        files |= hashes({name: text for name, text in self._new.items() if is_newer or name in self.record.older})
        files |= {name: self.record.files[name] for name in self.older}
        record = replace(self.record, version=self.version, files=files, older=self.older)
        if record != self.record:
            self.written[RECORD] = record.text().encode()

    def _says(self, name: str) -> bool:
        return any(sentence.startswith(f"{name}: ") for sentence in self.said)

    def _decide(self, record: Record, name: str, *, is_merged: bool, is_kept: bool) -> None:
        """Decide over one file that the template changed."""
        path, new = self._place(name), self._new.get(name)
        mine = path.read_bytes() if path.is_file() else None
        recorded = record.files.get(name)
        if _digest(mine) == _digest(new):
            return
        if is_kept:
            self.said.append(f"{name}: stays as it is. The template's change is declined.")
            return
        if _digest(mine) == recorded:
            self.said.append(f"{name}: {'removed' if new is None else 'new' if mine is None else 'changed'}.")
            self.shown += _difference(mine or b"", new or b"", name, "template")
            self.written[name] = new
            return
        if mine is None:
            self.said.append(f"{name}: the template changed it. You deleted it, so it stays deleted.")
            return
        if new is None:
            self.said.append(f"{name}: the template no longer has it. Yours stays as it is.")
            return
        base = self._base(record, name) if recorded else None
        if base is None:
            if recorded:
                self.older[name] = record.older.get(name, record.version)
            self.said.append(f"{name}: the template has another version. Yours stays as it is.")
            self.shown += _difference(mine, new, name, "the template's")
            return
        together, conflicts = _merged(mine, base, new)
        if together == mine:
            return
        if is_merged:
            self.said.append(
                f"{name}: merged, with {conflicts} conflicts to resolve." if conflicts else f"{name}: merged."
            )
            self.written[name] = together
            return
        self.older[name] = record.older.get(name, record.version)
        clash = f"They conflict in {conflicts} places" if conflicts else "They fit together"
        self.said.append(
            f"{name}: you and the template changed it, so it stays. {clash}: `--merge {name}` writes both, "
            f"`--keep {name}` declines the template's."
        )
        self.shown += _difference(base, new, name, "the template's change")
        self.shown += _difference(mine, together, name, f"the result of --merge {name}")

    def _place(self, name: str) -> Path:
        """Return where a file of the app is; raises `OutsideError` where its name or a link leads elsewhere."""
        path = self.folder / name
        if not path.resolve().is_relative_to(self.folder):
            raise OutsideError(
                f"{name!r} leads out of {self.folder}, so nothing was changed. Take it out of {RECORD}, or make it a "
                "file of the app instead of a link."
            )
        return path

    def write(self) -> None:
        """Write what was decided, all of it in the app's folder; raises `OutsideError` before anything else."""
        places = {self._place(name): content for name, content in self.written.items()}
        for path, content in places.items():
            if content is None:
                path.unlink(missing_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def report(self, *, is_dry: bool) -> Iterator[str]:
        before = f" from {self.record.version}" if self.record else ""
        if not self.said:
            yield f"{self.folder} is of {self.version} already."
            return
        if self.record and self.record.version == self.version and not self.written.keys() & set(_PINNED):
            yield f"{self.folder} is of {self.version} already, except for your changes:"
        else:
            yield f"{'Would bring' if is_dry else 'Brought'} {self.folder}{before} to {self.version}:"
        yield ""
        yield from (f"    {sentence}" for sentence in self.said)
        if self.shown:
            yield ""
            yield from self.shown

    @cached_property
    def _new(self) -> Mapping[str, bytes]:
        record = self.record
        return template_files(TEMPLATE, record.name, self.version, record.left_out) if record else {}

    def _base(self, record: Record, name: str) -> bytes | None:
        """Return what the template had where the user's file was made of it; None where that cannot be had."""
        version = record.older.get(name, record.version)
        if version not in self._templates:
            made_of = replace(record, version=version)
            self._templates[version] = _from_environment(self.folder, made_of) or _from_index(made_of)
        content = self._templates[version].get(name)
        return content if _digest(content) == record.files[name] else None


def _from_environment(folder: Path, record: Record) -> dict[str, bytes]:
    """Return the old template where the app's own environment still has it."""
    for place in ("lib/python*/site-packages", "Lib/site-packages"):
        for metadata in (folder / ".venv").glob(f"{place}/durable_agent_host-{record.version}.dist-info"):
            return _of(metadata.parent, record)
    return {}


def _from_index(record: Record) -> dict[str, bytes]:
    """Return the old template from the package of its version, or nothing where that cannot be had."""
    uv = shutil.which("uv")
    command = [uv, "pip", "install"] if uv else [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
    with tempfile.TemporaryDirectory() as target:
        command += ["--quiet", "--no-deps", "--target", target, f"{PROJECT}=={record.version}"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode:
            print(
                f"{PROJECT} {record.version} could not be installed, so its files cannot be compared. If no index has "
                f"it, set {'UV_FIND_LINKS' if uv else 'PIP_FIND_LINKS'} to the folder of its wheel.",
                file=sys.stderr,
            )
            return {}
        return _of(Path(target), record)


def _of(packages: Path, record: Record) -> dict[str, bytes]:
    return template_files(packages / "durable_agent_host" / "template", record.name, record.version, record.left_out)


def _merged(mine: bytes, base: bytes, new: bytes) -> tuple[bytes, int]:
    """Return both changes of a text, and in how many places they conflict; without git the whole is one."""
    git = shutil.which("git")
    if git is None:
        parts = (b"<<<<<<< yours\n", mine, b"=======\n", new, b">>>>>>> template\n")
        return b"".join(parts), 1
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("yours", "base", "template")]
        for path, content in zip(paths, (mine, base, new), strict=True):
            path.write_bytes(content)
        labels = [part for label in ("yours", "before", "template") for part in ("-L", label)]
        ended = subprocess.run([git, "merge-file", "-p", *labels, *map(str, paths)], capture_output=True, check=False)
    return ended.stdout, ended.returncode


def _difference(before: bytes, after: bytes, name: str, meaning: str) -> Iterator[str]:
    first, second = (text.decode("utf-8", "replace").splitlines() for text in (before, after))
    return difflib.unified_diff(first, second, name, f"{name} ({meaning})", lineterm="")


def _digest(content: bytes | None) -> str | None:
    return None if content is None else digest(content)


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8") if path.is_file() else ""


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])
