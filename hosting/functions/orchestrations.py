"""The user's orchestrations for callers over HTTP: started for a caller, and readable only by that caller.

Theory. The engine's own answer to a start holds URLs with a key that opens every entity, and so every conversation.
Here a caller gets the place of a route of ours instead. Where callers have threads of their own, the owner is the
beginning of the instance's id, which a caller neither sees nor sends: another's orchestration is one that never was.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, NotRequired
from urllib.parse import urlsplit

import azure.durable_functions as df
import azure.functions as func
from typing_extensions import TypedDict

from hosting.errors import EngineUnavailableError, HostingError, UnauthorizedError, UnknownOrchestrationError
from hosting.functions.answering import NO_STORE, Served
from hosting.functions.durable import DurableClient
from hosting.functions.http_triggers import register
from hosting.functions.shutdown import Shutdown
from hosting.http import places
from hosting.http.parameters import in_path
from hosting.http.refusals import RETRY_AFTER_SECONDS
from hosting.http.replies import Reply, json_reply, problem_reply
from hosting.http.request import Bound, HttpRequest
from hosting.http.route import ResponseSpec, Route
from hosting.http.routes import PENDING_HEADERS
from hosting.names import APP, is_id, new_id
from hosting.orchestrations import begin_orchestration
from hosting.ports import OrchestrationClient, OrchestrationStatus
from hosting.principal import Principal, PrincipalRequest, owner_of, resolve
from hosting.start_up import warn

FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 1.0
_KEY_PREDICATES = ("create_check_status_response", "create_http_management_payload")
"""Methods of the SDK's client whose answers hold a system key; a longer name starts with the first."""


class OrchestrationState(TypedDict):
    """The state of an orchestration. `status` is the engine's; `output` is set when it has completed."""

    id: str
    status: str
    custom_status: Any
    output: NotRequired[Any]


_INSTANCE_ID = in_path("instance_id", "The orchestration.", UnknownOrchestrationError, pattern=None)
_PLACE = places.APP.below("orchestrations/{instance_id}", _INSTANCE_ID)
ORCHESTRATION = Route(
    "orchestration",
    "GET",
    _PLACE,
    "Read an orchestration's status",
    (
        ResponseSpec(200, "The orchestration has ended, with or without success.", OrchestrationState),
        ResponseSpec(202, "The orchestration is queued or running.", OrchestrationState, PENDING_HEADERS),
    ),
    (EngineUnavailableError,),
)
"""Served where the app wants it (`AgentFunctionApp.orchestration_status_route`)."""


class OrchestrationRoutes:
    """Starts the orchestrations of an app and reports their state. `prefix` is that of its HTTP routes.

    A process that is about to end waits for none: it goes on elsewhere.
    """

    def __init__(self, served: Served, prefix: str, shutdown: Shutdown) -> None:
        self._served = served
        self._prefix = prefix.strip("/")
        self._shutdown = shutdown

    async def principal(self, req: func.HttpRequest) -> Principal | None:
        """Return the sender of a request to a route of the user's; None without sign-in."""
        resolver = self._served.access.resolver
        if resolver is None:
            return None
        headers = {name.lower(): value for name, value in req.headers.items()}
        try:
            return await resolve(resolver, PrincipalRequest(headers, f"{req.method} {urlsplit(req.url).path}"))
        except UnauthorizedError:
            return None

    async def run(
        self,
        req: func.HttpRequest,
        client: df.DurableOrchestrationClient,
        name: str,
        given: object,
        *,
        principal: Principal | None,
        wait_seconds: float,
    ) -> func.HttpResponse:
        """Start an orchestration for the sender of the request, and return its output, or its status URL.

        One that fails within the wait is answered 500, with its state.
        """
        try:
            principal = principal or await self.principal(req)
            if principal is None and self._served.access.resolver is not None:
                raise UnauthorizedError("This app requires you to sign in, and the request is not signed in. Sign in.")
            durable, shown = DurableClient(client), new_id()
            instance = _instance(owner_of(principal), shown)
            await begin_orchestration(durable, name, instance, given)
            found = await self._ended(durable, instance, wait_seconds)
            url = urlsplit(req.url)
            where = "/".join(part for part in (f"{url.scheme}://{url.netloc}", self._prefix) if part)
            if found is not None and found.status == "Completed":
                output = json.dumps(found.output, ensure_ascii=False)
                return func.HttpResponse(output, mimetype="application/json", headers=NO_STORE)
            reply = _state_reply(shown, found, f"{where}/{ORCHESTRATION.path.format(instance_id=shown)}")
        except HostingError as error:
            reply = problem_reply(error, "json")
        return func.HttpResponse(
            reply.body,
            status_code=reply.status if reply.status != 200 else 500,
            mimetype=reply.media_type,
            headers={**NO_STORE, **reply.headers},
        )

    async def _ended(self, client: OrchestrationClient, instance: str, seconds: float) -> OrchestrationStatus | None:
        """Return an instance's status when it has ended, or after so many seconds; None if it is unknown.

        It was started, so an engine that cannot be reached now is no reason to have the caller start another.
        """
        clock = asyncio.get_running_loop().time
        end, pause = clock() + seconds, FIRST_PAUSE_SECONDS
        found = await _status(client, instance)
        while (found is None or not found.is_over) and (left := end - clock()) > 0 and not self._shutdown.is_ending:
            await asyncio.sleep(min(pause, left))
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            found = await _status(client, instance) or found
        return found

    def register_status(self) -> None:
        """Register `GET orchestrations/{instance_id}`."""

        register(self._served, [Bound(ORCHESTRATION, _read)])


