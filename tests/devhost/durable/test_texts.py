"""Texts on the wire: times, answers of the SDK, and what the real host was seen to write."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from devhost.durable.answers import (
    OperationResult,
    UnreadableAnswerError,
    parse_orchestrator_answer,
)
from devhost.durable.texts import parse_utc
from devhost.durable.wire import response_text

pytestmark = pytest.mark.behaviour("engine.wire-shapes")
NINE = datetime(2026, 11, 21, 9, 48, 20, 833835, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-21T09:48:20.8338351Z", NINE),
        ("2026-11-21T10:48:20.833835+0100", NINE),
        ("2026-11-21t09:48:20.833835", NINE),
        ("2026-11-21T09:48:20.5Z", NINE.replace(microsecond=500000)),
        ("2026-11-21", datetime(2026, 11, 21, tzinfo=UTC)),
        *((text, None) for text in ("", "yesterday", "2026-13-01", "2026-11-21T09:48:20.5Zx")),
        ("0001-01-01T00:00:00+01:00", None),
    ],
)
def test_every_form_of_a_time_names_its_moment_and_what_is_none_is_refused(text: str, moment: datetime | None) -> None:
    if moment is None:
        with pytest.raises(ValueError):
            parse_utc(text)
    else:
        assert parse_utc(text) == moment


def test_a_response_names_an_exception_only_when_there_is_one() -> None:
    """The SDK takes the key's mere presence for an error."""
    head = '{"$type":"Microsoft.Azure.WebJobs.Extensions.DurableTask.ResponseMessage, '
    head += 'Microsoft.Azure.WebJobs.Extensions.DurableTask",'
    assert response_text(OperationResult("42", is_error=False)) == head + '"result":"42"}'
    failed = response_text(OperationResult('"no"', is_error=True))
    assert failed == head + '"result":"\\"no\\"","exceptionType":"Error"}'


@pytest.mark.parametrize("text", ["", "[]", '{"actions": [[], []], "schemaVersion": 2}'])
def test_what_is_no_orchestrator_answer_is_unreadable(text: str) -> None:
    with pytest.raises(UnreadableAnswerError):
        parse_orchestrator_answer(text)
