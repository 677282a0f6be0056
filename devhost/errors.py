"""The refusals of the local host: each message is a sentence for the developer, each class has its exit code."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar


def sentence(text: str) -> str:
    """Return the text with a full stop, if it ends with none."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


class HostError(Exception):
    """The host cannot go on; the message says what is wrong, with the value, and what to do."""

    exit_code: ClassVar[int] = 1
    is_mended_by_edits: ClassVar[bool] = True
    """Whether a change of the app's files may be all that is missing: a host that watches them waits for one."""


class SettingsError(HostError):
    """host.json, local.settings.json or an app setting has a value that the host cannot use."""


class AppLoadError(HostError):
    """The app's script cannot be imported or holds no single app object; `is_printed` if the app printed the cause."""

    def __init__(self, text: str, *, is_printed: bool = False) -> None:
        super().__init__(text)
        self.is_printed = is_printed


class FunctionLoadError(HostError):
    """A function's bindings and its Python signature do not fit."""

    def __init__(self, function_name: str, reason: str, place: str | None = None) -> None:
        """`place` is file and line of the function, given by whoever knows where it was written."""
        text = f"Cannot load the function '{function_name}': {sentence(reason)}"
        super().__init__(f"{place}: {text}" if place else text)
        self.function_name, self.reason = function_name, reason


class RouteError(HostError):
    """A route template cannot be read."""


class AddressError(HostError):
    """The address to listen on is taken or is not of this machine."""

    exit_code: ClassVar[int] = 2
    is_mended_by_edits = False


class DurableError(HostError):
    """Base of what the durable engine refuses or cannot do for now."""


class StoreInUseError(DurableError):
    """Another process has the engine's folder open."""

    is_mended_by_edits = False


class StoreUnwritableError(DurableError):
    """The engine's folder or file cannot be made or written."""

    is_mended_by_edits = False

    def __init__(self, path: Path, reason: object) -> None:
        super().__init__(
            f"{path} cannot be written ({reason}). The local host keeps its durable state there: make room, give this "
            "user the right to write, or close the program that holds it."
        )


class StoreVersionError(DurableError):
    """The stored file was written by a newer version of the local host."""

    is_mended_by_edits = False


class StoreUnreadableError(DurableError):
    """The stored file is not a file of the durable engine, or is damaged."""

    is_mended_by_edits = False

    def __init__(self, path: Path, reason: object) -> None:
        super().__init__(
            f"{path} is not the local host's file or is damaged ({reason}). Move it away, or run "
            "`python -m devhost reset` to start with nothing."
        )


class StoreUnreachableError(DurableError):
    """There is no stored file to look at, or it cannot be looked at for now."""


class StoreRemovedError(DurableError):
    """The stored file was deleted, moved or replaced under this process; what it goes on to write, nobody reads."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} was removed or replaced while this host used it, so it no longer stores anything. Start it "
            "again; to start with nothing, stop all hosts of the folder first and run `python -m devhost reset`."
        )


class StaleStepError(DurableError):
    """What a step was decided on is no longer so: another one, perhaps of another process, came first.

    Nothing of the step was kept; whoever made it looks again and decides anew.
    """
