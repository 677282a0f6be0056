"""What we keep under `data.extensionData`, which the other packages keep: the host's own object and session state."""

from __future__ import annotations

from typing import Any, Final

from state.models import Conversation, History
from state.versions import version_after_change

HOST: Final = "durableAgentHost"
SESSION: Final = "agentSession"


def host_value(conversation: Conversation) -> dict[str, Any]:
    """Return the host's own object; another writer's value in its place is as good as none."""
    value = (conversation.data.extension_data or {}).get(HOST)
    return value if isinstance(value, dict) else {}


def changed(conversation: Conversation, history: History, extension: dict[str, Any]) -> Conversation:
    """Return a copy with these entries and extension properties; a property that is None is removed."""
    merged = {**(conversation.data.extension_data or {}), **extension}
    kept = {key: value for key, value in merged.items() if value is not None or key not in extension}
    update: dict[str, Any] = {"conversation_history": history}
    if kept or conversation.data.extension_data is not None:
        update["extension_data"] = kept
    return conversation.model_copy(
        update={
            "schema_version": version_after_change(conversation.schema_version),
            "data": conversation.data.model_copy(update=update),
        }
    )
