"""A run's place in its conversation: the entries that its record makes."""

from __future__ import annotations

from hosting.asked_message import asked_message
from hosting.endings import has_place, kept_entry
from hosting.events import Accepted, Completed
from hosting.run_record import RunRecord
from hosting.times import iso
from state.conversation import append_turn, with_session_state
from state.convert import request_entry
from state.models import Conversation, RequestEntry, ResponseEntry


def request_of(accepted: Accepted) -> RequestEntry:
    """Return the request entry of a run."""
    wanted = accepted.request.response_format
    return request_entry(
        run_id=accepted.run_id,
        created_at=iso(accepted.at),
        messages=[asked_message(accepted.request)],
        response_type="json" if wanted else "text",
        response_schema=wanted.json_schema if wanted else None,
        orchestration_id=accepted.request.orchestration_id,
    )


def with_run(conversation: Conversation, record: RunRecord, request: RequestEntry) -> Conversation | None:
    """Return the conversation with one more run, or None for a run that has not ended or has no place in it."""
    terminal = record.terminal
    if terminal is None or not has_place(terminal):
        return None
    response = kept_entry(record.run_id, terminal)
    if not isinstance(response, ResponseEntry):
        return None
    grown = append_turn(conversation, request, response)
    if isinstance(terminal, Completed) and terminal.kept:
        return with_session_state(grown, terminal.session)
    return grown
