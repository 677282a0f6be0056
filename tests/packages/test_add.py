"""`durable-agent-host add`: what it writes, where an app names it, and what it leaves as it was."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from packages.durable_agent_host.adding.command import RefusedError, main, plan
from packages.durable_agent_host.adding.pieces import PIECES, rendered
from tests.support.pages import ROOT, code, page

pytestmark = pytest.mark.behaviour("packages.add")
NAMES = {"agent": "support", "tool": "find_order", "workflow": "review", "schedule": "morning", "trigger": "inbox"}
NEW = """import os

from agents.assistant import create_assistant
from agents.models import create_chat_client
from durable_agent_host import AgentFunctionApp

chat_client = create_chat_client(os.environ)

app = AgentFunctionApp(agents=[create_assistant(chat_client)], enable_mcp_tool_trigger=True)
"""
ASSISTANT = """from agent_framework import Agent


def create_assistant(client):
    return Agent(client=client, name="assistant", instructions="Answer.")
"""


def app(folder: Path, text: str = NEW) -> Path:
    """Return the folder of an app with this `function_app.py`, and an assistant beside it."""
    (folder / "agents").mkdir(parents=True)
    (folder / "agents" / "assistant.py").write_text(ASSISTANT, encoding="utf-8")
    (folder / "agents" / "models.py").write_text("ChatClient = object\n", encoding="utf-8")
    (folder / "function_app.py").write_bytes(text.encode("utf-8"))
    return folder


def texts(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def function_app(folder: Path) -> str:
    return (folder / "function_app.py").read_bytes().decode()


def add(folder: Path, *arguments: str) -> int:
    return main([*arguments, "--app", str(folder)])


@pytest.mark.parametrize("kind", PIECES)
def test_the_code_that_is_written_is_that_of_the_page(kind: str) -> None:
    shown = code(page("docs/guides/adding.md"), "python")
    piece = PIECES[kind]
    agent = "support" if piece.needs_agent else ""

    assert rendered(piece.code, NAMES[kind], agent, "hosting", has_models=True) in shown
    if kind in ("agent", "tool"):
        assert rendered(piece.test, NAMES[kind], agent, "hosting", has_models=True) in shown


def test_a_part_of_each_kind_is_named_by_the_app(tmp_path: Path) -> None:
    """In order among the app's own imports; each second one stands behind the first."""
    folder = app(tmp_path / "app")
    for kind, name in NAMES.items():
        agent = ["--agent", "support"] if PIECES[kind].needs_agent else []
        assert add(folder, kind, name, *agent) == 0
        assert add(folder, kind, f"{name}_too", *agent) == 0

    assert function_app(folder) == (
        """import os

from agents.assistant import create_assistant
from agents.models import create_chat_client
from agents.support import create_support
from agents.support_too import create_support_too
from durable_agent_host import AgentFunctionApp
from schedules.morning import add_morning
from schedules.morning_too import add_morning_too
from triggers.inbox import add_inbox
from triggers.inbox_too import add_inbox_too
from workflows.review import review
from workflows.review_too import review_too

chat_client = create_chat_client(os.environ)

app = AgentFunctionApp(agents=[create_assistant(chat_client), create_support(chat_client), """
        """create_support_too(chat_client)], enable_mcp_tool_trigger=True, workflows=[review, review_too])
add_morning(app)
add_morning_too(app)
add_inbox(app)
add_inbox_too(app)
"""
    )
    assert "tools=[find_order, find_order_too],\n" in (folder / "agents" / "support.py").read_text(encoding="utf-8")


