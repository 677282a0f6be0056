"""One HTTP route as a value: its inputs, its answers and its refusals."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from hosting import errors
from hosting.core.request.contents import Limits
from hosting.http.parameters import Parameter
from hosting.plan import Kind


class RequestBody(Protocol):
    """The body that a route takes, as far as the OpenAPI document describes it."""

    def described(self, agents: Mapping[str, Limits], owner: str) -> dict[str, Any]:
        """Return it as the document has it, for a route of these agents or workflows, with their limits.

        `owner` is one whose threads a request may name.
        """


@dataclass(frozen=True)
class Header:
    """A header of a response. Where it is not `always` sent, `description` has when."""

    name: str
    description: str
    type: Literal["string", "integer"] = "string"
    always: bool = True

    def described(self, *, always: bool = True) -> dict[str, Any]:
        """Return it as the OpenAPI document has it, required if it is `always` sent with the answer."""
        return {"description": self.description, "required": always and self.always, "schema": {"type": self.type}}


@dataclass(frozen=True)
class ResponseSpec:
    """One status of a route, and the type of its JSON `body`, None for no body.

    With `or_text` a caller may prefer text, with `or_events` an event stream.
    """

    status: int
    description: str
    body: Any = None
    headers: tuple[Header, ...] = ()
    or_text: bool = False
    or_events: bool = False


THREAD_HEADERS = (Header("x-ms-thread-id", "The thread."), Header("x-ms-session-id", "The thread."))
RUN_HEADERS = (*THREAD_HEADERS, Header("x-ms-run-id", "The run."))
FINISH_HEADERS = (
    Header("x-ms-finish-reason", "The reason why the model ended its answer, if known.", always=False),
    Header("x-ms-incomplete", "true: the answer is incomplete.", always=False),
)

Refusals = tuple[type[errors.HostingError], ...]
LOG: Refusals = (errors.LogUnavailableError, errors.NewerVersionError)
STORES: Refusals = (*LOG, errors.EngineUnavailableError)
_BODY: Refusals = (
    errors.InvalidJsonError,
    errors.InvalidEncodingError,
    errors.InvalidBodyError,
    errors.InvalidFieldError,
    errors.UnknownFieldError,
    errors.BodyTooLargeError,
    errors.UnsupportedMediaTypeError,
)
_BY_ADMINISTRATORS = ("GET", "HEAD", "DELETE")
_IN_PATH = re.compile(r"{(\w+)}")


@dataclass(frozen=True)
class Route:
    """A verb on a path, the function that serves it, and its contract.

    `answers` and `refusals` are its own; `all_refusals` and `headers` add what its path, parameters and body bring.
    Each part of the path that a caller chooses has its parameter here, but for the name of an agent. One that
    `is_anonymous` needs no key. One that `is_for_all` is about the app and nobody's threads: nobody has to be signed in
    there. A route of agents that `is_for_workflows` is one of theirs too, as `of_workflows` changes it. A route of a
    thread that `is_for_shared` is there for those with whom one is shared too, and `needs` is what they must be allowed
    to do: "own" is for its owner alone, "admin" for administrators. "self" is about the sender, for whom nobody else is
    named. One that is for an `agent` or a workflow alone has no place for a name in its path.
    """

    function: str
    method: Literal["GET", "HEAD", "POST", "DELETE"]
    path: str
    description: str
    answers: tuple[ResponseSpec, ...] = field(hash=False)
    refusals: Refusals = ()
    parameters: tuple[Parameter, ...] = ()
    body: RequestBody | None = field(default=None, hash=False)
    is_anonymous: bool = False
    is_for_all: bool = False
    is_for_workflows: bool = True
    is_for_shared: bool = True
    needs: Literal["read", "run", "own", "self", "admin"] = "read"
    agent: str | None = None
    of_workflows: Callable[[Route], Route] | None = None

    def __post_init__(self) -> None:
        described = sorted(each.name for each in self.parameters if each.location == "path")
        if described != sorted(name for name in self.path_names if name != "name"):
            raise ValueError(
                f"{self} has parameters for {described}. Give each part of the path its own, and no other."
            )

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def takes_owner(self) -> bool:
        """Whether an administrator may name another owner: to read and to delete threads, and where only they may."""
        is_of_another = self.needs == "admin" or (self.method in _BY_ADMINISTRATORS and self.needs != "self")
        return is_of_another and "{grant}" not in self.path and not self.is_for_all

    @property
    def kind(self) -> Kind:
        """The kind that the path or the route itself names: an agent or a workflow."""
        return "workflow" if self.path.partition("/")[0] in ("workflow", "workflows") else "agent"

    @property
    def path_names(self) -> list[str]:
        """The names of the parts of the path that a caller chooses, in their order."""
        return _IN_PATH.findall(self.path)

    @property
    def all_refusals(self) -> Refusals:
        """The refusals of the route, each once."""
        of_name = (errors.UnknownAgentError,) if "name" in self.path_names else ()
        of_parameters = (error for each in self.parameters for error in each.refusals)
        return tuple(dict.fromkeys((*(_BODY if self.body else ()), *of_name, *of_parameters, *self.refusals)))

    @property
    def headers(self) -> tuple[Header, ...]:
        """The headers of all its answers: they name the thread, and the run, that the path names."""
        if "{run_id}" in self.path:
            return RUN_HEADERS
        return THREAD_HEADERS if "{thread_id}" in self.path or "{grant}" in self.path else ()


def ok(body: Any) -> tuple[ResponseSpec, ...]:
    """Return the answers of a route that has one: 200 with this body, which describes itself."""
    return (ResponseSpec(200, body.__doc__.partition("\n")[0], body),)
