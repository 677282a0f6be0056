"""Pictures and files in a request: `contents` over HTTP."""

import base64
from types import SimpleNamespace
from typing import Any

import pytest

from hosting.app import AgentFunctionApp
from hosting.core.request.contents import limits_of, model_inputs, read_contents
from hosting.errors import ConfigurationError, UnsupportedContentError
from hosting.offline.model import OfflineChatClient
from hosting.settings import read_settings
from tests.hosting.core.request.bad_contents import PICTURE, picture
from tests.support.carriers import Api
from tests.support.cluster.cluster import EchoAgent

REFERENCE = {"$type": "uri", "uri": "https://example.com/a.png", "mediaType": "image/png"}
TEXT = {"$type": "text", "text": "and this?"}


@pytest.mark.behaviour("http.contents")
async def test_a_message_with_contents_reaches_the_model_as_one_message_text_first(direct: Api) -> None:
    """In their order and with their names, and the answer repeats the text of the request."""
    answer = (await direct.ask("see", contents=[picture(name="a b.png"), TEXT, REFERENCE])).json()

    assert answer["message"] == "see"
    assert answer["response"] == f"user text:see data:a b.png:{PICTURE} text:and this? uri:https://example.com/a.png"
    assert answer["message_count"] == 2


@pytest.mark.behaviour("http.contents")
async def test_contents_are_kept_in_the_conversation_in_stored_form(direct: Api) -> None:
    """The media type is filled in and in lower case; later turns send the picture again."""
    shouted = picture(uri=PICTURE.replace("image/png", "IMAGE/PNG"))
    thread = (await direct.ask("see", contents=[shouted, REFERENCE])).json()["thread_id"]

    request, _ = await direct.entries(thread)

    assert request["messages"][0]["contents"] == [
        {"$type": "text", "text": "see"},
        {**shouted, "mediaType": "image/png"},
        REFERENCE,
    ]
    assert (await direct.ask("count", thread_id=thread)).json()["response"] == "3"


@pytest.mark.behaviour("http.contents-limits")
async def test_a_picture_of_the_largest_size_is_taken(direct: Api) -> None:
    """The limit is of the data URI, because that is what the conversation keeps."""
    head = "data:image/png;base64,"
    largest = head + base64.b64encode(b"\0" * ((262_144 - len(head)) // 4 * 3)).decode()

    answer = await direct.ask("look", contents=[picture(uri=largest)])

    assert (answer.status_code, len(largest) > 262_140) == (200, True)


PDF = {"$type": "data", "uri": "data:application/pdf;base64,aGk="}
FILE = {"$type": "hostedFile", "fileId": "f-1"}


@pytest.mark.behaviour("http.model-inputs")
@pytest.mark.parametrize(
    ("agent", "setting", "names"),
    [
        (SimpleNamespace(), "image/*, audio/wav", ("image/*", "audio/wav")),
        (SimpleNamespace(client=SimpleNamespace(MODEL_INPUTS=("text",))), "image/*", ("text",)),
        (SimpleNamespace(client=SimpleNamespace(MODEL_INPUTS=())), "image/*", ()),
        (SimpleNamespace(MODEL_INPUTS=("hostedFile",), client=OfflineChatClient()), "image/*", ("hostedFile",)),
        (SimpleNamespace(client=OfflineChatClient()), "image/*", ("text",)),
    ],
)
def test_the_agent_goes_before_its_client_before_the_setting(agent: Any, setting: str, names: Any) -> None:
    """Whoever knows best; the offline model takes text only."""
    assert model_inputs(agent, setting).names == names


@pytest.mark.behaviour("http.model-inputs")
@pytest.mark.parametrize(
    ("setting", "content", "is_taken"),
    [
        ("application/pdf", PDF, True),
        ("application/*", PDF, True),
        ("*/*", PDF, True),
        ("image/*,hostedFile", FILE, True),
        ("text", PDF, False),
        ("image/*", PDF, False),
        ("*/*", FILE, False),
    ],
)
def test_what_is_not_declared_is_refused_before_the_run(setting: str, content: dict[str, str], is_taken: bool) -> None:
    """A client that cannot take it might drop it silently."""
    limits = limits_of(None, read_settings({"AGENT_MODEL_INPUTS": setting}))
    if is_taken:
        assert [item["$type"] for item in read_contents([content], limits)] == [content["$type"]]
        return

    with pytest.raises(UnsupportedContentError) as refused:
        read_contents([content], limits)

    assert "the model of this agent takes text" in refused.value.detail


@pytest.mark.parametrize(("names", "wrong"), [("image/*", "image/*"), (["image/*", "pictures"], "pictures")])
def test_a_declaration_that_is_none_is_refused_at_start_up(names: Any, wrong: str) -> None:
    agent: Any = EchoAgent()
    agent.MODEL_INPUTS = names

    with pytest.raises(ConfigurationError) as refused:
        AgentFunctionApp(agents=[agent], environ={"AGENT_LOG": "memory"})

    assert refused.value.detail.startswith(f"MODEL_INPUTS of EchoAgent has {wrong!r}. List media types such as")