SHAPES = {
    "a list over lines": (
        "app = AgentFunctionApp(\n    agents=[\n        one(chat_client),  # first\n    ],\n)\n",
        "app = AgentFunctionApp(\n    agents=[\n        one(chat_client),  # first\n"
        "        create_support(chat_client),\n    ],\n)\n",
    ),
    "no comma at the end": (
        "app = AgentFunctionApp(agents=[\n  one(chat_client)  # é, last\n])\n",
        "app = AgentFunctionApp(agents=[\n  one(chat_client),  # é, last\n  create_support(chat_client),\n])\n",
    ),
    "brackets around a part": (
        "app = AgentFunctionApp(agents=[(one(chat_client)) ])\n",
        "app = AgentFunctionApp(agents=[(one(chat_client)), create_support(chat_client) ])\n",
    ),
    "an empty list": (
        "app = AgentFunctionApp(agents=[])\nx = use(chat_client)\n",
        "app = AgentFunctionApp(agents=[create_support(chat_client)])\nx = use(chat_client)\n",
    ),
    "no agents": (
        "app = AgentFunctionApp(workflows=[w],)\n",
        "app = AgentFunctionApp(workflows=[w], agents=[create_support(chat_client)])\n",
    ),
    "nothing": ("app = AgentFunctionApp()\n", "app = AgentFunctionApp(agents=[create_support(chat_client)])\n"),
    "a list with a name": (
        "mine = [one(chat_client)]\napp = AgentFunctionApp(agents=mine)\n",
        "mine = [one(chat_client), create_support(chat_client)]\napp = AgentFunctionApp(agents=mine)\n",
    ),
    "a call of a module": (
        "app = durable_agent_host.AgentFunctionApp(agents=[])",
        "app = durable_agent_host.AgentFunctionApp(agents=[create_support(chat_client)])",
    ),
    "a text with brackets": (
        "app = AgentFunctionApp(agents=[one(chat_client, ']) # é')])  # ])\n",
        "app = AgentFunctionApp(agents=[one(chat_client, ']) # é'), create_support(chat_client)])  # ])\n",
    ),
}
BEFORE = "import durable_agent_host\nfrom durable_agent_host import AgentFunctionApp\n\nchat_client = make()\n"
AFTER = BEFORE.replace("from durable", "from agents.support import create_support\nfrom durable")


@pytest.mark.parametrize(("start", "newline"), [("", "\n"), ("\ufeff", "\r\n"), ("# coding: utf-8\n", "\n")])
@pytest.mark.parametrize(("before", "after"), SHAPES.values(), ids=SHAPES)
def test_the_rest_of_a_file_stays_byte_for_byte(
    before: str, after: str, start: str, newline: str, tmp_path: Path
) -> None:
    """Comments, line ends, marks and the missing end of a last line too."""
    text = (start + BEFORE + before).replace("\n", newline)
    changes = plan(app(tmp_path / "app", text), "agent", "support")

    assert changes["function_app.py"].after.decode() == (start + AFTER + after).replace("\n", newline)


UNKNOWN = {
    "a list that is computed": "app = AgentFunctionApp(agents=make_agents())\n",
    "a list that grows": "mine = []\nmine += [one(chat_client)]\napp = AgentFunctionApp(agents=mine)\n",
    "arguments of a mapping": "app = AgentFunctionApp(**options)\n",
    "arguments of a list": "app = AgentFunctionApp(*agents)\n",
    "two apps": "app = AgentFunctionApp()\nother = AgentFunctionApp()\n",
    "an app in a function": "def make():\n    return AgentFunctionApp()\n\n\napp = make()\n",
    "an app under a condition": "if True:\n    app = AgentFunctionApp()\n",
    "no Python": "app = AgentFunctionApp(\n",
    "a null byte": "app = AgentFunctionApp()\0\n",
    "bytes of another encoding": "# coding: latin-9000\napp = AgentFunctionApp()\n",
    "two clients": "other_client = make()\napp = AgentFunctionApp(agents=[a(chat_client), b(other_client)])\n",
}


