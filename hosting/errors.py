"""All errors of this library: a class for each, with its stable code, its HTTP status and its meaning.

docs/reference/http-errors.md lists the codes and statuses for callers; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from hosting.start_up import CODE


class HostingError(Exception):
    """A refusal that a caller may read: `detail` names the fault, the value and the remedy.

    `thread_id` is the thread that the request named, once known, and `run_id` a run of it that is in the way, to be
    read at `run_url`. A store wants no call for `retry_after_seconds`. `budget` and `limit` say how one used up stands,
    and `headers` are those of a refusal that may not stand for long.
    """

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    thread_id: str | None = None
    run_id: str | None = None
    run_url: str | None = None
    budget: dict[str, Any] | None = None
    limit: dict[str, Any] | None = None
    headers: Mapping[str, str] = MappingProxyType({})

    def __init_subclass__(cls, *, code: str = "error", status: int = 500) -> None:
        cls.code, cls.status = code, status

    def __init__(self, detail: str, retry_after_seconds: float = 0.0) -> None:
        super().__init__(detail)
        self.detail, self.retry_after_seconds = detail, retry_after_seconds


class ConfigurationError(HostingError, code=CODE):
    """Refused at start-up: a wrong agent, name, option or setting."""


class RequestError(HostingError):
    """The request is refused."""


class InvalidJsonError(RequestError, code="invalid_json", status=400):
    """The body is not one strict JSON value: syntax, duplicate keys, NaN, depth."""


class InvalidEncodingError(RequestError, code="invalid_encoding", status=400):
    """The body, or a text in it, is not Unicode that can be stored."""


class InvalidBodyError(RequestError, code="invalid_body", status=400):
    """The body's JSON is not an object."""


class InvalidFieldError(RequestError, code="invalid_field", status=400):
    """A known field has a value of the wrong type or outside its range."""


class UnknownFieldError(RequestError, code="unknown_field", status=400):
    """The request has an unknown field. The refusal names the most similar known field."""


class UnsupportedContentError(RequestError, code="unsupported_content", status=400):
    """The agent's model does not accept a content."""


class MissingMessageError(RequestError, code="missing_message", status=400):
    """The message is missing or blank."""


class InvalidThreadIdError(RequestError, code="invalid_thread_id", status=400):
    """The thread id is too long, or has characters other than letters, digits and . _ ~ -."""


class ConflictingThreadIdsError(RequestError, code="conflicting_thread_ids", status=400):
    """The request has two different thread ids."""


class InvalidWaitError(RequestError, code="invalid_wait", status=400):
    """The wait preference is neither true nor false nor a number of seconds."""


class InvalidIdempotencyKeyError(RequestError, code="invalid_idempotency_key", status=400):
    """The Idempotency-Key is empty, too long or not visible ASCII."""


class IdempotencyKeyReusedError(RequestError, code="idempotency_key_reused", status=409):
    """The key was used before with another body or thread."""


class RunIdReusedError(RequestError, code="run_id_reused", status=409):
    """An orchestration or a signal sent another request with the id of an existing run."""


class BodyTooLargeError(RequestError, code="body_too_large", status=413):
    """The body is larger than `AGENT_MAX_BODY_BYTES`."""


class ContentTooLargeError(RequestError, code="content_too_large", status=413):
    """A picture or file in a request is larger than `AGENT_MAX_DATA_BYTES`."""


class UnsupportedMediaTypeError(RequestError, code="unsupported_media_type", status=415):
    """The body is neither JSON nor text, is compressed, or is not UTF-8."""


class UnauthorizedError(RequestError, code="unauthorized", status=401):
    """The request is not signed in, or its credentials are not valid."""


class IdentityUnavailableError(RequestError, code="identity_unavailable", status=503):
    """The caller cannot be checked now: the issuer's keys cannot be fetched."""


class ForbiddenError(RequestError, code="forbidden", status=403):
    """The caller may not do this: the thread is shared for less, or the route is for administrators."""


class CrossSiteError(RequestError, code="cross_site", status=403):
    """A page of another site sent this request as a form, which browsers allow with the cookies of the sign-in."""


class UnknownAgentError(RequestError, code="unknown_agent", status=404):
    """There is no agent of this name, or it has no HTTP endpoint."""


