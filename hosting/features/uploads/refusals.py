"""The refusals of uploads."""

from __future__ import annotations

from hosting.errors import HostingError, RequestError, StoreUnavailableError


class UnknownFileError(RequestError, code="unknown_file", status=404):
    """There is no such file there, or it was deleted."""


class UnknownUploadError(RequestError, code="unknown_upload", status=404):
    """There is no such upload there: it was completed, cancelled, or has expired."""


class FileTooLargeError(RequestError, code="file_too_large", status=413):
    """The file is larger than `AGENT_FILE_BYTES`, or than its upload was begun for."""


class FilesFullError(RequestError, code="files_full", status=409):
    """The owner's files have `AGENT_FILES_QUOTA_BYTES`, or too many uploads are open."""


class UploadMismatchError(RequestError, code="upload_mismatch", status=409):
    """The parts of an upload are not the file that it was begun for: by their number, their bytes or their checksum."""


class InvalidRangeError(RequestError, code="invalid_range", status=416):
    """The range has no byte of the file."""


class HostNotAllowedError(RequestError, code="host_not_allowed", status=403):
    """The app does not fetch files from this address: AGENT_FILE_HOSTS does not allow its host."""


class FileNotFetchedError(RequestError, code="file_not_fetched", status=422):
    """The address gave no file."""


class ChunkIndexUnavailableError(StoreUnavailableError, code="chunk_index_unavailable", status=503):
    """The index of files could not be reached, or throttles; its data is unchanged."""

    sentence = "The index of files cannot be reached. Try again."


REFUSALS: tuple[type[HostingError], ...] = (
    UnknownFileError,
    UnknownUploadError,
    FileTooLargeError,
    FilesFullError,
    UploadMismatchError,
    InvalidRangeError,
    HostNotAllowedError,
    FileNotFetchedError,
    ChunkIndexUnavailableError,
)
