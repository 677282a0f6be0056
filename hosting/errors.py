"""Everything this library refuses or reports, each with its stable code, HTTP status and a sentence for the reader.

Source of codes and statuses: docs/http-api.md. A test holds that each code stands there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from typing_extensions import Self


class HostingError(Exception):
    """A refusal that a caller may read: `detail` says what was wrong, with the value, and what to do.

    `thread_id` is the thread that the request named, once that is known (`about_thread`).
    """

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    thread_id: str | None = None

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


@contextmanager
def about_thread(thread_id: str | None) -> Iterator[None]:
    """Have every `HostingError` of the block know its thread."""
    try:
        yield
    except HostingError as error:
        error.thread_id = thread_id
        raise


class ConfigurationError(HostingError):
    """Refused at start-up: a wrong agent, name, option or setting."""

    code = "configuration"


class InvalidJsonError(HostingError):
    """The body is not one strict JSON value: syntax, duplicate keys, NaN, depth."""

    code, status = "invalid_json", 400


class InvalidEncodingError(HostingError):
    """The body, or a text in it, is not Unicode that can be stored."""

    code, status = "invalid_encoding", 400


class InvalidBodyError(HostingError):
    """The body's JSON is not an object."""

    code, status = "invalid_body", 400


class InvalidFieldError(HostingError):
    """A known field has a value of the wrong type or outside its range."""

    code, status = "invalid_field", 400


class UnknownFieldError(HostingError):
    """A field that the contract does not know; the nearest known one is named."""

    code, status = "unknown_field", 400


class UnsupportedContentError(HostingError):
    """A content that the agent's model does not take."""

    code, status = "unsupported_content", 400


class MissingMessageError(HostingError):
    """There is no message, or only blanks."""

    code, status = "missing_message", 400


class InvalidThreadIdError(HostingError):
    """A thread id outside the one alphabet, or too long for the engine."""

    code, status = "invalid_thread_id", 400


class ConflictingThreadIdsError(HostingError):
    """Two different thread ids in one request."""

    code, status = "conflicting_thread_ids", 400


class InvalidWaitError(HostingError):
    """A wait preference that is neither true nor false nor a number of seconds."""

    code, status = "invalid_wait", 400


class InvalidIdempotencyKeyError(HostingError):
    """An Idempotency-Key that is empty, too long or not visible ASCII."""

    code, status = "invalid_idempotency_key", 400


class IdempotencyKeyReusedError(HostingError):
    """The key was used before with another body or thread."""

    code, status = "idempotency_key_reused", 409


class BodyTooLargeError(HostingError):
    """The body is larger than `AGENT_MAX_BODY_BYTES`."""

    code, status = "body_too_large", 413


class ContentTooLargeError(HostingError):
    """A picture or file in a request is larger than `AGENT_MAX_DATA_BYTES`."""

    code, status = "content_too_large", 413


class UnsupportedMediaTypeError(HostingError):
    """A media type that is neither JSON nor text, or a charset other than UTF-8."""

    code, status = "unsupported_media_type", 415


class UnknownAgentError(HostingError):
    """No agent of that name is registered, or it has no HTTP endpoint."""

    code, status = "unknown_agent", 404


class MethodNotAllowedError(HostingError):
    """The route exists, but not for this verb."""

    code, status = "method_not_allowed", 405


class UnknownRunError(HostingError):
    """No run of that id on that thread of that agent."""

    code, status = "unknown_run", 404


class ThreadDeletedError(HostingError):
    """The run's thread was deleted, and the run with it."""

    code, status = "thread_deleted", 410


class ThreadDeletingError(HostingError):
    """The thread is being deleted; it takes new runs when that is done."""

    code, status = "thread_deleting", 409


class UnknownApprovalError(HostingError):
    """No tool call of the thread waits, or waited, under this approval id."""

    code, status = "unknown_approval", 404


class ApprovalAnsweredError(HostingError):
    """Somebody else has answered the approval."""

    code, status = "approval_answered", 409


class ApprovalExpiredError(HostingError):
    """The approval came too late: its time passed, or the thread was reset or went on without it."""

    code, status = "approval_expired", 410


class ApprovalsPendingError(HostingError):
    """The thread waits for somebody's approval of tool calls and takes no message before; the agent was not run."""

    code, status = "approvals_pending", 409


class ApprovalsVoidError(HostingError):
    """The thread does not wait for the decisions that the run brings; the agent was not run."""

    code, status = "approvals_void", 409


class TooManyRunsError(HostingError):
    """As many runs of the thread as may wait have not ended."""

    code, status = "too_many_runs", 429


class UnknownThreadError(HostingError):
    """No conversation of that id with that agent."""

    code, status = "unknown_thread", 404


class ShuttingDownError(HostingError):
    """The process is about to end and takes no new runs."""

    code, status = "shutting_down", 503


