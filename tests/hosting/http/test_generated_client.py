"""A client that openapi-python-client makes of the app's document, used as its readers would use it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.support.carriers import APP
from tests.support.running_host import RunningHost

CALLS = """
import json, sys

from durable_agents_client import Client
from durable_agents_client.api.default import http_joker, http_run_status, http_thread_messages
from durable_agents_client.models import HttpJokerJsonBody, HttpRunStatusName, HttpThreadMessagesName, JsonSchema

client = Client(base_url=sys.argv[1])
turn = http_joker.sync(client=client, body=HttpJokerJsonBody(message="hello"))
read = http_run_status.sync(HttpRunStatusName.JOKER, turn.thread_id, turn.run_id, client=client)
messages = http_thread_messages.sync(HttpThreadMessagesName.JOKER, turn.thread_id, client=client)
refused = http_joker.sync_detailed(client=client, body=HttpJokerJsonBody(message=" "))
print(json.dumps([turn.status, read.response == turn.response, len(messages.entries), refused.parsed.code]))
"""
"""A turn, its outcome and its conversation read by what the turn answered, and a refusal."""


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info < (3, 11), reason="openapi-python-client needs Python 3.11")
@pytest.mark.behaviour("openapi.generates")
def test_a_client_made_by_openapi_python_client_runs(tmp_path: Path) -> None:
    """It has every route, and reads the answers as their types."""
    folder = shutil.copytree(APP, tmp_path / "app", ignore=shutil.ignore_patterns(".*"))
    with RunningHost(folder, "--port", "0") as host:
        document = httpx.get(f"{host.origin}/api/openapi.json").json()
        (tmp_path / "openapi.json").write_text(json.dumps(document), encoding="utf-8")
        printed = run(
            "-m", "openapi_python_client", "generate", "--path", "openapi.json", "--meta", "none", at=tmp_path
        )
        (tmp_path / "calls.py").write_text(CALLS, encoding="utf-8")
        found = run("calls.py", f"{host.origin}/api", at=tmp_path)

    made = {path.stem for path in (tmp_path / "durable_agents_client" / "api" / "default").glob("*.py")} - {"__init__"}
    functions = {operation["operationId"] for path in document["paths"].values() for operation in path.values()}
    assert made == {function.replace("-", "_").lower() for function in functions}
    assert "Unable to process" not in printed
    assert "Cannot parse" not in printed
    assert json.loads(found) == ["success", True, 2, "missing_message"]


def run(*arguments: str, at: Path) -> str:
    """Return what Python prints with these arguments in a folder."""
    command = [sys.executable, *arguments]
    ended = subprocess.run(command, cwd=at, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr
