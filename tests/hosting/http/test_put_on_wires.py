"""Messages that were put into a thread over our own route, as each wire lists the messages of a thread."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from hosting.app import Principal, PrincipalRequest
from tests.support.a2a import HEADERS, message
from tests.support.ag_ui import events_of, folded, wanted
from tests.support.ai_sdk import ORIGIN
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import GUARD_SECONDS
from tests.support.direct import DirectHost
from tests.support.made_app import app_of

pytestmark = pytest.mark.behaviour("thread.put-on-wires")

THREAD = "agents/Joker/threads/t"
TALK = [{"message": "my name is Ada"}, {"role": "assistant", "message": "Hello, Ada."}]
NOTE = [{"message": "I like trains"}]
ADA = {"issuer": "https://login.example", "id": "ada", "name": "Ada"}


def signed_in(request: PrincipalRequest) -> Principal:
    return Principal(ADA["issuer"], ADA["id"], name=ADA["name"])


class Wires:
    """An app of one agent with the wires that list messages. `is_restated`: its last page was told of all messages."""

    is_restated = False

    def __init__(self) -> None:
        app = app_of(scripted_agent("Joker"), wires=["a2a", "ag-ui", "ai-sdk"], principal=signed_in)
        transport = httpx.ASGITransport(DirectHost(app).asgi)
        self.http = httpx.AsyncClient(transport=transport, base_url=ORIGIN, timeout=GUARD_SECONDS)

    async def put(self, messages: list[dict[str, str]]) -> str:
        """Put messages into the thread, and return their id."""
        answer = await self.http.post(f"{THREAD}/messages", json={"messages": messages})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["put_id"])

    async def say(self, text: str) -> None:
        answer = await self.http.post("agents/Joker/run", json={"message": text, "thread_id": "t"})
        assert answer.status_code == 200, answer.text

    async def rpc(self, method: str, **params: Any) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        result: dict[str, Any] = (await self.http.post("a2a/Joker", json=body, headers=HEADERS)).json()["result"]
        return result

    async def page(self, run: str, *messages: Any) -> list[dict[str, Any]]:
        """Return what a page has after a run over AG-UI that sends these messages."""
        fields = wanted(*messages, run=run)
        answer = await self.http.post("ag-ui/Joker", json=fields)
        assert answer.status_code == 200, answer.text
        events = events_of(answer.text)
        self.is_restated = "MESSAGES_SNAPSHOT" in [event["type"] for event in events]
        return folded(events, fields["messages"])


@pytest.fixture
async def wires() -> AsyncIterator[Wires]:
    wires = Wires()
    async with wires.http:
        yield wires


async def talk(wires: Wires) -> list[str]:
    """Have a thread that begins with messages, and has others between two runs; return both ids."""
    begun = await wires.put(TALK)
    await wires.say("one")
    between = await wires.put(NOTE)
    await wires.say("two")
    return [begun, between]


SAID = ["my name is Ada", "Hello, Ada.", "one", "echo: one", "I like trains", "two", "echo: two"]


async def test_a_chat_of_the_ai_sdk_has_them_in_their_place(wires: Wires) -> None:
    ids = await talk(wires)

    messages = (await wires.http.get("ai-sdk/Joker/t")).json()["messages"]

    texts = ["".join(part.get("text", "") for part in message["parts"]) for message in messages]
    assert texts == SAID
    assert [message["metadata"]["put"] for message in messages if "put" in message.get("metadata", {})] == [
        *({"id": ids[0], "by": ADA},) * 2,
        {"id": ids[1], "by": ADA},
    ]
    assert len({message["id"] for message in messages}) == len(messages)


async def test_a_task_of_a2a_has_those_right_before_it_in_its_history(wires: Wires) -> None:
    """As it is sent, read and listed; they are of no task, and a context's first messages are no second task's."""
    ids = [await wires.put(TALK)]
    first = (await wires.rpc("SendMessage", message=message("one", contextId="t")))["task"]
    ids.append(await wires.put(NOTE))
    second = (await wires.rpc("SendMessage", message=message("two", contextId="t")))["task"]
    read = [await wires.rpc("GetTask", id=task["id"]) for task in (first, second)]
    listed = (await wires.rpc("ListTasks", contextId="t", includeArtifacts=True))["tasks"]

    shown = [
        [(each["role"], each["parts"][0]["text"], each.get("taskId")) for each in task["history"]] for task in read
    ]
    assert shown == [
        [
            ("ROLE_USER", "my name is Ada", None),
            ("ROLE_AGENT", "Hello, Ada.", None),
            ("ROLE_USER", "one", first["id"]),
        ],
        [("ROLE_USER", "I like trains", None), ("ROLE_USER", "two", second["id"])],
    ]
    assert read[1]["history"][0]["metadata"] == {"put": {"id": ids[1], "by": ADA}}
    assert [first, second] == read == sorted(listed, key=lambda task: task["id"] == second["id"])
