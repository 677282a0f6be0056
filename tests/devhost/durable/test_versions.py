"""Versions of orchestrations: what runs on this host, and what waits for another."""

from __future__ import annotations

import json
import logging
from collections.abc import Generator
from typing import Any

import azure.durable_functions as df
import pytest

from devhost.durable.orchestrations import refusal
from devhost.durable.settings import DurableSettings
from tests.devhost.durable.running_engine import running
from tests.devhost.durable.sdk_functions import SdkFunctions
from tests.support.memory_store import MemoryStore

pytestmark = pytest.mark.behaviour("engine.versions")


def _functions() -> SdkFunctions:
    app = df.DFApp()

    @app.orchestration_trigger(context_name="c")
    def tell(c: df.DurableOrchestrationContext) -> str:
        return str(c.version)

    @app.orchestration_trigger(context_name="c")
    def ask(c: df.DurableOrchestrationContext) -> Generator[Any, Any, Any]:
        own = yield c.call_sub_orchestrator("tell")
        return [own, (yield c.call_sub_orchestrator("tell", version="0.9"))]

    return SdkFunctions(app)


async def test_a_version_that_the_host_does_not_have_stays_pending_and_the_log_says_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """202 and Pending as recorded; once host.json names the version, it runs."""
    inner = MemoryStore()
    with caplog.at_level(logging.ERROR, "devhost.durable"):
        async with running(_functions(), inner=inner) as engine:
            reply = await engine.client.post("/orchestrators/tell/t?version=1.2")
            await engine.hub.start("tell", "other", None)
            await engine.store.until_ended("other")
            status = (await engine.client.get("/instances/t?showHistory=true")).json()
    assert (reply.status_code, status["runtimeStatus"]) == (202, "Pending")
    assert "historyEvents" not in status
    assert (
        "it was started with version 1.2, and extensions.durableTask.defaultVersion of host.json is not set"
        in caplog.text
    )
    async with running(_functions(), inner=inner, settings=DurableSettings(default_version="1.2")) as engine:
        assert (await engine.store.until_ended("t")).output == '"1.2"'


async def test_a_sub_orchestration_is_of_its_own_version_or_its_parents() -> None:
    async with running(_functions(), settings=DurableSettings(default_version="2.0")) as engine:
        await engine.hub.start("ask", "a", None)
        ended = await engine.store.until_ended("a")
    assert json.loads(ended.output or "") == ["2.0", "0.9"]


@pytest.mark.parametrize(
    ("wanted", "current", "runs"),
    [
        (None, None, True),
        ("1.0", None, False),
        ("1.9", "1.10", True),
        ("1.10", "1.9", False),
        ("1.0", "1.0", True),
        ("1.0-b", "1.0-B", True),
    ],
)
def test_versions_are_compared_part_by_part(wanted: str | None, current: str | None, runs: bool) -> None:
    assert (refusal(wanted, current) is None) is runs
