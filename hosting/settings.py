"""The app settings of this library, and where the app runs, both read from the environment.

Settings are read once, at start-up, and a wrong one is refused there. docs/reference/settings.md has a row for each.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hosting.errors import ConfigurationError
from hosting.start_up import ENVIRONMENT, SET_BY_HOSTS, warn

_SITE = "WEBSITE_SITE_NAME"
_SET_BY_AZURE = (_SITE, "WEBSITE_INSTANCE_ID")
"""Either is enough: Flex Consumption sets only the first, App Service both."""

_SIGN_IN = "WEBSITE_AUTH_ENABLED"
"""Azure sets it to True with App Service Authentication, and the local host with --principal."""


def site_name(environ: Mapping[str, str]) -> str:
    """Return the name of the function app on Azure; empty elsewhere."""
    return environ.get(_SITE, "")


def is_hosted(environ: Mapping[str, str]) -> bool:
    """Whether a Functions host runs the app; a test or a script that imports it is none."""
    return any(environ.get(name) for name in SET_BY_HOSTS)


def signs_users_in(environ: Mapping[str, str]) -> bool:
    """Whether App Service Authentication stands before the app, and takes its headers away from clients."""
    return environ.get(_SIGN_IN, "").strip().lower() == "true"


def is_production(environ: Mapping[str, str]) -> bool:
    """Whether the app serves others than its developer.

    The rule is the host's own: every environment but Development is production, and so is one without a name. Local
    hosts name theirs. Where no host runs the app nobody is served.
    """
    name = environ.get(ENVIRONMENT, "").strip()
    return name.lower() != "development" if name else is_hosted(environ)


def needs_shared_stores(environ: Mapping[str, str]) -> bool:
    """Whether other instances must reach this instance's data: in production, and on Azure under any name.

    On Azure one instance answers a request and another runs its agent, and a disk may end with its instance.
    """
    return is_production(environ) or any(environ.get(name) for name in _SET_BY_AZURE)


def is_developers(environ: Mapping[str, str]) -> bool:
    """Whether a local host runs the app for its developer, who may see the causes of failures."""
    return is_hosted(environ) and not needs_shared_stores(environ)


LONGEST_RUN_SECONDS = 2_592_000
"""Thirty days."""

MODEL_INPUT = r"text|hostedFile|\*/\*|[a-z]+/(\*|[a-z0-9.+-]+)"


class SettingsPart(BaseModel):
    """A part of the app settings, which one part of the app reads: the field `log_days` is AGENT_LOG_DAYS.

    The sentence below a field is also the end of the message that refuses a wrong value for it. No message shows the
    value of a field with `repr=False`. Durations are in seconds.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=lambda field: f"AGENT_{field.upper()}")


