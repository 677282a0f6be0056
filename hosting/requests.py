"""What a caller asks of an agent, and what an agent asks of a person: the values that the events of a run carry.

Each is parsed at the border and frozen. Stored ones are read again by every later version, which ignores members that
it does not know.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from hosting.retry import Retry


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class ResponseFormat(_Value):
    """What a caller wants the answer to be: a value of the JSON Schema, or without one any JSON object.

    The rest is what OpenAI's form says to the model: a name, a description and whether it must be `strict`.
    """

    json_schema: dict[str, Any] | None = None
    name: str = "response"
    description: str | None = None
    strict: bool | None = None

    def envelope(self) -> dict[str, Any]:
        """Return OpenAI's form, which every client of agent-framework takes."""
        if self.json_schema is None:
            return {"type": "json_object"}
        said = self.model_dump(include={"name", "description", "strict"}, exclude_none=True)
        return {"type": "json_schema", "json_schema": {**said, "schema": self.json_schema}}


class Decision(_Value):
    """What somebody decided of the tool call that waited under this approval's id."""

    id: str
    approved: bool
    reason: str | None = None


class Spoken(_Value):
    """One message of a caller: its text, then its `contents` in stored form; one of them is not empty."""

    message: str = ""
    contents: tuple[dict[str, Any], ...] = ()
    role: str = "user"


class RunRequest(Spoken):
    """What a caller asked of an agent: parsed, checked, free of transport (no Accept, no wait).

    The message that is to be answered, and those said `earlier` in the same breath. Or, without any, the `decisions` on
    every tool call for whose approval the thread waits.
    """

    earlier: tuple[Spoken, ...] = ()
    response_format: ResponseFormat | None = None
    enable_tool_calls: bool = True
    orchestration_id: str | None = None
    decisions: tuple[Decision, ...] = ()
    retry: Retry | None = None


class PendingApproval(_Value):
    """A tool call that is made only if somebody approves it. `arguments` are the object or text that the model sent."""

    id: str
    tool: str
    arguments: Any
