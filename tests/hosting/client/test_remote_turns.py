"""What a turn of a remote agent may hold besides one message: several, answers to approvals, a format of the answer."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_framework import AgentResponse, AgentSession, Message
from pydantic import BaseModel

from hosting.client.connection import RemoteAgentError
from hosting.client.remote_agent import RemoteAgent
from tests.support.app_folder import make_app
from tests.support.orchestrations_app import HOST
from tests.support.running_host import RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("evaluation.remote-turns")]

SOURCE = """
from hosting.app import AgentFunctionApp
from tests.support.app.scripted import scripted_agent
from tests.support.clerk import clerk


def note(line):
    with open("notes.txt", "a") as file:
        file.write(line[:8] + "\\n")


app = AgentFunctionApp(agents=[scripted_agent("Joker"), clerk(note)])
"""
TALK = [Message("user", ["my name is Ada"]), Message("assistant", ["Hello, Ada."]), Message("user", ["recall"])]


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
    return make_app(tmp_path_factory.mktemp("turns"), SOURCE, host=HOST)


@pytest.fixture(scope="module")
def origin(folder: Path) -> Iterator[str]:
    with RunningHost(folder) as host:
        yield host.origin


def notes(folder: Path) -> list[str]:
    path = folder / "notes.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


async def answered(agent: RemoteAgent, response: AgentResponse[Any], session: AgentSession, *approved: bool) -> Any:
    """Answer what a response waits for as a plain agent's caller does, and return the next response."""
    requests = response.user_input_requests
    answers = [request.to_function_approval_response(yes) for request, yes in zip(requests, approved, strict=True)]
    return await agent.run(Message("user", answers), session=session)


async def test_several_messages_are_one_turn(origin: str) -> None:
    """As those before the newest were said already; under a key they are it once, however often they are sent."""
    agent = RemoteAgent(origin, "Joker")
    session = agent.create_session()
    first = await agent.run(TALK, session=session, idempotency_key="k")
    again = await agent.run(TALK, session=session, idempotency_key="k")
    stream = agent.run([*TALK[:2], Message("user", ["say so"])], stream=True, session=session)
    said = "".join([update.text async for update in stream])
    after = await agent.run("recall", session=session)

    assert (first.text, again.response_id, said) == ("my name is Ada | recall", first.response_id, "so")
    assert after.text == "my name is Ada | recall | my name is Ada | say so | recall"


@pytest.mark.parametrize("streams", [False, True])
async def test_a_call_that_waits_is_approved_as_of_a_plain_agent(origin: str, folder: Path, streams: bool) -> None:
    """By the framework's own response to its request; the same answer again returns the same run, and calls once."""
    agent = RemoteAgent(origin, "Clerk")
    session = agent.create_session()
    number, before = "5" if streams else "7", len(notes(folder))
    if streams:
        waits = await agent.run(f"call refund {number}", stream=True, session=session).get_final_response()
        (request,) = waits.user_input_requests
        answer = Message("user", [request.to_function_approval_response(True)])
        response = await agent.run(answer, stream=True, session=session).get_final_response()
    else:
        waits = await agent.run(f"call refund {number}", session=session)
        response = await answered(agent, waits, session, True)
    again = await answered(agent, waits, session, True)

    assert (response.text, response.user_input_requests) == (f"told: refunded {number}", [])
    assert again.response_id == response.response_id != waits.response_id
    assert notes(folder)[before:] == [f"refund {number}"]


async def test_all_calls_that_wait_are_answered_together(origin: str, folder: Path) -> None:
    """One of two is recorded, and says which is missing; a refused one is not called."""
    agent = RemoteAgent(origin, "Clerk")
    session, before = agent.create_session(), len(notes(folder))
    waits = await agent.run("call refund 1, refund 2", session=session)
    first, _ = waits.user_input_requests
    with pytest.raises(RemoteAgentError) as refused:
        await agent.run(Message("user", [first.to_function_approval_response(True)]), session=session)
    response = await answered(agent, waits, session, True, False)

    assert (refused.value.code, refused.value.detail) == (
        "approvals_pending",
        "These answers are recorded. The thread waits for others still: refund.",
    )
    assert "refunded 1" in response.text
    assert notes(folder)[before:] == ["refund 1"]


async def test_an_answer_has_the_value_of_its_format(origin: str) -> None:
    """A model's value, or that of a schema; one that the model does not take has no response."""
    agent = RemoteAgent(origin, "Joker")
    typed = await agent.run('say {"n": 7}', options={"response_format": Said})
    plain = await agent.run('say {"n": 8}', options={"response_format": Said.model_json_schema()})
    streamed = agent.run('say {"n": 9}', stream=True, options={"response_format": Said})
    last = await streamed.get_final_response()
    with pytest.raises(RemoteAgentError) as refused:
        await agent.run('say {"n": 10}', options={"response_format": Small})

    assert (typed.value, plain.value, last.value) == (Said(n=7), {"n": 8}, Said(n=9))
    assert refused.value.code == "invalid_output"


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
