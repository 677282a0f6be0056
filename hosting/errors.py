"""Everything this library refuses or reports: one class each, with its stable code, its HTTP status and what it means.

docs/reference/http-errors.md lists the codes and statuses for callers; a test compares the two.
"""

from __future__ import annotations

from typing import Any, ClassVar

from hosting.start_up import CODE


class HostingError(Exception):
    """A refusal that a caller may read: `detail` has what was wrong, with the value, and what to do.

    `thread_id` is the thread that the request named, once known, and `run_id` a run of it that is in the way, to be
    read at `run_url`. A store wants no call for `retry_after_seconds`. `budget` and `limit` say how one used up stands.
    """

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    thread_id: str | None = None
    run_id: str | None = None
    run_url: str | None = None
    budget: dict[str, Any] | None = None
    limit: dict[str, Any] | None = None

    def __init_subclass__(cls, *, code: str = "error", status: int = 500) -> None:
        cls.code, cls.status = code, status

    def __init__(self, detail: str, retry_after_seconds: float = 0.0) -> None:
        super().__init__(detail)
        self.detail, self.retry_after_seconds = detail, retry_after_seconds


class ConfigurationError(HostingError, code=CODE):
    """Refused at start-up: a wrong agent, name, option or setting."""


class RequestError(HostingError):
    """Why a request is not served."""


class InvalidJsonError(RequestError, code="invalid_json", status=400):
    """The body is not one strict JSON value: syntax, duplicate keys, NaN, depth."""


class InvalidEncodingError(RequestError, code="invalid_encoding", status=400):
    """The body, or a text in it, is not Unicode that can be stored."""


class InvalidBodyError(RequestError, code="invalid_body", status=400):
    """The body's JSON is not an object."""


class InvalidFieldError(RequestError, code="invalid_field", status=400):
    """A known field has a value of the wrong type or outside its range."""


class UnknownFieldError(RequestError, code="unknown_field", status=400):
    """A field that the contract does not know; the nearest known one is named."""


class UnsupportedContentError(RequestError, code="unsupported_content", status=400):
    """A content that the agent's model does not take."""


class MissingMessageError(RequestError, code="missing_message", status=400):
    """There is no message, or only blanks."""


class InvalidThreadIdError(RequestError, code="invalid_thread_id", status=400):
    """A thread id outside the one alphabet, or too long for the engine."""


class ConflictingThreadIdsError(RequestError, code="conflicting_thread_ids", status=400):
    """Two different thread ids in one request."""


class InvalidWaitError(RequestError, code="invalid_wait", status=400):
    """A wait preference that is neither true nor false nor a number of seconds."""


class InvalidIdempotencyKeyError(RequestError, code="invalid_idempotency_key", status=400):
    """An Idempotency-Key that is empty, too long or not visible ASCII."""


class IdempotencyKeyReusedError(RequestError, code="idempotency_key_reused", status=409):
    """The key was used before with another body or thread."""


class RunIdReusedError(RequestError, code="run_id_reused", status=409):
    """An orchestration or a signal brought another request under the id of a run that the thread has."""


class BodyTooLargeError(RequestError, code="body_too_large", status=413):
    """The body is larger than `AGENT_MAX_BODY_BYTES`."""


class ContentTooLargeError(RequestError, code="content_too_large", status=413):
    """A picture or file in a request is larger than `AGENT_MAX_DATA_BYTES`."""


class UnsupportedMediaTypeError(RequestError, code="unsupported_media_type", status=415):
    """A media type that is neither JSON nor text, a compressed body, or a charset other than UTF-8."""


class UnauthorizedError(RequestError, code="unauthorized", status=401):
    """The request does not name who sends it, or its proof does not hold."""


class IdentityUnavailableError(RequestError, code="identity_unavailable", status=503):
    """Who sends the request cannot be checked at present: the issuer's keys cannot be fetched."""


class ForbiddenError(RequestError, code="forbidden", status=403):
    """The caller may not do this: another's thread is shared with them for less, or they are no administrator."""


class CrossSiteError(RequestError, code="cross_site", status=403):
    """A page of another site sent a form's request, which browsers send for any page and with a sign-in's cookies."""


class UnknownAgentError(RequestError, code="unknown_agent", status=404):
    """No agent of that name is registered, or it has no HTTP endpoint."""


class MethodNotAllowedError(RequestError, code="method_not_allowed", status=405):
    """The route exists, but not for this verb."""


class UnknownRouteError(RequestError, code="unknown_route", status=404):
    """The app has no such route for this verb, below those of agents or workflows."""


