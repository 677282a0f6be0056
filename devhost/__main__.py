"""Entry point of `python -m devhost`."""

from __future__ import annotations

import gc
import signal
import sys


def run() -> int:
    """Run the command line, with what has to be so before anything of it is imported; return its exit code."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until the host takes it over, no traceback from some import
    # What start-up makes stays: the collector would walk it again and again. `host.py` has it collect from then on.
    gc.disable()
    from devhost.cli import main

    return main()


if __name__ == "__main__":
    sys.exit(run())
