"""Texts of an app that no file can carry."""

from __future__ import annotations

import json
import logging
from collections.abc import Generator
from pathlib import Path
from typing import Any

import azure.durable_functions as df
import pytest

import devhost
from devhost.durable.store.sqlite import SqliteStore
from devhost.durable.texts import compact
from tests.devhost.durable.running_engine import running
from tests.devhost.durable_functions import functions_of

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
