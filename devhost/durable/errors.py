"""What can stop the engine from starting; every message is a sentence for the person at the keyboard."""

from __future__ import annotations

from pathlib import Path


class DurableError(Exception):
    """Base of the errors that the durable engine raises on purpose."""


class SettingError(DurableError):
    """A value under `extensions.durableTask` of host.json cannot be used."""


class StoreInUseError(DurableError):
    """Another process has the engine's folder open."""


class StoreUnwritableError(DurableError):
    """The engine's folder or file cannot be made or written."""

    def __init__(self, path: Path, reason: object) -> None:
        super().__init__(
            f"{path} cannot be written ({reason}). The local host keeps its durable state there: make room, give this "
            "user the right to write, or close the program that holds it."
        )


class StoreVersionError(DurableError):
    """The stored file was written by a newer version of the local host."""


class StoreUnreadableError(DurableError):
    """The stored file is not a file of the durable engine, or is damaged."""

    def __init__(self, path: Path, reason: object) -> None:
        super().__init__(
            f"{path} is not the local host's file or is damaged ({reason}). Move it away, or run "
            "`python -m devhost reset` to start with nothing."
        )


class StoreUnreachableError(DurableError):
    """There is no stored file to look at, or it cannot be looked at for now."""


class StaleStepError(DurableError):
    """What a step was decided on is no longer so: another one, perhaps of another process, came first.

    Nothing of the step was kept; whoever made it looks again and decides anew.
    """