class Settings(SettingsPart):
    """The settings that all of the app reads. Those that one feature alone reads are in its folder."""

    anonymous: str = Field("refuse", pattern=r"^(refuse|allow)$")
    """Whether an app in production may ask for no keys: 'refuse', or 'allow' where this is meant."""

    archive: str = Field("sqlite", pattern=r"^(memory|blob|cosmos|sqlite|sqlite:.+)$")
    """Where the older part of long threads is kept: 'sqlite' (archive.sqlite next to the log), 'sqlite:PATH', 'blob'
    (the app's storage account, the default in production), 'cosmos' (AGENT_COSMOS), or 'memory' (tests; the default
    where the log is in memory)."""

    instructions_for: str = Field("administrators", pattern=r"^(administrators|callers)$")
    """Who may read the instructions of agents: 'administrators' (in an app where nobody signs in, everybody), or all
    'callers'."""

    log: str = Field("sqlite", pattern=r"^(memory|tables|sqlite|sqlite:.+|rediss?://.+)$")
    """Where the threads' log is kept: 'sqlite' (.agents/log.sqlite), 'sqlite:PATH', 'tables' (the app's storage
    account, the default in production), 'redis://HOST', or 'memory' (tests)."""

    log_days: int = Field(30, ge=1, le=36_500)
    """How many days the log keeps events that the stored conversation of a living thread holds too."""

    receipt_days: int = Field(30, ge=7, le=36_500)
    """How many days a deleted thread's receipt is kept, and its runs and keys are known as deleted."""

    log_synchronous: str = Field("NORMAL", pattern=r"^(NORMAL|FULL)$")
    """SQLite's synchronous level: NORMAL survives a killed process, FULL a power cut too."""

    wait_seconds: float = Field(50.0, ge=0, le=220)
    """The longest a request waits for its run before it answers 202; the platform cuts at 230."""

    run_timeout_seconds: float = Field(300.0, gt=0, le=LONGEST_RUN_SECONDS)
    """How long a run may take, in all its attempts."""

    attempt_seconds: float = Field(0.0, ge=0, le=86_400)
    """How long a process works at a run until it hands it on behind the next step; 0: half of what functionTimeout
    leaves."""

    queue_timeout_seconds: float = Field(3600.0, gt=0, le=604_800)
    """How long an accepted run may wait for its thread before it is given up as lost."""

    queue_limit: int = Field(32, ge=1, le=200)
    """The most runs of one thread that may wait or run; the next is answered 429."""

    recent_bytes: int = Field(196_608, ge=2048, le=1_000_000_000)
    """The most bytes of a conversation in its document, at most half of AGENT_STATE_LIMIT_BYTES; older
    entries move to the archive."""

    max_body_bytes: int = Field(1_048_576, ge=1024, le=100_000_000)
    """The largest request body."""

    max_data_bytes: int = Field(262_144, ge=1024, le=100_000_000)
    """The largest picture or file in a request, as the data URI that the conversation keeps."""

    attachments: str = Field("sqlite", pattern=r"^(memory|blob|sqlite|sqlite:.+)$")
    """Where large pictures and files of conversations are kept: 'sqlite' (next to the log), 'sqlite:PATH', 'blob'
    (the app's storage account, the default on Azure), or 'memory' (tests)."""

    attachment_bytes: int = Field(16_384, ge=1024, le=100_000_000)
    """Pictures and files of more bytes are kept next to their conversation, which then refers to them."""

    model_inputs: str = Field("image/*", pattern=rf"^({MODEL_INPUT})(\s*,\s*({MODEL_INPUT}))*$")
    """The models' inputs besides text: media types or ranges of them, and hostedFile, with commas."""

    caller_roles: str = Field("user", pattern=r"^(user|system|assistant)(\s*,\s*(user|system|assistant))*$")
    """The roles that a request may speak in: user, system, assistant, with commas."""

    message_types: str = Field("string", pattern="^(string|any)$")
    """The type of a message in JSON: 'string', or 'any' JSON value, which the agent gets as its text."""

    state_limit_bytes: int = Field(524_288, ge=4096, le=1_000_000_000)
    """How large a stored conversation may become before what is older must have moved to the archive; a larger
    message is refused."""

    stream_batch_seconds: float | None = Field(None, ge=0, le=10)
    """How long streamed text waits for more before it is appended to the log; a reader in the same process is
    sent it at once. By default as an append costs there: 0.1, in tables 0.5. Longer while a process streams many."""

    stream_batch_characters: int = Field(4096, ge=1, le=1_000_000)
    """How many streamed characters do not wait for more."""

    thread_ttl_seconds: float = Field(0.0, ge=0, le=315_360_000)
    """How long after its last answer a conversation is kept, where its agent says nothing; 0: for ever."""

    sweep_schedule: str = Field("0 */5 * * * *", pattern=r"^\S+( \S+){5}$")
    """The times of the search for expired conversations, in UTC: an NCRONTAB expression of six fields."""

    context_tokens: int = Field(100_000, ge=1000, le=100_000_000)
    """How many tokens of a conversation are sent to the model of an agent without a compaction strategy."""

    cosmos: str = Field("", pattern=r"^(https://|(?i:AccountEndpoint=)).+$")
    """The account of Cosmos DB for AGENT_ARCHIVE=cosmos: its address, for the app's identity, or a connection
    string."""

    cosmos_database: str = Field("agents", max_length=255, pattern=r"^[^/\\?#\s]+$")  # {1,255} costs a start 5 ms
    """The database in that account; its container 'agent-archive' has the partition key /thread."""

    interrupted_tools: str = Field("fail", pattern=r"^(fail|tell)$")
    """When a process ended while a tool ran that is called at most once: 'fail' the run, or 'tell' the model that
    the outcome is unknown."""

    approval_seconds: float = Field(604_800.0, ge=0, le=31_536_000)
    """How long a tool call waits for its approval before it counts as refused; 0 is for ever."""

    blocked_seconds: float = Field(60.0, gt=0, le=86_400)
    """How long code may block the agents' loop before new runs are refused."""

    tool_threads: int = Field(32, ge=1, le=1024)
    """Threads that run synchronous tools."""

    @property
    def document_bytes(self) -> int:
        """How many bytes of entries a document holds before the oldest of them move to the archive."""
        return min(self.recent_bytes, self.state_limit_bytes // 2)


Part = TypeVar("Part", bound=SettingsPart)


class AllSettings:
    """All settings of one app, by the part that has them."""

    def __init__(self, environ: Mapping[str, str], parts: Sequence[type[SettingsPart]]) -> None:
        """Read the parts in their order; raise `ConfigurationError` as `read_part` does."""
        self._parts = {part: read_part(part, environ) for part in parts}

    def of(self, part: type[Part]) -> Part:
        """Return one part."""
        return cast(Part, self._parts[part])


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Return the settings that are no feature's; raise `ConfigurationError` as `read_part` does."""
    return read_part(Settings, environ)


def read_part(part: type[Part], environ: Mapping[str, str]) -> Part:
    """Return a part of the settings of an environment, where an empty value counts as not set.

    Raises `ConfigurationError` that names the first wrong setting, its value and what it must be.
    """
    try:
        return part.model_validate({name: value for name, value in environ.items() if value.strip()})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name, reason = str(first["loc"][0]), first["msg"][:1].lower() + first["msg"][1:]
        field = name.removeprefix("AGENT_").lower()
        shown = repr(environ[name]) if part.model_fields[field].repr else "a secret"
        raise ConfigurationError(f"Setting {name} is {shown}: {reason}. {meaning_of(part, field)}") from None


def meaning_of(part: type[SettingsPart], field: str) -> str:
    """Return the sentence below a field; read from the source, for start-up does not need it."""
    meaning = inspect.getsource(part).partition(f"\n    {field}: ")[2].partition('"""')[2].partition('"""')[0]
    if not meaning:
        raise LookupError(field)
    return " ".join(meaning.split())


def names_of(parts: Sequence[type[SettingsPart]]) -> list[str]:
    """Return the names of all settings."""
    return [str(field.alias) for part in parts for field in part.model_fields.values()]


def report_unknown(environ: Mapping[str, str], parts: Sequence[type[SettingsPart]]) -> None:
    """Print a warning for each setting that begins as ours and is none, with the nearest that is one."""
    report_misspelt(environ, ("AGENT_",), names_of(parts), advice="See docs/reference/settings.md.")


def report_misspelt(environ: Mapping[str, str], beginnings: tuple[str, ...], known: Sequence[str], advice: str) -> None:
    """Print a warning for each setting that begins as `known` ones do and is none; nothing where no host runs."""
    for name in sorted(environ) if is_hosted(environ) else ():
        if name.upper().startswith(beginnings) and name not in known:
            nearest = difflib.get_close_matches(name.upper(), known, n=1, cutoff=0.0)[0]
            warn(f"There is no setting {name}, so it does nothing. Is {nearest} meant? {advice}")


def with_options(settings: Settings, retries: int | None, interval: float | None, most_bytes: int | None) -> Settings:
    """Return the settings with those that an app's options name: the longest wait, and the limit of conversations.

    Raises `ConfigurationError` for one that the setting could not have.
    """
    changed: dict[str, object] = {}
    if retries is not None or interval is not None:
        seconds = (30 if retries is None else retries) * (1.0 if interval is None else interval)
        if not 0 <= seconds <= 220:
            raise ConfigurationError(
                f"max_poll_retries * poll_interval_seconds is {seconds:.12g} s, the longest wait: it must be 0 to 220."
            )
        changed["wait_seconds"] = float(seconds)
    if most_bytes is not None:
        if not 4096 <= most_bytes <= 1_000_000_000:
            raise ConfigurationError(
                f"max_state_bytes is {most_bytes}: as AGENT_STATE_LIMIT_BYTES it must be 4096 to 1000000000."
            )
        changed["state_limit_bytes"] = most_bytes
    return settings.model_copy(update=changed)
