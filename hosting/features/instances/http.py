"""Workflows by the routes and names of agent-framework-azurefunctions, for its clients: run, and asked for.

Theory. What they know as an instance is a thread of ours, under the same id, and what they ask for is its newest run.
So the same run has the routes of this library too, and each of those may be used of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NotRequired

from msgspec.structs import replace
from typing_extensions import TypedDict

from hosting import errors
from hosting.core.outcome import completed_text
from hosting.core.request.contents import limits_of
from hosting.core.runs import Runs
from hosting.core.thread.events import Cancelled, Completed, Joined, Terminal
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import Answering
from hosting.core.threads import Threads
from hosting.errors import HostingError, UnknownThreadError
from hosting.features.instances.requests import INSTANCE_PARAMETERS, decision_of, parse_answer, parse_instance
from hosting.http import places
from hosting.http.body_document import ANSWER_BODY, INPUT_BODY
from hosting.http.parameters import MOST
from hosting.http.places import Mount
from hosting.http.refusals import RETRY_AFTER_SECONDS
from hosting.http.replies import Reply, json_reply, run_headers
from hosting.http.request import Bound, HttpRequest
from hosting.http.route import RUN_HEADERS, STORES, Header, Place, ResponseSpec, Route
from hosting.http.routes import PENDING_HEADERS, RUN
from hosting.http.verbs import APPROVAL_ID, GOING_ON, AnswersApprovals
from hosting.ports import iso
from hosting.settings import Settings

RuntimeStatus = Literal["Pending", "Running", "Suspended", "Completed", "Failed", "Terminated"]


class StartedInstance(TypedDict):
    """The workflow has started; its status is at `statusQueryGetUri`."""

    instanceId: str
    statusQueryGetUri: str
    respondUri: str
    message: Literal["Workflow started"]


class EndedInstance(TypedDict):
    """The end of a workflow. `output` has the values that its executors yielded; `error` is set if it failed."""

    instanceId: str
    runtimeStatus: RuntimeStatus
    output: list[Any] | None
    error: NotRequired[str]


class HumanInputRequest(TypedDict):
    """A question of an executor to a person. `responseType` is the JSON Schema of the answer, null for an approval."""

    requestId: str
    sourceExecutor: str
    requestData: Any
    responseType: dict[str, Any] | None
    respondUrl: str


class DeliveredResponse(TypedDict):
    """The answer is recorded; the workflow continues after the last answer."""

    message: Literal["Response delivered successfully"]
    instanceId: str
    requestId: str


class InstanceStatus(TypedDict):
    """The status of a workflow. `output` has its executors' yielded values, once completed; times are RFC 3339."""

    instanceId: str
    runtimeStatus: RuntimeStatus
    customStatus: Any
    output: list[Any] | None
    error: str | None
    createdTime: str
    lastUpdatedTime: str
    pendingHumanInputRequests: NotRequired[list[HumanInputRequest]]


_INSTANCES = Place("http_instance", "workflow").below("workflow/{name}")
INSTANCE_RUN = Route(
    "run",
    "POST",
    _INSTANCES.below("run"),
    "Run the workflow, by the names of agent-framework-azurefunctions",
    (
        ResponseSpec(
            200,
            "The run has ended while you waited.",
            EndedInstance,
            (*RUN_HEADERS, Header("Idempotency-Replayed", "true: the key started the run before.", always=False)),
        ),
        ResponseSpec(202, "The run has started.", StartedInstance, (*RUN_HEADERS, *PENDING_HEADERS)),
    ),
    tuple(error for error in RUN.refusals if error is not errors.ThreadBusyError),
    INSTANCE_PARAMETERS,
    INPUT_BODY,
    needs="run",
)
INSTANCE_STATUS = Route(
    "status",
    "GET",
    _INSTANCES.below("status/{thread_id}", places.THREAD_ID),
    "Read a workflow's status, by the names of agent-framework-azurefunctions",
    (ResponseSpec(200, "The status, also of a run that has failed.", InstanceStatus, RUN_HEADERS),),
    (errors.ThreadDeletingError, errors.ThreadDeletedError, *STORES),
)
INSTANCE_RESPOND = Route(
    "respond",
    "POST",
    _INSTANCES.below("respond/{thread_id}", places.THREAD_ID).below("{approval_id}", APPROVAL_ID),
    "Answer an executor's question, by the names of agent-framework-azurefunctions",
    (ResponseSpec(200, "Recorded.", DeliveredResponse, (Header("x-ms-run-id", "The run that asked.", always=False),)),),
    GOING_ON,
    body=ANSWER_BODY,
    needs="run",
)


def of_only(workflow: str) -> Mount:
    """Return the place without a name, for the only workflow of an app."""
    return Mount(_INSTANCES, Place("http_single_instance", "workflow", workflow).below("workflow"))


