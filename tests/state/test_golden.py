"""Documents as they were written by every version and package so far, and what each reads as."""

from __future__ import annotations

import json

import pytest

from state.codec import read, write
from state.errors import UnreadableDocumentError
from state.models import Conversation
from tests.support.dotnet_writer import rewritten
from tests.support.state_documents import GOLDEN, history_messages

READS_AS: dict[str, list[str]] = {
    "1.0.0-empty": [],
    "1.0.0-public-sample": [
        "user: Start the documentation generation workflow for the product 'Goldbrew Coffee'",
        "assistant: function_call",
        "tool: function_result",
        'assistant: The documentation generation workflow for the product "Goldbrew Coffee" has been started. You can '
        "request updates on its status or provide additional input anytime during the process. Let me know how you’d "
        "like to proceed!",
        "system: Tell the user that you're starting to gather information for product 'Goldbrew Coffee'.",
        "assistant: I am starting to gather information to create product documentation for 'Goldbrew Coffee'. If you "
        "have any specific details, key features, or requirements you'd like included, please share them. Otherwise, "
        "I'll continue with the standard documentation process.",
    ],
    "1.1.0-one-turn": ["user: hello", "assistant: hi"],
    "1.1.0-failed-run": ["user: hello", "assistant: hi"],
    "1.1.0-written-by-python-package": [
        "user: again data",
        "assistant: function_call",
        "tool: function_result",
        "assistant: I see.",
    ],
    "1.1.0-written-by-dotnet": [
        "user: hello",
        "assistant: hi",
        "system: Be brief.",
        'user: Grüße, 世界 🌍 <a href="x">\'&+`</a>\t\n\\ ',
        "assistant: \u2028ok\xa0",
        "user: weather?",
        "assistant: function_call function_call",
        "tool: function_result function_result",
        "assistant: function_call",
        "tool: function_result",
        "assistant: function_call function_call function_call",
        "tool: function_result function_result function_result",
        "assistant: It is sunny.",
        "user: see data data uri hosted_file hosted_vector_store",
        "assistant: seen",
        "user: as json",
        'assistant: {"a":1.10}',
        "user: odd",
        "assistant: answer",
        "user: kept",
        "assistant: more",
        "developer: Answer in French.",
        "user: bye",
        "assistant: au revoir !",
    ],
    "1.1.0-portable": [
        "user: see [image/png, 64 bytes]",
        "assistant: uri data mcp_server_tool_result half \ufffd",
        "user: call",
        f"assistant: {' '.join(['function_call'] * 8)}",
        "user: refund",
        "assistant: function_call",
        "assistant: function_result done",
    ],
    "1.1.0-unknown-everywhere": ["user: hello", "assistant: hi"],
    "1.1.0-odd-numbers-and-times": ["user: hello", "assistant: hi"],
    "1.2.0-draft": ["user: hello", "assistant: function_call", "tool: function_result", "assistant: noon"],
    "1.2.0-expiration": ["user: hello", "assistant: hi"],
}
REFUSED = {
    "0.9.0-refused": "unsupported_version",
    "2.0.0-refused": "unsupported_version",
    "1.1.0-overflow-refused": "number_out_of_range",
    "1.1.0-malformed-refused": "malformed",
}


def golden(name: str) -> str:
    return (GOLDEN / f"{name}.json").read_text("utf-8")


@pytest.mark.behaviour("state.golden")
def test_every_golden_document_has_its_reading() -> None:
    """A document is added together with what it reads as."""
    assert {path.stem for path in GOLDEN.glob("*.json")} == {*READS_AS, *REFUSED}


@pytest.mark.behaviour("state.golden")
@pytest.mark.behaviour("state.skips-the-unknown")
@pytest.mark.parametrize("name", READS_AS)
def test_a_golden_document_reads_as_it_always_has(name: str) -> None:
    messages = history_messages(read(golden(name)))

    output = [(m.role, [c.text if c.type == "text" else c.type for c in m.contents]) for m in messages]
    assert [f"{role}: {' '.join(str(part) for part in parts)}" for role, parts in output] == READS_AS[name]


@pytest.mark.behaviour("state.keeps-the-unknown")
@pytest.mark.behaviour("state.reads-any-1.x")
@pytest.mark.parametrize("name", READS_AS)
def test_a_golden_document_is_written_back_as_the_same_json(name: str) -> None:
    """Versions, times, numbers and unknown parts included; written twice, the same bytes."""
    text = write(read(golden(name)))

    assert repr(_sorted(_digits(text))) == repr(_sorted(_digits(golden(name))))
    assert write(read(text)) == text


@pytest.mark.behaviour("state.refuses-by-name")
@pytest.mark.parametrize("name", REFUSED)
def test_an_unreadable_golden_document_is_refused_by_its_code(name: str) -> None:
    with pytest.raises(UnreadableDocumentError) as refusal:
        read(golden(name))

    assert refusal.value.code == REFUSED[name]


def _digits(text: str) -> object:
    """Return the JSON value with its numbers as they are written."""
    return json.loads(text, parse_float=str, parse_int=str)


def _sorted(value: object) -> object:
    """Order keys, so that `repr` tells -0.0, 5.0 and 5 apart and order apart from values."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


LINES = (GOLDEN / "forms" / "dotnet.tsv").read_text("utf-8").split("\n")[:-1]
FORMS = {name: (json.loads(reads), text) for name, reads, text in (line.split("\t") for line in LINES)}
each_form = pytest.mark.parametrize("name", FORMS)


@pytest.mark.behaviour("state.golden")
@pytest.mark.behaviour("state.interoperates")
@each_form
def test_a_form_of_dotnet_reads_as_it_always_has_and_is_written_back(name: str) -> None:
    """The model gets the same messages as ever, and nothing of the document is lost: no digit, time or order."""
    reads_as, text = FORMS[name]

    conversation = read(text)

    assert as_the_model_gets(conversation) == reads_as
    back = write(conversation)
    assert rewritten(back) == text
    assert write(read(back)) == back


def as_the_model_gets(conversation: Conversation) -> list[str]:
    """Return the messages that are sent to a model."""
    parts = [
        (m.role, [str(c.text) if c.type == "text" else c.type for c in m.contents])
        for m in history_messages(conversation)
    ]
    return [f"{role}: {' '.join(texts)}" for role, texts in parts]
