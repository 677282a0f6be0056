"""One HTTP route as a value: its inputs, its answers and its refusals."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol

from msgspec import Struct, structs

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


class Header(Struct, frozen=True):
    """A header of a response. Where it is not `always` sent, `description` has when."""

    name: str
    description: str
    type: Literal["string", "integer"] = "string"
    always: bool = True

    def described(self, *, always: bool = True) -> dict[str, Any]:
        """Return it as the OpenAPI document has it, required if it is `always` sent with the answer."""
        return {"description": self.description, "required": always and self.always, "schema": {"type": self.type}}


class ResponseSpec(Struct, frozen=True):
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


class Step(NamedTuple):
    """A part of a path, with the parameters in it."""

    part: str
    parameters: tuple[Parameter, ...] = ()


class Place(Struct, frozen=True, dict=True):
    """Where a route is: the steps of its path, and what all routes there have in common.

    The names of their functions begin with the `word`, and any of them may answer with the `refusals`. They are of
    agents or of workflows; those of one `agent` or workflow alone have no place for a name in their paths.
    """

    word: str = "http"
    kind: Kind = "agent"
    agent: str | None = None
    refusals: Refusals = ()
    steps: tuple[Step, ...] = ()

    def below(self, part: str, *parameters: Parameter) -> Place:
        """Return the place of that part below this one. A `{part}` that callers choose has its parameter."""
        return structs.replace(self, steps=(*self.steps, Step(part, parameters)))

    def moved(self, home: Place, other: Place) -> Place | None:
        """Return the place that is below `other` as this one is below `home`; None if it is not below that."""
        depth = len(home.steps)
        if self.steps[:depth] != home.steps:
            return None
        return structs.replace(other, steps=(*other.steps, *self.steps[depth:]))

    @cached_property
    def path(self) -> str:
        """The path, below the host's prefix."""
        return "/".join(step.part for step in self.steps)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters in the path, in their order. The name of an agent has none."""
        return tuple(parameter for step in self.steps for parameter in step.parameters)


@dataclass(frozen=True)
class Route:
    """A verb at a place, the function that serves it, and its contract.

    The function is named after the place and the route's own `name`, unless it has its `own_function`. `parameters`,
    `answers` and `refusals` are the route's own; `all_parameters`, `all_refusals` and `headers` add what its place and
    body bring. One that `is_anonymous` needs no key. One that `is_for_all` is about the app and nobody's threads:
    nobody has to be signed in there. A route of agents that `is_for_workflows` is one of theirs too, as `of_workflows`
    changes it. A route of a thread that `is_for_shared` is there for those with whom one is shared too. `needs` is what
    they must be allowed to do: "own" is for its owner alone, "admin" for administrators. "self" is about the sender,
    for whom nobody else is named.
    """

    name: str
    method: Literal["GET", "HEAD", "POST", "PATCH", "DELETE"]
    place: Place
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
    of_workflows: Callable[[Route], Route] | None = None
    own_function: str | None = None

    def __post_init__(self) -> None:
        described = sorted(each.name for each in self.all_parameters if each.location == "path")
        if described != sorted(name for name in self.path_names if name != "name"):
            raise ValueError(
                f"{self} has parameters for {described}. Give each part of the path its own, and no other."
            )

    def at(self, place: Place) -> Route:
        """Return the same route at another place, as workflows have it if that place is theirs."""
        same = dataclasses.replace(self, place=place)
        return same if self.of_workflows is None or place.kind == "agent" else self.of_workflows(same)

    @property
    def function(self) -> str:
        """The name of the function that serves it."""
        return self.own_function or f"{self.place.word}_{self.name}"

    @cached_property
    def path(self) -> str:
        """The path, below the host's prefix."""
        return self.place.path

    @property
    def all_parameters(self) -> tuple[Parameter, ...]:
        """The parameters of the path, and those of the route itself."""
        return (*self.place.parameters, *self.parameters)

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def takes_owner(self) -> bool:
        """Whether an administrator may name another owner: to read and to delete threads, and where only they may."""
        is_of_another = self.needs == "admin" or (self.method in _BY_ADMINISTRATORS and self.needs != "self")
        return is_of_another and "grant" not in self.path_names and not self.is_for_all

    @property
    def path_names(self) -> list[str]:
        """The names of the parts of the path that a caller chooses, in their order."""
        return _IN_PATH.findall(self.path)

    @property
    def all_refusals(self) -> Refusals:
        """The refusals of the route, each once."""
        of_name = (errors.UnknownAgentError,) if "name" in self.path_names else ()
        of_parameters = (error for each in self.all_parameters for error in each.refusals)
        of_body = _BODY if self.body else ()
        return tuple(dict.fromkeys((*of_body, *of_name, *of_parameters, *self.place.refusals, *self.refusals)))

    @property
    def headers(self) -> tuple[Header, ...]:
        """The headers of all its answers: they name the thread, and the run, that the path names."""
        if "run_id" in self.path_names:
            return RUN_HEADERS
        return () if {"thread_id", "grant"}.isdisjoint(self.path_names) else THREAD_HEADERS


def ok(body: Any) -> tuple[ResponseSpec, ...]:
    """Return the answers of a route that has one: 200 with this body, which describes itself."""
    return (ResponseSpec(200, body.__doc__.partition("\n")[0], body),)
