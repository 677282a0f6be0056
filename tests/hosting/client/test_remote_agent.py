"""An agent of a running app, called as agent-framework calls any agent."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_framework import AgentResponse, AgentSession, Content, Message, SupportsAgentRun
from pydantic import BaseModel

from hosting.client.connection import Event, RemoteAgentError, sent_events
from hosting.client.remote_agent import RemoteAgent
from hosting.client.updates import Updates
from hosting.errors import InvalidFieldError
from tests.support.app.scripted import scripted_agent
from tests.support.app_folder import make_app
from tests.support.orchestrations_app import HOST
from tests.support.running_host import RunningHost

SOURCE = """
from hosting.app import AgentFunctionApp
from tests.support.app.scripted import scripted_agent
from tests.support.clerk import clerk


def note(line):
    with open("notes.txt", "a") as file:
        file.write(line[:8] + "\\n")


app = AgentFunctionApp(agents=[scripted_agent("Joker"), clerk(note)])
"""
CLOSED = "http://127.0.0.1:9"
TALK = [Message("user", ["my name is Ada"]), Message("assistant", ["Hello, Ada."]), Message("user", ["recall"])]
STREAMS = pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])


class Said(BaseModel):
    """What an agent is to answer."""

    n: int


class Small(BaseModel):
    """The same in form, and stricter than a JSON Schema can say."""

    n: int

    def model_post_init(self, context: Any) -> None:
        if self.n > 9:
            raise ValueError("too large")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The app's folder, in which its tools write notes."""
    return make_app(tmp_path_factory.mktemp("remote"), SOURCE, host=HOST)


@pytest.fixture(scope="module")
def origin(folder: Path) -> Iterator[str]:
    with RunningHost(folder) as host:
        yield host.origin


def notes(folder: Path) -> list[str]:
    """Return what the app's tools did."""
    path = folder / "notes.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


async def response_of(agent: Any, message: Any, *, streams: bool = False, **options: Any) -> AgentResponse[Any]:
    """Return the response to a message, streamed or not."""
    if not streams:
        return await agent.run(message, **options)  # type: ignore[no-any-return]
    return await agent.run(message, stream=True, **options).get_final_response()  # type: ignore[no-any-return]


async def answered(
    agent: RemoteAgent, waits: AgentResponse[Any], session: AgentSession, *approved: bool, streams: bool = False
) -> AgentResponse[Any]:
    """Answer what a response waits for as a plain agent's caller does, and return the next response."""
    requests = zip(waits.user_input_requests, approved, strict=True)
    answers = [request.to_function_approval_response(is_approved) for request, is_approved in requests]
    return await response_of(agent, Message("user", answers), streams=streams, session=session)


def contents(response: AgentResponse[Any]) -> list[Any]:
    """Return what a response says and calls, without ids that are new each time, and its usage."""
    said = [
        (message.role, [(each.type, each.text, each.name, str(each.result)) for each in message.contents])
        for message in response.messages
    ]
    return [said, response.usage_details, response.text]


@pytest.mark.slow
@pytest.mark.behaviour("evaluation.remote-agent")
@STREAMS
async def test_the_response_is_that_of_the_plain_agent(origin: str, streams: bool) -> None:
    """Its messages, its tool calls and results, its usage; a tool of the model's own answers among them."""
    agent, plain = RemoteAgent(origin, "Joker"), scripted_agent("Joker")

    assert isinstance(agent, SupportsAgentRun)
    for message in ("hello there", "see", "say  two  spaces"):
        assert contents(await response_of(agent, message, streams=streams)) == contents(await plain.run(message))
    assert [tool.name for tool in agent.default_options["tools"]] == ["thread_name"]
    assert agent.description == plain.description


