"""`python -m hosting.testing.host_process CASES start --port 0`: the local host of an app that is tested.

It does what the local host does. Before the app is loaded, its models are scripted, its tool calls counted, and its
steps watched, by the files of the folder CASES.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

from hosting.testing.killing import watch_steps
from hosting.testing.local_app import LOCAL_HOST
from hosting.testing.scripted import count_calls, script_models


def main() -> None:
    """Run the local host, with the arguments behind the folder, in this process."""
    cases = Path(sys.argv.pop(1))
    watch_steps(cases)
    script_models(cases)
    count_calls(cases)
    sys.argv += ["--watched-by", str(os.getppid())]  # so that it ends with a test process that is killed
    runpy.run_module(LOCAL_HOST, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
