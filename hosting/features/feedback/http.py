"""The handlers of the routes of feedback."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hosting.core.request.fields import read_text
from hosting.errors import InvalidFieldError
from hosting.features.feedback.feedback import Feedbacks, Opinion
from hosting.features.feedback.records import Feedback, FeedbackKey
from hosting.features.feedback.routes import (
    FEEDBACK,
    GIVE,
    LABEL_PATTERN,
    LONGEST_COMMENT,
    LONGEST_LABEL,
    OF_RUN,
    OF_THREAD,
    TAKE_BACK,
    FeedbackOfRun,
    FeedbackOfThread,
    GivenFeedback,
    ShownFeedback,
)
from hosting.http.replies import Reply, json_reply, thread_headers, thread_ids
from hosting.http.request import Bound, HttpRequest
from hosting.http.run_call import RawRequest
from hosting.ports import iso
from hosting.principal import owner_of
from hosting.strict_json.parsing import json_type, refuse_lone_surrogates

_LABEL = re.compile(LABEL_PATTERN)


class FeedbackHandlers:
    """The handlers of the routes of feedback, for all agents' and workflows' threads."""

    def __init__(self, feedbacks: Feedbacks, most_bytes: int) -> None:
        """A body has `most_bytes` at most."""
        self._feedbacks = feedbacks
        self._most_bytes = most_bytes

    def bound(self) -> Sequence[Bound]:
        """Return the routes with their handlers."""
        return (
            Bound(OF_RUN, self._of_run),
            Bound(GIVE, self._give),
            Bound(TAKE_BACK, self._take_back),
            Bound(OF_THREAD, self._of_thread),
        )

    async def _give(self, request: HttpRequest) -> Reply:
        address, run_id = request.address, request.run_id
        opinion = await request.parsed(lambda raw: parse_feedback(raw, self._most_bytes))
        given, is_first = await self._feedbacks.give(address, run_id, opinion, request.caller)
        shown = feedback_fields(address.thread_id, given, given.author)
        return json_reply(201 if is_first else 200, shown, _headers(address.thread_id, run_id))

    async def _take_back(self, request: HttpRequest) -> Reply:
        address, run_id = request.address, request.run_id
        await self._feedbacks.take_back(address, run_id, request.caller)
        return Reply(204, "", None, _headers(address.thread_id, run_id))

    async def _of_run(self, request: HttpRequest) -> Reply:
        address, run_id = request.address, request.run_id
        records = await self._feedbacks.of_run(address, run_id, request.caller)
        body: FeedbackOfRun = {
            **thread_ids(address.thread_id),
            "run_id": run_id,
            "correlation_id": run_id,
            "feedback": _shown(request, records),
        }
        return json_reply(200, body, _headers(address.thread_id, run_id))

    async def _of_thread(self, request: HttpRequest) -> Reply:
        thread_id = request.address.thread_id
        records = await self._feedbacks.of_thread(request.address, request.caller)
        body: FeedbackOfThread = {
            **thread_ids(thread_id),
            "feedback": _shown(request, records),
        }
        return json_reply(200, body, thread_headers(thread_id))


def _shown(request: HttpRequest, records: Iterable[Feedback]) -> list[ShownFeedback]:
    reader = owner_of(request.caller.principal)
    return [feedback_fields(request.address.thread_id, record, reader) for record in records]


def parse_feedback(call: RawRequest, most_bytes: int) -> Opinion:
    """Return the feedback that a request holds; raise a `HostingError` of `errors.REQUEST_ERRORS` otherwise."""
    fields = FEEDBACK.read(call, most_bytes)
    label, comment = fields.get("label"), fields.get("comment")
    return Opinion(
        _read_score(fields),
        None if label is None else read_label(label),
        None if comment is None else _read_comment(comment),
    )


def _read_score(fields: Mapping[str, Any]) -> float:
    score = fields.get("score")
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise InvalidFieldError(f"The field 'score' is a JSON {json_type(score)}. Send a number from 0 to 1.")
    if not 0 <= score <= 1:
        raise InvalidFieldError(f"The field 'score' is {str(score)[:80]}. Send a number from 0 (bad) to 1 (good).")
    return float(score)


def read_label(value: object) -> str:
    """Return the label of feedback; raises `InvalidFieldError` for another value."""
    label = read_text("label", value)
    if not _LABEL.fullmatch(label):
        raise InvalidFieldError(
            f"The field 'label' is {label[:80]!r}. Send 1 to {LONGEST_LABEL} letters (A-Z, a-z), digits, blanks and "
            ". _ : / -, beginning with a letter or a digit; put words into 'comment'."
        )
    return label


def _read_comment(value: object) -> str | None:
    comment = read_text("comment", value)
    if len(comment) > LONGEST_COMMENT:
        raise InvalidFieldError(f"The field 'comment' has {len(comment)} characters. Send at most {LONGEST_COMMENT}.")
    refuse_lone_surrogates(comment, "comment")
    return comment.strip() or None


def feedback_fields(thread_id: str, feedback: Feedback, reader: str) -> ShownFeedback:
    """Return a person's feedback as it is shown to the owner `reader`."""
    by = feedback.by
    return {
        **thread_ids(thread_id),
        "run_id": feedback.run_id,
        "correlation_id": feedback.run_id,
        "score": feedback.score,
        "label": feedback.label,
        "comment": feedback.comment,
        "own": feedback.author == reader,
        "by": None if by is None else {"issuer": by.issuer, "id": by.id, "name": by.name},
        "given_at": iso(feedback.at),
        "changed_at": iso(feedback.changed_at),
    }


def given_fields(key: FeedbackKey, feedback: Feedback) -> GivenFeedback:
    """Return feedback on somebody else's thread as its author's export has it."""
    shown = feedback_fields(key.address.thread_id, feedback, key.author)
    return {**shown, "agent": key.address.agent, "owner": key.address.owner}


def _headers(thread_id: str, run_id: str) -> dict[str, str]:
    return {**thread_headers(thread_id), "x-ms-run-id": run_id}