class UnknownRunError(RequestError, code="unknown_run", status=404):
    """No run of that id on that thread of that agent."""


class UnknownThreadError(RequestError, code="unknown_thread", status=404):
    """No conversation of that id with that agent."""


class UnknownDeliveryError(RequestError, code="unknown_delivery", status=404):
    """No webhook of that receiver was sent for the run."""


class UnknownGrantError(RequestError, code="unknown_grant", status=404):
    """No thread is shared with the caller under this grant: it never was, was withdrawn, or is somebody else's."""


class TooManyGrantsError(RequestError, code="too_many_grants", status=409):
    """The thread is shared with as many as it can be."""


class UnknownOrchestrationError(RequestError, code="unknown_orchestration", status=404):
    """No orchestration of that id, or it was not started for the caller."""


class UnknownScheduleError(RequestError, code="unknown_schedule", status=404):
    """The agent has no such schedule of the caller."""


class TooManySchedulesError(RequestError, code="too_many_schedules", status=409):
    """The caller has as many schedules with the agent as one may have."""


class UnknownFactError(RequestError, code="unknown_fact", status=404):
    """The agent knows nothing of the caller under this id."""


class MemoryFullError(RequestError, code="memory_full", status=409):
    """The agent's memory of the caller has as many facts as it can hold."""


class UnknownApprovalError(RequestError, code="unknown_approval", status=404):
    """No tool call of the thread waits, or waited, under this approval id."""


class ApprovalAnsweredError(RequestError, code="approval_answered", status=409):
    """Somebody else has answered the approval."""


class ApprovalExpiredError(RequestError, code="approval_expired", status=410):
    """The approval came too late: its time passed, or the thread was reset or continued without it."""


class ThreadDeletedError(RequestError, code="thread_deleted", status=410):
    """The run's thread was deleted, and the run with it."""


class ThreadDeletingError(RequestError, code="thread_deleting", status=409):
    """The thread is being deleted; it takes new runs when that is done."""


class ThreadChangedError(RequestError, code="thread_changed", status=409):
    """The thread is not as it must be to be handed over: it is at work, continued meanwhile, or its id is taken."""


class ThreadExistsError(RequestError, code="thread_exists", status=409):
    """The id that a fork is to have is another thread's."""


class ForkRefusedError(RequestError, code="fork_refused", status=409):
    """The thread cannot be forked: it is a workflow's."""


class ThreadBusyError(RequestError, code="thread_busy", status=409):
    """A run of the thread has not ended, and the request was not to be queued behind it."""

    def __init__(self, detail: str, *, run_id: str | None = None) -> None:
        super().__init__(detail)
        self.run_id = run_id


class TooManyRunsError(RequestError, code="too_many_runs", status=429):
    """As many runs of the thread as may wait have not ended."""


class LimitExceededError(RequestError, code="limit_exceeded", status=429):
    """The caller has sent or used as much in a minute as the agent takes, or it is at work on all it may at once."""

    def __init__(self, detail: str, limit: dict[str, Any], retry_after_seconds: float) -> None:
        super().__init__(detail, retry_after_seconds)
        self.limit = limit


class ShuttingDownError(RequestError, code="shutting_down", status=503):
    """The process is about to end and takes no new runs."""


class AgentsBlockedError(RequestError, code="agents_blocked", status=503):
    """Some code blocks the loop on which all agents run, for longer than `AGENT_BLOCKED_SECONDS`."""


class ArchiveIncompleteError(RequestError, code="archive_incomplete", status=503):
    """The archive does not have what a thread's document counts as archived."""


class NewerVersionError(RequestError, code="newer_version", status=503):
    """A newer version of this code wrote what was read; this one must not decide on it."""


class EngineUnavailableError(RequestError, code="engine_unavailable", status=503):
    """The durable engine could not be reached; what was requested may or may not happen."""


class StoresDifferError(RequestError, code="stores_differ", status=503):
    """Instances of one app have threads in different stores; only `health/ready` says so."""


class InternalError(RequestError, code="internal_error", status=500):
    """A defect of ours; nothing of the cause leaves the process."""


class StoreUnavailableError(HostingError, status=503):
    """A store could not be reached, or throttles: what it holds is as it was.

    `retry_after_seconds` is the pause that the store requested, if it did.
    """

    sentence: ClassVar[str]

    def __init__(self, detail: str | None = None, retry_after_seconds: float = 0.0) -> None:
        super().__init__(self.sentence if detail is None else detail, retry_after_seconds)