@pytest.mark.slow
@pytest.mark.behaviour("evaluation.remote-agent")
async def test_a_stream_has_the_calls_of_tools_and_their_results(origin: str) -> None:
    """Each once, before the text that the model makes of them."""
    stream = RemoteAgent(origin, "Joker").run("tool thread_name", stream=True)
    updates = [update async for update in stream]
    kinds = [content.type for update in updates for content in update.contents]
    response = await stream.get_final_response()

    assert "".join(update.text for update in updates) == response.text
    assert kinds[:3] == ["function_call", "function_result", "text"]
    assert set(kinds[3:]) <= {"text"}
    assert [content.type for message in response.messages for content in message.contents] == kinds[:3]


@pytest.mark.slow
@pytest.mark.behaviour("evaluation.remote-agent")
@pytest.mark.behaviour("evaluation.remote-turns")
async def test_a_session_is_a_thread_and_a_key_is_one_run(origin: str) -> None:
    """Several messages are one turn, as those before the newest were said already. Without a session it is alone."""
    agent = RemoteAgent(origin, "Joker")
    session = agent.create_session()
    first, again = [await agent.run(TALK, session=session, idempotency_key="k") for _ in range(2)]
    said = await response_of(agent, [*TALK[:2], Message("user", ["say so"])], streams=True, session=session)
    after = await agent.run("recall", session=agent.get_session(session.session_id))
    alone = await agent.run("recall")

    assert (first.text, again.response_id, said.text) == ("my name is Ada | recall", first.response_id, "so")
    assert after.text == "my name is Ada | recall | my name is Ada | say so | recall"
    assert (alone.text, after.additional_properties["thread_id"]) == ("recall", session.session_id)


@pytest.mark.slow
@pytest.mark.behaviour("evaluation.refusals")
@STREAMS
async def test_a_run_without_an_answer_is_an_error_with_the_app_s_sentence(origin: str, streams: bool) -> None:
    """An agent that the app does not have, and one that fails; the local host says how."""
    for name, message, code, sentence in (
        ("nobody", "hello", "unknown_agent", "There is no agent 'nobody' he"),
        ("Joker", "fail", "run_failed", "a secret of the model"),
    ):
        with pytest.raises(RemoteAgentError) as raised:
            await response_of(RemoteAgent(origin, name, patience_seconds=0), message, streams=streams)
        assert (raised.value.code, sentence in raised.value.detail) == (code, True)


@pytest.mark.slow
@pytest.mark.behaviour("evaluation.remote-agent")
async def test_a_run_that_takes_longer_than_a_request_is_waited_for(tmp_path: Path) -> None:
    """Its answer is read once it has ended, and so is the error of one that is stopped."""
    limits = {"AGENT_WAIT_SECONDS": "0.2", "AGENT_RUN_TIMEOUT_SECONDS": "1"}
    with RunningHost(make_app(tmp_path, SOURCE, host=HOST), environ=limits) as host:
        agent = RemoteAgent(host.origin, "Joker")
        response = await agent.run("sleep 0.5")
        with pytest.raises(RemoteAgentError) as raised:
            await agent.run("sleep 30")

    assert (response.text, raised.value.code) == ("echo: sleep 0.5", "run_timed_out")


@pytest.mark.slow
@pytest.mark.behaviour("evaluation.remote-turns")
@STREAMS
async def test_a_call_that_waits_is_approved_as_of_a_plain_agent(origin: str, folder: Path, streams: bool) -> None:
    """By the framework's own response to its request; the same answer again returns the same run, and calls once."""
    agent = RemoteAgent(origin, "Clerk")
    session, before = agent.create_session(), len(notes(folder))
    waits = await response_of(agent, "call refund 7", streams=streams, session=session)
    response = await answered(agent, waits, session, True, streams=streams)
    again = await answered(agent, waits, session, True)

    assert (response.text, response.user_input_requests) == ("told: refunded 7", [])
    assert again.response_id == response.response_id != waits.response_id
    assert notes(folder)[before:] == ["refund 7"]


