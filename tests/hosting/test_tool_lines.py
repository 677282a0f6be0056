"""What a tool call leaves in the log of the host: a line of ours, and of the framework only what somebody asked for."""

from __future__ import annotations

import shutil
from pathlib import Path

import httpx
import pytest

from tests.support.carriers import APP
from tests.support.running_host import RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("hosting.one-line-a-tool-call")]

CHOSEN = 'import logging\nlogging.getLogger("agent_framework").setLevel(logging.INFO)\n'


def printed_for_a_tool_call(folder: Path, *arguments: str, before_the_app: str = "") -> list[str]:
    """Return the lines of a host, up to the end of a run that calls a tool."""
    app = shutil.copytree(APP, folder / "app") / "function_app.py"
    app.write_text(before_the_app + app.read_text(encoding="utf-8"), encoding="utf-8")
    with RunningHost(app.parent, "--port", "0", *arguments) as host:
        answer = httpx.post(f"{host.origin}/api/agents/Joker/run", json={"message": "tool thread_name"})
        assert answer.json()["response"].startswith("tool said ")
        host.wait_for("completed; attempts 1")
        return host.printed


def test_a_tool_call_has_one_line_in_the_log(tmp_path: Path) -> None:
    """Where a newcomer sees it; the framework's three are left out."""
    lines = [line for line in printed_for_a_tool_call(tmp_path) if " agent_framework" in line or "thread_name" in line]

    assert len(lines) == 1, lines
    assert " hosting.core.agent.steps: Run " in lines[0]
    assert lines[0].endswith(" calls tool thread_name.")


@pytest.mark.parametrize(("arguments", "before_the_app"), [((), CHOSEN)])
def test_the_frameworks_own_lines_come_where_somebody_asked_for_them(
    tmp_path: Path, arguments: tuple[str, ...], before_the_app: str
) -> None:
    """By the host's level, or by a level that the app gave the framework's logger itself."""
    lines = printed_for_a_tool_call(tmp_path, *arguments, before_the_app=before_the_app)

    assert [line for line in lines if "Function thread_name succeeded." in line] != []
