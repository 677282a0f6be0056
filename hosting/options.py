"""The options of an agent, as its author chose them, and the retries of its runs."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from msgspec import Struct, structs

from hosting.errors import ConfigurationError, InvalidFieldError
from hosting.model_options import Declared, check_declared
from hosting.names import BUSY_POLICIES, Busy

Reasoning = Literal["keep", "show", "drop"]
"""What becomes of a model's thoughts: `keep` is as agent-framework does, which gives them back to the model."""

LONGEST_TTL_SECONDS = 315_360_000
"""Ten years."""

_TOOL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}\Z")
"""A tool name that every MCP client and model accepts."""

_RANGES = {
    "attempts": (1, 100),
    "first_pause_seconds": (0, 86_400),
    "backoff": (1, 100),
    "longest_pause_seconds": (0, 86_400),
}


@dataclass(frozen=True)
class Retry:
    """The retries of a run after its model or agent failed: `attempts` at most, with pauses that grow by `backoff`.

    The run is tried again before its end is recorded. The steps in its journal are replayed, so a tool that was called
    is not called once more (why-it-is-safe.md); the SDKs' own retries around a call would meet the recorded end. All
    attempts share the run's time limit: no attempt begins after it. Raises `InvalidFieldError` for a number out of its
    range.
    """

    attempts: int = 3
    first_pause_seconds: float = 1.0
    backoff: float = 2.0
    longest_pause_seconds: float = 60.0

    def __post_init__(self) -> None:
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            kinds = (int,) if name == "attempts" else (int, float)
            if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most:
                kind = "a whole number" if name == "attempts" else "a number"
                raise InvalidFieldError(f"retry.{name} is {value!r:.80}. Give {kind} from {least} to {most}.")

    def pause_seconds(self, failures: int) -> float | None:
        """Return how long to pause after so many failed attempts, or None when there is to be no other."""
        if failures >= self.attempts:
            return None
        return min(self.first_pause_seconds * self.backoff ** (failures - 1), self.longest_pause_seconds)

    def fields(self) -> dict[str, float]:
        """Return the members as a request carries them."""
        return asdict(self)


class AgentOptions(Struct, frozen=True):
    """The options of one agent, or those of an app for agents that have none of their own.

    `http` and `mcp` say whether it has an HTTP endpoint and is an MCP tool. A run may take `run_timeout_seconds`, as
    the settings say if that is None. A conversation ends `ttl_seconds` after its last answer, and never if that is 0.
    `retry` is for requests that bring none. `busy` is what becomes of a request that does not say it, while a run of
    its thread has not ended. `webhook` is the address that is notified of the ends of its runs, and `callback` is
    called with its updates and the ends of its runs. An agent `within` another one is run by that alone: its threads
    are there to be read, and nothing lists it. With `client_tools` a request may bring tools that its caller runs.
    `reasoning` is what becomes of the thoughts of its model: "keep" if that is None. `model_options` are those that a
    request may set, with their bounds. The features that read `budget`, `limit`, `webhook` and `callback` check them.
    """

    http: bool | None = None
    mcp: bool | None = None
    tool_name: str | None = None
    tool_description: str | None = None
    run_timeout_seconds: float | None = None
    ttl_seconds: float | None = None
    retry: Retry | None = None
    busy: Busy = "queue"
    budget: object = None
    limit: object = None
    webhook: str | None = None
    client_tools: bool | None = None
    reasoning: Reasoning | None = None
    model_options: Declared | None = None
    callback: object = None
    within: str = ""

    def over(self, app: AgentOptions) -> AgentOptions:
        """Return these options, and those of the app where the agent has none."""
        values = {field.name: (getattr(self, field.name), field.default) for field in structs.fields(self)}
        return structs.replace(app, **{name: own for name, (own, default) in values.items() if own is not default})

    @property
    def shows_thoughts(self) -> bool:
        """Whether callers get the thoughts of its model."""
        return self.reasoning == "show"

    def check(self, agent: str) -> None:
        """Raise `ConfigurationError` for options that no agent of that name can have."""
        if self.busy not in BUSY_POLICIES:
            raise ConfigurationError(
                f"busy of agent {agent!r} is {str(self.busy)[:80]!r}. "
                f"Give one of {', '.join(map(repr, BUSY_POLICIES))}."
            )
        if self.reasoning is not None and self.reasoning not in get_args(Reasoning):
            raise ConfigurationError(
                f"reasoning of agent {agent!r} is {str(self.reasoning)[:80]!r}. "
                f"Give one of {', '.join(map(repr, get_args(Reasoning)))}."
            )
        if self.model_options is not None:
            check_declared(f"agent {agent!r}", self.model_options)
        self._check_tool(agent)
        if self.ttl_seconds is not None and not 0 <= self.ttl_seconds <= LONGEST_TTL_SECONDS:
            raise ConfigurationError(
                f"ttl_seconds of agent {agent!r} is {self.ttl_seconds:.12g}: it must be 0, for no end, to "
                f"{LONGEST_TTL_SECONDS}."
            )

    def _check_tool(self, agent: str) -> None:
        name, description = self.tool_name, self.tool_description
        if not self.mcp and (name is not None or description is not None):
            option = "mcp_tool_description" if name is None else "mcp_tool_name"
            raise ConfigurationError(
                f"{option} is given for agent {agent!r}, which is not an MCP tool. Add enable_mcp_tool_trigger=True."
            )
        if name is not None and not _TOOL_NAME.match(name):
            raise ConfigurationError(
                f"mcp_tool_name {name!r} of agent {agent!r} cannot be a tool's name. "
                "Begin with a letter and use 1 to 64 letters, digits, '_' and '-'."
            )
        if description is not None and not description.strip():
            raise ConfigurationError(
                f"mcp_tool_description of agent {agent!r} is blank. Say what the tool is for, or leave it out."
            )


AS_THE_APP = AgentOptions()
"""The options of an agent whose author chose none for it."""


def options_of_app(model_options: Declared | None, **others: Any) -> AgentOptions:
    """Return the options of an app for agents that have none of their own; the `others` are members by their names.

    Raises `ConfigurationError` for model options that nobody can declare.
    """
    if model_options is not None:
        check_declared("AgentFunctionApp", model_options)
    return AgentOptions(model_options=model_options, **others)
