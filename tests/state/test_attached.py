"""Entries that refer to their large contents: taken out, put back, and what is not touched."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from state.attached import Attachment, Exchange, attached, detachable_bytes, detached, references
from state.codec import entry_value, read_entry
from tests.support.state_documents import NOON, OWN_SCHEMA, PUBLIC_SCHEMA

BODY = bytes(range(256)) * 8
HASH = hashlib.sha256(BODY).hexdigest()
REFERENCE = f"agent-attachment:sha256/{HASH}?bytes=2048"


def data_uri(body: bytes, media_type: str = "image/png") -> str:
    return f"data:{media_type};base64,{base64.b64encode(body).decode()}"


def asked(*contents: dict[str, Any]) -> Exchange:
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

    found = detached(asked({"$type": "text", "text": "see"}, {**PICTURE, **extra}, small), 2047)

    reference = {"$type": "uri", "uri": REFERENCE, "mediaType": "image/png", **extra}
    assert contents_of(found.entry) == [{"$type": "text", "text": "see"}, reference, small]
    assert found.attachments == (Attachment(HASH, BODY),)
    assert references(found.entry) == {HASH}
    del reference["else"]
    document = {
        "schemaVersion": "1.1.0",
        "data": {"conversationHistory": [entry_value(detached(asked(PICTURE), 0).entry)]},
    }
    for schema in (OWN_SCHEMA, PUBLIC_SCHEMA):
        Draft202012Validator(schema).validate(document)


@pytest.mark.behaviour("erasure.attachments")
@given(body=st.binary(min_size=1, max_size=300), name=st.text())
def test_what_is_put_back_is_what_was_taken_out(body: bytes, name: str) -> None:
    """Byte for byte."""
    entry = asked({"$type": "data", "uri": data_uri(body), "mediaType": "image/png", "name": name})

    found = detached(entry, 0)

    assert references(found.entry) == {hashlib.sha256(body).hexdigest()}
    assert entry_value(attached(found.entry, {one.sha256: one.body for one in found.attachments})) == entry_value(entry)


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
    """Nothing is lost to save room."""
    entry = asked(content)

    found = detached(entry, 1024)

    assert (entry_value(found.entry), found.attachments) == (entry_value(entry), ())


def test_an_entry_without_large_contents_is_the_same_object() -> None:
    """What was made of it stays made."""
    entry = asked(PICTURE)

    assert detached(entry, 2048).entry is entry


@pytest.mark.behaviour("erasure.attachments")
def test_what_is_gone_is_a_text_that_says_so() -> None:
    """The model is told that there was something."""
    light = detached(asked(PICTURE), 0).entry

    assert contents_of(attached(light, {})) == [{"$type": "text", "text": "[image/png, 2048 bytes: no longer kept]"}]


@pytest.mark.parametrize(
    "uri",
    [
        REFERENCE[:-1],
        REFERENCE.replace("sha256/", "sha512/"),
        f" {REFERENCE}",
        f"{REFERENCE}\n",
        f"https://example.com/?{REFERENCE}",
    ],
)
def test_other_addresses_are_no_references(uri: str) -> None:
    """Only what this module writes is read as one; a size that is cut off is another attachment's, not this one's."""
    entry = asked({"$type": "uri", "uri": uri, "mediaType": "image/png"})

    is_reference = bool(references(entry))

    assert is_reference == (uri == REFERENCE[:-1])
    assert is_reference or entry_value(attached(entry, {HASH: BODY})) == entry_value(entry)


def test_the_bytes_that_leave_an_entry_are_told_beforehand() -> None:
    """About as many as its text loses."""
    entry = asked(PICTURE)
    lost = len(json.dumps(entry_value(entry))) - len(json.dumps(entry_value(detached(entry, 0).entry)))

    assert 0 <= detachable_bytes(entry, 0) - lost < 200
    assert detachable_bytes(entry, 2048) == 0
