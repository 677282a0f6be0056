"""What the watchdog of the agents' loop must never do: stop the process that it watches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
GUARD_SECONDS = 60
COLLECTING = '''
import gc, os, socket, threading, time
from hosting.core.agent.agent_loop import AgentLoop

class Held:
    """Closed by the collector alone, which lets other threads run while it closes."""
    def __init__(self):
        self.itself, self.socket = self, socket.socket()
    def __del__(self):
        self.socket.close()

async def nothing():
    pass

def start_threads():
    while True:
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()

loop = AgentLoop(1)
loop.result_of(nothing())
for _ in range(4):
    threading.Thread(target=start_threads, daemon=True).start()
gc.set_threshold(1, 1, 1)
end = time.monotonic() + 1
while time.monotonic() < end:
    Held()
    where = loop._where()
print(where, gc.isenabled(), flush=True)
os._exit(0)
'''
"""Names the line at which the loop is, again and again, while threads end and the collector closes sockets."""


@pytest.mark.slow
@pytest.mark.behaviour("hosting.names-who-blocked")
def test_naming_the_line_that_blocks_never_stops_the_process() -> None:
    """CPython 3.11.7 stood still for good in `sys._current_frames`, when the collector came by."""
    ended = subprocess.run(
        [sys.executable, "-c", COLLECTING], cwd=ROOT, capture_output=True, text=True, timeout=GUARD_SECONDS, check=True
    )

    assert ended.stdout == "the processor, or for a thread that keeps it True\n"
