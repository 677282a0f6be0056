"""Completions as streams: their chunks, and what ends them."""

from __future__ import annotations

import pytest
from openai.types.chat import ChatCompletion

from hosting.core.broadcast import LoggedEvent
from hosting.core.thread.events import Accepted, Claimed, Delta
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import RunRequest
from hosting.features.chat_completions.fold import ChatFold
from hosting.http.wire_runs import RewrittenError
from hosting.names import Address
from tests.hosting.features.chat_completions.chats import Chats, said
from tests.support.chat_chunks import chunks, joined
from tests.support.joining import both, steered
from tests.support.made_app import ask
from tests.support.strictly import strictly


@pytest.mark.behaviour("chat.stream")
async def test_a_stream_has_the_text_in_pieces_and_then_why_it_ended(chats: Chats) -> None:
    answer = await chats.post("say one two three", stream=True)
    streamed = chunks(answer.text)

    assert answer.headers["content-type"].startswith("text/event-stream")
    assert joined(streamed) == "one two three"
    assert streamed[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in streamed if chunk.choices[0].finish_reason] == ["stop"]
    assert {chunk.id for chunk in streamed} == {streamed[0].id}


@pytest.mark.behaviour("chat.stream")
def test_text_of_a_lost_attempt_that_was_sent_ends_the_stream() -> None:
    """The protocol cannot take it back. A reader who comes later gets the text that stands."""
    request = RunRequest(message="hello")
    accepted = Accepted(
        at=1.0, run_id="r", agent="joker", thread_id="t", request=request, fingerprint="f", streamed=True
    )
    claim = {"at": 1.0, "run_id": "r", "holder": "caller", "lease_seconds": 9.0, "deadline": 9.0}
    events = [
        accepted,
        Claimed(attempt=1, token="a", **claim),  # type: ignore[arg-type]
        Delta(at=1.0, run_id="r", offset=0, text="One way"),
        Claimed(attempt=2, token="b", **claim),  # type: ignore[arg-type]
        Delta(at=1.0, run_id="r", offset=0, text="Another"),
    ]
    run = Run(Address.of("joker", "t", "app"), accepted, 1, 1)
    early, late = (ChatFold("Joker", run, names_causes=False, counts_usage=False) for _ in range(2))
    for position, event in enumerate(events[:3], 1):
        early.next(LoggedEvent(position, event))
    sent = early.chunks()
    for position, event in enumerate(events[3:], 4):
        early.next(LoggedEvent(position, event))
    for position, event in enumerate(events, 1):
        late.next(LoggedEvent(position, event))

    assert [chunk["choices"][0]["delta"].get("content") for chunk in sent] == ["", "One way"]
    with pytest.raises(RewrittenError):
        early.chunks()
    assert late.chunks()[-1]["choices"][0]["delta"] == {"content": "Another"}


@pytest.mark.behaviour("chat.steering")
@pytest.mark.parametrize("streams", [False, True], ids=["plain", "streamed"])
async def test_a_message_that_joined_a_run_gets_the_answer_of_that_run(streams: bool) -> None:
    """As one completion, whose stream begins when the message was sent."""
    body = {"messages": [said("user", "and this")], "metadata": {"thread_id": "t"}, "stream": streams}
    async with steered("chat-completions") as (http, working):
        joining = http.post("/api/chat/v1/chat/completions", json=body)
        first, completion = await both(http, working, ask(http, "first", thread_id="t"), joining)
    whole = first.json()["response"]

    if streams:
        streamed = chunks(completion.text)
        assert joined(streamed) == whole
        assert {chunk.id for chunk in streamed} == {streamed[0].id}
        assert [chunk.choices[0].delta.role for chunk in streamed if chunk.choices[0].delta.role] == ["assistant"]
        assert streamed[-1].choices[0].finish_reason == "stop"
    else:
        assert strictly(ChatCompletion, completion.json()).choices[0].message.content == whole
    assert '"user: and this"' in whole
