"""Each form that Microsoft's .NET package writes, read here and taken over in the middle of a thread of ours.

`golden/forms/dotnet.tsv` has one document a line: its name, what a model gets of it, and the document as .NET writes.
"""

from __future__ import annotations

import json

import pytest

from state.codec import read, write
from state.models import Conversation
from tests.support.dotnet_writer import rewritten
from tests.support.state_documents import GOLDEN, history_messages

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
