"""Large pictures and files of a conversation, at the entity: kept beside it, sent again, and gone with it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from typing import Any

import pytest
from agent_framework import AgentResponse, Content, Message

from hosting.core.thread.run_request import RunRequest
from hosting.errors import AttachmentsUnavailableError, StoreUnavailableError
from tests.support.bench import ADDRESS, PLACE, Bench

BODY = bytes(range(256)) * 80
HASH = hashlib.sha256(BODY).hexdigest()
URI = f"data:image/png;base64,{base64.b64encode(BODY).decode()}"
ATTACHMENT = {"sha256": HASH, "bytes": 20480, "mediaType": "image/png"}
REFERENCE = {"$type": "text", "text": "[image/png, 20480 bytes]", "attachment": ATTACHMENT}


class LookingAgent:
    """An agent of no framework class that notes the kinds and URIs of all contents that it was sent."""

    name = "Joker"

    def __init__(self) -> None:
        self.seen: list[list[tuple[str, str | None]]] = []
        self.says: list[Content] = [Content.from_text("seen")]

    async def run(self, messages: list[Message], *, session: Any, **options: Any) -> AgentResponse[Any]:
        sent = [content for message in messages for content in message.contents]
        self.seen.append([(content.type, content.uri or content.text) for content in sent])
        return AgentResponse(messages=[Message("assistant", self.says)])


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench(agent=LookingAgent(), environ={"AGENT_STATE_LIMIT_BYTES": "4096"})
    yield bench
    bench.loop.close()


async def show(bench: Bench, *, commit: bool = True) -> str:
    contents = ({"$type": "data", "uri": URI, "mediaType": "image/png"},)
    run_id = await bench.open(request=RunRequest(message="see", contents=contents))
    await bench.signal(run_id, commit=commit)
    return run_id


def contents(bench: Bench, entry: int) -> list[dict[str, Any]]:
    return list(bench.entries()[entry]["messages"][0]["contents"])


@pytest.mark.behaviour("erasure.attachments")
async def test_a_large_picture_is_kept_beside_the_conversation_and_sent_again(bench: Bench) -> None:
    """The document refers to it, has room for it however small it is, and the model sees it in each turn."""
    await show(bench)
    bench.restart()
    await bench.run("and now?")

    assert contents(bench, 0) == [{"$type": "text", "text": "see"}, REFERENCE]
    assert await bench.attachments.read(PLACE, [HASH]) == {HASH: BODY}
    assert bench.agent.seen[1] == [("text", "see"), ("data", URI), ("text", "seen"), ("text", "and now?")]
    assert len(bench.state or "") < 4096


@pytest.mark.behaviour("erasure.attachments")
async def test_bytes_are_kept_before_the_document_refers_to_them(bench: Bench) -> None:
    """A crash before the commit leaves bytes that nobody refers to; the second delivery refers to the same."""
    run_id = await show(bench, commit=False)
    assert (bench.state, sorted(await bench.attachments.names(PLACE))) == (None, [HASH])
    bench.restart()

    await bench.signal(run_id)

    assert contents(bench, 0)[1] == REFERENCE
    assert len(bench.agent.seen) == 1


@pytest.mark.behaviour("erasure.attachments")
async def test_a_store_that_is_away_gives_the_delivery_back(bench: Bench) -> None:
    """Nothing is stored without its bytes, and no agent runs without what it was sent before."""
    bench.attachments.is_down = True
    with pytest.raises(AttachmentsUnavailableError):
        await show(bench)
    bench.attachments.is_down = False
    await show(bench)
    bench.attachments.is_down = True

    seen = len(bench.agent.seen)
    with pytest.raises(StoreUnavailableError):
        await bench.run("and now?")

    assert len(bench.agent.seen) == seen == 2


@pytest.mark.behaviour("erasure.attachments")
async def test_bytes_that_are_gone_are_told_to_the_model(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """The thread is not lost with them; the log names it as everywhere, and not by where its bytes were."""
    await show(bench)
    await bench.attachments.erase(PLACE)

    await bench.run("and now?")

    assert bench.agent.seen[1][1] == ("text", "[image/png, 20480 bytes: no longer kept]")
    gone = [record.getMessage() for record in caplog.records if "attachments" in record.getMessage()]
    assert gone == [f"1 attachments of thread {ADDRESS.thread_id} of agent {ADDRESS.agent} are gone."]
