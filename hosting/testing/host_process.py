"""`python -m hosting.testing.host_process CASES start --port 0`: the local host of an app that is tested.

It does what the local host does. Before the app is loaded, its models are scripted, its tool calls counted, its steps
watched, and its time can be moved, by the files of the folder CASES.
"""

from __future__ import annotations

import os
import runpy
import stat
import sys
import threading
from pathlib import Path

from hosting.ports import APP_CLOCKS
from hosting.testing.case import CLOCK_FILE, Cases
from hosting.testing.clock import moved_clocks
from hosting.testing.killing import end_process, watch_steps
from hosting.testing.local_app import LOCAL_HOST
from hosting.testing.scripted import count_calls, script_models


def main() -> None:
    """Run the local host, with the arguments behind the folder, in this process."""
    folder = Path(sys.argv.pop(1))
    cases, clock = Cases(folder), folder / CLOCK_FILE
    watch_steps(cases)
    script_models(cases)
    count_calls(cases)
    APP_CLOCKS.set(moved_clocks(clock))
    threading.Thread(target=_end_with_the_tests, daemon=True).start()
    sys.argv += ["--time-ahead", str(clock)]
    runpy.run_module(LOCAL_HOST, run_name="__main__", alter_sys=True)


def _end_with_the_tests() -> None:
    """End this process when its input ends, as a pipe does with the process of the tests, on Windows too."""
    if stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode):
        sys.stdin.buffer.read()
        end_process()


if __name__ == "__main__":
    main()
