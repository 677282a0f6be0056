"""The process that reads a hostile file: what it can reach, what ends it, and what is left of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from hosting.features.uploads.search.texts.extract import extracted
from hosting.features.uploads.search.texts.limits import TextLimits
from hosting.features.uploads.search.texts.refusals import SENTENCES, UnreadableFileError
from hosting.features.uploads.search.texts.watchdog import watch_memory
from tests.support.hostile_files import HOSTILE, LIMITS, TEXT, HostileFile
from tests.support.office_files import pdf
from tests.support.texts import parts_of, read_pieces, read_text

ROOT = Path(__file__).parents[6]
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limits")
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds a process to its address space")
CONFINED = """
import socket, subprocess, os, time
from hosting.features.uploads.search.texts import confinement
from hosting.features.uploads.search.texts.limits import TextLimits
confinement.limit(TextLimits({limits}))
confinement.seal()
{then}
"""


def confined(then: str, limits: str = "") -> subprocess.CompletedProcess[str]:
    """Run statements in a process that is confined as the reader of a file is."""
    code = CONFINED.format(limits=limits, then=then)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


ATTEMPTS = [
    "open('/etc/passwd')",
    "open('/tmp/left', 'w')",
    "socket.socket()",
    "socket.socketpair()",
    "subprocess.run(['true'])",
]


@pytest.mark.slow
@posix
def test_a_confined_process_opens_nothing() -> None:
    """No file, no socket and no process: there is no number left for one."""
    tried = confined(
        "".join(
            f"try:\n    {attempt}\nexcept OSError as error: print(error.errno)\nelse: print('opened')\n"
            for attempt in ATTEMPTS
        )
    )

    assert tried.stdout.split() == ["24"] * len(ATTEMPTS)


@pytest.mark.slow
@posix
@pytest.mark.parametrize(
    ("then", "limits", "end"),
    [
        ("while True: pass", "cpu_seconds=1", signal.SIGXCPU),
        ("time.sleep(600)", "seconds=0.5", signal.SIGALRM),
    ],
)
def test_a_confined_process_ends_itself_at_its_time(then: str, limits: str, end: int) -> None:
    assert confined(then, limits).returncode == -end


@pytest.mark.slow
@linux
def test_a_confined_process_gets_no_more_memory() -> None:
    tried = confined("try: bytearray(400 << 20)\nexcept MemoryError: print('refused')", "memory_bytes=300 << 20")

    assert tried.stdout.strip() == "refused"


@pytest.mark.slow
async def test_a_process_is_watched_where_the_kernel_does_not_hold_it() -> None:
    """As on macOS and Windows: it is ended for its memory."""
    taking = "import time; taken = bytearray(b'x' * (200 << 20)); time.sleep(600)"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", taking)

    assert await watch_memory(process, 100 << 20)
    assert await process.wait() != 0


@pytest.mark.slow
async def test_the_reader_knows_no_setting_of_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_KEY", "secret")
    others = psutil.Process().children()
    reading = extracted(parts_of(b"line\n" * 2_000_000), "a.txt", "", TextLimits())
    async with contextlib.aclosing(reading):
        await anext(reading)
        (child,) = [process for process in psutil.Process().children() if process not in others]
        names = set(child.environ())

    assert "MODEL_KEY" not in names
    assert "PYTHONPATH" in names


@pytest.mark.slow
async def test_a_reading_that_is_left_ends_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    others = psutil.Process().children()
    reading = extracted(parts_of(b"line\n" * 2_000_000), "a.txt", "", TextLimits())
    await anext(reading)
    (child,) = [process for process in psutil.Process().children() if process not in others]
    assert sys.platform == "win32" or list(tmp_path.iterdir()) == []

    await reading.aclose()

    assert not child.is_running()
    assert list(tmp_path.iterdir()) == []


READS = """
import asyncio, os, psutil, tempfile
from hosting.features.uploads.search.texts.extract import extracted
from hosting.features.uploads.search.texts.limits import TextLimits

async def main():
    async def parts():
        for _ in range(20):
            yield b"line\\n" * 100_000
    async for piece in extracted(parts(), "a.txt", "", TextLimits()):
        print(*(child.pid for child in psutil.Process().children()), flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.mark.slow
@posix
def test_nothing_is_left_when_the_app_is_killed(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", READS], env=environment, stdout=subprocess.PIPE, text=True) as app:
        assert app.stdout is not None
        child = psutil.Process(int(app.stdout.readline()))
        app.kill()

    child.wait(60)
    assert list(tmp_path.iterdir()) == []


async def end_of(hostile: HostileFile) -> str:
    """Return the code that the file ends in, or `TEXT`."""
    try:
        await read_pieces(hostile.made(), hostile.name, hostile.media_type, LIMITS)
    except UnreadableFileError as error:
        return error.code if error.sentence == SENTENCES[error.code] else error.sentence
    return TEXT


@pytest.mark.slow
@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda hostile: repr(hostile.name[:20]))
async def test_a_hostile_file_ends_within_the_limits(hostile: HostileFile) -> None:
    assert await end_of(hostile) in hostile.ends


@pytest.mark.slow
async def test_what_an_entity_names_is_not_read() -> None:
    hostile = next(file for file in HOSTILE if file.name == "fetching.docx")

    with pytest.raises(UnreadableFileError, match="declares XML entities"):
        await read_pieces(hostile.made(), hostile.name)


@pytest.mark.slow
async def test_a_good_file_is_read_among_hostile_ones() -> None:
    small = [file for file in HOSTILE if file.name in ("noise.pdf", "corners.xlsx", "laughs.docx", "deep.html")]
    *ends, text = await asyncio.gather(*map(end_of, small), read_text(pdf(["It is fine."])))

    assert text == "It is fine.\n\n"
    assert set(ends) == {"file_damaged", "file_takes_too_much_memory", "file_has_forbidden_xml", TEXT}
