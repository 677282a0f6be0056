"""Which documents can be read, and what version a document has once this code has written into it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from state.errors import NotAVersionError, NoVersionError, UnsupportedVersionError

CURRENT: Final = "1.1.0"
_MAJOR: Final = 1
_SEMANTIC: Final = re.compile(r"(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})")

# Minor version -> the version that a document gets when we add to it. 1.0 differs from 1.1 by the optional
# `orchestrationId` of requests only, so its shape needs no change. A step that changes shape goes before `read`
# validates; the label is raised only with the first change, for a document that is only read stays as it was.
_RAISED: Final[Mapping[int, str]] = {0: CURRENT}


def readable_version(value: Mapping[str, object]) -> str:
    """Return the document's `schemaVersion` if it can be read: any minor and patch of major 1.

    Raises `NoVersionError`, `NotAVersionError` or `UnsupportedVersionError`.
    """
    if "schemaVersion" not in value:
        raise NoVersionError("The stored document has no schemaVersion, so its meaning is unknown.")
    version = value["schemaVersion"]
    if not isinstance(version, str) or not _SEMANTIC.fullmatch(version):
        raise NotAVersionError(f"schemaVersion {version!r:.80} is not a version like {CURRENT}.")
    if _parts(version)[0] != _MAJOR:
        raise UnsupportedVersionError(
            f"schemaVersion {version} cannot be read: this version of the app reads {_MAJOR}.x. "
            "Run the version that wrote it, or delete or reset the thread."
        )
    return version


def version_after_change(version: str) -> str:
    """Return the version to write once we changed a document: older minors rise to ours, newer ones keep theirs."""
    return _RAISED.get(_parts(version)[1], version)


def _parts(version: str) -> tuple[int, int]:
    major, minor, _ = version.split(".")
    return int(major), int(minor)
