"""`python -m benchmarks` from its command line to its table, on a host that it starts itself."""

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from benchmarks.app_folder import MEASURED, ROOT, copied
from benchmarks.host_process import hosted

PAGE = (ROOT / "docs" / "contributing" / "benchmarks.md").read_text(encoding="utf-8")
GUARD_SECONDS = 120


async def benchmark(arguments: str, folder: Path) -> tuple[int | None, str]:
    """The exit code and the standard output of one command, whose temporary folders are made in `folder`."""
    temporary = {name: str(folder) for name in ("TMPDIR", "TEMP", "TMP")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments.split(), cwd=ROOT, env={**os.environ, **temporary}, stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await asyncio.wait_for(process.communicate(), GUARD_SECONDS)
    return process.returncode, printed.decode()


@pytest.mark.slow
@pytest.mark.behaviour("benchmarks.calibrated")
@pytest.mark.behaviour("benchmarks.ends-what-it-started")
async def test_the_quick_command_of_the_page_prints_its_figures_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """A real host with durable writes; the folder it ran in is gone, as only an ended host allows."""
    command = re.findall(r"^\s*python dev.py exec python (-m benchmarks --quick .*)$", PAGE, re.MULTILINE)[0]
    code, printed = await benchmark(command, tmp_path)

    assert code == 0
    assert re.search(
        r"^\| fresh +\| p50 +\| +[\d.]+ ms \| at most 6 ms +\| .* \| +[\d.]+ ms \|$", printed, re.MULTILINE
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.behaviour("benchmarks.ends-what-it-started")
async def test_a_host_is_ended_when_its_measure_breaks() -> None:
    with copied(MEASURED) as folder:
        with pytest.raises(ValueError, match="broken"):
            async with hosted(folder) as host:
                raise ValueError("broken")
        with pytest.raises(OSError):
            async with host.connection():
                pass