@pytest.mark.parametrize("text", UNKNOWN.values(), ids=UNKNOWN)
def test_a_shape_that_is_not_known_is_refused_with_what_to_add_by_hand(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start = text if text.startswith("#") else f"{BEFORE}{text}"
    folder = app(tmp_path / "app", start)
    before = texts(folder)

    assert add(folder, "agent", "support") == 1
    assert texts(folder) == before
    printed = capsys.readouterr().err
    assert "nothing was changed. Write it by hand" in printed
    assert "`from agents.support import create_support`, and create_support(CLIENT) in agents=[...]" in printed


HOSTILE = [
    *("", " ", "Support", "support-desk", "1st", "_a", "a_", "a__b", "a.b", "a/b", "../support", "..", "a\\b", "C:a"),
    *("süd", "ａ", "a\n", "a\0b", "a'b", 'a"b', "a;b", "{a}", "%s", "-x", "x" * 61, "class", "match", "print", "con"),
    *("nul", "com1"),
]


def test_a_name_that_is_no_name_is_refused(tmp_path: Path) -> None:
    """With the reason, in plain characters, and nothing is written."""
    folder = app(tmp_path / "app")
    before = texts(tmp_path)
    for name in HOSTILE:
        with pytest.raises(RefusedError) as refused:
            plan(folder, "tool", name)

        assert str(refused.value).isascii(), ascii(name)
        assert str(refused.value).isprintable(), ascii(name)
    assert texts(tmp_path) == before


TAKEN = [
    ("tool", "tool", "The code of a tool uses the name tool itself."),
    ("trigger", "func", "The code of a trigger uses the name func itself."),
    ("workflow", "handler", "The code of a workflow uses the name handler itself."),
    ("trigger", "in_", "The name 'in_' cannot be used."),
    ("trigger", "ab", "ab becomes the name of a queue"),
    ("agent", "assistant", "agents/assistant.py:5 has the name assistant already."),
    ("agent", "models", "agents/models.py is there already."),
    ("workflow", "app", "function_app.py has the name app already."),
    ("workflow", "create_assistant", "function_app.py has the name create_assistant already."),
]


def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    """By the app, by a file, or by the code that would be written."""
    folder = app(tmp_path / "app")
    for kind, name, reason in TAKEN:
        with pytest.raises(RefusedError) as refused:
            plan(folder, kind, name)

        assert str(refused.value).startswith(reason)


def test_a_tool_of_several_agents_needs_the_name_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An agent that is not there is refused; an agent takes no agent."""
    folder = app(tmp_path / "app")
    add(folder, "agent", "support")
    before = texts(folder)
    ends = [add(folder, "tool", "look", *more) for more in ((), ("--agent", "supprt"))]
    ends.append(add(folder, "agent", "other", "--agent", "support"))

    assert ends == [1, 1, 1]
    assert texts(folder) == before
    assert capsys.readouterr().err == (
        "The app has the agents assistant, support. Choose one with --agent.\n"
        "There is no agent 'supprt'. Found: assistant, support.\n"
        "--agent is for tool, schedule, trigger.\n"
    )


def test_a_dry_run_prints_a_patch_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dry, real = app(tmp_path / "dry", NEW.rstrip("\n")), app(tmp_path / "real", NEW.rstrip("\n"))
    before = texts(dry)

    assert add(dry, "trigger", "inbox", "--dry-run") == 0
    patch = capsys.readouterr().out
    assert texts(dry) == before
    subprocess.run(["git", "apply"], cwd=dry, input=patch, text=True, check=True)
    assert add(real, "trigger", "inbox") == 0
    assert texts(dry) == texts(real)


def test_a_file_in_the_way_leaves_nothing_half_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The tests cannot have a folder where a file of that name is."""
    folder = app(tmp_path / "app")
    (folder / "tests").write_text("mine", encoding="utf-8")
    before = texts(folder)

    assert add(folder, "tool", "look") == 1
    assert texts(folder) == before
    assert not (folder / "tools").exists()
    assert "Nothing was changed." in capsys.readouterr().err


def test_a_link_that_leads_out_of_the_app_is_not_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = app(tmp_path / "app")
    (tmp_path / "elsewhere").mkdir()
    (folder / "tests").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    before = texts(tmp_path)

    assert add(folder, "tool", "look") == 1
    assert texts(tmp_path) == before
    assert "leads out of" in capsys.readouterr().err


KILLED = """
import os, signal, sys
from packages.durable_agent_host.adding import changes
from packages.durable_agent_host.adding.command import main

left = int(sys.argv[1])
replace = changes._replace

def killed(path, content):
    global left
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    replace(path, content)

changes._replace = killed
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_command_that_is_killed_between_two_files_is_typed_again(tmp_path: Path) -> None:
    """Before each of its writes; the app's own code names the new part last, so it runs at every moment."""
    whole = app(tmp_path / "whole")
    add(whole, "tool", "look")
    for count in range(4):
        folder = app(tmp_path / str(count))
        first, second = (
            subprocess.run(
                [sys.executable, "-c", KILLED, str(left), "tool", "look", "--app", str(folder)], cwd=ROOT, check=False
            ).returncode
            for left in (count, 99)
        )

        assert (first, second) == (-9, 0)
        assert texts(folder) == texts(whole)
