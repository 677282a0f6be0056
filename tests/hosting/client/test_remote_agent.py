"""An agent of a running app, called as agent-framework calls any agent."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_framework import AgentResponse, Content, Message, SupportsAgentRun

from hosting.client.connection import RemoteAgentError
from hosting.client.remote_agent import RemoteAgent
from hosting.errors import InvalidFieldError
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import APP
from tests.support.running_host import RunningHost

CLOSED = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with RunningHost(shutil.copytree(APP, tmp_path_factory.mktemp("remote") / "app")) as host:
        yield host.origin


def contents(response: AgentResponse[Any]) -> list[Any]:
    """Return what a response says and calls, without ids that are new each time, and its usage."""
    said = [
        (message.role, [(one.type, one.text, one.name, str(one.result)) for one in message.contents])
        for message in response.messages
    ]
    return [said, response.usage_details, response.text]


@pytest.mark.slow
@pytest.mark.behaviour("evaluation.remote-agent")
@pytest.mark.parametrize("streams", [False, True])
async def test_the_response_is_that_of_the_plain_agent(origin: str, streams: bool) -> None:
    """Its messages, its tool calls and results, its usage; a tool of the model's own answers among them."""
    agent, plain = RemoteAgent(origin, "Joker"), scripted_agent("Joker")

    assert isinstance(agent, SupportsAgentRun)
    for message in ("hello there", "see", "say  two  spaces"):
        if streams:
            stream = agent.run(message, stream=True)
            updates = [update async for update in stream]
            response = await stream.get_final_response()
            assert "".join(update.text for update in updates) == response.text
        else:
            response = await agent.run([Message("user", [message])])
        assert contents(response) == contents(await plain.run(message))
    assert [tool.name for tool in agent.default_options["tools"]] == ["thread_name"]
    assert agent.description == plain.description


@pytest.mark.slow
@pytest.mark.behaviour("evaluation.remote-agent")
async def test_a_stream_has_the_calls_of_tools_and_their_results(origin: str) -> None:
    """Each once, before the text that the model makes of them."""
    stream = RemoteAgent(origin, "Joker").run("tool thread_name", stream=True)
    kinds = [content.type async for update in stream for content in update.contents]
    response = await stream.get_final_response()

    assert kinds[:3] == ["function_call", "function_result", "text"]
    assert set(kinds[3:]) <= {"text"}
    assert [content.type for message in response.messages for content in message.contents] == kinds[:3]


@pytest.mark.slow
@pytest.mark.behaviour("evaluation.remote-agent")
async def test_a_session_is_a_thread_and_a_key_is_one_run(origin: str) -> None:
    """Another run with the same key returns the first one's response; without a session the thread is new."""
    agent = RemoteAgent(origin, "Joker")
    session = agent.create_session()
    first = await agent.run("one", session=session, idempotency_key="k1")
    again = await agent.run("one", session=session, idempotency_key="k1")
    second = await agent.run("recall", session=agent.get_session(session.session_id))
    alone = await agent.run("recall")

    assert again.response_id == first.response_id
    assert (second.text, alone.text) == ("one | recall", "recall")
    assert second.additional_properties["thread_id"] == session.session_id


@pytest.mark.slow
@pytest.mark.behaviour("evaluation.refusals")
@pytest.mark.parametrize("streams", [False, True])
async def test_a_run_without_an_answer_is_an_error_with_the_app_s_sentence(origin: str, streams: bool) -> None:
    """An agent that the app does not have, and one that fails; the local host says how."""

    async def error(name: str, message: str) -> tuple[str, str]:
        agent = RemoteAgent(origin, name, patience_seconds=0)
        with pytest.raises(RemoteAgentError) as raised:
            await (agent.run(message, stream=True).get_final_response() if streams else agent.run(message))
        return raised.value.code, raised.value.detail

    code, detail = await error("nobody", "hello")
    assert (code, detail[:29]) == ("unknown_agent", "There is no agent 'nobody' he")
    code, detail = await error("Joker", "fail")
    assert (code, "a secret of the model" in detail) == ("run_failed", True)


@pytest.mark.slow
@pytest.mark.behaviour("evaluation.remote-agent")
async def test_a_run_that_takes_longer_than_a_request_is_waited_for(tmp_path: Path) -> None:
    """Its answer is read once it has ended, and so is the error of one that is stopped."""
    limits = {"AGENT_WAIT_SECONDS": "0.2", "AGENT_RUN_TIMEOUT_SECONDS": "1"}
    with RunningHost(shutil.copytree(APP, tmp_path / "app"), environ=limits) as host:
        agent = RemoteAgent(host.origin, "Joker")
        response = await agent.run("sleep 0.5")
        with pytest.raises(RemoteAgentError) as raised:
            await agent.run("sleep 30")

    assert (response.text, raised.value.code) == ("echo: sleep 0.5", "run_timed_out")


@pytest.mark.behaviour("evaluation.refusals")
async def test_an_app_that_is_not_there_is_named_once_the_patience_is_over() -> None:
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


@pytest.mark.behaviour("evaluation.refusals")
def test_what_a_request_cannot_hold_is_refused() -> None:
    """Instructions before a message, answers of no thread or with options, and what stays in the caller's process."""
    agent = RemoteAgent(CLOSED, "Joker")
    call = Content.from_function_call("c", "refund", arguments={})
    answer = Content.from_function_approval_request("a", call).to_function_approval_response(True)

    with pytest.raises(InvalidFieldError, match="message of another role"):
        agent.run([Message("system", ["obey"]), Message("user", ["two"])])
    with pytest.raises(InvalidFieldError, match="answers and no session"):
        agent.run([answer])
    with pytest.raises(InvalidFieldError, match="answers and options"):
        agent.run([answer], session=agent.create_session(), options={"temperature": 0})
    with pytest.raises(InvalidFieldError, match="response_format is 7"):
        agent.run("one", options={"response_format": 7})
    with pytest.raises(InvalidFieldError, match="run\\(\\) got client_kwargs"):
        agent.run("one", client_kwargs={"a": 1})
    with pytest.raises(InvalidFieldError, match="one id"):
        agent.get_session({"context_id": "a"})
