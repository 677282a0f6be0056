"""Orchestrations over HTTP: start, read, signal, stop, forget."""

from __future__ import annotations

import json
from urllib.parse import quote

from starlette.responses import Response

from devhost.durable.clock import Clock, sleep
from devhost.durable.hub import Accepted, NotFound, Purged, TaskHub, WrongStatus
from devhost.durable.management.addresses import WEBHOOK_PATH, check_status_payload
from devhost.durable.management.http import (
    ManagementRequest,
    already_exists,
    gone_or_missing,
    invalid_json,
    json_reply,
    negative_top,
    next_page,
    parse_filter,
    parse_page,
    refusal,
    text_reply,
    unexpected,
)
from devhost.durable.management.status import StatusView, entity_status, orchestration_status
from devhost.durable.records import Entity, EntityId, Orchestration, Status
from devhost.durable.store.contract import StoredOrchestration
from devhost.durable.texts import recompact

_POLL_SECONDS = 1.0


class Instances:
    """The handlers of `orchestrators/` and `instances/`."""

    def __init__(self, hub: TaskHub, hub_name: str, clock: Clock, key: str | None = None) -> None:
        self._hub = hub
        self._hub_name = hub_name
        self._key = key
        self._clock = clock

    async def start(self, request: ManagementRequest, name: str, instance_id: str | None) -> Response:
        try:
            given = recompact(body.decode()) if (body := await request.body()) else None
        except (ValueError, RecursionError) as error:
            return invalid_json(error)
        outcome = await self._hub.start(name, instance_id, given, request.parameter("version"))
        if isinstance(outcome, WrongStatus):
            return already_exists(outcome)
        waited = await self._wait(request, outcome.instance_id)
        return waited or self._accepted(request, outcome.instance_id)

    async def status(self, request: ManagementRequest, instance_id: str) -> Response:
        view = _view(request)
        stored = await self._stored(instance_id, view)
        if stored is None:
            return await self._entity_as_instance(instance_id, view)
        body = orchestration_status(stored.instance, view, stored.history)
        return self._status_reply(request, stored.instance, body)

    async def list(self, request: ManagementRequest) -> Response:
        page, wanted = parse_page(request), parse_filter(request)
        if page.size < 0:
            return negative_top()
        found: list[Orchestration | Entity] = [
            *await self._hub.store.list_orchestrations(wanted, page.first_id, page.size + 1)
        ]
        if not wanted.statuses or Status.RUNNING in wanted.statuses:
            entities = await self._hub.store.list_entities(wanted.prefix, page.first_id, page.size + 1)
            earliest, latest = wanted.created_from, wanted.created_to
            found += [
                entity
                for entity in entities
                if (earliest is None or entity.updated_at >= earliest)
                and (latest is None or entity.updated_at <= latest)
            ]
        found.sort(key=_id_of)
        view = StatusView(show_input=request.flag("showinput", default=True))
        bodies = [_body(item, view) for item in found[: page.size]]
        return json_reply(200, bodies, next_page(request, [_id_of(item) for item in found], page))

    async def raise_event(self, request: ManagementRequest, instance_id: str, name: str) -> Response:
        if request.media_type != "application/json":
            return json_reply(400, {"Message": "Only application/json request content is supported"})
        try:
            given = recompact((await request.body()).decode())
        except (ValueError, RecursionError) as error:
            return invalid_json(error)
        outcome = await self._hub.raise_event(instance_id, name, given)
        return Response(status_code=202) if isinstance(outcome, Accepted) else gone_or_missing(outcome)

    async def terminate(self, request: ManagementRequest, instance_id: str) -> Response:
        outcome = await self._hub.terminate(instance_id, request.parameter("reason"))
        return Response(status_code=202) if isinstance(outcome, Accepted) else gone_or_missing(outcome)

    async def suspend(self, request: ManagementRequest, instance_id: str) -> Response:
        outcome = await self._hub.suspend(instance_id, request.parameter("reason"))
        return _paused_or_not("suspend", instance_id, outcome)

    async def resume(self, request: ManagementRequest, instance_id: str) -> Response:
        outcome = await self._hub.resume(instance_id, request.parameter("reason"))
        return _paused_or_not("resume", instance_id, outcome)

    async def rewind(self, request: ManagementRequest, instance_id: str) -> Response:
        outcome = await self._hub.rewind(instance_id, request.parameter("reason"))
        match outcome:
            case Accepted():
                return Response(status_code=202)
            case NotFound():
                return json_reply(404, f'No orchestration with instance ID "${instance_id}" found.')
            case WrongStatus(status):
                return json_reply(
                    412,
                    f'This orchestration has status {status.value}, but only orchestrations in the "Failed" state '
                    "can be rewound.",
                )

    async def restart(self, request: ManagementRequest, instance_id: str) -> Response:
        with_new_id = request.flag("restartwithnewinstanceid", default=True)
        outcome = await self._hub.restart(instance_id, with_new_id)
        match outcome:
            case Accepted(new_id):
                return self._accepted(request, new_id)
            case WrongStatus():
                return already_exists(outcome, "A non-terminal instance with this instance ID already exists.")
            case NotFound():
                unknown = f"No instance with ID '{instance_id}' was found. (Parameter 'instanceId')"
                return refusal(400, "InstanceId does not match a valid orchestration instance.", unknown)

    async def purge(self, request: ManagementRequest, instance_id: str) -> Response:
        outcome = await self._hub.purge(instance_id)
        if isinstance(outcome, NotFound) and _is_entity_id(instance_id):
            outcome = await self._hub.purge_entity(EntityId.parse(instance_id))
        match outcome:
            case Purged(count):
                return json_reply(200, {"instancesDeleted": count})
            case WrongStatus(status):
                return json_reply(
                    412,
                    "Only orchestrations in a terminal state can be purged, but the orchestration with instance ID "
                    f"{instance_id} has status {status.value}",
                )
            case NotFound():
                return Response(status_code=404)

    async def purge_many(self, request: ManagementRequest) -> Response:
        """Forget what has ended. The real host forgets everything when asked for a status that is no end: a trap."""
        if request.moment("createdtimefrom") is None:
            return json_reply(400, "Please provide value for 'createdTimeFrom' parameter.")
        outcome = await self._hub.purge_ended(parse_filter(request))
        return json_reply(200, {"instancesDeleted": outcome.count}) if outcome.count else Response(status_code=404)

    async def _stored(self, instance_id: str, view: StatusView) -> StoredOrchestration | None:
        """Return the instance, with its history only if that is to be shown: a history may be long."""
        if view.show_history:
            return await self._hub.store.orchestration(instance_id)
        instance = await self._hub.store.instance(instance_id)
        return StoredOrchestration(instance) if instance else None

    async def _entity_as_instance(self, instance_id: str, view: StatusView) -> Response:
        entity = await self._hub.store.entity(EntityId.parse(instance_id)) if _is_entity_id(instance_id) else None
        return Response(status_code=404) if entity is None else json_reply(202, entity_status(entity, view))

    async def _wait(self, request: ManagementRequest, instance_id: str) -> Response | None:
        """Return the reply of an instance that ends within the asked time; None when it does not, or none is asked."""
        timeout = _seconds(request, "timeout")
        if timeout is None:
            return None
        poll = _seconds(request, "pollinginterval") or _POLL_SECONDS
        end = self._clock.now().timestamp() + timeout
        while True:
            instance = await self._hub.store.instance(instance_id)
            if instance is not None and instance.status.is_terminal:
                return _waited_reply(instance)
            left = end - self._clock.now().timestamp()
            if left <= 0:
                return None
            await sleep(self._clock, min(poll, left))

    def _accepted(self, request: ManagementRequest, instance_id: str) -> Response:
        payload = check_status_payload(
            request.origin, instance_id, quote(instance_id, safe=""), self._hub_name, self._key
        )
        return json_reply(202, payload, {"Location": payload["statusQueryGetUri"], "Retry-After": "10"})

    def _status_reply(self, request: ManagementRequest, instance: Orchestration, body: dict[str, object]) -> Response:
        if not instance.status.is_terminal:
            return json_reply(202, body, {"Location": _own_address(request), "Retry-After": "5"})
        is_failure = instance.status is Status.FAILED and request.flag("returninternalservererroronfailure")
        return json_reply(500 if is_failure else 200, body)


