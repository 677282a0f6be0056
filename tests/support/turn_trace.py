"""Which of our functions one plain turn enters: `python -m tests.support.turn_trace FOLDER` prints them in order.

And how often each of them, and of the local host's, was entered.

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

OURS = ("hosting", "state")
COUNTED = (*OURS, "devhost")
MODEL = "hosting/offline/"  # stands for a model, which is no part of the app
SETTLED_SECONDS = 0.5
ASKED_TIMES = 600


class Trace:
    """The functions that were entered while it `is_on`, each with its file, in the order of their first entry."""

    def __init__(self, root: Path) -> None:
        self._prefixes = tuple(f"{root / package}{os.sep}" for package in COUNTED)
        self._root = root
        self.is_on = False
        self.entered: dict[tuple[str, str], None] = {}
        self.counts: Counter[str] = Counter()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """What the interpreter calls for each entry of a function."""
        code = frame.f_code
        is_ours = self.is_on and event == "call" and code.co_filename.startswith(self._prefixes)
        if is_ours and not code.co_name.startswith("<"):
            file = Path(code.co_filename).relative_to(self._root).as_posix()
            if file.startswith(MODEL):
                return
            self.counts[f"{file}:{code.co_name}"] += 1
            if file.startswith(OURS):
                self.entered.setdefault((file, code.co_name))


def ask(origin: str) -> None:
    """Take one turn on a thread that is always the same."""
    request = urllib.request.Request(f"{origin}/api/agents/assistant/run?thread_id=trace", b"hello")
    urllib.request.urlopen(request, timeout=30).read()


def watch(trace: Trace, origin: Callable[[], str | None]) -> None:
    """Ask three times, watch the third, and print what it entered."""
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
    print("TRACE " + json.dumps(list(trace.entered)), flush=True)
    os._exit(0)


def main(folder: Path) -> None:
    """Host the folder here, and print what a turn enters."""
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
