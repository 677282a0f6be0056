"""Entries that refer to their large contents: taken out, put back, and what is not touched."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator

from state.attachments import Attachment, Exchange, external_bytes, externalized, inlined, references
from state.codec import entry_value, read_entry
from tests.support.state_documents import NOON, OWN_SCHEMA, PUBLIC_SCHEMA

BODY = bytes(range(256)) * 8
HASH = hashlib.sha256(BODY).hexdigest()
REFERENCE = {"sha256": HASH, "bytes": 2048, "mediaType": "image/png"}


def data_uri(body: bytes, media_type: str = "image/png") -> str:
    return f"data:{media_type};base64,{base64.b64encode(body).decode()}"


def a_request(*contents: dict[str, Any]) -> Exchange:
    message = {"role": "user", "contents": list(contents)}
    value = {"$type": "request", "correlationId": "r", "createdAt": NOON, "messages": [message]}
    return cast(Exchange, read_entry({**value, "responseType": "text"}))


def contents_of(entry: Exchange) -> list[dict[str, Any]]:
    return list(entry_value(entry)["messages"][0]["contents"])


PICTURE = {"$type": "data", "uri": data_uri(BODY), "mediaType": "image/png"}


@pytest.mark.behaviour("erasure.attachments")
def test_a_large_content_becomes_a_reference_by_hash_and_size() -> None:
    """What is small stays, what the content holds besides stays, and the schemas hold."""
    small = {"$type": "data", "uri": data_uri(b"dot"), "mediaType": "image/png"}
    extra = {"agentFramework": {"name": "a.png"}, "else": 1}

    found = externalized(a_request({"$type": "text", "text": "see"}, {**PICTURE, **extra}, small), 2047)

    reference = {"$type": "text", "text": "[image/png, 2048 bytes]", "attachment": REFERENCE, **extra}
    assert contents_of(found.entry) == [{"$type": "text", "text": "see"}, reference, small]
    assert found.attachments == (Attachment(HASH, BODY),)
    assert references(found.entry) == {HASH}
    del reference["else"]
    document = {
        "schemaVersion": "1.1.0",
        "data": {"conversationHistory": [entry_value(externalized(a_request(PICTURE), 0).entry)]},
    }
    for schema in (OWN_SCHEMA, PUBLIC_SCHEMA):
        Draft202012Validator(schema).validate(document)


def a_response(history: list[dict[str, Any]], *contents: dict[str, Any]) -> Exchange:
    message = {"role": "tool", "contents": list(contents)}
    value = {"$type": "response", "correlationId": "r", "createdAt": NOON, "messages": [message]}
    return cast(Exchange, read_entry({**value, "agentFramework": {"history": history}}))


@pytest.mark.behaviour("erasure.attachments")
def test_pictures_of_tools_results_and_of_a_runs_own_history_are_taken_out_and_put_back() -> None:
    """They stand under our property, those of a result in the framework's own form."""
    items = [{"type": "text", "text": "a map"}, {"type": "data", "uri": data_uri(BODY), "media_type": "image/png"}]
    result = {"$type": "functionResult", "callId": "c", "result": "", "agentFramework": {"items": items}}
    history = [{"response": 0}, {"role": "user", "contents": [PICTURE, result, "of somebody else"]}, 7]
    entry = a_response(history, result)

    taken = externalized(entry, 2047)

    assert external_bytes(entry, 2047) == 3 * len(data_uri(BODY))
    assert [attachment.sha256 for attachment in taken.attachments] == [HASH] * 3
    assert references(taken.entry) == {HASH}
    assert data_uri(BODY) not in json.dumps(entry_value(taken.entry))
    assert entry_value(inlined(taken.entry, {HASH: BODY})) == entry_value(entry)
    assert "no longer kept" in json.dumps(entry_value(inlined(taken.entry, {})))


@pytest.mark.parametrize(
    "content",
    [
        {"$type": "data", "uri": data_uri(BODY), "mediaType": "image/jpeg"},
        {"$type": "data", "uri": data_uri(BODY)},
        {"$type": "data", "uri": f"data:image/png;charset=x;base64,{'A' * 4000}", "mediaType": "image/png"},
        {"$type": "data", "uri": f"data:image/png;base64,{'A' * 4001}", "mediaType": "image/png"},
        {"$type": "data", "uri": f"data:image/png,{'%41' * 2000}", "mediaType": "image/png"},
        {"$type": "data", "uri": None, "mediaType": "image/png"},
        {"$type": "uri", "uri": f"https://example.com/{'a' * 4000}", "mediaType": "image/png"},
        {"$type": "text", "text": "a" * 4000},
    ],
)
def test_what_could_not_be_written_again_from_its_bytes_stays(content: dict[str, Any]) -> None:
    entry = a_request(content)

    found = externalized(entry, 1024)

    assert (entry_value(found.entry), found.attachments) == (entry_value(entry), ())


@pytest.mark.parametrize(
    "other",
    [
        {"$type": "text", "text": "[image/png, 2048 bytes]"},
        {"$type": "text", "text": "[image/png, 2048 bytes]", "attachment": HASH},
        {"$type": "text", "text": "[image/png, 2048 bytes]", "attachment": {**REFERENCE, "sha256": HASH[1:]}},
        {"$type": "text", "text": "[image/png, 2048 bytes]", "attachment": {**REFERENCE, "sha256": f"{HASH}\n"}},
        {"$type": "reasoning", "text": "[image/png, 2048 bytes]", "attachment": REFERENCE},
    ],
)
def test_what_others_write_is_no_reference(other: dict[str, Any]) -> None:
    """A text that reads like one, and a property of ours with another value in it."""
    entry = a_request(other)

    assert not references(entry)
    assert entry_value(inlined(entry, {HASH: BODY})) == entry_value(entry)
