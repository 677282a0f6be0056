"""The context of a run: the agent's code reads it, its model does not, and it is the run's alone."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hosting.run_context import MOST_BYTES, MOST_LEVELS
from tests.support.context_reader import context_reader
from tests.support.owned_app import ISSUER, RUN, THREADS, OwnedApp, owner

pytestmark = pytest.mark.behaviour("context.read")

CONTEXT = {"tenant": "canary-c0ffee", "limits": {"refund": 50}, "tags": ["a", None, True]}
SHOWN = json.dumps(CONTEXT, sort_keys=True)


class Reading(OwnedApp):
    """The app, and what its agent noted."""

    def __init__(self) -> None:
        self.noted: list[str] = []
        super().__init__(agent=context_reader(self.noted.append))

    def read(self, reader: str) -> list[str]:
        return [text for name, _, text in (note.partition(" ") for note in self.noted) if name == reader]


@pytest.fixture
async def reading() -> AsyncIterator[Reading]:
    app = Reading()
    async with app.http:
        yield app


async def said(app: Reading, message: str, thread_id: str = "t", **fields: Any) -> dict[str, Any]:
    """Send a message of Ada's with more fields, and return the answer."""
    answer = await app.ask("ada", "POST", RUN, json={"message": message, "thread_id": thread_id, **fields})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def test_tools_providers_and_middleware_read_it_and_the_model_does_not(reading: Reading) -> None:
    """Each gets a copy of its own; the next run has none."""
    await said(reading, "call show 1", context=CONTEXT)
    first = {reader: reading.read(reader) for reader in ("tool", "provider", "middleware")}
    await said(reading, "call show 2")

    assert first == {"tool": [SHOWN], "provider": [SHOWN], "middleware": [SHOWN]}
    assert [reading.read(reader)[1:] for reader in first] == [["{}"]] * 3
    assert len(reading.read("model")) == 4
    assert not any("canary" in sent for sent in reading.read("model"))


async def test_the_run_that_goes_on_after_an_approval_has_the_same(reading: Reading) -> None:
    asked = await said(reading, "call approved 1", context=CONTEXT, metadata={"ticket": 7})
    place = f"{THREADS}/t/approvals/{asked['pending_approvals'][0]['id']}"
    answer = await reading.ask("ada", "POST", place, json={"approved": True})

    assert (answer.status_code, answer.json()["metadata"]) == (200, {"ticket": 7})
    assert reading.read("approved") == [SHOWN]


async def test_its_owner_exports_it_and_an_erasure_leaves_nothing_of_it(reading: Reading) -> None:
    """No reply has it; a person with whom the thread is shared does not get it either."""
    answer = await said(reading, "hello", context=CONTEXT)
    with_bob = {"issuer": ISSUER, "id": "bob", "access": "read"}
    grant = (await reading.ask("ada", "POST", f"{THREADS}/t/grants", json=with_bob)).json()["grant"]
    shared = await reading.ask("bob", "GET", f"/api/shared/{grant}/export")
    own = await reading.ask("ada", "GET", f"{THREADS}/t/export")
    shown = [await reading.ask("ada", "GET", f"{THREADS}/t{part}") for part in ("", "/messages", "/runs")]
    await reading.ask("ada", "DELETE", "/api/owners/me")
    kept = await reading.stored()

    assert own.json()["runs"][0]["accepted"]["request"]["context"] == CONTEXT
    assert shared.status_code == 200, shared.text
    assert "canary" not in "".join([json.dumps(answer), shared.text, *(reply.text for reply in shown)])
    assert "canary" not in json.dumps(kept)
    assert (await reading.ask("ada", "GET", f"{THREADS}/t/export")).status_code == 404


@pytest.mark.parametrize(
    ("context", "reason"),
    [
        ("text", "is not an object"),
        ({"a": "x" * MOST_BYTES}, f"the limit is {MOST_BYTES}"),
        (json.loads('{"a":' * MOST_LEVELS + "{}" + "}" * MOST_LEVELS), f"more than {MOST_LEVELS} levels"),
    ],
)
async def test_a_context_that_is_too_much_is_refused(reading: Reading, context: object, reason: str) -> None:
    text = json.dumps({"message": "hello", "thread_id": "t", "context": context})
    answer = await reading.ask("ada", "POST", RUN, content=text, headers={"content-type": "application/json"})

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_field"), answer.text
    assert reason in answer.json()["detail"]
    assert reading.noted == []


async def test_outside_of_a_tool_there_is_a_run_and_no_key_of_a_call() -> None:
    from hosting.tools import AT_WORK, RunAtWork, current

    token = AT_WORK.set(RunAtWork("Clerk", "t", "r", None, owner("ada"), "t~0", {"a": 1}))
    try:
        work = current()
        assert (work.run_id, work.context, work.owner) == ("r", {"a": 1}, owner("ada"))
        with pytest.raises(LookupError, match="only in a tool call"):
            _ = work.call_key
        with pytest.raises(LookupError, match="works only in a tool"):
            work.ask("why")
    finally:
        AT_WORK.reset(token)