class LogUnavailableError(StoreUnavailableError, code="log_unavailable", status=503):
    """The log could not be reached, or throttles: no new run was started, and started ones continue."""

    sentence = "The log cannot be reached. Try again. Runs in progress continue."


class ArchiveUnavailableError(StoreUnavailableError, code="archive_unavailable", status=503):
    """The archive of threads could not be reached; what it holds is as it was."""

    sentence = "The archive, which holds the older part of this thread, cannot be reached. Try again."


class AttachmentsUnavailableError(StoreUnavailableError, code="attachments_unavailable", status=503):
    """The store of attachments could not be reached; what it holds is as it was."""

    sentence = "The store of this thread's pictures and files cannot be reached. Try again."


class RunNotNewestError(HostingError, code="run_not_newest", status=409):
    """The request continues a run after which the thread has another one already; only wires know such requests."""


REQUEST_ERRORS: tuple[type[HostingError], ...] = (
    *RequestError.__subclasses__(),
    *StoreUnavailableError.__subclasses__(),
)


class RunError(HostingError):
    """Why a run ended without an answer. The code is kept with the run."""


class RunFailedError(RunError, code="run_failed", status=500):
    """The agent raised; the cause is in the log under the run id."""


class RunCrashedError(RunError, code="run_crashed", status=500):
    """Every attempt took its process down."""


class RunInterruptedError(RunError, code="run_interrupted", status=500):
    """The process ended while a tool ran that is called at most once."""


class RunDivergedError(RunError, code="run_diverged", status=500):
    """A later attempt did not do what an earlier one had recorded; nothing was done again."""


class RunLostError(RunError, code="run_lost", status=500):
    """The run is past its deadline and its holder is gone, or it was queued for too long."""


class UnreadableStateError(RunError, code="unreadable_state", status=500):
    """The stored conversation cannot be read; it stays as it is."""

    @classmethod
    def because(cls, reason: Exception) -> UnreadableStateError:
        """Return the refusal of a conversation for the reason that `state` gave."""
        return cls(f"The stored conversation cannot be read: {reason}")


class UnstorableAnswerError(RunError, code="unstorable_answer", status=500):
    """The agent's answer, a step of its run, or its session state, cannot be kept as JSON."""


class InvalidOutputError(RunError, code="invalid_output", status=500):
    """The answer is not what `response_format` wanted."""


class NoAnswerError(RunError, code="no_answer", status=422):
    """The agent ended its run without an answer, as a middleware does that raises `MiddlewareTermination`."""


class InvalidInputError(RunError, code="invalid_input", status=400):
    """What a workflow is given is not what its start executor takes; nothing of it was run."""


class WorkflowChangedError(RunError, code="workflow_changed", status=409):
    """The run began with another graph, or another version of agent-framework; finish it where it began."""


class CheckpointNotKeptError(RunError, code="checkpoint_not_kept", status=500):
    """A workflow's state after a superstep cannot be kept, so that its run went no further."""


class ThreadFullError(RunError, code="thread_full", status=409):
    """The document has no room for the request, and the archive made none; the agent was not run."""


class ApprovalsPendingError(RunError, code="approvals_pending", status=409):
    """The thread waits for somebody's approval of tool calls and takes no message before; the agent was not run."""


class ApprovalsVoidError(RunError, code="approvals_void", status=409):
    """The thread does not wait for the decisions that the run brings; the agent was not run."""


class AnswerTooLargeError(RunError, code="answer_too_large", status=500):
    """The answer alone is larger than a conversation may be, and the log could not take it either."""


class RunTimedOutError(RunError, code="run_timed_out", status=504):
    """The run passed its time limit."""


class RunCancelledError(RunError, code="run_cancelled", status=409):
    """The run was cancelled."""


class RunSupersededError(RunError, code="run_superseded", status=409):
    """A later request interrupted the run; the conversation keeps its text until then."""


class RunRolledBackError(RunError, code="run_rolled_back", status=409):
    """A later request took the run back; the conversation keeps nothing of it."""


class BudgetExceededError(RunError, code="budget_exceeded", status=402):
    """The run, or its thread, has used up its budget; what the run did until then is kept."""

    def __init__(self, detail: str, budget: dict[str, Any] | None = None) -> None:
        super().__init__(detail)
        self.budget = budget


class UnpricedModelError(RunError, code="unpriced_model", status=500):
    """A model answered, or was to be called, that has no price, and its agent has a budget of money."""


RUN_ERRORS: tuple[type[HostingError], ...] = tuple(RunError.__subclasses__())
RUN_ERROR_BY_CODE = {error.code: error for error in RUN_ERRORS}
