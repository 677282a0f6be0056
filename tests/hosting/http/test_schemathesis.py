"""The app on the local host's socket against its own document: thousands of requests, nothing found."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.carriers import APP
from tests.support.receiver import SECRET
from tests.support.running_host import RunningHost, host_environment
from tests.support.seeds import repeated

HERE = Path(__file__).resolve().parent
KEYS = {"master": "m", "host": "h", "functions": {}, "system": {}}
KEY = ("--header", f"x-functions-key: {KEYS['host']}")
MOST_SECONDS = 240

WIRES = "^/(openai|a2a|ag-ui)/"
PARTS = {
    "own": ("--exclude-path-regex", WIRES),
    "wires": ("--include-path-regex", WIRES),
    "workflows": ("--include-path-regex", "^/workflows?(/|$)"),
}


@pytest.mark.slow(seconds=60)
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.skipif(sys.version_info < (3, 11), reason="schemathesis needs Python 3.11")
@pytest.mark.behaviour("openapi.true")
@pytest.mark.behaviour("openapi.wires")
def test_schemathesis_finds_nothing(tmp_path: Path, part: str, seed: int) -> None:
    """All of its phases, sequences along the document's links included; the host asks for keys.

    Then all wires, and the routes of workflows.
    """
    folder = shutil.copytree(APP, tmp_path / "app", ignore=shutil.ignore_patterns(".*"))
    (folder / ".devhost").mkdir()
    (folder / ".devhost" / "keys.json").write_text(json.dumps(KEYS), encoding="utf-8")

    environ = {"WORKFLOWS": "yes"} if part == "workflows" else {"WIRES": "responses a2a ag-ui"}
    if part != "wires":  # a wire's caller may name receivers, anywhere
        environ["AGENT_WEBHOOK_SECRET"] = SECRET
    with RunningHost(folder, "--port", "0", "--auth", environ=environ) as host:
        ended = subprocess.run(
            [*schemathesis(seed), f"{host.origin}/api/openapi.json", *KEY, *PARTS[part]],
            cwd=tmp_path,
            env=host_environment({"SCHEMATHESIS_HOOKS": "tests.hosting.http.schemathesis_hooks"}),
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
            check=False,
        )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert all(f"✅  {phase}" in ended.stdout for phase in ("Coverage", "Fuzzing", "Stateful")), ended.stdout


def schemathesis(seed: int) -> list[str]:
    """Return the command that tries a document, with its configuration, bounded."""
    start = "import sys; from schemathesis.cli import schemathesis; sys.exit(schemathesis())"
    options = ["--config-file", str(HERE / "schemathesis.toml"), "--no-color"]
    tried = ["--seed", str(seed), "--max-examples", str(repeated(in_the_gate=10, exploring=30))]
    return [sys.executable, "-c", start, *options, "run", *tried]
