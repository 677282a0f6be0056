"""Plain entries: read at a tenth of a model's cost, and to every reader what their models are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state.codec import read, write
from state.conversation import message_count
from state.models import Conversation
from tests.support.state_documents import history_messages

TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.just('},{"$type":"request","x":"\\u0000"}')
OPTIONAL_COUNTS = st.dictionaries(
    st.sampled_from(["inputTokenCount", "outputTokenCount", "totalTokenCount"]), st.integers() | st.none()
)


def exchange(kind: str, **more: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    contents = st.lists(st.fixed_dictionaries({"$type": st.just("text"), "text": TEXTS}), max_size=2)
    message = st.fixed_dictionaries({"role": TEXTS, "contents": contents}, optional={"authorName": TEXTS | st.none()})
    required = {"correlationId": TEXTS, "createdAt": TEXTS, "messages": st.lists(message, max_size=2)}
    return st.fixed_dictionaries({"$type": st.just(kind), **required}, optional=more)


PLAIN_ENTRIES = exchange("request", responseType=TEXTS) | exchange("response", usage=OPTIONAL_COUNTS)
OTHER_ENTRIES = st.sampled_from(
    [
        {"$type": "note", "inside": [{}, {"$type": "request"}]},
        {"x": 1},
        {"$type": "response", "correlationId": "r", "messages": [{"contents": [{"$type": "error"}]}]},
        {"$type": "request", "correlationId": "r", "createdAt": "t", "messages": [], "x": [{"a": 1}, {"$type": "re"}]},
    ]
)


def stored(history: list[dict[str, Any]]) -> str:
    document = {"schemaVersion": "1.1.0", "data": {"conversationHistory": history}}
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def seen(conversation: Conversation) -> list[Any]:
    messages = [
        dict(vars(message), contents=list(map(vars, message.contents))) for message in history_messages(conversation)
    ]
    return [messages, message_count(conversation), write(conversation)]


@pytest.mark.behaviour("state.plain-is-the-same")
@given(st.lists(PLAIN_ENTRIES | OTHER_ENTRIES, max_size=4))
def test_a_document_of_plain_entries_is_what_it_is_by_its_models(history: list[dict[str, Any]]) -> None:
    """What the model sees, the counts, the text and each entry; a space before the document has it read whole."""
    text = stored(history)
    lean, whole = read(text), read(" " + text)

    assert seen(lean)[:2] == seen(whole)[:2]
    assert write(lean) == text
    assert lean == whole
