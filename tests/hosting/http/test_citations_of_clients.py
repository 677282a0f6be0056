"""What an answer cites, as the official clients of each protocol read it, over a socket to a real host."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai import OpenAI

from tests.support.app_folder import make_app
from tests.support.carriers import GUARD_SECONDS
from tests.support.npm_client import printed_by, with_packages
from tests.support.running_host import ROOT, RunningHost

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
