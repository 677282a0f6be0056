"""A run's place in its conversation: the entries that its record makes."""

from __future__ import annotations

from dataclasses import replace

from hosting.events import Accepted
from hosting.run_record import RunRecord
from hosting.thread.endings import has_place, kept_entry
from hosting.thread.events import Completed
from hosting.thread.messages import run_messages
from hosting.times import iso
from state.conversation import Pause, append_turn, pause_of, with_pause, with_session_state
from state.convert import request_entry
from state.models import Conversation, RequestEntry, ResponseEntry
from state.summary import with_summary


def request_of(accepted: Accepted, conversation: Conversation) -> RequestEntry:
    """Return the entry of a run's request to the conversation."""
    wanted = accepted.request.response_format
    return request_entry(
        run_id=accepted.run_id,
        created_at=iso(accepted.at),
        messages=run_messages(accepted.request, conversation),
        response_type="json" if wanted else "text",
        response_schema=wanted.json_schema if wanted else None,
        orchestration_id=accepted.request.orchestration_id,
    )


def with_run(conversation: Conversation, record: RunRecord, request: RequestEntry) -> Conversation | None:
    """Return the conversation with one more run, or None for a run that has not ended or has no place in it."""
    terminal = record.terminal
    if terminal is None or not has_place(terminal):
        return None
    response = kept_entry(terminal)
    if not isinstance(response, ResponseEntry):
        return None
    grown = with_pause(append_turn(conversation, request, response), _pause_after(record, pause_of(conversation)))
    if isinstance(terminal, Completed) and terminal.kept:
        summed_up = grown if terminal.summary is None else with_summary(grown, terminal.summary)
        return with_session_state(summed_up, terminal.session)
    return grown


def _pause_after(record: RunRecord, before: Pause | None) -> Pause | None:
    """Return what the conversation waits for after the run: a run that the model does not see changes no open call."""
    terminal = record.terminal
    if isinstance(terminal, Completed) and terminal.kept:
        return Pause(record.run_id, terminal.expires_at) if terminal.approvals else None
    return replace(before, is_over=True) if before is not None and record.accepted.request.decisions else before
