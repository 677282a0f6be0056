"""What an answer cites, as the official clients of each protocol read it, over a socket to a real host."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai import OpenAI

from hosting.client.remote_agent import RemoteAgent
from tests.support.app_folder import make_app
from tests.support.carriers import GUARD_SECONDS
from tests.support.npm_client import printed_by, with_packages
from tests.support.running_host import ROOT, RunningHost

SOURCE = """
from hosting.app import AgentFunctionApp, FileSearch
from tests.support.hashed_words import HashedWords
from tests.support.searcher import searcher

app = AgentFunctionApp(
    agents=[searcher(FileSearch(embeddings=HashedWords()))], wires=["responses", "ai-sdk", "ag-ui", "a2a"]
)
"""
TEA = "# Drinks\n\nOolong costs four crowns."
TRAIN = "# Trains\n\nThe night train leaves at nine."
TWICE = "search in prices.md: oolong then train"

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("citations.clients")]


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


@pytest.mark.parametrize("streams", [False, True])
def test_openai_s_client_has_annotations_of_each_message_that_cites(shop: Shop, streams: bool) -> None:
    """At the places of the marks in that message, and on the stream before the message ends."""
    openai = OpenAI(api_key="unused", base_url=f"{shop.origin}/api/openai/v1", timeout=GUARD_SECONDS)
    added: list[Any] = []
    if streams:
        with openai.responses.stream(model="Librarian", input=TWICE) as stream:
            events = list(stream)
            whole: Any = stream.get_final_response()
        added = [event for event in events if event.type == "response.output_text.annotation.added"]
    else:
        whole = openai.responses.create(model="Librarian", input=TWICE)
    read = openai.responses.retrieve(whole.id)

    messages = [item for item in whole.output if item.type == "message"]
    assert len(messages) == 2
    for message, names in zip(messages, (["prices.md"], ["prices.md", "trains.md"]), strict=True):
        [content] = message.content
        assert sorted({annotation.filename for annotation in content.annotations}) == names
        for annotation in content.annotations:
            assert annotation.file_id == f"file-{shop.files[annotation.filename]}"
            assert content.text[annotation.index :].startswith("【")
    assert [item.content[0].annotations for item in read.output if item.type == "message"] == [
        message.content[0].annotations for message in messages
    ]
    if streams:
        whole_texts = [annotation for message in messages for annotation in message.content[0].annotations]
        assert [
            event.annotation.model_dump() if hasattr(event.annotation, "model_dump") else dict(event.annotation)
            for event in added
        ] == [annotation.model_dump() for annotation in whole_texts]
        assert [event.item_id for event in added] == [
            message.id for message in messages for _ in message.content[0].annotations
        ]


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


@pytest.mark.parametrize("streams", [False, True])
async def test_a_remote_agent_has_them_as_annotations(shop: Shop, streams: bool) -> None:
    """As agent-framework has them of the plain agent, at the places of the marks."""
    agent = RemoteAgent(shop.origin, "Librarian")
    if streams:
        stream = agent.run("search oolong", stream=True)
        _ = [update async for update in stream]
        answer = await stream.get_final_response()
    else:
        answer = await agent.run("search oolong")

    [content] = [content for content in answer.messages[-1].contents if content.type == "text"]
    assert "prices.md" in [annotation["title"] for annotation in content.annotations or ()]
    for annotation in content.annotations or ():
        assert annotation["file_id"] == shop.files[annotation["title"]]
        for region in annotation["annotated_regions"]:
            mark = (content.text or "")[region["start_index"] : region["end_index"]]
            assert mark == annotation["additional_properties"]["mark"]
