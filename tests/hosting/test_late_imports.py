"""An app imports the modules of what it has: the table says which they are, and what brings them in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.behaviour("hosting.imports-what-it-has")

TEMPLATE = "import function_app\nfunction_app.app.get_functions()"
SECRET = f"whsec_{'a' * 32}"
MADE = """
from agent_framework import Agent, WorkflowBuilder, WorkflowContext, executor
from typing_extensions import Never
import hosting.app
from hosting.app import AgentFunctionApp
from hosting.offline.model import OfflineChatClient

def agent(**options):
    return Agent(client=OfflineChatClient(), name="one", **options)

async def nobody(request):
    return None

@executor(id="echo")
async def echo(text: str, context: WorkflowContext[Never, str]) -> None:
    await context.yield_output(text)

"""
PARTS: Mapping[str, tuple[Sequence[str], str]] = {
    "a2a": (("features.a2a.verbs", "features.a2a.requests"), "AgentFunctionApp(wires=['a2a'])"),
    "workflows": (
        (
            *("features.workflows.graph_runner", "features.workflows.requests", "features.workflows.answer"),
            *("features.workflows.executor_calls", "features.workflows.hitl_context", "features.workflows.given"),
            *("features.workflows.copies", "core.agent.framework_graphs"),
        ),
        "AgentFunctionApp(workflow=WorkflowBuilder(start_executor=echo, name='flow').build())",
    ),
    "files": (
        ("features.files.provider", "features.files.store"),
        "import agent_framework as af\n"
        "files = af.FileMemoryProvider(af.FileSystemAgentFileStore('files'))\n"
        "AgentFunctionApp(agents=[agent(context_providers=[files])])",
    ),
    "memory": (
        ("features.memory.facts", "features.memory.http", "features.memory.provider"),
        "AgentFunctionApp(agents=[agent(context_providers=[hosting.app.OwnerMemory(shared=True)])])",
    ),
    "limits": (
        ("features.metering.limits", "features.metering.limiter", "features.metering.minutes"),
        "AgentFunctionApp(agents=[agent()], limit=hosting.app.Limit(requests_per_minute=1))",
    ),
    "owners": (
        ("features.owners.access", "features.owners.http", "features.owners.owners", "features.owners.sharing"),
        "AgentFunctionApp(principal=nobody)",
    ),
    "webhooks": (
        (
            *("features.webhooks.webhooks", "features.webhooks.http", "features.webhooks.delivery"),
            *("features.webhooks.deliveries", "features.webhooks.client", "features.webhooks.receivers"),
        ),
        f"AgentFunctionApp(environ={{'AGENT_LOG': 'memory', 'AGENT_WEBHOOK_SECRET': '{SECRET}'}})",
    ),
}
"""The modules of a part of `hosting`, and an app that has it."""

REQUESTED: Mapping[str, Sequence[str]] = {
    "agents/one/schedules": (
        *("features.schedules.http", "features.schedules.schedules", "features.schedules.schedule"),
        *("features.schedules.requests", "features.schedules.places", "features.schedules.times"),
    ),
    "agents/one/runs/batch": ("features.batch.http", "features.batch.batches", "features.batch.requests"),
    "operations": (
        *("features.overview.http", "features.overview.operations", "features.overview.operators_view"),
        *("features.overview.overview", "features.overview.log", "features.overview.figures"),
    ),
    "openapi.json": ("http.openapi",),
}
"""The modules that come with the first request to a path of any app."""
ANSWER = """
import asyncio, httpx
from tests.support.direct import DirectHost

async def answer(path):
    host = DirectHost(AgentFunctionApp(agents=[agent()], environ={'AGENT_LOG': 'memory'}))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(host.asgi), base_url="http://app.example") as client:
        await client.get(f"/api/{path}")
        await client.post(f"/api/{path}")
"""

STORES = ("core.stores.tables", "core.stores.blobs", "core.stores.cosmos", "core.stores.redis", "console", "commands")
"""Besides those: what a setting or a command brings in."""

OF_TIMERS = ("core.sweeps", *(f"features.search.{name}" for name in ("index", "search", "thread_words", "words")))
"""What the first time of a timer brings in, and the first search, which asks an engine that this host has not."""

OF_OTHERS = ("cronsim", "regex", "redis", "agent_framework._harness._file_memory", "agent_framework._workflows")
"""Packages of others that some apps need."""


@cache
def modules_of(code: str) -> frozenset[str]:
    """Return the modules that a new process has after the code."""
    ended = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"],
        cwd=ROOT,
        env={**os.environ, "AGENT_LOG": "memory"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return frozenset(json.loads(ended.stdout.splitlines()[-1]))


@pytest.mark.slow
def test_the_app_of_the_template_has_none_of_a_part_that_it_does_not_use() -> None:
    """Wires, workflows, and whatever an app may have and need not."""
    has = modules_of(TEMPLATE)

    assert {part: used for part, (names, _) in PARTS.items() if (used := has & ours(names))} == {}


@pytest.mark.slow
def test_an_app_with_all_parts_has_all_of_their_modules() -> None:
    """So the table names modules that there are."""
    has = modules_of(MADE + "".join(f"{app}.get_functions()\n" for _, app in PARTS.values()))

    assert {part: absent for part, (names, _) in PARTS.items() if (absent := ours(names) - has)} == {}


@pytest.mark.slow
def test_the_first_request_to_a_route_imports_what_answers_it() -> None:
    late = {path: ours(names) for path, names in REQUESTED.items()}
    has = modules_of(MADE + ANSWER + "".join(f"asyncio.run(answer({path!r}))\n" for path in REQUESTED))

    assert {path: early for path, names in late.items() if (early := modules_of(TEMPLATE) & names)} == {}
    assert {path: absent for path, names in late.items() if (absent := names - has)} == {}


def ours(names: Sequence[str]) -> set[str]:
    return {f"hosting.{name}" for name in names}


@pytest.mark.slow
def test_the_app_of_the_template_has_no_store_and_no_package_that_it_does_not_use() -> None:
    absent = (*(f"hosting.{name}" for name in (*STORES, *OF_TIMERS)), *OF_OTHERS)

    assert [name for name in modules_of(TEMPLATE) if name.startswith(absent)] == []