async def _read(request: HttpRequest) -> Reply:
    shown: str = request.received.path_params["instance_id"]
    instance = _instance(request.caller.owner, shown)
    found = await request.caller.client.status(instance) if is_id(shown) else None
    if found is None:
        raise UnknownOrchestrationError(f"There is no orchestration {shown[:80]!r}.")
    return _state_reply(shown, found, f"{request.base_url}/{ORCHESTRATION.path.format(instance_id=shown)}")


async def _status(client: OrchestrationClient, instance: str) -> OrchestrationStatus | None:
    with suppress(EngineUnavailableError):
        return await client.status(instance)
    return None


def _instance(owner: str, shown: str) -> str:
    return shown if owner == APP else f"{owner}!{shown}"


def _state_reply(shown: str, found: OrchestrationStatus | None, url: str) -> Reply:
    """Return 200 for an ended instance, else 202. The app's log has the cause of a failure."""
    status = "Pending" if found is None else found.status
    body: OrchestrationState = {
        "id": shown,
        "status": status,
        "custom_status": None if found is None else found.custom_status,
    }
    if found is not None and status == "Completed":
        body["output"] = found.output
    if found is not None and found.is_over:
        return json_reply(200, body)
    return json_reply(202, body, {"location": url, "retry-after": str(RETRY_AFTER_SECONDS)})


def warn_of_management_urls(functions: Iterable[Any]) -> None:
    """Print a warning for each function with an HTTP route whose code answers with the engine's own URLs.

    What it calls by a name of its module, of another one, of a class or around it is its code too.
    """
    for function in functions:
        if not any(json.loads(raw)["type"] == "httpTrigger" for raw in function.get_raw_bindings()):
            continue
        handler = inspect.unwrap(getattr(function.get_user_function(), "client_function", function.get_user_function()))
        if isinstance(handler, FunctionType) and _distinguishes_keys(handler):
            code = handler.__code__
            where = f"{Path(code.co_filename).name}, line {code.co_firstlineno}"
            warn(
                f"Function {function.get_function_name()} ({where}) answers with management URLs, which hold a key to "
                "every conversation. Answer with app.run_orchestration(...) instead. See docs/guides/security.md."
            )


def _distinguishes_keys(handler: FunctionType) -> bool:
    """Return whether a function, or a function that it calls by name, uses one of those methods."""
    seen: set[CodeType] = set()
    waiting = [handler]
    while waiting:
        function = waiting.pop()
        if function.__code__ in seen:
            continue
        seen.add(function.__code__)
        names = _names(function.__code__)
        if any(predicate in name for predicate in _KEY_PREDICATES for name in names):
            return True
        waiting += _called(function, names)
    return False


def _names(code: CodeType) -> set[str]:
    """Return the names that the code uses, those in functions inside it and names that are texts too."""
    names = {*code.co_names, *code.co_freevars}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names(constant)
        elif isinstance(constant, str) and constant.isidentifier():
            names.add(constant)
    return names


def _called(function: FunctionType, names: set[str]) -> list[FunctionType]:
    """Return the functions of these names: of its module, around it, or in a module or class of that name."""
    around = {
        name: cell.cell_contents
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        if cell != CellType()  # one that is not filled yet
    }
    found = [around.get(name, function.__globals__.get(name)) for name in names]
    scopes = [scope for scope in found if isinstance(scope, ModuleType | type)]
    found += [vars(scope).get(name) for scope in scopes for name in names]
    bare = (getattr(one, "__func__", one) for one in found)
    plain = (inspect.unwrap(one) for one in bare if isinstance(one, FunctionType))
    return [one for one in plain if isinstance(one, FunctionType)]
