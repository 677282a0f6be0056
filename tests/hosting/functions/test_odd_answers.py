"""What a model or a tool gives that no store takes: half of a character, values nested too deep, errors in a circle."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from agent_framework import Agent, ChatResponse, Content, Message, Workflow, WorkflowBuilder, tool

from hosting.errors import ConfigurationError
from tests.support.answering import AnsweringClient, says
from tests.support.event_stream import parse
from tests.support.made_app import app_of, ask, served
from tests.support.thinker import SEALED, Thinker, thinker, thoughts_sent

HALF = "\ud83d"
WHOLE = "\ufffd"
DEEP = json.loads("[" * 250 + "]" * 250)
DEEPER = json.loads("[" * 700 + "]" * 700)


class OddClient(AnsweringClient):
    """Answers a message by these contents, and tells what its tools gave."""

    contents: Sequence[Content] = ()

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        newest = messages[-1]
        if newest.role == "tool":
            return says(f"told: {newest.contents[0].result}")
        return says("hello") if newest.text == "hi" else says(*self.contents)


@tool
def look(n: object = None) -> str:
    """See something."""
    return f"saw {n if isinstance(n, str) else ''}"


@tool
def dig(n: object = None) -> list[Content]:
    """Find something deep."""
    return [Content.from_text("found", additional_properties={"deep": DEEPER})]


def odd_agent(*contents: Content) -> Agent[Any]:
    """Return an agent whose model answers so."""
    client = OddClient()
    client.contents = contents
    return Agent(client, name="Joker", tools=[look, dig])


def calling(name: str, arguments: Any, call_id: str = "c") -> Content:
    """Return a model's call of a tool."""
    return Content.from_function_call(call_id=call_id, name=name, arguments=arguments)


ODD = {
    "a text": (Content.from_text(f"a{HALF}"), f"a{WHOLE}"),
    "an argument": (calling("look", {"n": HALF}), f"told: saw {WHOLE}"),
    "an argument as text": (calling("look", '{"n": "\\ud83d"}'), f"told: saw {WHOLE}"),
    "an argument's name": (calling("look", {HALF: 1}), "told: saw "),
    "a call's id": (calling("look", {"n": "it"}, call_id=f"c{HALF}"), "told: saw it"),
    "a tool's name": (calling(f"look{HALF}", {}), f'told: Error: Requested function "look{WHOLE}" not found.'),
}


@pytest.mark.behaviour("hosting.halves-replaced")
@pytest.mark.parametrize(("given", "told"), ODD.values(), ids=list(ODD))
async def test_half_of_a_character_is_its_replacement_in_what_is_stored_and_sent(given: Content, told: str) -> None:
    """Wherever a model or a tool puts it: the run goes on, and its thread is read."""
    body = {"message": "do", "thread_id": "t"}
    async with served(app_of(odd_agent(given))) as (_, http):
        answer = await http.post("/api/agents/Joker/run", json=body, headers={"accept": "text/event-stream"})
        ended = parse(answer.text)[-1].fields
        kept = await http.get("/api/agents/Joker/threads/t/export")

    assert (ended.get("response"), kept.status_code) == (told, 200)


@pytest.mark.behaviour("service.unstorable")
@pytest.mark.parametrize(
    ("given", "code"),
    [
        (calling("look", {"n": DEEP}), "unstorable_answer"),
        # From Python 3.12 on agent-framework itself gives up on a call that is nested so deep.
        (calling("look", {"n": DEEPER}), "unstorable_answer" if sys.version_info < (3, 12) else "run_failed"),
        (calling("dig", {}), "unstorable_answer"),
    ],
    ids=["deep", "deeper", "a result"],
)
async def test_a_step_that_cannot_be_written_ends_its_run_by_that_name_and_the_process_goes_on(
    given: Content, code: str
) -> None:
    gc.disable()  # what other tests left is not to be told of where the stack has no room for it
    try:
        async with served(app_of(odd_agent(given))) as (_, http):
            answer = await ask(http, "do")
            after = await ask(http, "hi")
    finally:
        gc.enable()

    assert (answer.status_code, answer.json()["code"]) == (500, code)
    assert (after.status_code, after.json()["response"]) == (200, "hello")


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
