"""The durable client of an invocation for functions of the user's own, which declare nothing for it.

Each asynchronous function of the user's gets one more input binding. What it calls finds the client by
`hosting.orchestrations.ENGINE`. A synchronous function cannot await what it would call with it, and gets none.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from azure.durable_functions.decorators.metadata import DurableClient

from hosting.functions.durable import enter_invocation
from hosting.functions.user_routes import exchange_handler, is_this_librarys

CLIENT = "agentsClient"
"""The name of the binding: a host takes letters and digits alone."""
_CONTEXT = "context"
_REPLAYED = ("orchestrationTrigger", "entityTrigger")
"""Triggers that take no other input: their code is called again and again, or by the engine's own protocol."""


def lend_client(function: Any) -> None:
    """Give one indexed function of the user's the durable client of each of its invocations."""
    handler, trigger = function.get_user_function(), function.get_trigger()
    if trigger is None or trigger.type in _REPLAYED or not inspect.iscoroutinefunction(handler):
        return
    if not is_this_librarys(handler):
        function.add_binding(DurableClient(name=CLIENT))
        exchange_handler(function, with_client(handler))


def with_client(handler: Callable[..., Any]) -> Callable[..., Any]:
    """Return the handler with one more parameter, for the durable client of the invocation that it then works for."""
    takes_context = _CONTEXT in inspect.signature(handler).parameters

    @functools.wraps(handler)
    async def entered(**arguments: Any) -> Any:
        sdk = arguments.pop(CLIENT)
        context = arguments.get(_CONTEXT) if takes_context else arguments.pop(_CONTEXT, None)
        enter_invocation(sdk, context)
        return await handler(**arguments)

    declare(entered, handler, {CLIENT: str} if takes_context else {CLIENT: str, _CONTEXT: None})
    return entered


def declare(wrapper: Any, handler: Callable[..., Any], added: dict[str, type | None]) -> None:
    """Give a wrapper the parameters of its handler and these, each with its annotation if it has one.

    The worker reads both: it gives the invocation to a parameter `context`, and `str` is what it takes for a client.
    """
    signature = inspect.signature(handler)
    parameters = list(signature.parameters.values())
    at = next((n for n, each in enumerate(parameters) if each.kind is each.VAR_KEYWORD), len(parameters))
    parameters[at:at] = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in added]
    wrapper.__signature__ = signature.replace(parameters=parameters)
    annotated = {name: kind for name, kind in added.items() if kind is not None}
    wrapper.__annotations__ = {**getattr(handler, "__annotations__", {}), **annotated}
