"""Lines of libraries that stay out of a deployed app's log: lines with addresses, and lines without information.

Theory. The query of a request may hold a key (`?code=`) or what a person looks for (`?search=`), and whoever may read
the log would have it. The worker's web server writes each request with its query. It sets up its logging when it
starts, which is after the app was imported, and takes from its logger the handlers and the level that the app gave it;
filters stay. Clients write each address that they ask, which may hold a key too, or the id of a session.

Nothing of this is for the app's own records, nor for what it raises: they reach the log as they are.
"""

from __future__ import annotations

import logging

logger = logging.getLogger(__name__)

_REQUESTS = "uvicorn.access"
_NO_RECORD = logging.Filter("there is no logger with this name")
"""A filter that passes records of one logger name, without a call for each request."""

_QUIET = (
    "a2a",  # the addresses of agents' cards
    "agent_framework",  # three lines for each call of a tool
    "azure.core.pipeline.policies.http_logging_policy",  # each request, also for a token
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
