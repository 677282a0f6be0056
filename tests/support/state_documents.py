"""Where the stored documents for the tests are, and how to make small ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from agent_framework import AgentResponse, Content, Message

from state import __file__ as STATE_PACKAGE
from state.codec import read, read_entry
from state.conversation import append_turn
from state.convert import placed_messages, request_entry, stored_failure, stored_response
from state.models import Conversation, RequestEntry, ResponseEntry

ROOT = Path(__file__).parents[2]
STATE = ROOT / "tests" / "state"
GOLDEN = STATE / "golden"
PUBLIC_SCHEMA = json.loads((STATE / "durable-agent-entity-state.schema.json").read_text("utf-8"))
OWN_SCHEMA = json.loads(Path(STATE_PACKAGE).with_name("schema.json").read_text("utf-8"))
NOON = "2026-01-02T12:00:00+00:00"


def a_request(run_id: str, text: str = "hello") -> RequestEntry:
    return request_entry(run_id=run_id, created_at=NOON, messages=[Message("user", [text])])


def response_entry(**given: Any) -> ResponseEntry:
    return cast(ResponseEntry, read_entry(stored_response(**given)))


def failure_entry(**given: Any) -> ResponseEntry:
    return cast(ResponseEntry, read_entry(stored_failure(**given)))


def history_messages(conversation: Conversation) -> list[Message]:
    """Return what the model may see of the conversation."""
    return [message for _, message in placed_messages(conversation)]


def a_response(run_id: str, *contents: Content | str, **response: Any) -> ResponseEntry:
    message = Message("assistant", list(contents), author_name="Joker")
    return response_entry(run_id=run_id, created_at=NOON, response=AgentResponse(messages=[message], **response))


def conversation_of(*turns: tuple[RequestEntry, ResponseEntry]) -> Conversation:
    conversation = read(None)
    for request, response in turns:
        conversation = append_turn(conversation, request, response)
    return conversation
