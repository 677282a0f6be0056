"""Answers that are too large for a conversation: without their older steps, or in their log alone."""

from __future__ import annotations

import logging

from hosting.core.thread.events import Completed
from hosting.core.thread.events import encode as encode_event
from hosting.settings import Settings
from state.attachments import external_bytes
from state.folding import without_older_steps
from state.models import HISTORY, OURS

logger = logging.getLogger(__name__)

_ROOM_SHARE = 0.25
"""Of a conversation: as much is left for its next turns."""


def smaller_answer(completed: Completed, kept_bytes: int, settings: Settings) -> Completed:
    """Return the end of a run, with an answer of which a conversation would hold so many bytes, as that may keep it."""
    most, entry = settings.state_limit_bytes, completed.entry
    excess, number = kept_bytes - most, len(entry["messages"])
    messages = without_older_steps(entry["messages"], excess + int(_ROOM_SHARE * most))
    folded = {**entry, "messages": messages}
    if OURS in entry:  # a history of its own has the same steps
        folded[OURS] = {name: value for name, value in entry[OURS].items() if name != HISTORY}
    count = completed.message_count - number
    smaller = completed.model_copy(update={"entry": folded, "message_count": count + len(messages)})
    is_kept = len(encode_event(smaller)) - external_bytes(smaller.response, settings.attachment_bytes) <= most
    level, part = (logging.WARNING, "its older steps") if is_kept else (logging.ERROR, "it")
    sentence = "The answer of run %s is too large for a conversation by %d bytes: only its log has %s."
    logger.log(level, sentence, completed.run_id, excess, part)
    if is_kept:
        return smaller
    lost = {"kept": False, "message_count": count + 1, "approvals": (), "expires_at": None}
    return completed.model_copy(update=lost)
