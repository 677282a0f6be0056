"""docs/contributing/a-feature.md, followed in a copy of the clone: the small feature is added, and served."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.pages import code, page, part
from tests.support.template_process import copy_tree

PAGE = page("docs/contributing/a-feature.md")
ASSEMBLY = "hosting/assembly.py"
GUARD_SECONDS = 120
ASKING = """
import asyncio
import json

import httpx

from tests.support.direct import DirectHost
from tests.support.owned_app import ISSUER, signed_in
from hosting.app import AgentFunctionApp
from tests.support.app.scripted import scripted_agent

app = AgentFunctionApp(agents=[scripted_agent("Joker")], principal=signed_in, environ={"AGENT_LOG": "memory"})
ASKED = [
    ("GET", "agents/Joker/notes"),
    ("POST", "agents/Joker/run"),
    ("POST", "agents/Joker/notes"),
    ("GET", "agents/Joker/notes"),
    ("GET", "agents"),
    ("GET", "owners/me/export"),
    ("DELETE", "owners/me"),
    ("GET", "agents/Joker/notes"),
    ("GET", "openapi.json"),
]
BODIES = {"agents/Joker/run": {"message": "hello"}, "agents/Joker/notes": {"text": "Ask about the invoice."}}


async def main():
    transport = httpx.ASGITransport(DirectHost(app).asgi)
    options = {"base_url": "http://app.example/api", "headers": {"x-user": "ada"}}
    async with httpx.AsyncClient(transport=transport, **options) as http:
        for verb, path in ASKED:
            answer = await http.request(verb, path, json=BODIES.get(path) if verb == "POST" else None)
            print("ANSWER", json.dumps([answer.status_code, answer.json()]))


asyncio.run(main())
"""


def add_the_feature(clone: Path) -> list[str]:
    """Do what the page says in a copy of the clone; return the files that were there before and changed."""
    copy_tree(clone)
    folder = clone / "hosting" / "features" / "notes"
    folder.mkdir()
    init, feature = code(part(PAGE, "## 1. Make the folder"), "python")
    (folder / "__init__.py").write_text(init, encoding="utf-8")
    (folder / "feature.py").write_text(feature, encoding="utf-8")
    imported, listed, made = code(part(PAGE, "## 2. Name it"), "text")[0].splitlines()
    assembly = (clone / ASSEMBLY).read_text(encoding="utf-8")
    assembly = re.sub(r"^(from hosting\.plan )", rf"{imported}\n\1", assembly, count=1, flags=re.MULTILINE)
    assembly = re.sub(
        r"^(FEATURES: [^)]*?),?(\n?)\)$", rf"\1, {listed.strip(' ,')}\2)", assembly, count=1, flags=re.MULTILINE
    )
    assembly = re.sub(r"^( {8}SchedulesFeature\()", rf"{made}\n\1", assembly, count=1, flags=re.MULTILINE)
    (clone / ASSEMBLY).write_text(assembly, encoding="utf-8")
    return [ASSEMBLY]


def run(clone: Path, *arguments: str, text: str | None = None) -> str:
    """Run Python in the copy and return what it prints."""
    finished = subprocess.run(
        [sys.executable, *arguments],
        cwd=clone,
        input=text,
        capture_output=True,
        text=True,
        timeout=GUARD_SECONDS,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


@pytest.mark.slow
@pytest.mark.behaviour("hosting.feature-page")
def test_a_feature_of_one_folder_is_served_listed_described_exported_and_erased(tmp_path: Path) -> None:
    changed = add_the_feature(tmp_path)
    lines = run(tmp_path, "-", text=ASKING).splitlines()
    answers: list[tuple[int, Any]] = [tuple(json.loads(line[7:])) for line in lines if line.startswith("ANSWER ")]
    before, _, written, read, agents, export, erased, after, document = answers

    assert changed == [ASSEMBLY]
    assert (before[0], before[1]["code"]) == (404, "unknown_note")
    assert (written, read) == ((200, {"text": "Ask about the invoice."}), (200, {"text": "Ask about the invoice."}))
    assert agents[1]["agents"][0]["note_url"] == "http://app.example/api/agents/Joker/notes"
    assert export[1]["notes"] == {"joker": "Ask about the invoice."}
    assert (erased[0], after[0]) == (200, 404)
    assert {"get", "post"} == set(document[1]["paths"]["/agents/{name}/notes"])
    assert document[1]["components"]["schemas"]["OwnerExport"]["properties"]["notes"]["type"] == "object"
    assert "note_url" in document[1]["components"]["schemas"]["ListedAgent"]["required"]
