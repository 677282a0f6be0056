"""Apps that a command of an installed wheel hosts, and requests to them."""

import os
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BARE = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
"""The variables of a user, who has nothing of this tree on Python's path."""


def new(programs: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `durable-agent-host new` of these programs in the folder."""
    command = [str(programs / "durable-agent-host"), "new", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@contextmanager
def hosted(command: list[str], folder: Path, environ: dict[str, str] = BARE) -> Iterator[str]:
    """The address of the app in the folder, while it runs."""
    with subprocess.Popen(command, cwd=folder, env=environ, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            printed = ""
            while "development only: " not in printed:
                line = process.stdout.readline()
                assert line, printed
                printed += line
            yield printed.partition("development only: ")[2].split()[0]
        finally:
            process.terminate()


def sent(url: str, body: bytes | None = None) -> str:
    with urllib.request.urlopen(urllib.request.Request(url, data=body), timeout=30) as answer:
        return str(answer.read().decode())
