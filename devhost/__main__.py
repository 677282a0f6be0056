"""Entry point of `python -m devhost`."""

from __future__ import annotations

import gc
import signal
import sys

# Until the host takes the signal over, Ctrl-C ends it without a traceback from the midst of some import.
signal.signal(signal.SIGINT, signal.SIG_DFL)

# What start-up makes stays: the collector would walk it again and again. `host.py` has it collect from then on.
gc.disable()

from devhost.cli import main  # noqa: E402 - imports are what takes the time

sys.exit(main())
