"""What of a deployed app's records reaches its log: not libraries' lines with addresses, and all that entities say.

Theory. The query of a request may hold a key (`?code=`) or what a person looks for (`?search=`), and whoever may read
the log would have it. The worker's web server writes each request with its query. It sets up its logging when it
starts, which is after the app was imported, and takes from its logger the handlers and the level that the app gave it;
filters stay. Clients write each address that they ask, which may hold a key too, or the id of a session.

Nothing of this is for the app's own records, nor for what it raises: they reach the log as they are.

Except at one place. The host files a record under the function that is called, whatever its logger: that of a run on
which the thread's entity works stands among the durable extension's own, six for each turn, which nobody reads. So
host.json turns that category down to warnings, and what an agent says there at INFO would go with them. It is printed
instead: the host keeps what is printed, under a category of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path

from hosting.host_settings import host_value
from hosting.invocation import PrintedRecords
from hosting.names import entity_function
from hosting.settings import is_hosted

logger = logging.getLogger(__name__)

ENTITIES = f"Function.{entity_function('*')}.User"
"""The host's category of what is logged while an agent's entity is called, for any agent."""

_REQUESTS = "uvicorn.access"
_NO_RECORD = logging.Filter("there is no logger with this name")
"""A filter that passes records of one logger name, without a call for each request."""

_QUIET = (
    "a2a",  # the addresses of agents' cards
    "agent_framework",  # three lines for each call of a tool
    "azure.core.pipeline.policies.http_logging_policy",  # each request, also for a token
    "azure.durable_functions",  # each call of its client, and each episode
    "azure.functions.DurableFunctions",  # what a next version of the SDK asks of itself
    "httpx",  # each request, with its query
    "mcp",  # ids of sessions
)
"""Loggers of which warnings are kept, unless they have a level already."""


def quiet_libraries() -> None:
    """Log no requests, and only warnings of clients and agent-framework, unless the app sets a level.

    Who wants all of it has the worker or the local host log DEBUG, which no deployed app does.
    """
    logging.getLogger(_REQUESTS).addFilter(_NO_RECORD)
    for name in _QUIET:
        library = logging.getLogger(name)
        if library.level == logging.NOTSET and not logger.isEnabledFor(logging.DEBUG):
            library.setLevel(logging.WARNING)


def keep_lines_of_entities(folder: Path, environ: Mapping[str, str]) -> None:
    """Print what agents log at INFO in their entities, if a host runs the app and keeps only warnings of them."""
    root = logging.getLogger()
    for printing in [handler for handler in root.handlers if isinstance(handler, PrintedRecords)]:
        root.removeHandler(printing)  # of another app of this process: no line is printed twice
    named, own = (host_value(folder, environ, "logging", "logLevel", *rule) for rule in ((), (ENTITIES,)))
    levels = named if isinstance(named, dict) else {}
    if own is not None:
        levels = {**levels, ENTITIES: own}
    rules = {rule.lower(): str(level).lower() for rule, level in levels.items()}
    if is_hosted(environ) and rules.get(ENTITIES.lower()) == "warning":
        root.addHandler(PrintedRecords(partial(_is_turned_down, rules.keys())))


def _is_turned_down(rules: Collection[str], function: str) -> bool:
    """Return whether it is that of all entities by which the host decides: the longest rule that fits, in any case."""
    category = f"Function.{function}.User".lower()
    parts = ((rule, *rule.partition("*")[::2]) for rule in rules)
    fitting = (rule for rule, begin, end in parts if category.startswith(begin) and category.endswith(end))
    return max(fitting, key=lambda rule: (len(rule), rule), default="") == ENTITIES.lower()
