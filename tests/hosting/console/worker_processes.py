"""A worker as a process that is killed, and what reached the models of its agents.

The process is this module: it takes work for the engine at the address that is its argument.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.hosting.console.orchestrators import console_worker
from tests.support.running_host import START_GUARD_SECONDS, host_environment
from tests.support.warm_python import start_python
from tests.support.whole_lines import whole_lines


@contextmanager
def worker_process(address: str, folder: Path, stores: dict[str, str]) -> Iterator[None]:
    """Run a worker within the block, at whose end it is killed."""
    environ = host_environment({"SCRIPT_LOG": str(folder / "asked.txt"), **stores})
    process = start_python(
        "tests.hosting.console.worker_processes", address, folder=folder, environ=environ, has_errors=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", process.communicate()
        yield
    finally:
        process.kill()
        print(process.communicate()[1])


def messages_run(folder: Path) -> list[str]:
    """Return the messages that reached the models, in order."""
    return [line.partition(" ")[2] for line in whole_lines(folder / "asked.txt")]


def until_model_called(folder: Path, text: str) -> None:
    """Return once this message reached a model, under the guard."""
    end = time.monotonic() + START_GUARD_SECONDS
    while text not in messages_run(folder):
        assert time.monotonic() < end, messages_run(folder)
        time.sleep(0.01)  # another process writes the file


if __name__ == "__main__":
    with console_worker(sys.argv[1]):
        print("ready", flush=True)
        threading.Event().wait()
