"""The app's durable functions for the engine: implements `devhost.ports.DurableFunctions` over index and invoker."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from devhost.bindings import DurableTrigger
from devhost.converters import WireKind, decode_text, encode_result
from devhost.durable.texts import well_formed
from devhost.index import Function, FunctionIndex
from devhost.invoke import Invoker
from devhost.ports import DurableKind, FunctionFailedError

_INPUT_KIND: Mapping[DurableKind, WireKind] = {"orchestrator": "string", "activity": "json", "entity": "string"}


class AppFunctions:
    """Finds durable functions by their lower-cased names and calls them through the SDK's own converters."""

    def __init__(self, index: FunctionIndex, invoker: Invoker) -> None:
        self._invoker = invoker
        self._functions: dict[tuple[DurableKind, str], Function] = {}
        self._names: dict[DurableKind, dict[str, str]] = {"orchestrator": {}, "activity": {}, "entity": {}}
        for function in index.running():
            if isinstance(function.trigger, DurableTrigger):
                self._add(function, function.trigger)

    def _add(self, function: Function, trigger: DurableTrigger) -> None:
        key = trigger.durable_name.lower()
        self._functions[trigger.kind, key] = function
        self._names[trigger.kind][key] = trigger.durable_name

    def names(self, kind: DurableKind) -> Mapping[str, str]:
        """See `DurableFunctions.names`."""
        return self._names[kind]

    async def call(self, kind: DurableKind, name: str, payload: str) -> str:
        """See `DurableFunctions.call`; texts of the app are made well formed here, before anything is stored."""
        function = self._functions[kind, name.lower()]
        value = decode_text(function.trigger_type, payload, _INPUT_KIND[kind])
        try:
            result = await self._invoker.call(function, value, str(uuid.uuid4()))
        except FunctionFailedError as failure:
            raise FunctionFailedError(well_formed(failure.message), failure.stack) from failure
        answer = encode_result(function.trigger_type, result).value
        if not isinstance(answer, str):
            found = f"'{function.name}' must answer a text, but answered {type(answer).__name__}"
            raise FunctionFailedError(f"TypeError: the function {found}")
        return well_formed(answer)
