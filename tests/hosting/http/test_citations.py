"""What an answer cites, as every door shows it: agent-framework's annotations of its text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from agent_framework import Agent, Annotation, ContextProvider
from openai import OpenAI
from openai.types.responses import Response

from hosting.citations import Citation, annotation_of
from tests.support.app_folder import make_app
from tests.support.carriers import GUARD_SECONDS
from tests.support.event_stream import parse
from tests.support.made_app import app_of, served
from tests.support.npm_client import printed_by, with_packages
from tests.support.running_host import ROOT, RunningHost
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


SOURCE = """
from hosting.app import AgentFunctionApp, FileSearch
from tests.support.hashed_words import HashedWords
from tests.support.searcher import searcher

app = AgentFunctionApp(
    agents=[searcher(FileSearch(embeddings=HashedWords()))], wires=["responses", "ai-sdk"]
)
"""
TEA = "# Drinks\n\nOolong costs four crowns."
TRAIN = "# Trains\n\nThe night train leaves at nine."
ADDED = "response.output_text.annotation.added"
TWICE = "search in prices.md: oolong then train"


class Shop:
    """The running app, and its files by their names."""

    def __init__(self, origin: str, files: dict[str, str]) -> None:
        self.origin, self.files = origin, files


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """An app of an agent that searches two files."""
    with RunningHost(make_app(tmp_path_factory.mktemp("library"), SOURCE)) as host:
        with httpx.Client(base_url=f"{host.origin}/api/", timeout=GUARD_SECONDS) as http:
            for name, text in {"prices.md": TEA, "trains.md": TRAIN}.items():
                http.post("files", params={"name": name}, content=text.encode()).raise_for_status()
            files: list[dict[str, Any]] = []
            while not files or any(file["index"]["status"] != "ready" for file in files):
                files = http.get("files").json()["files"]
        yield Shop(host.origin, {file["name"]: file["file_id"] for file in files})


@pytest.mark.slow
@pytest.mark.behaviour("citations.clients")
def test_openai_s_client_has_annotations_of_each_message_that_cites(shop: Shop) -> None:
    """At the places of the marks in that message, on the stream before the message ends, and when it is read again."""
    openai = OpenAI(api_key="unused", base_url=f"{shop.origin}/api/openai/v1", timeout=GUARD_SECONDS)
    with openai.responses.stream(model="Librarian", input=TWICE) as stream:
        events = list(stream)
        whole: Any = stream.get_final_response()
    read = openai.responses.retrieve(whole.id)

    messages = [item for item in whole.output if item.type == "message"]
    for message, names in zip(messages, (["prices.md"], ["prices.md", "trains.md"]), strict=True):
        [content] = message.content
        assert sorted({annotation.filename for annotation in content.annotations}) == names
        for annotation in content.annotations:
            assert annotation.file_id == f"file-{shop.files[annotation.filename]}"
            assert content.text[annotation.index :].startswith("【")
    assert [item.content[0].annotations for item in read.output if item.type == "message"] == [
        message.content[0].annotations for message in messages
    ]
    added = [(event.item_id, event.annotation) for event in events if event.type == ADDED]
    assert [(item, dict(annotation)) for item, annotation in added] == [
        (message.id, annotation.model_dump()) for message in messages for annotation in message.content[0].annotations
    ]


@pytest.mark.slow
@pytest.mark.behaviour("citations.clients")
async def test_the_ai_sdk_s_chat_has_them_as_sources(shop: Shop, pytestconfig: pytest.Config) -> None:
    """As they come and as they are stored; the chat goes on with them."""
    script = with_packages(
        ROOT / "tests" / "hosting" / "features" / "ai_sdk" / "cited.mjs", Path(pytestconfig.cache.mkdir("ai-sdk-node"))
    )
    got = await printed_by(script, shop.origin)

    [source] = [source for source in got["came"] if source["title"] == "prices.md"]
    place = source["providerMetadata"]["agents"]
    assert (source["type"], source["mediaType"], source["filename"]) == (
        "source-document",
        "text/markdown",
        "prices.md",
    )
    assert (place["fileId"], place["heading"], place["start"]) == (shop.files["prices.md"], "Drinks", 0)
    assert place["mark"].startswith("【")
    assert got["stored"] == got["came"]
    assert got["kinds"].index("text") < got["kinds"].index("source-document")
    assert got["then"] == 4
