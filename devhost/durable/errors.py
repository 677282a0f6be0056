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
