"""Contents that a caller gives for a new message."""

from __future__ import annotations

from typing import Any

import pytest

from state.contents import checked_content
from state.errors import BadContentError


@pytest.mark.behaviour("state.given-contents-checked")
@pytest.mark.parametrize(
    ("bad", "field", "advice"),
    [
        ("text", "", "must be an object"),
        ({}, "$type", "Use one of text, data, uri, hostedFile"),
        ({"$type": ["text"]}, "$type", "Use one of"),
        ({"$type": "functionCall", "callId": "c", "name": "f"}, "$type", "Use one of"),
        ({"$type": "text"}, "text", "must be a string"),
        ({"$type": "text", "text": 7}, "text", "must be a string"),
        ({"$type": "text", "text": " \n"}, "text", "not blank"),
        ({"$type": "text", "text": "a", "agentFramework": {}}, "agentFramework", "Use $type, text"),
        ({"$type": "data", "uri": "https://example.com"}, "uri", "must look like data:"),
        ({"$type": "data", "uri": "data:image/png,plain"}, "uri", "must look like data:"),
        ({"$type": "data", "uri": "data:image/png;base64,%%%"}, "uri", "not valid base64"),
        ({"$type": "data", "uri": "data:image/png;base64,aGk=", "mediaType": None}, "mediaType", "must be a string"),
        ({"$type": "uri", "uri": "cat.png", "mediaType": "image/png"}, "uri", "must be an absolute URI"),
        ({"$type": "uri", "uri": "data:image/png;base64,aGk=", "mediaType": "x/y"}, "uri", '"$type": "data"'),
        ({"$type": "uri", "uri": "https://example.com"}, "mediaType", "must be a string"),
        ({"$type": "hostedFile"}, "fileId", "must be a string"),
    ],
)
def test_a_bad_content_is_refused_by_its_place(bad: Any, field: str, advice: str) -> None:
    with pytest.raises(BadContentError) as refusal:
        checked_content(1, bad)

    assert (refusal.value.index, refusal.value.field) == (1, field)
    assert advice in str(refusal.value)
