"""Push notifications: the receivers that a caller names for a task, and their messages.

Theory. A receiver is notified as a webhook is (`core.webhooks`): of each end of a run of the task, signed, again
until it takes it, and nowhere inside the network. It is sent the task's new status without the text of anybody, for
whoever may read the task reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hosting.core.push_configs import PushConfig
from hosting.core.request.contents import Limits
from hosting.core.request.fields import read_text
from hosting.core.thread.events import Cancelled, Completed, Terminal
from hosting.core.thread.run import Run
from hosting.errors import HostingError, InvalidFieldError
from hosting.http.a2a import names
from hosting.http.a2a.fold import CANCELED, CANCELS, COMPLETED, FAILED, INPUT_REQUIRED
from hosting.http.a2a.names import PushNotificationNotSupportedError
from hosting.http.a2a.objects import timestamp
from hosting.names import is_id

_LONGEST = 1024
"""How many characters a receiver's token has, and its credentials."""


@dataclass(frozen=True)
class OfReceivers:
    """A request about the receivers of one task: a new receiver, a receiver by its id, or all."""

    task_id: str
    config: PushConfig | None = None
    config_id: str = ""


def read_config(where: str, fields: Mapping[str, Any], authentication: Mapping[str, Any], limits: Limits) -> PushConfig:
    """Return a receiver; raises `InvalidFieldError`, and `PushNotificationNotSupportedError` where none is served."""
    if limits.webhooks is None:
        raise no_push()
    url = read_text(f"{where}url", fields.get("url", ""))
    if (refusal := limits.webhooks.refusal(url)) is not None:
        raise InvalidFieldError(f"{where}url: {refusal}")
    config_id = read_text(f"{where}id", fields.get("id", ""))
    if config_id and not is_id(config_id):
        raise InvalidFieldError(f"{where}id is {config_id[:80]!r}. Send 1 to 64 of the characters A-Z a-z 0-9 . _ ~ -.")
    return PushConfig(
        id=config_id,
        url=url,
        token=_sent(f"{where}token", fields.get("token", "")),
        scheme=_sent(f"{where}authentication.scheme", authentication.get("scheme", "")),
        credentials=_sent(f"{where}authentication.credentials", authentication.get("credentials", "")),
    )


def _sent(where: str, value: object) -> str:
    """Return the value of a header; raises `InvalidFieldError`."""
    text = read_text(where, value)
    if len(text) > _LONGEST or not text.isascii() or not text.isprintable() or text != text.strip():
        raise InvalidFieldError(f"{where} goes into a header. Send at most {_LONGEST} visible ASCII characters.")
    return text


def no_push() -> HostingError:
    """Return the refusal of an app that sends no webhooks."""
    return PushNotificationNotSupportedError("Push notifications are not served. Follow the task with SubscribeToTask.")


def task_update(run: Run, terminal: Terminal) -> dict[str, Any]:
    """Return the task's status after a run's end, as one message of a stream."""
    thread_id = run.accepted.thread_id
    begun = run.accepted.request.task_run(run.run_id) or run.run_id
    state = FAILED
    if isinstance(terminal, Cancelled) or (run.accepted.wire or {}).get(names.PATH, {}).get(CANCELS):
        state = CANCELED
    elif isinstance(terminal, Completed):
        state = INPUT_REQUIRED if terminal.approvals else COMPLETED
    status = {"state": state, "timestamp": timestamp(terminal.at)}
    return {"statusUpdate": {"taskId": names.task_id(begun, thread_id), "contextId": thread_id, "status": status}}
