"""Names, order and signature rules at indexing."""

from __future__ import annotations

import typing
from dataclasses import replace
from typing import Any

import azure.durable_functions as df
import azure.functions as func
import pytest

from devhost.bindings import Binding, HttpTrigger, TimerTrigger
from devhost.errors import FunctionLoadError
from devhost.signature import read_signature
from tests.devhost.indexing import SETTINGS, index_of

OldGeneric = typing.Dict[str, Any]  # noqa: UP006 - the old spelling is the case


def refusal_of(app: func.FunctionRegister) -> str:
    with pytest.raises(FunctionLoadError) as refusal:
        index_of(app)
    return str(refusal.value)


@pytest.mark.behaviour("devhost.same-names-refused")
def test_two_functions_whose_names_meet_without_case_are_refused():
    app = func.FunctionApp()
    for name in ("Report", "report"):
        app.function_name(name)(app.route()(lambda req: ""))
    assert "'report' meets 'Report'" in refusal_of(app)
    durable = df.DFApp()
    for name, entity in (("one", "Counter"), ("two", "counter")):
        durable.function_name(name)(durable.entity_trigger("context", entity_name=entity)(lambda context: None))
    assert "meets 'Counter' of the function 'one'" in refusal_of(durable)


def untyped(req): ...
def wrong_request(req: int) -> str: ...  # type: ignore[empty-body]
def generic(req: dict[str, Any]) -> str: ...  # type: ignore[empty-body]
def optional(req: func.HttpRequest | None) -> str: ...  # type: ignore[empty-body]
def old_generic(req: OldGeneric) -> str: ...  # type: ignore[empty-body]
def unbound(req: func.HttpRequest, other: str) -> str: ...  # type: ignore[empty-body]
def missing() -> str: ...  # type: ignore[empty-body]
def wrong_context(req: func.HttpRequest, context: str) -> str: ...  # type: ignore[empty-body]
def wrong_return(req: func.HttpRequest) -> dict: ...  # type: ignore[empty-body, type-arg]
def unknown(req: Missing) -> str: ...  # type: ignore[empty-body, name-defined]  # noqa: F821
async def annotated(context: str) -> str: ...  # type: ignore[empty-body]


REFUSED = {
    wrong_request: "must be annotated azure.functions.HttpRequest",
    generic: "must be annotated with a class, not dict[str, typing.Any]",
    optional: "must be annotated with a class, not azure",
    old_generic: "must be annotated with a class, not typing.Dict[str, typing.Any]",
    unbound: "these parameters have no binding: other",
    missing: "these bindings have no parameter: req",
    wrong_context: "must be annotated azure.functions.Context",
    wrong_return: "its return annotation 'dict' does not fit an HTTP response",
    unknown: "its annotations cannot be resolved: name 'Missing' is not defined",
}


@pytest.mark.behaviour("devhost.signatures-checked")
def test_a_signature_that_the_worker_refuses_is_refused_by_its_functions_name() -> None:
    """An entity on a generic trigger too, of which the real host only says that it loaded no functions."""
    for handler, reason in REFUSED.items():
        app = func.FunctionApp()
        app.route()(handler)
        refusal = refusal_of(app)
        assert (reason in refusal, f"'{handler.__name__}'" in refusal) == (True, True), refusal
    app = func.FunctionApp()
    app.generic_trigger(arg_name="context", type="entityTrigger", entityName="e")(annotated)
    assert "an input of type entityTrigger cannot be given as 'str'" in refusal_of(app)


@pytest.mark.behaviour("devhost.signatures-checked")
@pytest.mark.parametrize(("extension", "style"), [(False, "classic"), (True, "fastapi")])
def test_an_untyped_request_is_streaming_where_the_app_imports_the_extension(extension, style):
    """Which of the two request types a parameter without annotation gets depends on what the app imports."""
    trigger = Binding("httptrigger", "req", "IN", {"type": "httpTrigger"})
    signature = read_signature("untyped", untyped, [trigger], has_streaming_extension=extension)
    assert signature.http_style == style


@pytest.mark.behaviour("devhost.unrun-functions-named")
def test_what_is_not_run_says_why():
    """Other triggers, other bindings, disabled functions, functions left out, routes that begin with admin."""
    app = func.FunctionApp()

    @app.generic_trigger(arg_name="msg", type="kafkaTrigger")
    def kafka(msg) -> None: ...

    @app.route(route="b")
    @app.cosmos_db_input(arg_name="rows", database_name="d", container_name="c", connection="c")
    def joined(req: func.HttpRequest, rows: str) -> str:
        return ""

    for name, route in (("off", "off"), ("out", "out"), ("hidden", "Admin/x"), ("runs", "runs")):
        app.function_name(name)(app.route(route=route)(lambda req: ""))
    only = frozenset({"KAFKA", "JOINED", "OFF", "HIDDEN", "RUNS"})
    environ = {"AzureWebJobs.off.Disabled": "1"}
    index = index_of(app, environ, replace(SETTINGS, only_functions=only))
    assert {function.name: function.not_run for function in index.functions} == {
        "hidden": "not reachable: a route must not begin with 'admin'",
        "joined": "not run here: this host has no cosmosDB binding",
        "kafka": "not run here: this host has no kafkaTrigger",
        "off": "disabled by the setting AzureWebJobs.off.Disabled",
        "out": "left out by 'functions' in host.json",
        "runs": None,
    }


def app_with_settings() -> func.FunctionApp:
    """Return an app with `%NAME%` in its bindings; a percent sign in a description is no place for one."""
    app = func.FunctionApp()
    app.route(route="%VERSION%/items/{id}")(untyped)

    @app.timer_trigger(arg_name="timer", schedule="0 %MINUTES% * * * *")
    def tick(timer: func.TimerRequest) -> None: ...

    @app.mcp_tool_trigger(arg_name="context", tool_name="t", description="from 5% to %MAX% of it")
    def tool(context) -> str:
        return ""

    return app


@pytest.mark.behaviour("devhost.settings-in-bindings")
def test_a_setting_fills_a_schedule_and_a_route_and_a_name_without_one_is_refused() -> None:
    functions = index_of(app_with_settings(), {"VERSION": "v2", "MINUTES": "*/5"}).functions
    triggers = {function.name: function.trigger for function in functions}
    assert triggers["untyped"] == HttpTrigger("v2/items/{id}", None)
    assert triggers["tick"] == TimerTrigger("0 */5 * * * *", runs_at_start=False, use_monitor=True)
    assert functions[1].bindings[0]["description"] == "from 5% to %MAX% of it"
    with pytest.raises(FunctionLoadError, match=r"'tick'.*'%MINUTES%' in its 'schedule'.*no setting MINUTES\. Add it"):
        index_of(app_with_settings(), {"VERSION": "v2"})
