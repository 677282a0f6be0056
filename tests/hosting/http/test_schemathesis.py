"""The app on the local host's socket against its own document: thousands of requests, nothing found."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from hosting.app import AgentFunctionApp
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import APP
from tests.support.direct import DirectHost
from tests.support.flows import FLOWS
from tests.support.receiver import SECRET
from tests.support.running_host import RunningHost, host_environment
from tests.support.seeds import IS_EXPLORING, repeated
from tests.support.warm_python import ROOT

HERE = Path(__file__).resolve().parent
KEYS = {"master": "m", "host": "h", "functions": {}, "system": {}}
KEY = ("--header", f"x-functions-key: {KEYS['host']}")
MOST_SECONDS = repeated(in_the_gate=240, exploring=900)
TABLES = str(ROOT / ".hypothesis")
"""Where the tests keep the table of all characters, which takes seconds to make."""

WIRES = "^/(openai|a2a|ag-ui)/"
PER_THREAD = "(/[{]thread_id[}](/(runs|messages|reset|export|erasure|approvals|runs/[{]run_id[}]/[a-z]+))?)?"
AS_OF_AGENTS = f"^/workflows/[{{]name[}}]/(figures|budget|schedules/.+|threads{PER_THREAD})$"
"""What is described as for agents, and served by the same code: the gate tries it for those."""
PARTS = {
    "own": (
        {"WORKFLOWS": "yes", "AGENT_WEBHOOK_SECRET": SECRET},
        () if IS_EXPLORING else ("--exclude-path-regex", AS_OF_AGENTS),
    ),
    "wires": ({"WIRES": "responses a2a ag-ui"}, ("--include-path-regex", WIRES)),
}
"""What the app is started with, and which paths are tried. A wire's caller may name receivers anywhere: it has no
secret for them."""


@pytest.mark.slow(seconds=60)
@pytest.mark.timeout(MOST_SECONDS + 60)
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.behaviour("openapi.true")
@pytest.mark.behaviour("openapi.wires")
def test_schemathesis_finds_nothing(tmp_path: Path, part: str, seed: int) -> None:
    """All of its phases, sequences along the document's links included; the host asks for keys.

    The routes of agents and of workflows, then all wires.
    """
    folder = shutil.copytree(APP, tmp_path / "app", ignore=shutil.ignore_patterns(".*"))
    (folder / ".devhost").mkdir()
    (folder / ".devhost" / "keys.json").write_text(json.dumps(KEYS), encoding="utf-8")

    environ, paths = PARTS[part]
    with RunningHost(folder, "--port", "0", "--auth", environ=environ) as host:
        ended = subprocess.run(
            [*schemathesis(seed), f"{host.origin}/api/openapi.json", *KEY, *paths],
            cwd=tmp_path,
            env=host_environment(
                {"SCHEMATHESIS_HOOKS": "tests.hosting.http.schemathesis_hooks", "HYPOTHESIS_STORAGE_DIRECTORY": TABLES}
            ),
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
            check=False,
        )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert all(f"✅  {phase}" in ended.stdout for phase in ("Coverage", "Fuzzing", "Stateful")), ended.stdout


def described(document: dict[str, Any], path: str) -> Any:
    """Return what the document says of a path, but for whose it is, and for what its answers lead to."""
    text = json.dumps(document["paths"][path], sort_keys=True)
    operations = json.loads(re.sub("(agent|workflow)s?", "owner", text, flags=re.IGNORECASE))
    for operation in operations.values():
        for key in ("operationId", "summary", "description"):
            operation.pop(key, None)
        operation["parameters"] = [one for one in operation["parameters"] if one["name"] != "name"]
        for answer in operation["responses"].values():
            answer.pop("links", None)
    return operations


@pytest.fixture
async def document() -> dict[str, Any]:
    """The document of an app with an agent and workflows."""
    app = AgentFunctionApp(agents=[scripted_agent("Joker")], workflows=FLOWS, environ={"AGENT_LOG": "memory"})
    async with httpx.AsyncClient(transport=httpx.ASGITransport(DirectHost(app).asgi)) as client:
        found: dict[str, Any] = (await client.get("http://app.example/api/openapi.json")).json()
    return found


def test_the_routes_that_the_gate_tries_for_agents_alone_are_described_alike_for_workflows(
    document: dict[str, Any],
) -> None:
    """Otherwise schemathesis would not have tried what is said of a workflow's."""
    left_out = [path for path in document["paths"] if re.search(AS_OF_AGENTS, path)]

    assert len(left_out) >= 15
    for path in left_out:
        of_agents = described(document, path.replace("workflows", "agents", 1))
        assert described(document, path).items() <= of_agents.items(), path


def test_the_fields_that_the_gate_tries_whole_in_one_body_are_described_alike_in_the_others(
    document: dict[str, Any],
) -> None:
    """Otherwise schemathesis would not have tried what is said of another body's."""
    posts = [operations["post"] for operations in document["paths"].values() if "post" in operations]
    bodies = [body["schema"] for post in posts for body in post.get("requestBody", {}).get("content", {}).values()]
    fields = [body["properties"] for body in bodies if "contents" in body.get("properties", {})]
    formats = [body[name] for body in fields for name in ("response_format", "responseFormat") if name in body]

    assert len(fields) >= 2
    assert [body["contents"] for body in fields[1:]] == [fields[0]["contents"]] * (len(fields) - 1)
    assert formats[1:] == [formats[0]] * (len(formats) - 1)


def schemathesis(seed: int) -> list[str]:
    """Return the command that tries a document, with its configuration, bounded."""
    start = "import sys; from schemathesis.cli import schemathesis; sys.exit(schemathesis())"
    options = ["--config-file", str(HERE / "schemathesis.toml"), "--no-color"]
    tried = ["--seed", str(seed), "--max-examples", str(repeated(in_the_gate=3, exploring=30))]
    return [sys.executable, "-c", start, *options, "run", *tried]
