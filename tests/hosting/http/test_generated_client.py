"""Clients that four generators make of the app's document, used as its readers would use them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.node_packages import RegistryUnreachableError, install, node
from tests.support.running_host import RunningHost

HERE = Path(__file__).resolve().parent / "generated"
DOES = ["success", "refund", "told: refunded 5", "missing_message"]
"""What each script prints: it makes a run, reads what that waits for, approves that, and has a message refused."""

CALLS = """
import json, sys

from durable_agents_client import Client
from durable_agents_client.api.default import http_approval_answer, http_clerk, http_run_status, http_thread_messages
from durable_agents_client.models import (
    HttpApprovalAnswerBody, HttpApprovalAnswerName, HttpClerkJsonBody, HttpRunStatusName, HttpThreadMessagesName,
)

client = Client(base_url=sys.argv[1])
turn = http_clerk.sync(client=client, body=HttpClerkJsonBody(message="call refund 5"))
(approval,) = turn.pending_approvals
resumed = http_approval_answer.sync(
    HttpApprovalAnswerName.CLERK, turn.thread_id, approval.id, client=client, body=HttpApprovalAnswerBody(approved=True)
)
read = http_run_status.sync(HttpRunStatusName.CLERK, turn.thread_id, resumed.run_id, client=client)
messages = http_thread_messages.sync(HttpThreadMessagesName.CLERK, turn.thread_id, client=client)
refused = http_clerk.sync_detailed(client=client, body=HttpClerkJsonBody(message=" "))
assert (read.response, len(messages.entries)) == (resumed.response, 4), (read, messages)
print(json.dumps([turn.status, approval.tool, resumed.response, refused.parsed.code]))
"""
"""A run, an approval, an outcome and a conversation read by what the run answered, and a refusal."""

GENERATORS = {
    "openapi_fetch": ("openapi-typescript/bin/cli.js", "openapi.json", "-o", "made/types.ts"),
    "hey_api": ("@hey-api/openapi-ts/bin/run.js", "-f", "hey_api.config.mjs"),
    "swagger_typescript_api": (
        *("swagger-typescript-api/dist/cli.mjs", "generate", "--path", "openapi.json"),
        *("--output", "made", "--name", "api.ts"),
    ),
}
"""How each npm generator is called for the script of its name."""

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("openapi.generates")]


@dataclass(frozen=True)
class Served:
    """The app's base address, and its document."""

    api: str
    document: dict[str, Any]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with RunningHost(shutil.copytree(HERE / "app", tmp_path_factory.mktemp("generated") / "app")) as host:
        yield Served(f"{host.origin}/api", httpx.get(f"{host.origin}/api/openapi.json").json())


@pytest.fixture(scope="module")
def packages(pytestconfig: pytest.Config) -> Path:
    """The generators of npm; the test is skipped without its registry and without a copy in the cache."""
    try:
        return install(HERE / "node", Path(pytestconfig.cache.mkdir("generators-node"))) / "node_modules"
    except RegistryUnreachableError:
        pytest.skip("npm's registry cannot be reached, and the cache has no copy of its packages")


def test_a_client_made_by_openapi_python_client_runs(served: Served, tmp_path: Path) -> None:
    (tmp_path / "openapi.json").write_text(json.dumps(served.document), encoding="utf-8")
    make = ("-m", "openapi_python_client", "generate", "--path", "openapi.json", "--meta", "none")
    printed = run(sys.executable, *make, at=tmp_path)
    (tmp_path / "calls.py").write_text(CALLS, encoding="utf-8")
    found = run(sys.executable, "calls.py", served.api, at=tmp_path)

    made = {path.stem for path in (tmp_path / "durable_agents_client" / "api" / "default").glob("*.py")} - {"__init__"}
    functions = {operation["operationId"] for path in served.document["paths"].values() for operation in path.values()}
    assert made == {function.replace("-", "_").lower() for function in functions}
    assert "Unable to process" not in printed
    assert "Cannot parse" not in printed
    assert json.loads(found) == DOES


def test_clients_made_by_the_generators_of_npm_fit_their_types_and_run(
    served: Served, packages: Path, tmp_path: Path
) -> None:
    """Compiled strictly, with the scripts that use them: all at once, since the compiler reads its library for 2 s."""
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    (tmp_path / "node_modules").symlink_to(packages)
    for name in ("tsconfig.json", "node.d.ts"):
        shutil.copy(HERE / name, tmp_path)
    for script, (program, *options) in GENERATORS.items():
        folder = tmp_path / script
        folder.mkdir()
        (folder / "openapi.json").write_text(json.dumps(served.document), encoding="utf-8")
        for name in (f"{script}.ts", "hey_api.config.mjs"):
            shutil.copy(HERE / name, folder)
        run(node(), f"../node_modules/{program}", *options, at=folder)

    run(node(), "node_modules/typescript/bin/tsc", "-p", ".", at=tmp_path)

    for script in GENERATORS:
        assert json.loads(run(node(), f"js/{script}/{script}.js", served.api, at=tmp_path)) == DOES, script


def run(*command: str, at: Path) -> str:
    ended = subprocess.run(command, cwd=at, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr
