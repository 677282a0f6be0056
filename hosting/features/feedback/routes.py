"""The routes of feedback, with their bodies (docs/guides/feedback.md)."""

from __future__ import annotations

from collections.abc import Mapping

from typing_extensions import TypedDict

from hosting import errors
from hosting.core.outcome import RunIds, ThreadIds
from hosting.features.feedback.refusals import RunNotEndedError, RunTakenBackError
from hosting.http import places
from hosting.http.route import LOG, ResponseSpec, Route, ok
from hosting.http.run_call import JsonBody
from hosting.strict_json.parsing import Schema

LONGEST_LABEL = 64
LONGEST_COMMENT = 4000
LABEL_PATTERN = rf"[A-Za-z0-9][A-Za-z0-9 ._:/-]{{0,{LONGEST_LABEL - 1}}}"


class FeedbackAuthor(TypedDict):
    """The signed-in person who gave it."""

    issuer: str
    id: str
    name: str | None


class ShownFeedback(RunIds):
    """One person's feedback on a run: `own` is the caller's, and `by` is null where nobody signs in.

    Times are RFC 3339.
    """

    score: float
    label: str | None
    comment: str | None
    own: bool
    by: FeedbackAuthor | None
    given_at: str
    changed_at: str


class GivenFeedback(ShownFeedback):
    """A person's feedback on a run of somebody else's thread."""

    agent: str
    owner: str


class FeedbackOfRun(RunIds):
    """The feedback on a run; with a shared thread only your own."""

    feedback: list[ShownFeedback]


class FeedbackOfThread(ThreadIds):
    """The feedback on all runs of a thread; with a shared thread only your own."""

    feedback: list[ShownFeedback]


_FIELDS: Mapping[str, Schema] = {
    "score": {"type": "number", "minimum": 0, "maximum": 1, "description": "0 is bad, 1 is good."},
    "label": {
        "anyOf": [{"type": "string", "pattern": f"^{LABEL_PATTERN}$"}, {"type": "null"}],
        "description": "A category, by which figures count.",
    },
    "comment": {
        "anyOf": [{"type": "string", "maxLength": LONGEST_COMMENT}, {"type": "null"}],
        "description": "Your own words.",
    },
}
FEEDBACK = JsonBody(_FIELDS, ("score",), '{"score": 1, "label": "helpful", "comment": "It found the invoice."}')
_REFUSALS = (*LOG, errors.AttachmentsUnavailableError)
_OF_RUN = places.RUN.below("feedback")
OF_RUN = Route("run_feedback", "GET", _OF_RUN, "Read the feedback on a run", ok(FeedbackOfRun), _REFUSALS)
GIVE = Route(
    "run_feedback_give",
    "POST",
    _OF_RUN,
    "Give feedback on a run, or replace yours",
    (
        ResponseSpec(201, "Your feedback.", ShownFeedback),
        ResponseSpec(200, "Your feedback, which replaces your earlier one.", ShownFeedback),
    ),
    (RunNotEndedError, RunTakenBackError, *_REFUSALS),
    body=FEEDBACK,
)
TAKE_BACK = Route(
    "run_feedback_take_back",
    "DELETE",
    _OF_RUN,
    "Take your feedback on a run back",
    (ResponseSpec(204, "Taken back, or not found."),),
    _REFUSALS,
)
OF_THREAD = Route(
    "thread_feedback",
    "GET",
    places.THREAD.below("feedback"),
    "Read the feedback on all runs of a thread",
    ok(FeedbackOfThread),
    _REFUSALS,
)
ROUTES = (OF_RUN, GIVE, TAKE_BACK, OF_THREAD)
