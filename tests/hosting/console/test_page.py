"""The program of docs/guides/console.md, run as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hosting.console.console import task_hub

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "guides" / "console.md").read_text(encoding="utf-8")
BEFORE = """\
import sys

from agents.assistant import create_assistant
from hosting.offline.model import OfflineChatClient

address, assistant = sys.argv[1], create_assistant(OfflineChatClient())
"""
AFTER = """\
instance_id = hub.schedule_new_orchestration(ask_twice, input="What is the weather in Rome?")
print(hub.wait_for_orchestration_completion(instance_id, timeout=5).serialized_output)
worker.stop()
"""


@pytest.mark.slow
@pytest.mark.behaviour("console.client")
def test_the_page_s_program_asks_and_remembers_and_so_does_its_orchestration(tmp_path: Path) -> None:
    """The blocks in order, behind an agent and the address of an engine."""
    program = "\n".join([BEFORE, *re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL), AFTER])
    environ, command = {**os.environ, "PYTHONPATH": str(ROOT)}, [sys.executable, "-c", program]
    with task_hub() as address:
        ended = subprocess.run(
            [*command, address], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=30, check=False
        )

    assert ended.stdout.splitlines() == [
        "The weather in Paris: partly cloudy, 18 °C. You asked about Paris.",
        '["The weather in Rome: sunny, 26 \\u00b0C.", "You asked about Rome."]',
    ], ended.stderr
