"""What the document cannot say to schemathesis: fields that exclude each other, and which 5xx are promised."""

from __future__ import annotations

from typing import Any

import schemathesis
from schemathesis.generation import GenerationMode

THREAD_NAMES = ("thread_id", "session_id", "sessionId", "x-ms-thread-id", "x-ms-session-id")
FORMAT_NAMES = ("response_format", "responseFormat")


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: schemathesis.Case, kwargs: dict[str, Any]) -> None:
    """Let a valid request name one thread and one format; one that is made to be refused is sent as it is."""
    if case.meta is None or case.meta.generation.mode is not GenerationMode.POSITIVE:
        return
    body = case.body if isinstance(case.body, dict) else {}
    _keep_first(THREAD_NAMES, body, case.query, case.headers)
    _keep_first(FORMAT_NAMES, body)
    for content in body.get("contents") or ():
        if content["$type"] == "data":  # its address says the media type too
            content.pop("mediaType", None)


@schemathesis.check
def server_errors(
    ctx: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case
) -> bool | None:
    """A 5xx is an agent's answer that does not fit the format that was asked for, and nothing else."""
    if response.status_code >= 500:
        assert response.json()["code"] == "invalid_output", response.text
    return None


def _keep_first(names: tuple[str, ...], *places: Any) -> None:
    given = [(place, name) for place in places for name in names if name in (place or {})]
    for place, name in given[1:]:
        del place[name]