class MethodNotAllowedError(RequestError, code="method_not_allowed", status=405):
    """The route exists, but not with this method."""


class UnknownRouteError(RequestError, code="unknown_route", status=404):
    """The app has no route with this path and method."""


class UnknownModelCallError(RequestError, code="unknown_model_call", status=404):
    """The run has no model call with this id."""


class UnknownRunError(RequestError, code="unknown_run", status=404):
    """The thread has no run with this id."""


class UnknownThreadError(RequestError, code="unknown_thread", status=404):
    """The agent has no thread with this id."""


class TooManyGrantsError(RequestError, code="too_many_grants", status=409):
    """The thread is shared with as many people as allowed."""


class UnknownOrchestrationError(RequestError, code="unknown_orchestration", status=404):
    """There is no orchestration with this id, or it was not started for the caller."""


class UnknownApprovalError(RequestError, code="unknown_approval", status=404):
    """The thread has no approval with this id."""


class ApprovalAnsweredError(RequestError, code="approval_answered", status=409):
    """The approval was answered before."""


class ApprovalExpiredError(RequestError, code="approval_expired", status=410):
    """The approval is too late: it expired, or the thread was reset or continued without it."""


class ThreadDeletedError(RequestError, code="thread_deleted", status=410):
    """The run's thread was deleted, and the run with it."""


class ThreadDeletingError(RequestError, code="thread_deleting", status=409):
    """The thread is being deleted. It takes new runs after that."""


class ThreadChangedError(RequestError, code="thread_changed", status=409):
    """The thread has changed, or cannot be assigned: it has open runs, or the owner has a thread with its id."""


class ThreadExistsError(RequestError, code="thread_exists", status=409):
    """Another thread has the id for the fork."""


class ThreadBusyError(RequestError, code="thread_busy", status=409):
    """A run of the thread is in progress, and the request asked not to wait for it."""

    def __init__(self, detail: str, *, run_id: str | None = None) -> None:
        super().__init__(detail)
        self.run_id = run_id


class TooManyRunsError(RequestError, code="too_many_runs", status=429):
    """The thread has as many unfinished runs as allowed."""


class LimitExceededError(RequestError, code="limit_exceeded", status=429):
    """The caller has reached the agent's limit per minute, or the agent its limit of runs at once."""

    def __init__(
        self, detail: str, limit: dict[str, Any], retry_after_seconds: float, headers: Mapping[str, str]
    ) -> None:
        super().__init__(detail, retry_after_seconds)
        self.limit, self.headers = limit, headers


class ShuttingDownError(RequestError, code="shutting_down", status=503):
    """This process is about to end and takes no new runs."""


class AgentsBlockedError(RequestError, code="agents_blocked", status=503):
    """Code has blocked the agents' event loop for longer than `AGENT_BLOCKED_SECONDS`."""


class ArchiveIncompleteError(RequestError, code="archive_incomplete", status=503):
    """The archive lacks entries that the thread's document counts as archived."""


class NewerVersionError(RequestError, code="newer_version", status=503):
    """A newer version of this app wrote the data; this version must not change it."""


class EngineUnavailableError(RequestError, code="engine_unavailable", status=503):
    """The durable engine could not be reached; the request may or may not be carried out."""


class InternalError(RequestError, code="internal_error", status=500):
    """A defect of the app; only its log has the cause."""


class StoreUnavailableError(HostingError, status=503):
    """A store could not be reached, or throttles; its data is unchanged.

    `retry_after_seconds` is the pause that the store requested, if it did.
    """

    sentence: ClassVar[str]

    def __init__(self, detail: str | None = None, retry_after_seconds: float = 0.0) -> None:
        super().__init__(self.sentence if detail is None else detail, retry_after_seconds)


class LogUnavailableError(StoreUnavailableError, code="log_unavailable", status=503):
    """The log could not be reached, or throttles: no new run was started, and started ones continue."""

    sentence = "The log cannot be reached. Try again. Runs in progress continue."


class ArchiveUnavailableError(StoreUnavailableError, code="archive_unavailable", status=503):
    """The archive of threads could not be reached; its data is unchanged."""

    sentence = "The archive, which holds the older part of this thread, cannot be reached. Try again."


class AttachmentsUnavailableError(StoreUnavailableError, code="attachments_unavailable", status=503):
    """The store of attachments could not be reached; its data is unchanged."""

    sentence = "The store of this thread's pictures and files cannot be reached. Try again."


