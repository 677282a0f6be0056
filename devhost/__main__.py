"""Entry point of `python -m devhost`."""

from __future__ import annotations

import gc
import os
import signal
import sys


def run() -> int:
    """Run the command line, with what has to be so before anything of it is imported; return its exit code."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until the host takes it over, no traceback from some import
    # What start-up makes stays: the collector would walk it again and again. `host.py` has it collect from then on.
    gc.disable()
    from devhost.cli import main

    try:
        try:
            return main()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # nobody reads what is printed: an end like any other program's, without a traceback
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


if __name__ == "__main__":
    sys.exit(run())
