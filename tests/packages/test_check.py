"""`durable-agent-host check`: a sentence for each thing of an app that is to be changed before it is deployed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from packages.build import ROOT, version
from packages.durable_agent_host.check import CHECKS, check_id
from tests.packages.hosted_apps import BARE
from tests.support.made_once import made_once
from tests.support.page_tables import rows

Change = Callable[[Path], object]

pytestmark = pytest.mark.behaviour("packages.check")
API = "infra/app/api.bicep"
IDS = [check_id(check) for checks in CHECKS.values() for check in checks]


def put(name: str, old: str, new: str) -> Change:
    """Write `new` for `old` in a file, or at its end where there is none to replace."""

    def change(app: Path) -> None:
        text = (app / name).read_text(encoding="utf-8") if (app / name).exists() else ""
        assert old in text
        (app / name).parent.mkdir(exist_ok=True)
        (app / name).write_text(text.replace(old, new) if old else text + new, encoding="utf-8")

    return change


def host(*path: str, value: object = None) -> Change:
    """Set a key of host.json, or take it away."""

    def change(app: Path) -> None:
        whole = json.loads((app / "host.json").read_text(encoding="utf-8"))
        part = whole
        for key in path[:-1]:
            part = part.setdefault(key, {})
        part[path[-1]] = value
        if value is None:
            del part[path[-1]]
        (app / "host.json").write_text(json.dumps(whole), encoding="utf-8")

    return change


def local(**values: str) -> Change:
    """Write a local.settings.json that has what is needed, and these."""

    def change(app: Path) -> None:
        text = (app / "local.settings.json.template").read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if not line.lstrip().startswith("//")]
        settings = json.loads("\n".join(lines))
        settings["Values"] |= values
        (app / "local.settings.json").write_text(json.dumps(settings), encoding="utf-8")

    return change


def trigger(name: str, **options: str) -> Change:
    """Give the app a function whose deliveries begin runs, with this trigger or binding."""
    given = ", ".join(f"{option}={value!r}" for option, value in options.items())
    return put("function_app.py", "", f'\n\n@app.agent_trigger("guide")\n@app.{name}({given})\ndef inbox(m): ...\n')


def infra(setting: str, value: str = "a") -> Change:
    """Set a setting of the deployed app."""
    return put(API, "var hostSettings = {", f"var hostSettings = {{\n  {setting}: '{value}'")


def needs(line: str) -> Change:
    """Ask for another package."""
    return put("requirements.txt", "", line)


def pinned(line: str) -> Change:
    """Ask for the library by another line."""
    return put("requirements.txt", PINNED, line)


def repository(*added: str) -> Change:
    def change(app: Path) -> None:
        subprocess.run(["git", "init", "-q"], cwd=app, check=True)
        if added:
            subprocess.run(["git", "add", "-f", *added], cwd=app, check=True)

    return change


DURABLE = ("extensions", "durableTask")
STORAGE = (*DURABLE, "storageProvider")
PINNED = f"durable-agent-host=={version()}"
CASES: list[tuple[str, list[Change], str]] = [
    ("pin-missing", [pinned("")], f"requirements.txt: durable-agent-host is not in it. Add {PINNED}."),
    ("pin-loose", [pinned("durable_agent_host[redis]>=0.1  # ours")], "requirements.txt:3: durable-"),
    ("pin-outdated", [pinned("durable-agent-host==0.0.9")], "requirements.txt:3: durable-agent-host is 0.0.9,"),
    ("unpinned", [needs("a==1 \\\n --hash=sha256:0\nrequests[x]>=2\n")], "requirements.txt:6: requests can"),
    ("unlocked", [lambda app: (app / "requirements-3.13.txt").unlink()], "requirements.txt: the versions of indirect"),
    ("lock-outdated", [needs("requests==2\n")], "requirements-3.13.txt: it does not lock"),
    ("lock-outdated", [put("requirements-3.13.txt", f"=={version()}", "==0.0.1")], "requirements-3.13.txt: it does"),
    ("upstream-package", [needs("agent_framework.azurefunctions==1\n")], "requirements.txt:4: agent-framework-"),
    ("bundle", [host("extensionBundle")], "host.json: extensionBundle.id is not"),
    ("bundle", [host("extensionBundle", "version", value="[3.*, 4.0.0)")], "host.json: extensionBundle.version is"),
    (
        "anonymous-http",
        [put("function_app.py", "enable_mcp_tool_trigger=True", 'http_auth_level="anonymous"')],
        "function_app.py:12: http_",
    ),
    (
        "anonymous-route",
        [put("function_app.py", "", '\n\n@app.route("x", auth_level=func.AuthLevel.ANONYMOUS)\ndef x(req): ...\n')],
        "function_app.py:15: any",
    ),
    (
        "trigger-connection",
        [local(), infra("Orders__queueServiceUri"), trigger("queue_trigger", queue_name="inbox", connection="Orders")],
        "function_app.py:16: Orders is not set",
    ),
    (
        "trigger-connection",
        [trigger("service_bus_queue_trigger", queue_name="orders", connection="Orders")],
        "function_app.py:16: no file of infra/ sets Orders,",
    ),
    (
        "queue-name",
        [trigger("queue_trigger", queue_name="Inbox", connection="AzureWebJobsStorage")],
        "function_app.py:16: storage has no queue 'Inbox'.",
    ),
    ("batch-not-retried", [trigger("cosmos_db_trigger", connection="AzureWebJobsStorage")], "function_app.py:16: the"),
    (
        "anonymous-mcp",
        [host("extensions", "mcp", "system", "webhookAuthorizationLevel", value="Anonymous")],
        "host.json: extensions.mcp.system.",
    ),
    ("anonymous-allowed", [infra("AGENT_ANONYMOUS", "allow")], "infra/app/api.bicep:"),
    ("settings-in-git", [local(), repository("local.settings.json")], "local.settings.json: git tracks it, with its"),
    (
        "settings-in-git",
        [put(".env", "", "A=1"), put(".gitignore", ".env\n", ""), repository()],
        ".gitignore: git would track .env,",
    ),
    (
        "secret-in-git",
        [put("local.settings.json.template", '"OPENAI_API_KEY": ""', '"OPENAI_API_KEY": "sk-1"')],
        "local.settings.json.template: OPENAI_API_",
    ),
    ("secret-in-git", [infra("MY_SECRET")], "infra/app/api.bicep:"),
    ("deployed-secrets", [put(".funcignore", "local.settings.json\n", "")], ".funcignore: a deployment would upload"),
    ("deployed-secrets", [lambda app: (app / ".funcignore").unlink()], ".funcignore: it is missing, so a deployment"),
    ("older-document", [host(*STORAGE, "useInstanceTableEtag")], "host.json: extensions.durableTask.storageProvider."),
    ("host-values", [host(*DURABLE, "maxEntityOperationBatchSize")], "host.json: extensions.durableTask.maxE"),
    ("app-missing", [lambda app: (app / "function_app.py").unlink()], "function_app.py: it is missing."),
    ("app-missing", [put("agents/more.py", "", "\ndef f(:\n")], "agents/more.py:2: it is not valid Python: "),
    ("shadowed-module", [put("azure/__init__.py", "", "")], "azure: the app's folder is first on Python's path"),
    ("host-json", [put("host.json", "{", "[")], "host.json: it is not a JSON object. Take the template's"),
    (
        "host-json",
        [put("host.json", '{\n  "v', '\ufeff{\n  "v')],
        "host.json: it begins with a byte order mark, and the",
    ),
    (
        "hub-name",
        [host(*DURABLE, "hubName", value="my-%HUB%"), local(HUB="x")],
        "host.json: extensions.durableTask.hubName of host.json is 'my-%HUB%'",
    ),
    (
        "function-timeout",
        [host("functionTimeout", value="00:05:00"), local(AGENT_ATTEMPT_SECONDS="300")],
        "host.json: functionTimeout is 00:05:00, and an attempt of a run with its spare time takes 325 s.",
    ),
    ("local-requirement", [needs("-e ../library\n")], "requirements.txt:4: '-e ../library' is"),
    ("development-only", [needs("pytest==8.3\n")], "requirements.txt:4: pytest is for this"),
    (
        "extra-missing",
        [local(AGENT_LOG="rediss://x")],
        "requirements.txt:3: AGENT_LOG needs the extra redis. Write durable-agent-host[redis]",
    ),
    (
        "extra-missing",
        [put("agents/who.py", "", "from durable_agent_host import bearer_token\n")],
        "requirements.txt:3: bearer_token in agents/who.py",
    ),
    ("setting-wrong", [local(AGENT_QUEUE_LIMIT="-1")], "local.settings.json: Setting AGENT_QUEUE_LIMIT is '-1': "),
    ("setting-wrong", [local(AGENT_SCHEDULES="-1")], "local.settings.json: Setting AGENT_SCHEDULES is '-1': "),
    ("setting-unknown", [local(AGENT_QUEUE_LIMITS="3")], "local.settings.json: there is no setting"),
    ("setting-unknown", [local(AGENT_SCHEDULE="3")], "local.settings.json: there is no setting AGENT_SCHEDULE, so it"),
    ("setting-missing", [local(FUNCTIONS_WORKER_RUNTIME="")], "local.settings.json: FUNCTIONS_WORKER_RUNTIME is"),
    ("setting-missing", [put(API, "PYTHON_ENABLE_INIT_INDEXING", "OTHER")], "infra: no file sets"),
    ("python-version", [put(API, "version: '3.13'", "version: '3.9'")], "infra/app/api.bicep: Python 3.9 is not"),
    ("python-version", [put(".python-version", "", "3.15.1\n")], ".python-version: Python 3.15.1 is not supported."),
    ("infra-missing", [lambda app: (app / "infra" / "main.bicep").unlink()], "infra/main.bicep: azure.yaml is there"),
]


def check(programs: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(programs / "durable-agent-host"), "check", *arguments]
    return subprocess.run(command, cwd=folder, env=BARE, capture_output=True, text=True, check=False)


EACH = """
import contextlib, io, json, os, sys
from durable_agent_host.__main__ import main

