"""What an answer cites, as every door shows it: agent-framework's annotations of its text."""

from __future__ import annotations

from typing import Any

import pytest
from agent_framework import Agent, Annotation, ContextProvider
from openai.types.responses import Response

from hosting.citations import Citation, annotation_of
from tests.support.event_stream import parse
from tests.support.made_app import app_of, served
from tests.support.searcher import SearchersClient
from tests.support.strictly import events_of, response

MARK = "【0a1b2c3d】"
CITATION: Citation = {
    "name": "prices.pdf",
    "file_id": "f1",
    "mark": MARK,
    "page": 3,
    "heading": "Prices",
    "start": 10,
    "end": 90,
}
PAGE: Citation = {"name": "A page", "url": "https://pages.example/a"}
SAID = f"You said It costs 4 {MARK}, or 5 {MARK}."
ASKED = SAID.removeprefix("You said ")


class _Citing(ContextProvider):
    """Annotates the answer after the run, as a search in files does, and as some models' clients do."""

    async def after_run(self, *, context: Any, **others: Any) -> None:
        for message in context.response.messages:
            for content in message.contents:
                start = content.text.index(MARK)
                file = annotation_of(CITATION, [(start, start + len(MARK))])
                page = Annotation(type="citation", title=PAGE["name"], url=PAGE["url"])
                content.annotations = [*(content.annotations or ()), file, page, file]


def citing() -> Agent[Any]:
    """Return the agent that says a text again and cites for it."""
    return Agent(SearchersClient(), name="Teller", context_providers=[_Citing("citing")])


@pytest.mark.behaviour("citations.answer")
@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
async def test_an_answer_has_its_citations(accept: str) -> None:
    """Each once, also on the stream, and when the run is read again."""
    async with served(app_of(citing())) as (_, http):
        answer = await http.post(
            "/api/agents/Teller/run", json={"message": ASKED, "thread_id": "t"}, headers={"accept": accept}
        )
        end = answer.json() if accept == "application/json" else parse(answer.text)[-1].fields
        run = (await http.get(f"/api/agents/Teller/threads/t/runs/{end['run_id']}")).json()
        entries = (await http.get("/api/agents/Teller/threads/t/messages")).text

    assert end["response"] == SAID
    assert end["citations"] == run["citations"] == [CITATION, PAGE]
    assert "annotated_regions" in entries


@pytest.mark.behaviour("citations.responses")
@pytest.mark.parametrize("streams", [False, True])
async def test_a_response_has_them_as_the_protocol_s_annotations(streams: bool) -> None:
    """One for each mark, at its place in the text, and one for a page of the web; on the stream as events."""
    async with served(app_of(citing(), wires=["responses"])) as (_, http):
        body = {"model": "Teller", "input": ASKED, "stream": streams}
        answer = await http.post("/api/openai/v1/responses", json=body)
        events = events_of(answer.text) if streams else []
        whole: Response = events[-1].response if streams else response(answer.json())
        again = response((await http.get(f"/api/openai/v1/responses/{whole.id}")).json())

    [message] = whole.output
    annotations = [annotation.model_dump() for annotation in message.content[0].annotations]
    file = {"type": "file_citation", "file_id": "file-f1", "filename": "prices.pdf"}
    first, second = SAID.index(MARK), SAID.rindex(MARK)
    page = {"type": "url_citation", "url": PAGE["url"], "title": "A page", "start_index": 0, "end_index": len(SAID)}
    assert annotations == [{**file, "index": first}, {**file, "index": second}, page]
    assert again == whole
    added = [event for event in events if event.type == "response.output_text.annotation.added"]
    assert [event.annotation.model_dump() for event in added] == (annotations if streams else [])
    assert [event.annotation_index for event in added] == ([0, 1, 2] if streams else [])
