"""What can stop the engine from starting; every message is a sentence for the person at the keyboard."""

from __future__ import annotations


class DurableError(Exception):
    """Base of the errors that the durable engine raises on purpose."""


class SettingError(DurableError):
    """A value under `extensions.durableTask` of host.json cannot be used."""


class StoreInUseError(DurableError):
    """Another process has the engine's folder open."""


class StoreVersionError(DurableError):
    """The stored file was written by a newer version of the local host."""


class StoreUnreadableError(DurableError):
    """The stored file is not a file of the durable engine, or is damaged."""
