"""dev.py as a newcomer types it: a process on a bare interpreter."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from dev import ON_ALL_CORES
from tests.support.interpreters import interpreter
from tests.support.made_once import made_once
from tests.template.checkout import ROOT, Checkout, new_checkout

pytestmark = pytest.mark.slow


PYTEST = """
import json, os, sys
target = {name: value for name, value in sorted(os.environ.items()) if name.startswith("AGENTS_TEST_")}
print(json.dumps({"arguments": sys.argv[1:], "target": target, "compiles": not sys.dont_write_bytecode}))
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout with a .venv, installed there: a copy, since making one takes seconds."""
    made = made_once(tmp_path_factory, "checkout", lambda folder: new_checkout(folder).dev("run"))
    checkout = Checkout(shutil.copytree(made, tmp_path_factory.mktemp("checkout") / "copy", symlinks=True))
    checkout.dev("run")
    return checkout


@pytest.mark.behaviour("template.asks-with-python-alone")
@pytest.mark.parametrize(("command", "says"), [("operations", "--repair"), ("owners", "assign")])
def test_a_command_that_asks_a_running_app_installs_nothing(tmp_path: Path, command: str, says: str) -> None:
    checkout = new_checkout(tmp_path)
    shutil.copytree(ROOT / "hosting", tmp_path / "hosting", ignore=shutil.ignore_patterns("__pycache__"))
    bare = tmp_path / "sitecustomize.py"
    bare.write_text("import sys; sys.path[:] = [path for path in sys.path if 'site-packages' not in path]")
    finished = checkout.dev(command, "--help", PYTHONPATH=str(tmp_path))

    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.startswith(f"usage: dev.py {command}")
    assert says in finished.stdout
    assert not (tmp_path / ".venv").exists()


@pytest.mark.behaviour("template.dev-passes-on")
def test_run_and_host_pass_their_options_on_and_exec_runs_any_program(checkout: Checkout, tmp_path: Path) -> None:
    """`--watch` is what happens anyway; the Python is that of .venv, and the folder stays."""
    app, venv = checkout.folder, checkout.folder / ".venv"
    typed = {
        "run --auth --verbose": (app, "start --watch --auth --verbose"),
        "run --no-watch --host 0.0.0.0 --port 7072": (app, "start --port 7072 --host 0.0.0.0"),
        "run --group durable --queue-poll 0.5": (app, "start --watch --group durable --queue-poll 0.5"),
        "host inspect @counter@one --more": (tmp_path, "inspect @counter@one --more"),
    }
    for command, (folder, passed) in typed.items():
        finished = checkout.dev(*command.split(), folder=tmp_path if folder == tmp_path else None)

        told = {"arguments": passed.split(), "folder": str(folder), "python": str(venv)}
        assert (finished.returncode, json.loads(finished.stdout.splitlines()[-1])) == (7, told)
    question = "import os, sys, devhost; print(sys.prefix, os.environ['VIRTUAL_ENV'], os.getcwd())"
    finished = checkout.dev("exec", "python", "-c", question, folder=tmp_path)

    assert finished.stdout.splitlines()[-1] == f"{venv} {venv} {tmp_path}"


@pytest.mark.behaviour("template.any-host")
@pytest.mark.behaviour("template.dev-all-cores")
def test_tests_run_on_all_cores_unless_some_are_named_or_a_host_of_endpoints(checkout: Checkout) -> None:
    """A debugger wants one process. The host is in variables, so that no key stands in the command line of pytest."""
    write_pytest(checkout)
    endpoints = ["--url", "http://localhost:1", "--mcp-key", "m", "-k", "mcp"]
    target = {"AGENTS_TEST_KEY": "k", "AGENTS_TEST_MCP_KEY": "m", "AGENTS_TEST_URL": "http://localhost:1"}
    for arguments, passed in (
        (["-x"], [*ON_ALL_CORES, "-x"]),
        (["tests/agents", "-x"], ["tests/agents", "-x"]),
        (endpoints, ["tests/azure", "-k", "mcp"]),
    ):
        finished = checkout.dev("test", *arguments, AGENTS_TEST_KEY="k")
        started = json.loads(finished.stdout.splitlines()[-1])

        assert started["arguments"] == passed
        assert started["target"] == (target if arguments == endpoints else {"AGENTS_TEST_KEY": "k"})


@pytest.mark.behaviour("template.dev-room")
def test_a_room_has_its_tests_the_houses_and_those_of_endpoints(checkout: Checkout) -> None:
    """None that start processes; another name is answered by the rooms that there are."""
    write_pytest(checkout)
    for path in ("hosting/core/__init__.py", "hosting/core/agent/__init__.py", "tests/hosting/an_app/function_app.py"):
        checkout.write(path, "")

    finished, refused = (checkout.dev("test", "--room", name, "-x") for name in ("core/agent", "cellar"))

    assert json.loads(finished.stdout.splitlines()[-1])["arguments"] == [
        *ON_ALL_CORES,
        *("-m", "not slow", "tests/hosting/core/agent", "tests/architecture", "tests/hosting/functions", "-x"),
    ]
    assert refused.stderr == "dev.py: --room is cellar: hosting/ has core, core/agent.\n"


@pytest.mark.behaviour("template.dev-installs-once")
def test_a_second_run_installs_nothing_and_a_changed_file_installs_again(checkout: Checkout) -> None:
    """Also when the change is in a file that the first one includes."""
    unchanged = checkout.dev("run")
    checkout.write("requirements.txt", "# changed\n")
    changed, again = checkout.dev("run"), checkout.dev("run")

    assert ["Installing" in run.stdout for run in (unchanged, changed, again)] == [False, True, False]


@pytest.mark.behaviour("template.dev-keeps-settings")
def test_local_settings_come_from_the_template_once_and_are_never_overwritten(checkout: Checkout) -> None:
    settings = checkout.folder / "local.settings.json"
    assert settings.read_text() == '{"Values": {}}'

    settings.write_text('{"Values": {"mine": "1"}}')
    checkout.dev("run")

    assert settings.read_text() == '{"Values": {"mine": "1"}}'


@pytest.mark.behaviour("template.dev-names-the-python")
@pytest.mark.parametrize("version", ["3.7", "3.10"])
def test_a_python_that_cannot_run_the_app_is_named_with_the_one_that_can(checkout: Checkout, version: str) -> None:
    """Under the real interpreters that this machine has."""
    python = interpreter(version)
    if python is None:
        pytest.skip(f"no Python {version} on this machine")
    finished = checkout.dev("run", python=python)

    assert finished.returncode == 1
    assert f"dev.py: Python 3.11 to 3.14 is needed, and this is {version}. " in finished.stderr


@pytest.mark.behaviour("template.dev-explains")
def test_without_a_network_the_package_index_is_named_as_what_is_missing(checkout: Checkout) -> None:
    """pip's own last lines stand above the sentence; nothing is listening on the index's port."""
    changed = checkout.write("requirements.txt", "a-package-that-is-nowhere\n")
    finished = checkout.dev(
        "run",
        PIP_CONFIG_FILE=os.devnull,
        PIP_INDEX_URL="http://127.0.0.1:9/simple",
        PIP_RETRIES="1",
        **no_other_index(),
    )
    changed.write_text("")

    assert finished.returncode == 1
    assert "Installing requirements-local.txt failed. The package index cannot be reached" in finished.stderr
    assert "Traceback" not in finished.stderr


@pytest.mark.behaviour("template.dev-explains")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("run", "nowhere"), "is not a Functions app: it has no host.json."),
        (("run", "--wach"), "`run` does not know --wach."),
        (
            ("run", "program", "--port", "1", "--no-watch"),
            "main.py there is a program, not an app. Leave --port 1 --no",
        ),
        (("host", "start"), "invalid choice: 'start'"),
        (("exec", "no-such-program"), "There is no program no-such-program in "),
        (("test", "--key", "k"), "--key goes with --url, which says where the app runs."),
        (("test", "--url", "localhost:7071"), "--url is localhost:7071: it must begin with http:// or https://."),
    ],
)
def test_a_wrong_command_line_is_answered_by_a_sentence(
    checkout: Checkout, arguments: tuple[str, ...], sentence: str
) -> None:
    checkout.write("program/main.py", "")
    finished = checkout.dev(*arguments, folder=checkout.folder)

    assert finished.returncode != 0
    assert sentence in finished.stderr
    assert "Traceback" not in finished.stderr


def write_pytest(checkout: Checkout) -> None:
    """Put a pytest into the checkout that tells how it was started."""
    checkout.write("requirements-dev.txt", "")
    checkout.write("pytest/__init__.py", "")
    checkout.write("pytest/__main__.py", PYTEST)


def no_other_index() -> dict[str, str]:
    """Blank variables for every index that the machine's own settings may name."""
    return dict.fromkeys(["PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"], "")


@pytest.mark.behaviour("template.dev-names-the-python")
def test_of_several_pythons_that_can_the_one_that_infra_deploys_is_named(checkout: Checkout, tmp_path: Path) -> None:
    """Not the newest: what runs on this machine is then what runs on Azure."""
    python = interpreter("3.10")
    if python is None:
        pytest.skip("no Python 3.10 on this machine")
    for version in ("3.11", "3.12", "3.13", "3.14"):
        (tmp_path / f"python{version}").symlink_to(sys.executable)
    finished = checkout.dev("run", python=python, PATH=str(tmp_path))

    deployed = re.search(r"name: 'python'\s+version: '([\d.]+)'", (ROOT / "infra/app/api.bicep").read_text())
    assert deployed
    assert finished.stderr.endswith(f" Run python{deployed[1]} dev.py instead.\n")
