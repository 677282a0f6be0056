"""The functions of the user's own, adapted as they are indexed: each has what its decorators and its types ask for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hosting.functions.agent_triggers import adapt_agent_trigger
from hosting.functions.durable import naming
from hosting.functions.lent_client import lend_client
from hosting.functions.user_routes import adapt_classic_handler, exchange_handler


def adapt(functions: Iterable[Any]) -> None:
    """Exchange the handlers of indexed functions; raises `ConfigurationError` for one that begins no run as it says."""
    for function in functions:
        adapt_agent_trigger(function)
        lend_client(function)
        adapt_classic_handler(function)
        if hasattr(handler := function.get_user_function(), "orchestrator_function"):
            exchange_handler(function, naming(handler))
