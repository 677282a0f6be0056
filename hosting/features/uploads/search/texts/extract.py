"""The text of a hostile file, read in a process of its own.

Theory. The file's bytes go to a temporary file that has no name (on Windows: one that the system removes with its last
handle), which is the child's standard input. So it is gone when both processes are, however they end, and there is
nothing to sweep. The child is confined (`confinement`), knows no environment of the app's and no secret, and ends
itself at its limits even when the app is killed. What it writes is checked like the bytes of any stranger: frames of
known types, as many characters as allowed, codes that have a sentence
here. However it ends, it is an error of that file.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from tempfile import TemporaryFile
from typing import IO
from weakref import WeakKeyDictionary

from msgspec import MsgspecError, json

from hosting.errors import ConfigurationError
from hosting.features.uploads.search.texts.limits import Order, RefusedFile, TextLimits, TextPiece, Whole
from hosting.features.uploads.search.texts.refusals import (
    EMPTY,
    READER_ENDED,
    TOO_LARGE,
    TOO_MUCH_MEMORY,
    TOO_MUCH_TEXT,
    TOO_SLOW,
    UnreadableFileError,
)

MOST_PROCESSES = 2
"""At once, in one app process: each may take the memory of its limits."""
_CHILD = f"{__package__}.child"
_MOST_FRAME_BYTES = 1 << 20
_END_SECONDS = 5
"""For a child that has closed its output and ends."""
_KERNEL_LIMITS_MEMORY = sys.platform == "linux"
_PACKAGES = {
    "pypdfium2": "pypdfium2",
    "python_calamine": "python-calamine",
    "lxml": "lxml",
    "charset_normalizer": "charset-normalizer",
    "psutil": "psutil",
}
_SLOW = (getattr(signal, "SIGXCPU", None), getattr(signal, "SIGALRM", None))
_KEPT_VARIABLES = ("SYSTEMROOT", "TMPDIR", "TEMP", "LD_LIBRARY_PATH")
"""What Python itself needs. The app's settings, which may hold keys, are none of them."""

_places: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


def check_packages(find: Callable[[str], object | None] = find_spec) -> None:
    """Raise `ConfigurationError` if a package that files are read with is missing; it names each."""
    missing = [package for module, package in _PACKAGES.items() if find(module) is None]
    if missing:
        raise ConfigurationError(
            f"A search in files needs {', '.join(missing)}. Add "
            "the lines of requirements-file-search.txt to requirements.txt."
        )


async def extracted(
    parts: AsyncIterator[bytes], name: str, media_type: str, limits: TextLimits
) -> AsyncGenerator[TextPiece, None]:
    """Give the text of the file in order; raise `UnreadableFileError` where it has none or ends before its whole text.

    The pieces joined are the whole text that places count in. `name` and `media_type` are hints; the name touches no
    file system. Read on without long waits: they count as time of the process. Close it (`contextlib.aclosing`)
    when you stop before the end. What `parts` raises goes through.
    """
    async with _place():  # before the copy: so many files of the largest size are on the disk, and no more
        with TemporaryFile(buffering=0) as file:
            await _copy(parts, file, limits.file_bytes)
            async with _running(file, Order(name, media_type, limits)) as process:
                async for piece in _pieces(process, limits):
                    yield piece


async def _copy(parts: AsyncIterator[bytes], file: IO[bytes], most_bytes: int) -> None:
    written = 0
    async for part in parts:
        written += len(part)
        if written > most_bytes:
            raise UnreadableFileError.of(TOO_LARGE)
        await asyncio.to_thread(_write, file, part)
    if not written:
        raise UnreadableFileError.of(EMPTY)
    file.seek(0)


def _write(file: IO[bytes], part: bytes) -> None:
    rest = memoryview(part)
    while rest:
        rest = rest[file.write(rest) :]


def _place() -> asyncio.Semaphore:
    return _places.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(MOST_PROCESSES))


@asynccontextmanager
async def _running(file: IO[bytes], order: Order) -> AsyncIterator[Process]:
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    environment["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, sys.path))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", _CHILD, json.encode(order).decode()),
        stdin=file,
        stdout=PIPE,
        stderr=DEVNULL,
        limit=_MOST_FRAME_BYTES,
        env=environment,
    )
    try:
        yield process
    finally:
        if not _output(process).at_eof():
            _kill(process)
        await _status(process)


async def _pieces(process: Process, limits: TextLimits) -> AsyncIterator[TextPiece]:
    watching = None if _KERNEL_LIMITS_MEMORY else _watched(process, limits.memory_bytes)
    deadline = asyncio.get_running_loop().time() + limits.seconds
    left = limits.characters
    try:
        while isinstance(frame := await _next(process, deadline), TextPiece):
            left -= len(frame.text)
            if left < 0:
                raise UnreadableFileError.of(TOO_MUCH_TEXT)
            yield frame
    finally:
        if watching is not None:
            watching.cancel()
    if frame is not None:
        await _next(process, deadline)  # nothing: its end
    if isinstance(frame, RefusedFile):
        raise UnreadableFileError.of(frame.code)
    if frame is None:
        was_memory = watching is not None and watching.done() and not watching.cancelled() and watching.result()
        raise UnreadableFileError.of(TOO_MUCH_MEMORY if was_memory else _code_of_end(await _status(process)))


def _watched(process: Process, most_bytes: int) -> asyncio.Task[bool]:
    from hosting.features.uploads.search.texts.watchdog import watch_memory

    return asyncio.create_task(watch_memory(process, most_bytes))


async def _next(process: Process, deadline: float) -> TextPiece | RefusedFile | Whole | None:
    """Return the next frame, None at an end without one; raise `UnreadableFileError` for what is none, and in time."""
    try:
        async with asyncio.timeout_at(deadline):
            line = await _output(process).readline()
    except TimeoutError:
        raise UnreadableFileError.of(TOO_SLOW) from None
    except ValueError:  # longer than any frame
        raise UnreadableFileError.of(READER_ENDED) from None
    if not line.endswith(b"\n"):
        return None
    try:
        return json.decode(line, type=TextPiece | RefusedFile | Whole)
    except MsgspecError:
        raise UnreadableFileError.of(READER_ENDED) from None


def _output(process: Process) -> asyncio.StreamReader:
    assert process.stdout is not None
    return process.stdout


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()


async def _status(process: Process) -> int:
    """Return how the child ended. Not killed at once: asyncio loses the status of one that is killed as it ends."""
    try:
        async with asyncio.timeout(_END_SECONDS):
            return await process.wait()
    except TimeoutError:
        _kill(process)
        return await process.wait()


def _code_of_end(status: int) -> str:
    """Return the code for a child that ended without a word; a signal's number is negative."""
    if -status in _SLOW:
        return TOO_SLOW
    return TOO_MUCH_MEMORY if -status in (signal.SIGABRT, getattr(signal, "SIGKILL", None)) else READER_ENDED