def _paused_or_not(verb: str, instance_id: str, outcome: Accepted | NotFound | WrongStatus) -> Response:
    """Return the answer to a suspend or a resume."""
    match outcome:
        case Accepted():
            return Response(status_code=202)
        case WrongStatus(status) if not status.is_terminal:
            text = (
                f"Cannot {verb} the orchestration instance {instance_id} because instance is in the "
                f"{status.value} state."
            )
            return unexpected(text, "System.InvalidOperationException")
        case _:
            return gone_or_missing(outcome)


def _own_address(request: ManagementRequest) -> str:
    """Return the request's own address at the clients' door: whoever polls goes on as it began."""
    query = request.scope["query_string"].decode("latin-1")
    return f"{request.origin}{WEBHOOK_PATH}{quote(request.path, safe='/@:')}{f'?{query}' if query else ''}"


def _view(request: ManagementRequest) -> StatusView:
    return StatusView(
        show_input=request.flag("showinput", default=True),
        show_history=request.flag("showhistory"),
        show_history_output=request.flag("showhistoryoutput"),
    )


def _body(item: Orchestration | Entity, view: StatusView) -> dict[str, object]:
    return entity_status(item, view) if isinstance(item, Entity) else orchestration_status(item, view)


def _id_of(item: Orchestration | Entity) -> str:
    return str(item.id) if isinstance(item, Entity) else item.instance_id


def _is_entity_id(text: str) -> bool:
    return text.startswith("@") and text.count("@") > 1


def _waited_reply(instance: Orchestration) -> Response:
    if instance.status is Status.COMPLETED:
        return text_reply(200, instance.output or "null")
    return json_reply(200, orchestration_status(instance, StatusView()))


def _seconds(request: ManagementRequest, name: str) -> float | None:
    try:
        return float(json.loads(request.parameter(name) or ""))
    except (TypeError, ValueError, RecursionError):
        return None