class SearchUnavailableError(StoreUnavailableError, code="search_unavailable", status=503):
    """The app's own search engine did not answer in time, or failed; what it has to remove stays recorded."""

    sentence = "The app's search engine cannot be reached. Try again."


class RunNotNewestError(HostingError, code="run_not_newest", status=409):
    """A later run of the thread already continues this run; only the other protocols have this error."""


REQUEST_ERRORS: tuple[type[HostingError], ...] = (
    *RequestError.__subclasses__(),
    *StoreUnavailableError.__subclasses__(),
)


class RunError(HostingError):
    """A run ended without an answer. The code is stored with the run."""


class RunFailedError(RunError, code="run_failed", status=500):
    """The agent raised an exception; the log has it under the run id."""


class RunCrashedError(RunError, code="run_crashed", status=500):
    """Every attempt ended its process."""


class RunInterruptedError(RunError, code="run_interrupted", status=500):
    """The process ended during a tool, or a workflow's step, that is run at most once."""


class RunDivergedError(RunError, code="run_diverged", status=500):
    """A later attempt took other steps than the recorded attempt; no step was repeated."""


class RunLostError(RunError, code="run_lost", status=500):
    """The run passed its deadline and its process is gone, or it was queued for too long."""


class UnreadableStateError(RunError, code="unreadable_state", status=500):
    """The stored conversation cannot be read; it stays as it is."""

    @classmethod
    def because(cls, reason: Exception) -> UnreadableStateError:
        """Return the refusal of a conversation for the reason that `state` gave."""
        return cls(f"The stored conversation cannot be read: {reason}")


class UnstorableAnswerError(RunError, code="unstorable_answer", status=500):
    """The agent's answer, a step of its run, or its session state cannot be stored as JSON."""


class InvalidOutputError(RunError, code="invalid_output", status=500):
    """The answer does not fit `response_format`."""


class NoAnswerError(RunError, code="no_answer", status=422):
    """The agent ended its run without an answer, for example by `MiddlewareTermination`."""


class InvalidInputError(RunError, code="invalid_input", status=400):
    """The workflow's start executor does not accept the input; the workflow did not run."""


class WorkflowChangedError(RunError, code="workflow_changed", status=409):
    """The run started with another graph or another version of agent-framework; finish it where it started."""


class CheckpointNotKeptError(RunError, code="checkpoint_not_kept", status=500):
    """The workflow's state after a superstep or a step cannot be stored, so its run ended."""


class ThreadFullError(RunError, code="thread_full", status=409):
    """The thread's document is full, and the archive took no entries; the agent did not run."""


class ApprovalsPendingError(RunError, code="approvals_pending", status=409):
    """The thread waits for the approval of tool calls; the agent did not run."""


class ApprovalsVoidError(RunError, code="approvals_void", status=409):
    """The thread does not wait for these decisions; the agent did not run."""


class AnswerTooLargeError(RunError, code="answer_too_large", status=500):
    """The answer is larger than a conversation may be, and too large for the log."""


class RunTimedOutError(RunError, code="run_timed_out", status=504):
    """The run passed its time limit."""


class RunCancelledError(RunError, code="run_cancelled", status=409):
    """The run was cancelled."""


class RunSupersededError(RunError, code="run_superseded", status=409):
    """A later request interrupted the run; the conversation keeps the text up to then."""


class RunRolledBackError(RunError, code="run_rolled_back", status=409):
    """A later request replaced the run; the conversation keeps nothing of it."""


class RunJoinedError(RunError, code="run_joined", status=409):
    """The run's message joined the run that was at work, which answers it."""


class BudgetExceededError(RunError, code="budget_exceeded", status=402):
    """The run or its thread has used up its budget; the steps up to then are kept."""

    def __init__(self, detail: str, budget: dict[str, Any] | None = None) -> None:
        super().__init__(detail)
        self.budget = budget


class UnpricedModelError(RunError, code="unpriced_model", status=500):
    """The agent has a budget of money, and its model has no price."""


RUN_ERRORS: tuple[type[HostingError], ...] = tuple(RunError.__subclasses__())
RUN_ERROR_BY_CODE = {error.code: error for error in RUN_ERRORS}
