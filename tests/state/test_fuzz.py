"""Any document of the schema round-trips, any other is read or refused by name, any Python value can be stored."""

from __future__ import annotations

import datetime as dt
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state.codec import read, write
from state.convert import agent_response
from state.errors import UnreadableDocumentError
from state.json_values import dump, from_json_value, to_json_value
from state.models import Conversation, ResponseEntry
from tests.support.seeds import repeated
from tests.support.state_documents import history_messages

FUZZED = settings(max_examples=repeated(150, exploring=1500), deadline=None)
TEXT = st.text(max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=8
)
# Names that could meet a model's Python names, beside any others.
UNKNOWN = st.dictionaries(
    st.sampled_from(
        ["type", "created_at", "derived_values", "derived", "json_text", "model_config", "call_id", "usage_", "é"]
    )
    | TEXT.map("~".__add__),
    JSON,
    max_size=3,
)


def stored(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with these properties and some unknown ones."""
    known = st.fixed_dictionaries(required, optional={name: st.none() | value for name, value in optional.items()})
    return st.builds(lambda known, unknown: {**known, **unknown}, known, UNKNOWN)


COUNTS = {name: st.integers() for name in ("inputTokenCount", "outputTokenCount", "totalTokenCount")}
USAGE = stored({}, {**COUNTS, "extensionData": st.dictionaries(TEXT, JSON, max_size=2)})
OBJECT = st.dictionaries(TEXT, JSON, max_size=3)
CONTENTS = st.one_of(
    stored({"$type": st.just("text")}, {"text": TEXT}),
    stored({"$type": st.just("data")}, {"uri": TEXT, "mediaType": TEXT}),
    stored({"$type": st.just("uri")}, {"uri": TEXT, "mediaType": TEXT}),
    stored({"$type": st.just("functionCall")}, {"callId": TEXT, "name": TEXT, "arguments": OBJECT}),
    stored({"$type": st.just("functionResult")}, {"callId": TEXT, "result": JSON}),
    stored({"$type": st.just("hostedFile")}, {"fileId": TEXT}),
    stored({"$type": st.just("hostedVectorStore")}, {"vectorStoreId": TEXT}),
    stored({"$type": st.just("error")}, {"message": TEXT, "errorCode": TEXT, "details": JSON}),
    stored({"$type": st.just("reasoning")}, {"text": TEXT}),
    stored({"$type": st.just("usage")}, {"usage": USAGE}),
    stored({"$type": st.just("unknown")}, {"content": JSON}),
    stored({}, {"$type": JSON.filter(lambda kind: kind not in ("text", "unknown"))}),
    stored({"$type": st.just("text"), "agentFramework": JSON}, {"text": TEXT}),
)
ROLES = st.sampled_from(["user", "assistant", "system", "tool"])
OURS = st.dictionaries(st.sampled_from(["role", "message_id", "additional_properties"]), JSON, max_size=2)
MESSAGES = stored({"role": ROLES}, {"authorName": TEXT, "createdAt": TEXT, "agentFramework": OURS}).flatmap(
    lambda message: st.lists(CONTENTS, max_size=3).map(lambda contents: {**message, "contents": contents})
)
EXCHANGE = {"messages": st.lists(MESSAGES, max_size=2)}
OPTIONAL = {"correlationId": TEXT, "createdAt": TEXT}
ENTRIES = st.one_of(
    stored({"$type": st.just("request"), **EXCHANGE}, {**OPTIONAL, "responseType": TEXT, "responseSchema": OBJECT}),
    stored({"$type": st.just("response"), **EXCHANGE}, {**OPTIONAL, "usage": USAGE, "status": TEXT}),
    stored({}, {"$type": TEXT.filter(lambda kind: kind not in ("request", "response"))}),
)
DATA = stored(
    {"conversationHistory": st.lists(ENTRIES, max_size=3)}, {"extensionData": OBJECT, "expirationTimeUtc": TEXT}
)
DOCUMENTS = stored({"schemaVersion": st.sampled_from(["1.0.0", "1.1.0", "1.9.2"]), "data": DATA}, {})


@pytest.mark.slow
@pytest.mark.behaviour("state.keeps-the-unknown")
@FUZZED
@given(DOCUMENTS, st.booleans())
def test_any_document_of_the_schema_round_trips(document: dict[str, Any], spaced: bool) -> None:
    """With unknown properties anywhere; read entry by entry or whole; and every response can be shown."""
    text = json.dumps(document) if spaced else dump(document)
    conversation = read(text)

    assert json.loads(write(conversation)) == document
    assert repr_of(write(conversation)) == repr_of(text)
    show(conversation)


@pytest.mark.slow
@pytest.mark.behaviour("state.refuses-by-name")
@FUZZED
@given(st.data())
def test_a_document_with_any_value_anywhere_is_read_or_refused_by_name(data: st.DataObject) -> None:
    """One value of a document is replaced by any other; and one that is cut off."""
    document = data.draw(DOCUMENTS)
    place: Any = document
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not place[key] or not isinstance(place[key], dict | list) or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(JSON)
    text = dump(document)
    with suppress(UnreadableDocumentError):
        conversation = read(text)
        assert json.loads(write(conversation)) == document
        show(conversation)
    with suppress(UnreadableDocumentError):
        read(text[: data.draw(st.integers(0, len(text)))])


def unfolded(moment: Any) -> Any:
    """ISO 8601 has no word for `fold`."""
    return moment.replace(fold=0)


PYTHON = st.recursive(
    SCALARS
    | st.decimals(allow_nan=False)
    | st.binary(max_size=4)
    | st.datetimes().map(unfolded)
    | st.dates()
    | st.times().map(unfolded)
    | st.uuids()
    | st.timedeltas(min_value=dt.timedelta(-9), max_value=dt.timedelta(9))
    | st.sampled_from([float("inf"), -float("inf")]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXT | st.sampled_from(["$python", "value"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.slow
@pytest.mark.behaviour("state.keeps-python-values")
@FUZZED
@given(PYTHON)
def test_any_python_value_of_these_kinds_comes_back(value: Any) -> None:
    stored_text = json.dumps(to_json_value(value), allow_nan=False)

    assert repr(from_json_value(json.loads(stored_text))) == repr(value)


def show(conversation: Conversation) -> None:
    history_messages(conversation)
    for entry in conversation.data.conversation_history:
        if isinstance(entry, ResponseEntry):
            agent_response(entry)


def repr_of(text: str) -> str:
    """Tell 1, 1.0 and True apart, and nothing by the order of keys."""
    return repr(json.loads(text, object_pairs_hook=lambda pairs: sorted(pairs, key=lambda pair: pair[0])))
