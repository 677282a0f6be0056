"""Texts of the wire and of an app: times, answers of the SDK, and what no file can carry."""

from __future__ import annotations

import json
import logging
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import azure.durable_functions as df
import pytest

import devhost
from devhost.durable.answers import OperationResult, UnreadableAnswerError, parse_orchestrator_answer
from devhost.durable.store.sqlite import SqliteStore
from devhost.durable.texts import compact, parse_utc
from devhost.durable.wire import response_text
from tests.devhost.durable.running_engine import running
from tests.devhost.indexing import functions_of

HALF = "\ud83d"  # of a surrogate pair, which no UTF-8 has: an emoji that was cut in two
WHOLE = "\ufffd"


def odd_texts() -> df.DFApp:
    """An app that answers, raises and keeps half a character wherever a text of the app goes."""
    app = df.DFApp()

    @app.activity_trigger(input_name="x")
    def act(x: str) -> str:
        if x == "raise":
            raise ValueError(f"half {HALF}")
        return f"{x} {HALF}"

    @app.entity_trigger(context_name="context", entity_name="kept")
    def kept(context: df.DurableEntityContext) -> None:
        context.set_state(HALF)
        context.set_result(HALF)

    @app.orchestration_trigger(context_name="context")
    def odd(c: df.DurableOrchestrationContext) -> Generator[Any, Any, Any]:
        c.set_custom_status(f"status {HALF}")
        answered = yield c.call_activity("act", f"input {HALF}")
        stored = yield c.call_entity(df.EntityId("kept", f"key {HALF}"), f"name {HALF}", HALF)
        try:
            yield c.call_activity("act", "raise")
        except Exception as error:
            raised = str(error)
        return [answered, stored, f"half {HALF}" in raised or f"half {WHOLE}" in raised]

    @app.orchestration_trigger(context_name="context")
    def odd_failure(c: df.DurableOrchestrationContext) -> Generator[Any, Any, Any]:
        yield c.call_activity("act", "x")
        raise ValueError(HALF)

    return app


@pytest.mark.behaviour("engine.odd-texts")
async def test_half_a_character_goes_through_every_text_of_an_app_and_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Inputs, results, names, keys, states, statuses and errors; it is U+FFFD afterwards, as on the real host."""
    # The log has the exceptions as they were raised, and a report with such a text cannot leave its process.
    caplog.set_level(logging.CRITICAL, devhost.__name__)
    names = ("odd", "odd_failure")
    async with running(functions_of(odd_texts()), inner=SqliteStore(tmp_path)) as engine:
        for name in names:
            await engine.hub.start(name, name, compact(f"input {HALF}"))
        ended = [await engine.store.until_ended(name) for name in names]
    assert [instance.status.value for instance in ended] == ["Completed", "Failed"]
    assert json.loads(ended[0].output or "") == [f"input {WHOLE} {WHOLE}", WHOLE, True]
    assert ended[0].custom_status == f'"status {WHOLE}"'


@pytest.mark.behaviour("engine.wire-shapes")
def test_every_form_of_a_time_names_its_moment_and_what_is_none_is_refused() -> None:
    nine = datetime(2026, 11, 21, 9, 48, 20, 833835, tzinfo=UTC)
    moments = {
        "2026-11-21T09:48:20.8338351Z": nine,
        "2026-11-21T10:48:20.833835+0100": nine,
        "2026-11-21t09:48:20.833835": nine,
        "2026-11-21T09:48:20.5Z": nine.replace(microsecond=500000),
        "2026-11-21": datetime(2026, 11, 21, tzinfo=UTC),
    }
    assert {text: parse_utc(text) for text in moments} == moments
    for text in ("", "yesterday", "2026-13-01", "2026-11-21T09:48:20.5Zx", "0001-01-01T00:00:00+01:00"):
        with pytest.raises(ValueError):
            parse_utc(text)


@pytest.mark.behaviour("engine.wire-shapes")
def test_a_response_names_an_exception_only_when_there_is_one_and_what_is_no_answer_is_unreadable() -> None:
    """The SDK takes the key's mere presence for an error."""
    head = '{"$type":"Microsoft.Azure.WebJobs.Extensions.DurableTask.ResponseMessage, '
    head += 'Microsoft.Azure.WebJobs.Extensions.DurableTask",'
    assert response_text(OperationResult("42", is_error=False)) == head + '"result":"42"}'
    failed = response_text(OperationResult('"no"', is_error=True))
    assert failed == head + '"result":"\\"no\\"","exceptionType":"Error"}'
    for text in ("", "[]", '{"actions": [[], []], "schemaVersion": 2}'):
        with pytest.raises(UnreadableAnswerError):
            parse_orchestrator_answer(text)
