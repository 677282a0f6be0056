"""Recipes of Markdown, followed word by word: commands are typed, and files written, in the order in which they stand.

In a console block, what stands below a command is what it prints (tests/support/console_blocks.py). A Python block is a
file: the paragraph above it names the path. `python dev.py run` serves the app until the next file or the end.
"""

import os
import re
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from tests.packages.hosted_apps import hosted
from tests.support.console_blocks import Step, is_shown, steps_of_block, without_blank_end

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PATH = re.compile(r"`([\w./-]+\.py)`")
ASSIGNED = re.compile(r"^([A-Z]+)=\$\(")
RUN = "python dev.py run"
ADDRESS = "http://localhost:7071"


class Follower:
    """A person who does what a recipe says, in a folder. `typed` has the commands, each of which ended well."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self.folder = folder
        self.typed: list[str] = []
        self._environ = dict(environ)
        self._origin = ADDRESS
        self._running = ExitStack()

    def follow(self, recipe: str) -> None:
        """Do all of it; raises `AssertionError` where something else comes than is shown."""
        with self._running:
            for found in BLOCK.finditer(recipe):
                language, block = found.groups()
                if language == "console":
                    for step in steps_of_block(block):
                        self.type(step)
                elif language == "python":
                    above = recipe[: found.start()].rstrip().rpartition("\n\n")[2]
                    self._write(PATH.findall(above)[-1], block)
                else:
                    assert language == "text", f"nothing is known to do with a block of {language}"

    def type(self, step: Step) -> None:
        """Type one command."""
        self.typed.append(step.command)
        if step.command == RUN:
            self._running.close()
            command = [*RUN.split(), "--port", "0"]
            self._origin = self._running.enter_context(hosted(command, self.folder, self._environ))
        elif step.command.startswith("cd "):
            self.folder = self.folder / step.command.removeprefix("cd ")
            assert self.folder.is_dir()
        else:
            self._type_in_shell(step)

    def _type_in_shell(self, step: Step) -> None:
        assigned = ASSIGNED.match(step.command)
        command = step.command.replace(ADDRESS, self._origin)
        if assigned:
            command += f'; printf %s "${assigned[1]}"'
        ended = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self._environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=500,
            check=False,
        )
        assert ended.returncode == 0, f"{step.command}\n{ended.stdout}"
        if assigned:
            self._environ[assigned[1]] = ended.stdout
        else:
            printed = without_blank_end(ended.stdout.splitlines())
            assert is_shown(step.output, printed), f"{step.command}\n{ended.stdout}"

    def _write(self, path: str, text: str) -> None:
        self._running.close()
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text, encoding="utf-8")


def environment(wheels: Path, programs: Path) -> dict[str, str]:
    """Return a person's variables: the wheels in the place of an index that has none yet, and these programs."""
    environ = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    path = os.pathsep.join([str(programs), environ.get("PATH", "")])
    return environ | {"UV_FIND_LINKS": str(wheels), "PATH": path}