ended = []
for folder, arguments in json.load(sys.stdin):
    os.chdir(folder)
    sys.argv[1:] = ["check", *arguments]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as errors:
        code = main()
    ended.append([code, out.getvalue(), errors.getvalue()])
print(json.dumps(ended))
"""
"""The command in one folder after the other: a third of a second of a processor goes to what it imports."""


class Ended(NamedTuple):
    """How the command ended."""

    code: int
    out: str
    errors: str


@pytest.fixture(scope="module")
def ended_in(both_installed: Path, made: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Ended]:
    """How the command ends in an app of each case."""

    def make(folder: Path) -> None:
        asked = []
        for number, (name, changes, _) in enumerate(CASES):
            app = Path(shutil.copytree(made, folder / str(number)))
            for change in changes:
                change(app)
            # What changes a requirement is also not what was locked.
            asked.append((str(app), [] if name == "lock-outdated" else ["--ignore", "lock-outdated"]))
        (folder / "each.py").write_text(EACH, encoding="utf-8")  # beside them, as their modules are none of its own
        command = [str(both_installed / "python"), str(folder / "each.py")]
        ended = subprocess.check_output(command, input=json.dumps(asked), cwd=folder, env=BARE, text=True)
        (folder / "ended.json").write_text(ended, encoding="utf-8")

    ended = made_once(tmp_path_factory, "checked", make) / "ended.json"
    return [Ended(*one) for one in json.loads(ended.read_text(encoding="utf-8"))]


@pytest.fixture(scope="module")
def made(both_installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new app, which nobody changed, locked as `lock` does it."""
    folder = tmp_path_factory.mktemp("made") / "app"
    subprocess.run([str(both_installed / "durable-agent-host"), "new", str(folder)], check=True)
    (folder / "requirements-3.13.txt").write_text(f"# By lock\n{PINNED} \\\n    --hash=sha256:0\n", encoding="utf-8")
    return folder


