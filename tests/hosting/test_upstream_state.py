"""A thread that the next version of `agent-framework-azurefunctions` wrote is refused by name, and left as it is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.support.app.scripted import scripted_agent
from tests.support.direct import DirectHost
from tests.support.made_app import app_of, ask, served
from tests.support.state_documents import GOLDEN

pytestmark = pytest.mark.behaviour("state.schema-2")

WRITTEN = (GOLDEN / "2.0.0-refused.json").read_text(encoding="utf-8")
"""By its schema: results and receipts beside a history that 1.x could have too, and a time to live that is over."""

PLACE = "@dafx-joker@t"
THREAD = "/api/agents/Joker/threads/t"
REFUSED = (500, "unreadable_state")
SENTENCE = "schemaVersion 2.0.0 cannot be read"

Started = tuple[DirectHost, httpx.AsyncClient]


@pytest.fixture
async def started() -> AsyncIterator[Started]:
    """An app whose agent's threads have a time to live, and the thread in its task hub."""
    app = app_of(environ={"AGENT_LOG": "memory"})
    app.add_agent(scripted_agent("Joker"), ttl_seconds=60)
    async with served(app) as (host, http):
        host.entities.states[PLACE] = WRITTEN
        yield host, http


@pytest.mark.parametrize("fields", [{}, {"busy": "interrupt"}, {"response_format": {"type": "json_object"}}])
async def test_a_run_is_refused_by_name_and_the_agent_is_not_asked(started: Started, fields: dict[str, Any]) -> None:
    host, http = started

    answer = await ask(http, "hi", thread_id="t", **fields)
    await host.entities.idle()

    assert (answer.status_code, answer.json()["code"], SENTENCE in answer.json()["detail"]) == (*REFUSED, True)
    assert host.entities.states[PLACE] == WRITTEN


async def test_a_run_that_nobody_waits_for_ends_by_that_name(started: Started) -> None:
    host, http = started

    accepted = await ask(http, "hi", thread_id="t", wait_for_response=False)
    await host.entities.idle()
    ended = (await http.get(accepted.headers["location"])).json()

    assert (ended["status"], ended["error"]["code"]) == ("failed", "unreadable_state")
    assert host.entities.states[PLACE] == WRITTEN


READS = {
    "the thread": ("GET", "", None),
    "its messages": ("GET", "/messages", None),
    "its export": ("GET", "/export", None),
    "a fork": ("POST", "/fork", {"thread_id": "copy"}),
}


@pytest.mark.parametrize(("method", "path", "body"), READS.values(), ids=list(READS))
async def test_what_reads_the_conversation_is_refused_by_name(
    started: Started, method: str, path: str, body: Any
) -> None:
    host, http = started

    answer = await http.request(method, f"{THREAD}{path}", json=body)
    await host.entities.idle()

    assert (answer.status_code, answer.json()["code"]) == REFUSED
    assert host.entities.states == {PLACE: WRITTEN}


OPERATIONS: dict[str, Any] = {
    "run": {"message": "hi", "correlationId": "r-3"},
    "run_agent": {"message": "hi", "correlationId": "r-3"},
    "migrate": {"source": {"schemaVersion": "1.1.0", "data": {"conversationHistory": []}}, "migrationId": "m"},
    "expire_responses": None,
    "expire": None,
    "trim": None,
    "store": None,
    "checkanddeleteifexpired": None,
}


@pytest.mark.parametrize(("operation", "value"), OPERATIONS.items(), ids=list(OPERATIONS))
async def test_no_operation_of_its_entity_changes_it(started: Started, operation: str, value: Any) -> None:
    """Neither theirs nor ours, also the one that ends a thread whose time is over."""
    host, _ = started

    await host.entities.call("dafx-joker", "t", operation, value, is_signal=True)
    await host.entities.idle()

    assert host.entities.states == {PLACE: WRITTEN}


async def test_its_owner_may_still_delete_it(started: Started) -> None:
    host, http = started

    deleted = await http.delete(THREAD)
    await host.entities.idle()
    answer = await ask(http, "hi", thread_id="t")

    assert (deleted.status_code, answer.status_code) == (204, 200)
