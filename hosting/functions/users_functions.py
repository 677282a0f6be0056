"""The functions of the user's own, adapted as they are indexed: each has what its decorators and its types ask for."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from hosting.functions.agent_triggers import adapt_agent_trigger
from hosting.functions.durable import naming
from hosting.functions.lent_client import lend_client
from hosting.functions.orchestrations import warn_of_management_urls
from hosting.functions.user_routes import adapt_classic_handler, exchange_handler, refuse_taken_routes


def prepare(functions: Iterable[Any], own: Container[str], *, has_owners: bool) -> None:
    """Exchange the handlers of those indexed functions that are not of the app's `own` names, and of orchestrators.

    Raises `ConfigurationError` for one that takes requests of ours, or begins no run as it says. Where threads have
    owners, one is named that answers with the engine's own URLs.
    """
    ours, theirs = list[Any](), list[Any]()
    for function in functions:
        (ours if function.get_function_name() in own else theirs).append(function)
    refuse_taken_routes(ours, theirs)
    if has_owners:
        warn_of_management_urls(theirs)
    for function in theirs:
        adapt_agent_trigger(function)
        lend_client(function)
        adapt_classic_handler(function)
    for function in (*ours, *theirs):
        if hasattr(handler := function.get_user_function(), "orchestrator_function"):
            exchange_handler(function, naming(handler))
