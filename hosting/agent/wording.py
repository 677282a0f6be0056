"""The text of an answer that comes in pieces, piece by piece as the whole answer's text will have it."""

from __future__ import annotations

from agent_framework import AgentResponseUpdate

PARAGRAPH = "\n\n"


class Wording:
    """One answer: its messages' texts, a blank line between them, as `state.conversation.response_text` joins them."""

    def __init__(self) -> None:
        self._message: tuple[str | None, str | None, str | None] = (None, None, None)
        self._has_spoken = False
        self._is_new = True

    def next(self, update: AgentResponseUpdate) -> str:
        """Return what the update adds; "" for one without text."""
        self._turn_to(update)
        text = "".join(content.text or "" for content in update.contents if content.type == "text")
        if not text:
            return ""
        begins_paragraph = self._is_new and self._has_spoken
        self._is_new, self._has_spoken = False, True
        return PARAGRAPH + text if begins_paragraph else text

    def _turn_to(self, update: AgentResponseUpdate) -> None:
        """Another id, author or role begins a message, as it does where the framework joins updates."""
        role = str(update.role) if update.role else None
        named = (update.message_id, update.author_name, role)
        if any(new and old and new != old for new, old in zip(named, self._message, strict=True)):
            self._is_new = True
            self._message = named
        else:
            self._message = tuple(new or old for new, old in zip(named, self._message, strict=True))  # type: ignore[assignment]
