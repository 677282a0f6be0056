"""An agent's response with another value beside the rest of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_framework import AgentResponse


def with_value(
    response: AgentResponse[Any], value: Any, more_properties: Mapping[str, Any] | None = None
) -> AgentResponse[Any]:
    """Return the response with this value, and more additional properties; the framework lets none be set later."""
    return AgentResponse(
        value=value,
        messages=response.messages,
        usage_details=response.usage_details,
        additional_properties={**response.additional_properties, **(more_properties or {})},
        response_id=response.response_id,
        agent_id=response.agent_id,
        created_at=response.created_at,
        finish_reason=response.finish_reason,
        continuation_token=response.continuation_token,
    )
