"""%NAME% in the bindings of an app."""

from __future__ import annotations

import azure.functions as func
import pytest

from devhost.bindings import HttpTrigger, TimerTrigger
from devhost.errors import FunctionLoadError
from tests.devhost.indexing import index_of


def _app(**timer: str) -> func.FunctionApp:
    app = func.FunctionApp()

    @app.timer_trigger(arg_name="timer", **timer)
    def tick(timer: func.TimerRequest) -> None: ...

    return app


@pytest.mark.behaviour("devhost.settings-in-bindings")
def test_a_setting_fills_a_schedule() -> None:
    index = index_of(_app(schedule="0 %MINUTES% * * * *"), {"MINUTES": "*/5"})

    assert index.functions[0].trigger == TimerTrigger("0 */5 * * * *", runs_at_start=False, use_monitor=True)


@pytest.mark.behaviour("devhost.settings-in-bindings")
def test_a_setting_fills_a_route() -> None:
    app = func.FunctionApp()

    @app.route(route="%VERSION%/items/{id}")
    def items(req: func.HttpRequest) -> str: ...

    assert index_of(app, {"VERSION": "v2"}).functions[0].trigger == HttpTrigger("v2/items/{id}", None)


@pytest.mark.behaviour("devhost.settings-in-bindings")
def test_a_name_without_a_setting_is_refused() -> None:
    with pytest.raises(FunctionLoadError, match=r"'tick'.*'%NOWHERE%' in its 'schedule'.*no setting NOWHERE\. Add it"):
        index_of(_app(schedule="%NOWHERE%"))
