"""The wheels in environments that hold nothing else: an app, its commands, and its types."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packages.hosted_apps import BARE, hosted, sent
from tests.support.interpreters import PROGRAMS, install, new_environment

pytestmark = pytest.mark.slow

AGENT = """
from agent_framework import Agent, BaseChatClient, ChatResponse, Message
from durable_agent_host import AgentFunctionApp


class Echo(BaseChatClient):
    async def _inner_get_response(self, *, messages, stream, options, **others):
        return ChatResponse(messages=[Message("assistant", [f"{len(messages)}: {messages[-1].text}"])])


app = AgentFunctionApp(agents=[Agent(client=Echo(), name="echo")])
"""
CLASSIC = """
import azure.functions as func

app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)


@app.route("greet/{name}")
def greet(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(f"Hello {req.route_params['name']}")
"""
USER = """
from durable_agent_host import AgentFunctionApp, Principal, current, idempotent, easy_auth
from durable_agent_host.state.codec import read


def who(principal: Principal) -> int:
    return principal.id


reveal_type(current().call_key)
reveal_type(read("{}").schema_version)
AgentFunctionApp(agents=1)
"""
OURS = """
[mypy]
follow_imports = skip

[mypy-agent_framework.*,durable_agent_host.*]
follow_imports = normal
"""
"""Half of the checker's work would be the packages that ours ask for besides."""


def write_app(folder: Path, source: str) -> Path:
    folder.mkdir()
    (folder / "host.json").write_text('{"version": "2.0"}', encoding="utf-8")
    (folder / "function_app.py").write_text(source, encoding="utf-8")
    return folder


@pytest.mark.behaviour("packages.app")
def test_an_app_of_one_file_answers_in_an_environment_of_the_wheels_alone(both_installed: Path, tmp_path: Path) -> None:
    """The conversation is kept, and the page's files came along."""
    folder = write_app(tmp_path / "app", AGENT)
    with hosted([str(both_installed / "functions-local-host"), "start", "--port", "0"], folder) as origin:
        first = sent(f"{origin}/api/agents/echo/run?thread_id=one", b"Hello")
        second = sent(f"{origin}/api/agents/echo/run?thread_id=one", b"Again")
        page = sent(f"{origin}/api/ui/")

    assert (first, second) == ("1: Hello", "3: Again")
    assert "<title>" in page


@pytest.mark.behaviour("packages.any-app")
def test_the_local_hosts_wheel_alone_runs_an_app_without_agents(wheels: dict[str, Path], tmp_path: Path) -> None:
    new_environment(sys.executable, tmp_path / "environment")
    programs = tmp_path / "environment" / PROGRAMS
    install(str(programs / "python"), str(wheels["functions_local_host"]))
    folder = write_app(tmp_path / "app", CLASSIC)
    with hosted([str(programs / "functions-local-host"), "start", "--port", "0"], folder) as origin:
        answer = sent(f"{origin}/api/greet/Ada")

    assert answer == "Hello Ada"


@pytest.mark.behaviour("packages.typed")
def test_a_type_checker_sees_the_types_of_the_public_names(both_installed: Path, tmp_path: Path) -> None:
    user = tmp_path / "user.py"
    user.write_text(USER, encoding="utf-8")
    (tmp_path / "mypy.ini").write_text(OURS, encoding="utf-8")  # which it reads, as it is where the checker runs
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(both_installed / "python")]
    command += ["--cache-dir", os.devnull, "--output", "json", str(user)]
    ended = subprocess.run(command, cwd=tmp_path, env=BARE, capture_output=True, text=True, check=False)
    said = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]

    assert [(one["line"], one["code"], one["message"]) for one in said] == [
        (7, "return-value", 'Incompatible return value type (got "str", expected "int")'),
        (10, "misc", 'Revealed type is "str"'),
        (11, "misc", 'Revealed type is "str"'),
        (
            12,
            "arg-type",
            'Argument "agents" to "AgentFunctionApp" has incompatible type "int"; expected '
            '"Sequence[SupportsAgentRun] | None"',
        ),
    ]


@pytest.mark.behaviour("packages.commands")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["tail", "--help"], "usage: durable-agent-host tail [-h]"),
        (["state", "--help"], "usage: durable-agent-host state [-h]"),
        (["--help"], "usage: durable-agent-host COMMAND"),
    ],
)
def test_the_librarys_commands_have_their_options(both_installed: Path, arguments: list[str], expected: str) -> None:
    command = [str(both_installed / "durable-agent-host"), *arguments]
    ended = subprocess.run(command, env=BARE, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith(expected)
