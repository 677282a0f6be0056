"""Functions with `@app.agent_trigger`: each delivery of their trigger is handed on, and their outputs are set.

The decorator stands anywhere among the SDK's own. It only marks the function: what its trigger and its outputs are is
known when the app is indexed.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import azure.functions as func
from azure.functions.blob import InputStream
from azure.functions.decorators.core import BindingDirection, Setting

from hosting.errors import ConfigurationError
from hosting.functions.user_routes import exchange_handler
from hosting.invocation import carried

MARK = "__agent_trigger__"
_RETURN = "$return"
F = TypeVar("F")


class Delivers(Protocol):
    """What a function's deliveries are handed to."""

    def check(self, function: str, kind: str, outputs: Sequence[str]) -> None:
        """Take up the function; raise `ConfigurationError`."""

    async def deliver(
        self, function: str, kind: str, values: Sequence[Any], make: Callable[[Any], Awaitable[Any]]
    ) -> Mapping[str, Any]:
        """Return what the outputs get, by their names, once the deliveries are done."""


class _AgentTriggerSetting(Setting):
    def __init__(self, trigger: Delivers) -> None:
        super().__init__(MARK)
        self.trigger = trigger


def marked(trigger: Delivers) -> Callable[[F], F]:
    """Return the decorator that hands a function's deliveries to the trigger."""

    def mark(target: Any) -> Any:
        if hasattr(target, "add_setting"):  # a function that the SDK's decorators have taken
            target.add_setting(_AgentTriggerSetting(trigger))
        else:
            setattr(target, MARK, trigger)
        return target

    return mark


def adapt_agent_trigger(function: Any) -> None:
    """Exchange the handler of one indexed function for one that hands its deliveries on, if it is marked.

    Raises `ConfigurationError`.
    """
    handler, setting = function.get_user_function(), function.get_setting(MARK)
    trigger: Delivers | None = getattr(handler, MARK, None) if setting is None else setting.trigger
    if trigger is None:
        return
    name, source, takes = function.get_function_name(), function.get_trigger(), inspect.signature(handler).parameters
    if source.name not in takes:
        raise ConfigurationError(
            f"The function {name!r} has no parameter {source.name!r}, the arg_name of its trigger. Add it."
        )
    others = [binding for binding in function.get_bindings() if binding is not source]
    outputs = [each.name for each in others if each.direction == BindingDirection.OUT.value and each.name not in takes]
    trigger.check(name, source.type, outputs)
    exchange_handler(function, _delivering(handler, trigger, function, outputs))


def _delivering(
    handler: Callable[..., Any], trigger: Delivers, function: Any, outputs: Sequence[str]
) -> Callable[..., Any]:
    name, source, takes = function.get_function_name(), function.get_trigger(), inspect.signature(handler).parameters
    kind, is_async = source.type, inspect.iscoroutinefunction(handler)

    @functools.wraps(handler)
    async def deliver(**arguments: Any) -> Any:
        copy = _copier(arguments[source.name])
        given = {each: arguments[each] for each in takes if each in arguments}

        async def make(item: Any) -> Any:
            values = {**given, source.name: copy(item)}
            if is_async:
                return await handler(**values)
            return await asyncio.to_thread(carried(handler), **values)

        value = copy(arguments[source.name])
        values = value if isinstance(value, list | func.DocumentList) else [value]
        written = await trigger.deliver(name, kind, values, make)
        for output, content in written.items():
            if output != _RETURN:
                arguments[output].set(content)
        return written.get(_RETURN)

    bound = [binding.name for binding in function.get_bindings() if binding.name != _RETURN]
    names = dict.fromkeys((*bound, *takes))
    parameters = [inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY) for each in names]
    deliver.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    annotations = {each: hint for each, hint in handler.__annotations__.items() if each not in (source.name, "return")}
    deliver.__annotations__ = {
        **dict.fromkeys((each for each in outputs if each != _RETURN), func.Out[str]),
        **annotations,
    }
    return deliver


def _copier(value: Any) -> Callable[[Any], Any]:
    """Return what gives a delivery once more: a blob is a stream, and its first reader leaves nothing to the next."""
    if not isinstance(value, InputStream):
        return lambda delivery: delivery
    members = ("name", "uri", "length", "blob_properties", "metadata")
    content, named = value.read(), {member: getattr(value, member) for member in members}
    return lambda _: InputStream(data=content, **named)
