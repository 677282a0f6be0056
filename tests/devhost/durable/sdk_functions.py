"""`DurableFunctions` around a real `DFApp`: the SDK's own handles, called as the worker calls them."""

from __future__ import annotations

import asyncio
import inspect
import json
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import azure.durable_functions as df
from azure.functions._durable_functions import EntityContext, OrchestrationContext, df_dumps, df_loads

from devhost.ports import DurableKind, FunctionFailedError

_TRIGGERS: Mapping[str, tuple[DurableKind, str]] = {
    "orchestrationTrigger": ("orchestrator", "orchestration"),
    "activityTrigger": ("activity", "activity"),
    "entityTrigger": ("entity", "entityName"),
}


def _load_input(text: str) -> Any:
    try:
        return df_loads(text)
    except json.JSONDecodeError:
        return text


_ARGUMENTS: Mapping[DurableKind, Callable[[str], Any]] = {
    "orchestrator": OrchestrationContext,
    "entity": EntityContext,
    "activity": _load_input,
}


class SdkFunctions:
    """The durable functions of an app; counts the calls of each kind."""

    def __init__(self, app: df.DFApp) -> None:
        self.calls: list[tuple[DurableKind, str]] = []
        self.payloads: list[tuple[DurableKind, str]] = []
        self._functions: dict[DurableKind, dict[str, Any]] = {"orchestrator": {}, "activity": {}, "entity": {}}
        for function in app.get_functions():
            for binding in map(json.loads, function.get_raw_bindings()):
                if binding["type"] in _TRIGGERS:
                    kind, key = _TRIGGERS[binding["type"]]
                    self._functions[kind][binding.get(key) or function.get_function_name()] = (
                        function.get_user_function()
                    )

    def names(self, kind: DurableKind) -> Mapping[str, str]:
        return {name.lower(): name for name in self._functions[kind]}

    async def call(self, kind: DurableKind, name: str, payload: str) -> str:
        self.calls.append((kind, name.lower()))
        self.payloads.append((kind, payload))
        function = self._functions[kind][self.names(kind)[name.lower()]]
        try:
            answer = await _invoke(function, _ARGUMENTS[kind](payload))
            return df_dumps(answer) if kind == "activity" else answer
        except Exception as error:
            raise FunctionFailedError(f"{type(error).__name__}: {error}", traceback.format_exc()) from error


async def _invoke(function: Callable[[Any], Any], argument: Any) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function(argument)
    return await asyncio.to_thread(function, argument)
