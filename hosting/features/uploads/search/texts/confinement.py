"""How the process that reads a hostile file is confined, where the system can.

On Linux and macOS the kernel holds it to its limits, and lets it open nothing any more: no file, no socket, no process.
So neither an external entity nor a macro nor a stolen parser reaches anything. Windows has no such limits: there the
parent's watchdog ends the process for its time and memory, and the parsers alone keep it from the network.
"""

from __future__ import annotations

import sys

from hosting.features.uploads.search.texts.limits import TextLimits


def limit(limits: TextLimits) -> None:
    """Hold this process to its time and memory; a timer ends it even when the parent is gone."""
    if sys.platform != "win32":
        import resource
        import signal

        _lower(resource.RLIMIT_CORE, 0)
        _lower(resource.RLIMIT_FSIZE, 0)
        _lower(resource.RLIMIT_AS, limits.memory_bytes)
        _lower(resource.RLIMIT_CPU, limits.cpu_seconds, spare=1)  # SIGXCPU at the first, SIGKILL at the second
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, limits.seconds)


def seal() -> None:
    """Let this process open nothing more. What it reads with is imported by now."""
    if sys.platform != "win32":
        import os
        import resource

        spare = os.dup(0)  # the lowest free number: all below are in use
        os.close(spare)
        _lower(resource.RLIMIT_NOFILE, spare)
        _lower(resource.RLIMIT_NPROC, 0)


def _lower(kind: int, most: int, spare: int = 0) -> None:
    if sys.platform != "win32":
        import resource

        hard = resource.getrlimit(kind)[1]
        held = most + spare if hard == resource.RLIM_INFINITY else min(most + spare, hard)
        try:
            resource.setrlimit(kind, (min(most, held), held))
        except (ValueError, OSError):  # macOS refuses some of them for some values
            return