class InstanceHandlers:
    """The handlers of the routes of instances."""

    def __init__(self, runs: Runs, threads: Threads, approvals: AnswersApprovals, settings: Settings) -> None:
        self._runs = runs
        self._threads = threads
        self._approvals = approvals
        self._settings = settings

    def bound(self) -> Sequence[Bound]:
        """Return the routes with their handlers."""
        return (
            Bound(INSTANCE_RUN, self._start),
            Bound(INSTANCE_STATUS, self._read),
            Bound(INSTANCE_RESPOND, self._respond),
        )

    async def _start(self, request: HttpRequest) -> Reply:
        workflow = request.agent
        limits = limits_of(workflow, self._settings)
        start = await request.parsed(lambda raw: parse_instance(raw, workflow.name, limits, request.caller.owner))
        try:
            started = await self._runs.start(workflow.name, start, request.caller)
            run = await self._runs.wait_as(start.wait, started.run, request.caller.client)
        except HostingError as error:
            error.thread_id = start.thread_id
            raise
        reply = started_reply(run, request.base_url, _named(request))
        return replace(reply, headers={**reply.headers, "idempotency-replayed": "true"}) if started.replayed else reply

    async def _read(self, request: HttpRequest) -> Reply:
        _, runs = await self._threads.runs(request.address, MOST, request.caller.client)
        if not runs:
            raise UnknownThreadError(f"There is no instance {request.thread_id!r} of workflow {request.agent.name!r}.")
        newest = await self._runs.find(request.address, runs[0].run_id, request.caller.client)
        paused = await self._approvals.waiting(request.address)
        is_waiting = paused is not None and paused.run_id == newest.run_id
        return instance_reply([newest, *runs[1:]], request.base_url, _named(request), is_waiting=is_waiting)

    async def _respond(self, request: HttpRequest) -> Reply:
        value = await request.parsed(lambda raw: parse_answer(raw, self._settings.max_body_bytes))
        paused = await self._approvals.waiting(request.address)
        decision = decision_of(request.approval_id, value, () if paused is None else paused.undecided)
        answer = Answering(decision, request.caller, waits=False)
        answered = await self._approvals.answer(request.address, answer)
        return responded_reply(answered.requested, request.approval_id)


def _named(request: HttpRequest) -> str:
    """Return the workflow in the path and a slash, nothing where the path has no name."""
    return "" if request.route.place.agent else f"{request.agent.name}/"


def started_reply(run: Run, base_url: str, named: str) -> Reply:
    """Return the response to the request that started the run: its end, or the URL of its end.

    `named` is the workflow in the path and a slash, nothing where the path has no name.
    """
    thread_id, end, headers = run.accepted.thread_id, run.end, run_headers(run)
    if end is not None and not run.undecided:
        ended: EndedInstance = {
            "instanceId": thread_id,
            "runtimeStatus": runtime_status(run),
            "output": _output(run, end),
        }
        return json_reply(200, ended if (error := _error(end)) is None else {**ended, "error": error}, headers)
    place = f"{base_url}/workflow/{named}"
    url = f"{place}status/{thread_id}"
    started: StartedInstance = {
        "instanceId": thread_id,
        "statusQueryGetUri": url,
        "respondUri": f"{place}respond/{thread_id}/{{requestId}}",
        "message": "Workflow started",
    }
    return json_reply(202, started, {**headers, "location": url, "retry-after": str(RETRY_AFTER_SECONDS)})


def instance_reply(runs: Sequence[Run], base_url: str, named: str, *, is_waiting: bool) -> Reply:
    """Return the status of a thread's newest run; `is_waiting` if it waits for an answer."""
    run, end = runs[0], None if is_waiting else runs[0].end
    body: InstanceStatus = {
        "instanceId": run.accepted.thread_id,
        "runtimeStatus": "Running" if is_waiting else runtime_status(run),
        "customStatus": {"state": "waiting_for_human_input"} if is_waiting else None,
        "output": _outputs(runs) if isinstance(end, Completed) else None,
        "error": None if end is None else _error(end),
        "createdTime": iso(runs[-1].accepted.at),
        "lastUpdatedTime": iso((run.end or run.claim or run.accepted).at),
    }
    if is_waiting:
        url = f"{base_url}/workflow/{named}respond/{run.accepted.thread_id}"
        body["pendingHumanInputRequests"] = [
            {
                "requestId": one.id,
                "sourceExecutor": one.tool,
                "requestData": one.arguments,
                "responseType": one.answer_schema,
                "respondUrl": f"{url}/{one.id}",
            }
            for one in run.undecided
        ]
    return json_reply(200, body, run_headers(run))


def responded_reply(asked: Run, request_id: str) -> Reply:
    """Return that an answer was recorded."""
    thread_id = asked.accepted.thread_id
    body: DeliveredResponse = {
        "message": "Response delivered successfully",
        "instanceId": thread_id,
        "requestId": request_id,
    }
    return json_reply(200, body, run_headers(asked))


def runtime_status(run: Run) -> RuntimeStatus:
    """Return how the run stands, in the words of Durable Functions."""
    match run.end:
        case None if run.paused == "paused":
            return "Suspended"
        case None:
            return "Running" if run.claim else "Pending"
        case Completed() | Joined():
            return "Completed"
        case Cancelled():
            return "Terminated"
        case _:
            return "Failed"


def _outputs(runs: Sequence[Run]) -> list[Any]:
    """Return the values that the newest run yielded, after those of the runs that it continues.

    Answers of agents count where none of them has values, as in each alone.
    """
    values: list[Any] = []
    answers: list[Any] = []
    for run in runs:
        if isinstance(run.end, Completed):
            values, answers = [*run.values, *values], [*(_output(run, run.end) or ()), *answers]
            if not run.accepted.request.decisions:
                break
    return values or answers


def _output(run: Run, end: Terminal) -> list[Any] | None:
    """Return the yielded values, or the answers of agents if there are none."""
    if not isinstance(end, Completed):
        return None
    text = completed_text(end)
    return list(run.values) or ([text] if text else [])


def _error(end: Terminal) -> str | None:
    return None if isinstance(end, Completed) else end.detail
