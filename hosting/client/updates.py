"""The updates of agent-framework's stream that the events of a run make (docs/reference/streaming.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agent_framework import AgentResponseUpdate, Content


class Updates:
    """What one stream has given so far: an event that comes again, after a break or a restart, gives nothing.

    A restarted run may say something else than before. The `offset` in an update's `additional_properties` says from
    which character on its text replaces the earlier text. The response at the end is exact in any case.
    """

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._text: dict[str, str] = {"delta": "", "reasoning": ""}
        self._shown: set[tuple[str, str]] = set()

    def of(self, event: str, fields: Mapping[str, Any]) -> Iterator[AgentResponseUpdate]:
        """Yield the update that an event makes, if it makes one."""
        match event:
            case "delta" | "reasoning":
                yield from self._text_update(event, str(fields["text"]), int(fields["offset"]))
            case "tool_call" if self._is_new(event, fields):
                call = Content.from_function_call(fields["id"], fields["tool"], arguments=fields.get("arguments"))
                yield AgentResponseUpdate(contents=[call], role="assistant", author_name=self._agent)
            case "tool_result" if self._is_new(event, fields):
                outcome = {"exception": fields["error"]} if "error" in fields else {"result": fields.get("result")}
                result = Content.from_function_result(fields["id"], **outcome)
                yield AgentResponseUpdate(contents=[result], role="tool", author_name=self._agent)

    def _is_new(self, event: str, fields: Mapping[str, Any]) -> bool:
        """Return whether the call or result is new, and not that of an agent that is a tool: a plain agent has none."""
        key = (event, str(fields["id"]))
        is_new = key not in self._shown and "/" not in key[1]
        self._shown.add(key)
        return is_new

    def _text_update(self, event: str, text: str, offset: int) -> Iterator[AgentResponseUpdate]:
        known = self._text[event]
        if known.startswith(text, offset):
            return
        if text.startswith(known[offset:]):  # it goes on where the text ends
            text, offset = text[len(known) - offset :], len(known)
        self._text[event] = known[:offset] + text
        content = Content.from_text(text) if event == "delta" else Content.from_text_reasoning(text=text)
        yield AgentResponseUpdate(
            contents=[content],
            role="assistant",
            author_name=self._agent,
            additional_properties={"offset": offset},
        )
