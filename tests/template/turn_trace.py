"""How often one plain turn enters each function of ours: `python -m tests.template.turn_trace FOLDER` prints it.

FOLDER is a copy of the template. It is hosted in this process, and asked twice before the turn that is watched, as an
app is that has run for a while. What runs beside the turn, because the entity stores its end, belongs to it.
"""

import json
import os
import runpy
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

COUNTED = ("hosting", "state", "devhost")
SETTLED_SECONDS = 0.5
ASKED_TIMES = 600


class Trace:
    """How often each function was entered while it `is_on`, by its file and name."""

    def __init__(self, root: Path) -> None:
        self._prefixes = tuple(f"{root / package}{os.sep}" for package in COUNTED)
        self._root = root
        self.is_on = False
        self.counts: Counter[str] = Counter()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """What the interpreter calls for each entry of a function."""
        code = frame.f_code
        is_ours = self.is_on and event == "call" and code.co_filename.startswith(self._prefixes)
        if is_ours:
            file = Path(code.co_filename).relative_to(self._root).as_posix()
            self.counts[f"{file}:{code.co_name}"] += 1


def ask(origin: str) -> None:
    """Take one turn on a thread that is always the same."""
    request = urllib.request.Request(f"{origin}/api/agents/assistant/run?thread_id=trace", b"hello")
    urllib.request.urlopen(request, timeout=30).read()


def watch(trace: Trace, origin: Callable[[], str | None]) -> None:
    """Ask three times, watch the third, and print the counts."""
    for _ in range(ASKED_TIMES):
        if origin() is not None:
            break
        time.sleep(0.05)
    address = origin() or ""
    ask(address)
    ask(address)
    time.sleep(SETTLED_SECONDS)
    trace.is_on = True
    ask(address)
    time.sleep(SETTLED_SECONDS)
    trace.is_on = False
    print("COUNTS " + json.dumps(trace.counts), flush=True)
    os._exit(0)


def main(folder: Path) -> None:
    """Host the folder here, and print what a turn costs."""
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    trace = Trace(folder)
    printed: list[str] = []
    write = sys.stdout.write

    def kept(text: str) -> int:
        printed.append(text)
        return write(text)

    def origin() -> str | None:
        found = [line for line in "".join(printed).splitlines() if "http://localhost:" in line]
        return found[0].split("development only: ")[-1].strip() if found else None

    sys.stdout.write = kept  # type: ignore[method-assign]
    threading.setprofile(trace)
    threading.Thread(target=watch, args=(trace, origin), daemon=True).start()
    sys.setprofile(trace)
    sys.argv = ["devhost", "start", "--port", "0"]
    runpy.run_module("devhost", run_name="__main__")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
