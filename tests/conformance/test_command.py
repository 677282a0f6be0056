"""The command: what it prints, how it ends, and what it says of a service that promises less."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest
from aiohttp import web

from conformance import __name__ as CONFORMANCE
from conformance.__main__ import ADAPTERS, ALL_CHECKS, command_line, main, stored_by, tried
from conformance.trial import NotTried
from tests.conformance.faulty_service import FaultyService
from tests.support.pages import ROOT
from tests.support.running_host import host_environment

NOWHERE = "http://127.0.0.1:9/api"
BYTES = "import sys; sys.stdout.buffer.write(b'kept\\xff')"
KILL = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1], data=b'')"


async def command(*arguments: str) -> tuple[int | None, str, str]:
    """Run the command to its end and return its code and what it printed."""
    pipe = asyncio.subprocess.PIPE
    program = [sys.executable, "-m", CONFORMANCE, *arguments]
    process = await asyncio.create_subprocess_exec(*program, stdout=pipe, stderr=pipe, cwd=ROOT, env=host_environment())
    printed, warned = await process.communicate()
    return process.returncode, printed.decode(), warned.decode()


@pytest.mark.slow
@pytest.mark.behaviour("conformance.command")
async def test_the_command_prints_a_table_and_ends_with_0_where_nothing_failed() -> None:
    """What it had no means for is counted beside."""
    async with FaultyService().served() as url:
        code, printed, _ = await command(url, "--only", "key", "--only", "kill.conversation")

    assert code == 0, printed
    assert printed.splitlines()[0].split(maxsplit=2)[:2] == ["passed", "key.again"]
    assert printed.splitlines()[-1] == "3 passed, 0 failed, 0 not offered, 2 not tried"


@pytest.mark.slow
@pytest.mark.behaviour("conformance.command")
async def test_the_command_prints_json_and_ends_with_1_for_what_its_kill_command_broke() -> None:
    """Each check with its promise, how it was made, and what was seen."""
    async with FaultyService("a kill takes the last answer").served() as url:
        kill = f'{sys.executable} -c "{KILL}" {url.removesuffix("/api")}/kill'
        code, printed, warned = await command(url, "--json", "--only", "kill.conversation", "--kill", kill)
    (check,) = json.loads(printed)["checks"]

    assert (code, warned) == (1, "")
    assert (check["outcome"], check["promise"]) == ("failed", "What was answered before a kill is there behind it.")
    assert check["evidence"].startswith("it was [")


@pytest.mark.behaviour("conformance.command")
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "the URL is None: give the base URL"),
        (["http://[::1"], "the URL is 'http://[::1': give the base URL"),
        (["localhost:7071/api"], "the URL is 'localhost:7071/api': give the base URL"),
        ([NOWHERE, "--only", "key", "--only", "key.agian"], "--only is 'key.agian', which is not a check"),
        ([NOWHERE, "--header", "x-functions-key"], "--header is 'x-functions-key': give NAME: VALUE"),
        ([NOWHERE, "--owner", "x-user: ada"], "--owner is given 1 times: give two callers, or none"),
        ([NOWHERE, "--owner", "x-user: ada", "--owner", "x-name: bob"], "--owner is 'x-user: ada' and 'x-name: bob'"),
        ([NOWHERE], "http://127.0.0.1:9/api does not answer in a readable form: ConnectError"),
        ([NOWHERE, "--patience", "nan"], "--patience is nan: give seconds above 0"),
        ([NOWHERE, "--says", "Ada"], "--says is given 1 times: give a word for each of the two callers"),
        ([NOWHERE, "--beside", "localhost:7072"], "--beside is 'localhost:7072': give the base URL of another process"),
    ],
)
def test_what_cannot_be_tried_is_refused_with_its_value(
    arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """By one line; an address that is none, too."""
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith(f"Nothing was tried: {why}")


class SignedIn(FaultyService):
    """A service that answers nobody but who is signed in, and notes who asked something."""

    def __init__(self, status: int = 401) -> None:
        super().__init__()
        self.status = status
        self.callers: set[str] = set()

    async def _agents(self, request: web.Request) -> web.Response:
        if not self._knows(request):
            return web.Response(status=self.status)
        return await super()._agents(request)

    async def _run(self, request: web.Request) -> web.StreamResponse:
        if not self._knows(request):
            return web.Response(status=self.status)
        return await super()._run(request)

    def _knows(self, request: web.Request) -> bool:
        name = request.headers.get("x-user", "")
        self.callers.add(name)
        return name != ""


@pytest.mark.behaviour("conformance.command")
@pytest.mark.parametrize(("headers", "callers"), [([], {"ada"}), (["--header", "X-User: eve"], {"ada", "eve"})])
async def test_the_first_of_two_owners_asks_the_rest_too(headers: list[str], callers: set[str]) -> None:
    """Unless another caller is named for that."""
    service = SignedIn()
    owners = ["--owner", "x-user: ada", "--owner", "x-user: bob"]
    async with service.served() as url:
        options = command_line().parse_args([url, *owners, *headers])
        results = await tried(options, ["owners.read", "key.again"])

    assert [result.outcome for result in results] == ["passed"] * 2
    assert service.callers == callers


@pytest.mark.behaviour("conformance.command")
async def test_the_options_give_the_checks_what_they_need() -> None:
    """Another process, another agent, a long run, and callers with tokens."""
    service = FaultyService()
    names = ["client-tool.refused", "user-token.apart", "long.once", "beside.approval", "ask.default"]
    given = ["--closed", "closed", "--behalf", "behalf", "--says", "For ada", "--says", "For bob", "--long", "long"]
    given += ["--owner", "authorization: x.ada.y", "--owner", "authorization: x.bob.y", "--limit", "0.15"]
    async with service.served() as url:
        given += ["--beside", service.beside, "--approval", "refund", "--default", "default"]
        results = await tried(command_line().parse_args([url, *given]), names)

    assert {result.check.name: result.outcome for result in results} == dict.fromkeys(names, "passed")


@pytest.mark.behaviour("conformance.command")
async def test_what_is_stored_is_what_a_command_prints() -> None:
    """Bytes that are no text do no harm; a command that fails proves nothing."""
    printing, failing = (f'{sys.executable} -c "{code}"' for code in (BYTES, "raise SystemExit(3)"))

    assert await stored_by(printing)() == "kept\ufffd"
    with pytest.raises(NotTried, match="the command of --stored ended with 3"):
        await stored_by(failing)()


@pytest.mark.behaviour("conformance.command")
@pytest.mark.parametrize(("status", "advice"), [(401, "--header NAME: VALUE"), (403, "--header"), (404, "/api, and")])
async def test_a_service_that_refuses_at_once_is_said_with_what_to_give(
    status: int, advice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A key, another caller or another address; it ends with 2."""
    async with SignedIn(status).served() as url:
        code = await asyncio.to_thread(main, [url])

    complaint = capsys.readouterr().err
    assert code == 2
    assert complaint.startswith(f"Nothing was tried: GET /api/agents: {status}")
    assert advice in complaint


@pytest.mark.behaviour("conformance.documented")
def test_the_page_has_every_check_option_and_adapter() -> None:
    """And the sentence of each promise."""
    page = (ROOT / "docs" / "guides" / "conformance.md").read_text(encoding="utf-8")
    options = {name for action in command_line()._actions for name in action.option_strings} - {"-h", "--help"}

    assert [check.name for check in ALL_CHECKS if f"| `{check.name}` | {check.promise} |" not in page] == []
    assert sorted(name for name in options if f"| `{name}" not in page) == []
    assert [name for name in ADAPTERS if f"| `{name}` |" not in page] == []
