"""Apps and folders that behave badly: the host says what is wrong and goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.support.app_folder import make_app
from tests.support.running_host import GUARD_SECONDS, RunningHost, host_environment

APP = """
import logging
import sys
import time
import azure.functions as func
app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)


@app.route(route="never")
def never(req: func.HttpRequest) -> str:
    time.sleep(3600)
    return "late"


@app.route(route="loud")
def loud(req: func.HttpRequest) -> str:
    line = "x" * 9_999
    for _ in range(int(req.params["lines"])):
        print(line)
        logging.info("%s", line)
    return "said"


@app.route(route="quiet")
async def quiet(req: func.HttpRequest) -> str:
    return "fine"


@app.route(route="exits")
def exits(req: func.HttpRequest) -> str:
    sys.exit(3)


@app.route(route="exits-too")
async def exits_too(req: func.HttpRequest) -> str:
    sys.exit(3)
"""


@pytest.mark.slow
@pytest.mark.behaviour("devhost.loud-functions")
def test_a_function_that_writes_a_hundred_megabytes_of_log_holds_up_nobody(tmp_path: Path) -> None:
    """Others are answered meanwhile, and it is answered in the end."""
    with RunningHost(make_app(tmp_path, APP)) as host, httpx.Client(base_url=host.origin, timeout=60) as client:
        loud = client.get("/api/loud", params={"lines": 5_000})
        quiet = client.get("/api/quiet")

    assert (loud.text, quiet.text) == ("said", "fine")


@pytest.mark.slow
@pytest.mark.behaviour("devhost.function-timeout")
def test_a_function_that_never_returns_is_answered_and_does_not_keep_the_host(tmp_path: Path) -> None:
    """Its time is over after functionTimeout; the log names it; others are served; the host still stops."""
    host_json = {"version": "2.0", "functionTimeout": "00:00:01"}
    with RunningHost(make_app(tmp_path, APP, host=host_json)) as host:
        never = httpx.get(f"{host.origin}/api/never", timeout=GUARD_SECONDS)
        host.wait_for("Timeout value of 00:00:01 was exceeded by function: Functions.never")
        quiet = httpx.get(f"{host.origin}/api/quiet", timeout=GUARD_SECONDS)
        host.stop()

    assert (never.status_code, never.content, quiet.text) == (500, b"", "fine")


@pytest.mark.slow
@pytest.mark.behaviour("devhost.exiting-functions")
@pytest.mark.parametrize("route", ["exits", "exits-too"])
def test_a_function_that_ends_the_program_ends_its_own_call_only(tmp_path: Path, route: str) -> None:
    """On Azure the worker would be replaced; here the host goes on."""
    with RunningHost(make_app(tmp_path, APP)) as host:
        ended = httpx.get(f"{host.origin}/api/{route}", timeout=GUARD_SECONDS)
        quiet = httpx.get(f"{host.origin}/api/quiet", timeout=GUARD_SECONDS)

    assert (ended.status_code, quiet.text) == (500, "fine")


DURABLE = "import azure.durable_functions as df\napp = df.DFApp()\n\n" + (
    "@app.orchestration_trigger(context_name='context')\ndef hello(context):\n    return 1\n    yield\n"
)


# Root may write everywhere by two capabilities (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH); without them, as others do.
AS_OTHERS = """
import ctypes, os, sys
if sys.platform == "linux":
    for capability in (1, 2):
        ctypes.CDLL(None).prctl(24, capability)  # PR_CAPBSET_DROP
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a folder there has no such mode")
@pytest.mark.behaviour("devhost.read-only-folder")
def test_a_folder_that_cannot_be_written_is_refused_by_a_sentence(tmp_path: Path) -> None:
    """A durable app needs its file; the sentence names the folder."""
    folder = make_app(tmp_path, DURABLE)
    folder.chmod(0o500)
    command = [sys.executable, "-c", AS_OTHERS, "-m", "devhost", "start", "--port", "0"]
    environ = host_environment()
    ended = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=30, check=False)

    assert (ended.returncode, str(folder) in ended.stderr, "Traceback" in ended.stderr) == (1, True, False)
