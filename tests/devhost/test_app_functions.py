"""The seam between engine and app: durable functions by name, called with texts and answering texts."""

from __future__ import annotations

import azure.durable_functions as df
import pytest

from devhost.converters import encode_result
from devhost.ports import FunctionFailedError
from tests.devhost.durable_functions import activity, functions_of


@pytest.mark.behaviour("devhost.durable-seam")
@pytest.mark.parametrize(
    ("payload", "answer"),
    [("hello", '"hello"'), ('"hello"', '"hello"'), ('{"a":1}', '{"a": 1}'), ("5", "5"), ("null", "null"), ("", '""')],
)
async def test_an_activity_gets_decoded_json_and_answers_json(payload, answer):
    """Text that is no JSON comes as it is."""

    def same(value):
        return value

    assert await activity(same).call("activity", "SAME", payload) == answer


@pytest.mark.behaviour("devhost.durable-seam")
async def test_a_failure_is_the_types_name_and_text_with_the_traceback():
    async def fails(value):
        raise RuntimeError(f"no {value}")

    with pytest.raises(FunctionFailedError) as failure:
        await activity(fails).call("activity", "fails", '"x"')
    assert failure.value.message == "RuntimeError: no x"
    assert 'raise RuntimeError(f"no {value}")' in failure.value.stack


@pytest.mark.behaviour("devhost.durable-seam")
async def test_an_entity_that_answers_no_text_is_a_failure():
    """An async entity on a generic trigger writes its own protocol, and can forget to."""
    app = df.DFApp()

    @app.generic_trigger(arg_name="context", type="entityTrigger", entityName="e")
    async def forgetful(context): ...

    with pytest.raises(FunctionFailedError) as failure:
        await functions_of(app).call("entity", "e", "{}")
    assert failure.value.message == "TypeError: the function 'forgetful' must answer a text, but answered NoneType"


@pytest.mark.behaviour("devhost.classic-returns-as-recorded")
def test_what_an_http_binding_cannot_carry_fails_with_the_workers_words():
    """The text that developers find in the log, here as on Azure."""
    with pytest.raises(FunctionFailedError) as failure:
        encode_result("http", None)
    text = 'TypeError: unable to encode outgoing TypedData: unsupported type "http" for Python type "NoneType"'
    assert failure.value.message == text