@pytest.mark.slow
@pytest.mark.behaviour("evaluation.remote-turns")
async def test_all_calls_that_wait_are_answered_together(origin: str, folder: Path) -> None:
    """One of two is recorded, and says which is missing; a refused one is not called."""
    agent = RemoteAgent(origin, "Clerk")
    session, before = agent.create_session(), len(notes(folder))
    waits = await agent.run("call refund 1, refund 2", session=session)
    first, _ = waits.user_input_requests
    with pytest.raises(RemoteAgentError) as refused:
        await agent.run(Message("user", [first.to_function_approval_response(True)]), session=session)
    response = await answered(agent, waits, session, True, False)

    assert refused.value.code == "approvals_pending"
    assert refused.value.detail == "These answers are recorded. The thread waits for others still: refund."
    assert "refunded 1" in response.text
    assert notes(folder)[before:] == ["refund 1"]


@pytest.mark.slow
@pytest.mark.behaviour("evaluation.remote-turns")
async def test_an_answer_has_the_value_of_its_format(origin: str) -> None:
    """A model's value, or that of a schema; one that the model does not take has no response."""
    agent = RemoteAgent(origin, "Joker")
    typed, plain, streamed = [
        await response_of(agent, 'say {"n": 7}', streams=streams, options={"response_format": wanted})
        for wanted, streams in ((Said, False), (Said.model_json_schema(), False), (Said, True))
    ]
    with pytest.raises(RemoteAgentError) as refused:
        await agent.run('say {"n": 10}', options={"response_format": Small})

    assert (typed.value, plain.value, streamed.value) == (Said(n=7), {"n": 7}, Said(n=7))
    assert refused.value.code == "invalid_output"


@pytest.mark.slow
@pytest.mark.behaviour("evaluation.remote-turns")
@pytest.mark.skipif(sys.platform == "win32", reason="the host is killed by SIGKILL")
async def test_a_host_that_is_killed_costs_no_message_and_no_answer(tmp_path: Path) -> None:
    """Neither those before the newest, nor an approval: the same call finds what was recorded."""
    folder = make_app(tmp_path, SOURCE, host=HOST)
    with RunningHost(folder) as host:
        port = host.origin.rpartition(":")[2]
        agent = RemoteAgent(host.origin, "Clerk")
        session = agent.create_session()
        asked = [TALK[0], TALK[1], Message("user", ["call refund 7"])]
        waits = await agent.run(asked, session=session, idempotency_key="k")
        os.kill(host.process.pid, signal.SIGKILL)
    running = asyncio.ensure_future(agent.run(asked, session=session, idempotency_key="k"))
    with RunningHost(folder, "--port", port):
        again = await running
        response = await answered(agent, again, session, True)

    assert (again.response_id, response.text) == (waits.response_id, "told: refunded 7")
    assert notes(folder) == ["refund 7"]


@pytest.mark.behaviour("evaluation.refusals")
async def test_an_app_that_is_not_there_is_named_once_the_patience_is_over() -> None:
    """Without the text of a library's exception."""
    with pytest.raises(RemoteAgentError) as raised:
        await RemoteAgent(CLOSED, "Joker", patience_seconds=0.3).run("hello")

    assert str(raised.value) == f"The app cannot be reached at {CLOSED}/api. Is it running there?"


