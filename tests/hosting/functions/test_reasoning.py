"""The thoughts of an agent's model: kept and given back, shown to callers too, or dropped."""

from __future__ import annotations

import json
from typing import Any

import pytest
from agent_framework import Workflow, WorkflowBuilder

from hosting.errors import ConfigurationError
from tests.support.event_stream import parse
from tests.support.made_app import app_of, ask, served
from tests.support.thinker import SEALED, Thinker, thinker, thoughts_sent

THREAD = "/api/agents/Joker/threads/t"
LOOKED = [("Let me look.", SEALED), ("It is a door.", SEALED)]


def build() -> Workflow:
    """Return a workflow of one agent."""
    return WorkflowBuilder(start_executor=thinker(name="Writer"), name="Write").build()


def app(reasoning: str, model: Thinker | None = None, **options: Any) -> Any:
    """Return the app of an agent with that switch."""
    made = app_of(**options)
    made.add_agent(thinker(model), reasoning=reasoning)  # type: ignore[arg-type]
    return made


async def stored(host: Any, http: Any) -> str:
    """Return all that is stored of the thread: its export, and the document of its entity."""
    await host.entities.idle()
    export = (await http.get(f"{THREAD}/export")).text
    return export + json.dumps(host.entities.states)


@pytest.mark.behaviour("reasoning.kept")
@pytest.mark.parametrize("reasoning", ["show", None])
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_thoughts_are_given_back_to_the_model_unread(reasoning: Any, streamed: bool) -> None:
    """In its run and in the next, with what its provider sealed; they are stored, and exported with the thread."""
    model = Thinker()
    async with served(app(reasoning, model)) as (host, http):
        await ask(http, "look", thread_id="t", stream=streamed)
        await ask(http, "so", thread_id="t", stream=streamed)
        kept = await stored(host, http)

    assert [thoughts_sent(messages) for messages in model.sent] == [[], LOOKED[:1], LOOKED]
    assert all(text in kept for text in ("Let me look.", "It is a door.", "They said so.", SEALED))


@pytest.mark.behaviour("reasoning.dropped")
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_dropped_thoughts_are_in_no_store(streamed: bool) -> None:
    """The model gets them back while its run is at work, as its tools' results want, and no later."""
    model = Thinker()
    async with served(app("drop", model)) as (host, http):
        answer = await ask(http, "look", thread_id="t", stream=streamed)
        await ask(http, "so", thread_id="t", stream=streamed)
        kept = await stored(host, http)

    assert [thoughts_sent(messages) for messages in model.sent] == [[], LOOKED[:1], []]
    assert not any(text in kept + answer.text for text in ("Let me look.", "It is a door.", "They said", SEALED))
    assert "A door." in kept


async def everything(http: Any) -> str:
    """Return the text of every answer about the thread and its one run, but the export of all its data."""
    run_id = (await http.get(f"{THREAD}/runs")).json()["runs"][0]["run_id"]
    run = f"{THREAD}/runs/{run_id}"
    paths = [
        THREAD,
        f"{THREAD}/messages",
        run,
        f"{run}/events",
        f"{run}/timeline",
        f"{run}/step?id=1",
        f"{run}/step?id=2",
    ]
    answers = [await http.get(path) for path in paths]
    assert {answer.status_code for answer in answers} == {200}
    return "".join(answer.text for answer in answers)


@pytest.mark.behaviour("reasoning.shown")
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_kept_thoughts_are_shown_to_no_caller(streamed: bool) -> None:
    async with served(app("keep")) as (_, http):
        answer = await ask(http, "look", thread_id="t", stream=streamed)
        read = await everything(http)

    assert not any(text in answer.text + read for text in ("Let me", "It is a", SEALED, 'reasoning"'))


@pytest.mark.behaviour("reasoning.shown")
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_shown_thoughts_are_read_and_what_a_provider_sealed_is_not(streamed: bool) -> None:
    """In the thread's messages, in the stream behind its run, and in the timeline with the call that had them."""
    async with served(app("show")) as (_, http):
        answer = await ask(http, "look", thread_id="t", stream=streamed)
        read = await everything(http)
        run_id = (await http.get(f"{THREAD}/runs")).json()["runs"][0]["run_id"]
        entries = (await http.get(f"{THREAD}/messages")).json()["entries"]
        frames = parse((await http.get(f"{THREAD}/runs/{run_id}/events")).text)
        steps = (await http.get(f"{THREAD}/runs/{run_id}/timeline")).json()["steps"]

    told = [(event, data.get("text")) for _, event, data in frames if event in ("reasoning", "tool_call", "delta")]
    assert SEALED not in answer.text + read
    assert [content for message in entries[1]["messages"] for content in message["contents"][:1]][::2] == [
        {"$type": "reasoning", "text": "Let me look."},
        {"$type": "reasoning", "text": "It is a door."},
    ]
    assert "".join(text for event, text in told if event == "reasoning") == "Let me look.It is a door."
    assert told.index(("tool_call", None)) > 0
    assert [step.get("reasoning") for step in steps if step["kind"] == "model_call"] == [
        "Let me look.",
        "It is a door.",
    ]


@pytest.mark.behaviour("reasoning.refused")
def test_another_switch_is_refused_at_the_start() -> None:
    with pytest.raises(ConfigurationError, match=r"reasoning of agent 'Joker' is 'hide'\. Give one of"):
        app("hide")
    with pytest.raises(ConfigurationError, match=r"reasoning of workflow 'Write' is 'drop', and its executors keep"):
        app_of().add_agent(build().as_agent("Write"), reasoning="drop")