@pytest.fixture
def app(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "app"))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: f"{CASES[number][0]}-{number}")
def test_each_check_finds_what_was_changed_and_nothing_else_does(ended_in: list[Ended], number: int) -> None:
    check_name, _, said = CASES[number]
    ended = ended_in[number]
    lines = [line.strip() for line in ended.out.splitlines() if line.startswith("    ")]

    assert (ended.code, ended.errors) == (1, "")
    assert [re.findall(r"\[([\w-]+)\]$", line) for line in lines] == [[check_name]], ended.out
    assert lines[0].startswith(said), lines[0]


@pytest.mark.slow
def test_a_check_is_passed_over_by_its_id(both_installed: Path, app: Path) -> None:
    put("requirements.txt", PINNED, "requests")(app)
    some = ["--ignore", "unpinned", "--ignore", "lock-outdated"]
    one = check(both_installed, app, *some)
    both = check(both_installed, app, *some, "--ignore", "pin-missing")

    assert (one.returncode, one.stdout.count("["), one.stdout.splitlines()[-1]) == (1, 1, "1 finding.")
    assert (both.returncode, both.stdout.splitlines()[1:]) == (0, [f"{len(IDS) - 3} checks found nothing."])


@pytest.mark.slow
def test_a_new_app_has_nothing_to_find(both_installed: Path, app: Path) -> None:
    """Of the whole template, with a repository and with the settings that its first command writes."""
    repository(".")(app)
    local()(app)
    ended = check(both_installed, app.parent, "app")

    sdk, *findings = ended.stdout.splitlines()
    assert (ended.returncode, findings) == (0, [f"{len(IDS)} checks found nothing."])
    assert sdk.startswith("durable SDK 1.7: azure-functions-durable 1.")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--ignore", "fly"], "There is no check fly. There are pin-missing, "),
        ([".."], "is not an app: it has neither"),
    ],
)
def test_what_cannot_be_checked_is_refused(both_installed: Path, app: Path, arguments: list[str], why: str) -> None:
    ended = check(both_installed, app, *arguments)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert why in ended.stderr


def test_every_check_has_a_case_and_a_row_in_the_page() -> None:
    page = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")

    assert {name for name, *_ in CASES} == set(IDS)
    assert [cells[0].strip("`") for cells in rows(page, "check")] == IDS