@pytest.mark.behaviour("evaluation.refusals")
@pytest.mark.parametrize(
    "url", ["", "localhost:7071", "ftp://x", "http://", "http://a:99999", "http://u@a", "http://a?b"]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    """With the address, before anything is sent."""
    with pytest.raises(InvalidFieldError, match="Give where the app runs"):
        RemoteAgent(url, "Joker")


ANSWER = Content.from_function_approval_request(
    "a", Content.from_function_call("c", "refund", arguments={})
).to_function_approval_response(True)


@pytest.mark.behaviour("evaluation.refusals")
@pytest.mark.parametrize(
    ("messages", "options", "says"),
    [
        ([Message("system", ["obey"]), Message("user", ["two"])], {}, "message of another role"),
        ([ANSWER], {}, "answers and no session"),
        ([ANSWER], {"session": AgentSession(), "options": {"temperature": 0}}, "answers and options"),
        ("one", {"options": {"response_format": 7}}, "response_format is 7"),
        ("one", {"client_kwargs": {"a": 1}}, r"run\(\) got client_kwargs"),
    ],
)
def test_what_a_request_cannot_hold_is_refused(messages: Any, options: dict[str, Any], says: str) -> None:
    """Instructions before a message, answers of no thread or with options, and what stays in the caller's process."""
    with pytest.raises(InvalidFieldError, match=says):
        RemoteAgent(CLOSED, "Joker").run(messages, **options)
    with pytest.raises(InvalidFieldError, match="one id"):
        RemoteAgent(CLOSED, "Joker").get_session({"context_id": "a"})  # type: ignore[arg-type]


def texts(*deltas: tuple[int, str]) -> list[tuple[int, str]]:
    """Return the offset and the text of each update that these deltas make."""
    updates = Updates("guide")
    made = [update for offset, text in deltas for update in updates.of("delta", {"text": text, "offset": offset})]
    return [((update.additional_properties or {})["offset"], update.text) for update in made]


@pytest.mark.behaviour("evaluation.remote-agent")
@pytest.mark.parametrize(
    ("deltas", "made"),
    [
        ([(0, "The"), (3, " sun")], [(0, "The"), (3, " sun")]),
        ([(0, "The"), (0, "The"), (3, " sun")], [(0, "The"), (3, " sun")]),
        ([(0, "The"), (0, "The sun")], [(0, "The"), (3, " sun")]),
        ([(0, "The sun"), (0, "A"), (1, " moon")], [(0, "The sun"), (0, "A"), (1, " moon")]),
        ([(0, "The sun"), (4, "moon")], [(0, "The sun"), (4, "moon")]),
    ],
    ids=["in order", "twice", "cut otherwise", "said anew", "replaced in the middle"],
)
def test_a_delta_gives_what_is_new_of_it(deltas: list[tuple[int, str]], made: list[tuple[int, str]]) -> None:
    """Deltas may come again after a break, cut into other pieces; a restarted run may say something else."""
    assert texts(*deltas) == made


@pytest.mark.behaviour("evaluation.remote-agent")
def test_a_call_that_comes_again_and_those_of_an_inner_agent_give_nothing() -> None:
    """After a restart a repeated call keeps its id; an agent that is a tool has ids below that call's."""
    updates = Updates("guide")
    call: dict[str, Any] = {"id": "1.a", "tool": "look", "arguments": {}}
    events = [("tool_call", call), ("tool_call", {**call, "id": "1.a/2"}), ("tool_call", call)]
    events.append(("tool_result", {"id": "1.a", "tool": "look", "error": "It failed."}))
    made = [content for event, fields in events for update in updates.of(event, fields) for content in update.contents]

    assert [(content.type, content.call_id) for content in made] == [
        ("function_call", "1.a"),
        ("function_result", "1.a"),
    ]
    assert made[1].exception == "It failed."


@pytest.mark.behaviour("evaluation.remote-agent")
async def test_events_are_read_from_pieces_that_are_cut_anywhere() -> None:
    """Also within a character; a last one without its end is left out, and comments are none."""
    stream = ': still running\n\nid: 3\nevent: delta\ndata: {"text": "°C"}\n\nevent: completed\ndata: {}'.encode()

    async def pieces(size: int) -> AsyncIterator[bytes]:
        for start in range(0, len(stream), size):
            yield stream[start : start + size]

    for size in (1, 2, 7, len(stream)):
        assert [event async for event in sent_events(pieces(size))] == [Event("3", "delta", '{"text": "°C"}')]
