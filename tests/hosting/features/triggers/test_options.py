"""The options of an `agent_trigger`: known at the start, or refused there."""

# mypy: disable-error-code="untyped-decorator"
# (the decorators of the SDK carry no types)
from __future__ import annotations

import json
from typing import Any

import azure.functions as func
import pytest

from hosting.app import AgentFunctionApp, AgentRun
from hosting.errors import ConfigurationError
from tests.support.deliveries import queued
from tests.support.direct import DirectHost
from tests.support.made_app import app_of
from tests.support.obedient import obedient

pytestmark = pytest.mark.behaviour("options.doors")


def app_with(ends: list[AgentRun], options: Any) -> AgentFunctionApp:
    """Return an app with a function whose deliveries have these options."""
    app = app_of()
    app.add_agent(obedient(), options={"temperature": (0, 1)})

    @app.agent_trigger("Joker", options=options, on_end=ends.append)
    @app.function_name("inbox")
    @app.queue_trigger(arg_name="message", queue_name="inbox", connection="AzureWebJobsStorage")
    async def inbox(message: func.QueueMessage) -> None:
        """Have the body be the message."""

    return app


async def test_each_delivery_has_the_options_of_its_trigger() -> None:
    ends: list[AgentRun] = []
    host = DirectHost(app_with(ends, {"temperature": 0.5, "seed": 3}))

    await host.trigger("inbox", message=queued("hello"))

    assert [(json.loads(run.response), run.ignored) for run in ends] == [({"temperature": 0.5}, ["options.seed"])]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"temperature": 2}, "The field 'options.temperature' is '2' and must be a number from 0 to 1."),
        ({"tool_choice": "required"}, "The field 'options.tool_choice' is 'required'"),
        ({"temprature": 1}, "The field 'options' has 'temprature'."),
        ("low", "The field 'options' is 'low'. Send an object of options."),
    ],
)
def test_options_that_no_delivery_could_have_are_refused_at_the_start(options: Any, sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=f"The function 'inbox' is an agent_trigger. {sentence}"):
        app_with([], options).get_functions()
