"""The library's settings: read once at start-up, refused there by a sentence. docs/settings.md lists each of them."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hosting.errors import ConfigurationError
from hosting.surroundings import is_hosted

logger = logging.getLogger(__name__)

MODEL_INPUT = r"text|hostedFile|\*/\*|[a-z]+/(\*|[a-z0-9.+-]+)"


class Settings(BaseModel):
    """What an operator may choose by app settings. Field aliases are the settings' names; durations are in seconds."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    anonymous: str = Field(
        "refuse",
        alias="AGENT_ANONYMOUS",
        pattern=r"^(refuse|allow)$",
        description="Whether an app in production may ask for no keys: 'refuse', or 'allow' where this is meant.",
    )
    archive: str = Field(
        "sqlite",
        alias="AGENT_ARCHIVE",
        pattern=r"^(memory|blob|cosmos|sqlite|sqlite:.+)$",
        description="Where the older part of long threads is kept: 'sqlite' (archive.sqlite beside the run log), "
        "'sqlite:PATH', 'blob' (the app's storage account, the default in production), 'cosmos' (AGENT_COSMOS), or "
        "'memory' (tests; the default where the run log is in memory).",
    )
    log: str = Field(
        "sqlite",
        alias="AGENT_LOG",
        pattern=r"^(memory|tables|sqlite|sqlite:.+|rediss?://.+)$",
        description="Where the threads' log is kept: 'sqlite' (.agents/log.sqlite), 'sqlite:PATH', 'tables' (the app's "
        "storage account, the default in production), 'redis://HOST', or 'memory' (tests).",
    )
    run_log: str = Field(
        "sqlite",
        alias="AGENT_RUN_LOG",
        pattern=r"^(memory|blob|sqlite|sqlite:.+|rediss?://.+)$",
        description="Where run logs are kept: 'sqlite' (.agents/runs.sqlite), 'sqlite:PATH', 'blob' (the app's storage "
        "account, the default in production), 'redis://HOST', or 'memory' (tests).",
    )
    run_log_days: int = Field(
        0,
        alias="AGENT_RUN_LOG_DAYS",
        ge=0,
        le=36_500,
        description="How many days the logs of ended runs are kept; 0: until their thread is deleted.",
    )
    run_log_synchronous: str = Field(
        "NORMAL",
        alias="AGENT_RUN_LOG_SYNCHRONOUS",
        pattern=r"^(NORMAL|FULL)$",
        description="SQLite's synchronous level: NORMAL survives a killed process, FULL a power cut too.",
    )
    wait_seconds: float = Field(
        100.0,
        alias="AGENT_WAIT_SECONDS",
        ge=0,
        le=220,
        description="The longest a request waits for its run before it answers 202; the platform cuts at 230.",
    )
    run_timeout_seconds: float = Field(
        300.0, alias="AGENT_RUN_TIMEOUT_SECONDS", gt=0, le=86_400, description="How long one attempt of a run may take."
    )
    queue_timeout_seconds: float = Field(
        3600.0,
        alias="AGENT_QUEUE_TIMEOUT_SECONDS",
        gt=0,
        le=604_800,
        description="How long an accepted run may wait for its thread before it is given up as lost.",
    )
    queue_limit: int = Field(
        32,
        alias="AGENT_QUEUE_LIMIT",
        ge=1,
        le=10_000,
        description="How many runs of one thread may wait or run; the next is answered 429.",
    )
    recent_bytes: int = Field(
        196_608,
        alias="AGENT_RECENT_BYTES",
        ge=2048,
        le=1_000_000_000,
        description="How many bytes of a conversation its document holds, at most half of AGENT_STATE_LIMIT_BYTES; "
        "what is older moves to the archive.",
    )
    redelivery_seconds: float = Field(
        90.0,
        alias="AGENT_REDELIVERY_SECONDS",
        gt=0,
        le=3600,
        description="How long after its deadline a run may still be redelivered: visibility time-out and a margin.",
    )
    max_body_bytes: int = Field(
        1_048_576, alias="AGENT_MAX_BODY_BYTES", ge=1024, le=100_000_000, description="The largest request body."
    )
    max_data_bytes: int = Field(
        262_144,
        alias="AGENT_MAX_DATA_BYTES",
        ge=1024,
        le=100_000_000,
        description="The largest picture or file in a request, as the data URI that the conversation keeps.",
    )
    attachments: str = Field(
        "sqlite",
        alias="AGENT_ATTACHMENTS",
        pattern=r"^(memory|blob|sqlite|sqlite:.+)$",
        description="Where large pictures and files of conversations are kept: 'sqlite' (beside the run log), "
        "'sqlite:PATH', 'blob' (the app's storage account, the default on Azure), or 'memory' (tests).",
    )
    attachment_bytes: int = Field(
        16_384,
        alias="AGENT_ATTACHMENT_BYTES",
        ge=1024,
        le=100_000_000,
        description="Pictures and files of more bytes are kept beside their conversation, which then refers to them.",
    )
    model_inputs: str = Field(
        "image/*",
        alias="AGENT_MODEL_INPUTS",
        pattern=rf"^({MODEL_INPUT})(\s*,\s*({MODEL_INPUT}))*$",
        description="What the models take besides text: media types or ranges of them, and hostedFile, with commas.",
    )
    caller_roles: str = Field(
        "user",
        alias="AGENT_CALLER_ROLES",
        pattern=r"^(user|system|assistant)(\s*,\s*(user|system|assistant))*$",
        description="The roles that a request may speak in: user, system, assistant, with commas.",
    )
    state_limit_bytes: int = Field(
        524_288,
        alias="AGENT_STATE_LIMIT_BYTES",
        ge=4096,
        le=1_000_000_000,
        description="How large a stored conversation may become before a run is refused for which the archive made no "
        "room.",
    )
    stream_batch_seconds: float | None = Field(
        None,
        alias="AGENT_STREAM_BATCH_SECONDS",
        ge=0,
        le=10,
        description="How long streamed words wait for more before they are appended to the run log, and then sent; the "
        "first never wait. By default as an append costs there: 0.1, in blobs 0.5.",
    )
    stream_batch_characters: int = Field(
        4096,
        alias="AGENT_STREAM_BATCH_CHARACTERS",
        ge=1,
        le=1_000_000,
        description="How many streamed characters do not wait for more.",
    )
    thread_ttl_seconds: float = Field(
        0.0,
        alias="AGENT_THREAD_TTL_SECONDS",
        ge=0,
        le=315_360_000,
        description="How long after its last answer a conversation is kept, where its agent says nothing; 0: for ever.",
    )
    sweep_schedule: str = Field(
        "0 */5 * * * *",
        alias="AGENT_SWEEP_SCHEDULE",
        pattern=r"^\S+( \S+){5}$",
        description="When conversations whose time is up are looked for, in UTC: an NCRONTAB expression of six fields.",
    )
    context_tokens: int = Field(
        100_000,
        alias="AGENT_CONTEXT_TOKENS",
        ge=1000,
        le=100_000_000,
        description="How many tokens of a conversation are sent to the model of an agent without a compaction "
        "strategy.",
    )
    cosmos: str = Field(
        "",
        alias="AGENT_COSMOS",
        pattern=r"^(https://|(?i:AccountEndpoint=)).+$",
        description="The account of Cosmos DB for AGENT_ARCHIVE=cosmos: its address, for the app's identity, or a "
        "connection string.",
    )
    cosmos_database: str = Field(
        "agents",
        alias="AGENT_COSMOS_DATABASE",
        pattern=r"^[^/\\?#\s]{1,255}$",
        description="The database in that account; its container 'agent-archive' has the partition key /thread.",
    )
    interrupted_tools: str = Field(
        "fail",
        alias="AGENT_INTERRUPTED_TOOLS",
        pattern=r"^(fail|tell)$",
        description="When a process ended while a tool ran that is called at most once: 'fail' the run, or 'tell' the "
        "model that the outcome is unknown.",
    )
    approval_seconds: float = Field(
        604_800.0,
        alias="AGENT_APPROVAL_SECONDS",
        ge=0,
        le=31_536_000,
        description="How long a tool call waits for its approval before it counts as refused; 0 is for ever.",
    )
    callback_seconds: float = Field(
        30.0,
        alias="AGENT_CALLBACK_SECONDS",
        gt=0,
        le=300,
        description="How long one call of a response callback may take before it is left behind.",
    )
    tool_threads: int = Field(
        32, alias="AGENT_TOOL_THREADS", ge=1, le=1024, description="Threads that run synchronous tools."
    )

    @property
    def document_bytes(self) -> int:
        """How many bytes of entries a document holds before the oldest of them move to the archive."""
        return min(self.recent_bytes, self.state_limit_bytes // 2)


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Return the settings of an environment, where an empty value counts as not set.

    Raises `ConfigurationError` that names the first wrong setting, its value and what it must be.
    """
    names = [str(field.alias) for field in Settings.model_fields.values()]
    given: dict[str, Any] = {name: environ[name] for name in names if environ.get(name, "").strip()}
    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0])
        raise ConfigurationError(
            f"Setting {name} is {given.get(name)!r}: {first['msg'][:1].lower()}{first['msg'][1:]}. {_meaning(name)}"
        ) from None


def report_unknown(environ: Mapping[str, str]) -> None:
    """Log a warning for each setting that begins as ours and is none, with the nearest that is one."""
    known = [str(field.alias) for field in Settings.model_fields.values()]
    for name in sorted(environ) if is_hosted(environ) else ():
        if name.upper().startswith("AGENT_") and name not in known:
            nearest = difflib.get_close_matches(name.upper(), known, n=1, cutoff=0.0)[0]
            logger.warning(
                "There is no setting %s, so it does nothing. Is %s meant? See docs/settings.md.", name, nearest
            )


def _meaning(name: str) -> str:
    return next(str(field.description) for field in Settings.model_fields.values() if field.alias == name)