class StoreUnavailableError(HostingError):
    """A store could not be reached, or throttles: what it holds is as it was."""

    status = 503
    sentence: ClassVar[str]

    @classmethod
    def unreached(cls) -> Self:
        """Return the refusal of a call that the store did not answer."""
        return cls(cls.sentence)


class LogUnavailableError(StoreUnavailableError):
    """The log could not be reached, or throttles: a new run was not started, one that was goes on."""

    code, sentence = "log_unavailable", "The log cannot be reached. Try again; what was started goes on."


class ArchiveUnavailableError(StoreUnavailableError):
    """The archive of threads could not be reached; what it holds is as it was."""

    code = "archive_unavailable"
    sentence = "The archive, which holds the older part of this thread, cannot be reached. Try again."


class AttachmentsUnavailableError(StoreUnavailableError):
    """The store of attachments could not be reached; what it holds is as it was."""

    code = "attachments_unavailable"
    sentence = "The store of this thread's pictures and files cannot be reached. Try again."


class ArchiveIncompleteError(HostingError):
    """The archive does not have what a thread's document says is there."""

    code, status = "archive_incomplete", 503


class NewerVersionError(HostingError):
    """A newer version of this code wrote what was read; this one must not decide on it."""

    code, status = "newer_version", 503


class EngineUnavailableError(HostingError):
    """The durable engine could not be reached; what was asked for may or may not happen."""

    code, status = "engine_unavailable", 503


class RunFailedError(HostingError):
    """The agent raised; the cause is in the log under the run id."""

    code, status = "run_failed", 500


class RunCrashedError(HostingError):
    """Every attempt took its process down."""

    code, status = "run_crashed", 500


class RunInterruptedError(HostingError):
    """The process ended while a tool ran that is called at most once."""

    code, status = "run_interrupted", 500


class RunDivergedError(HostingError):
    """A later attempt did not do what an earlier one had recorded; nothing was done again."""

    code, status = "run_diverged", 500


class RunLostError(HostingError):
    """Nobody ended the run within its time and its redelivery's."""

    code, status = "run_lost", 500


class UnreadableStateError(HostingError):
    """The stored conversation cannot be read; it stays as it is."""

    code, status = "unreadable_state", 500

    @classmethod
    def because(cls, reason: Exception) -> UnreadableStateError:
        """Return the refusal of a conversation for the reason that `state` gave."""
        return cls(f"The stored conversation cannot be read: {reason}")


class UnstorableAnswerError(HostingError):
    """The agent's answer, or its session state, cannot be kept as JSON."""

    code, status = "unstorable_answer", 500


class InvalidOutputError(HostingError):
    """The answer is not what `response_format` wanted."""

    code, status = "invalid_output", 500


class ThreadFullError(HostingError):
    """The document has no room for the request, and the archive made none; the agent was not run."""

    code, status = "thread_full", 409


class AnswerTooLargeError(HostingError):
    """The answer alone is larger than a conversation may be, and the run log could not take it either."""

    code, status = "answer_too_large", 500


class RunTimedOutError(HostingError):
    """The run passed its time limit."""

    code, status = "run_timed_out", 504


class RunCancelledError(HostingError):
    """The run was cancelled."""

    code, status = "run_cancelled", 409


class InternalError(HostingError):
    """A defect of ours; nothing of the cause leaves the process."""

    code, status = "internal_error", 500


REQUEST_ERRORS: tuple[type[HostingError], ...] = (
    InvalidJsonError,
    InvalidEncodingError,
    InvalidBodyError,
    InvalidFieldError,
    UnknownFieldError,
    UnsupportedContentError,
    MissingMessageError,
    InvalidThreadIdError,
    ConflictingThreadIdsError,
    InvalidWaitError,
    InvalidIdempotencyKeyError,
    IdempotencyKeyReusedError,
    BodyTooLargeError,
    ContentTooLargeError,
    UnsupportedMediaTypeError,
    UnknownAgentError,
    MethodNotAllowedError,
    UnknownRunError,
    UnknownThreadError,
    UnknownApprovalError,
    ApprovalAnsweredError,
    ApprovalExpiredError,
    ThreadDeletedError,
    ThreadDeletingError,
    TooManyRunsError,
    ShuttingDownError,
    LogUnavailableError,
    ArchiveUnavailableError,
    ArchiveIncompleteError,
    AttachmentsUnavailableError,
    EngineUnavailableError,
    InternalError,
)

RUN_ERRORS: tuple[type[HostingError], ...] = (
    RunFailedError,
    RunCrashedError,
    RunInterruptedError,
    RunDivergedError,
    RunLostError,
    UnreadableStateError,
    UnstorableAnswerError,
    InvalidOutputError,
    ThreadFullError,
    ApprovalsPendingError,
    ApprovalsVoidError,
    AnswerTooLargeError,
    RunTimedOutError,
    RunCancelledError,
)

RUN_ERROR_BY_CODE: dict[str, type[HostingError]] = {error.code: error for error in RUN_ERRORS}
