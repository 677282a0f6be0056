"""What one turn of a thread that the app knows costs: counted on the local host, as seconds depend on the machine."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.template_process import ROOT, copy_tree

GUARD_SECONDS = 120
COSTS = {
    # The log: two appends and no read. The head that `write_append` compares is read by it.
    "hosting/core/stores/sqlite.py:write_append": 2,
    "hosting/core/stores/sqlite.py:read_head": 2,
    # Accepted, claimed and completed are made bytes once each; none is read back.
    "hosting/core/thread/events.py:_encoded": 3,
    "hosting/core/thread/events.py:decode": 0,
    "hosting/core/thread/head.py:decode": 0,
    # The conversation is written once by the entity, and not parsed: the process remembers it.
    "state/codec.py:write": 1,
    "state/codec.py:read": 0,
    # The engine: a commit for the signal and one for the operation.
    "devhost/durable/store/sqlite.py:_write": 2,
}
"""How often a turn enters functions that cost time, bytes or a disk."""


@pytest.mark.slow
@pytest.mark.behaviour("turn.counts")
def test_a_turn_costs_its_two_writes(tmp_path: Path) -> None:
    copy_tree(tmp_path)
    command = [sys.executable, "-m", "tests.template.turn_trace", str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=GUARD_SECONDS, check=False)
    counted = [json.loads(line[7:]) for line in ended.stdout.splitlines() if line.startswith("COUNTS ")]

    assert len(counted) == 1, ended.stdout + ended.stderr
    assert {name: counted[0].get(name, 0) for name in COSTS} == COSTS
