"""Pictures and files in a request: `contents` over HTTP."""

import base64
import re

import jsonschema_rs
import pytest

from hosting.core.request.contents import NOT_BLANK
from tests.hosting.core.request.bad_contents import PICTURE, picture
from tests.support.carriers import Api

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


def test_the_schema_takes_a_text_for_blank_where_python_does() -> None:
    """In every language: a schema's patterns are ECMAScript's, and readers have their own."""
    compiled, in_python = jsonschema_rs.validator_for(NOT_BLANK), re.compile(NOT_BLANK["pattern"])
    characters = [chr(code) for code in range(0x10000) if not 0xD800 <= code < 0xE000]

    assert [one for one in characters if compiled.is_valid(one) != bool(one.strip())] == []
    assert [one for one in characters if bool(in_python.search(one)) != bool(one.strip())] == []
