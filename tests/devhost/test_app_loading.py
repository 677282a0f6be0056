"""What a developer reads when the app cannot be loaded: one sentence with the place and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.app_folder import make_app
from tests.support.running_host import run_command
from tests.support.warm_python import Begins

pytestmark = pytest.mark.slow

LIBRARY = """
def check(name):
    if name is None:
        raise ValueError(f"{name} is no name. Give a text.")
"""
APP = "import azure.functions as func\napp = func.FunctionApp()\n"


FUNCTION = "function_app.py, line 3: Cannot load the function 'f': "
REFUSED = {
    None: "There is no function_app.py in ",
    "x = 1\n": "function_app.py has no app object. Create one at top level",
    APP + "other = func.FunctionApp()\n": "more than one app object or name for it: app, other. Keep one",
    APP + "alias = app\n": "more than one app object or name for it: app, alias. Keep one",
    "x = 1\ndef f(:\n": "function_app.py, line 2: invalid syntax",
    "import not_there\n": "line 1: No module named 'not_there'. Install the package of 'not_there'",
    "def f():\n    1 / 0\nf()\n": "function_app.py, line 2: ZeroDivisionError: division by zero",
    "raise SystemExit('no')\n": "function_app.py, line 1: SystemExit: no",
    APP + "@app.route()\ndef f(other): ...\n": f"{FUNCTION}these parameters have no binding",
    APP + "@app.route(route='{a:b}')\ndef f(req): ...\n": f"{FUNCTION}the constraint 'b' is unknown",
    APP + "@app.mcp_tool_trigger(arg_name='c', tool_name='t', tool_properties='{')\ndef f(c): ...\n": (
        f"{FUNCTION}its 'toolProperties' is not valid JSON"
    ),
    "import library\nlibrary.check(\n    None)\n": "function_app.py, line 2: ValueError: None is no name. Give a text.",
    "import json\njson.loads('{')\n": "function_app.py, line 2: JSONDecodeError: Expecting property name",
    "import neighbour\n": "neighbour.py, line 2: invalid syntax",
    "from library import nothing\n": (
        "function_app.py, line 1: ImportError: cannot import name 'nothing' from 'library'"
    ),
    "import library.nothing\n": "line 1: No module named 'library.nothing'. Correct the name.",
    "raise ValueError('two\\nlines')\n": "line 1: ValueError: two lines. Correct it.",
}


@pytest.mark.behaviour("devhost.load-failures-explained")
@pytest.mark.parametrize(("source", "text"), REFUSED.items())
def test_an_app_that_cannot_be_loaded_is_explained_in_one_line(tmp_path: Path, source: str | None, text: str) -> None:
    """What fails inside a library is said of the app's line that called it: a package with `py.typed`, anywhere."""
    folder = make_app(tmp_path, source)
    (folder / "library").mkdir()
    (folder / "library" / "py.typed").touch()
    (folder / "library" / "__init__.py").write_text(LIBRARY, encoding="utf-8")
    (folder / "neighbour.py").write_text("x = 1\ndef f(:\n", encoding="utf-8")

    ended = run_command(folder, "start", "--port", "0", begins=Begins.WARM)

    assert (ended.returncode, text in ended.stderr, "Traceback" in ended.stderr) == (1, True, False), ended.stderr
    assert sum(line.startswith("Error: ") for line in ended.stderr.splitlines()) == 1
    assert ended.stderr.endswith(".\n")
    assert not ended.stderr.endswith("..\n")


@pytest.mark.behaviour("devhost.load-failures-explained")
@pytest.mark.parametrize(
    ("text", "line"), [('\ufeff{"version": "2.0"}', 1), ('{\n// mine\n"version": "2.0"}', 2)], ids=["mark", "comment"]
)
def test_a_host_json_that_the_host_reads_and_a_package_does_not_is_named(tmp_path: Path, text: str, line: int) -> None:
    """The Durable Functions SDK reads it as it is imported, and takes less than the host."""
    make_app(tmp_path, "import azure.durable_functions as df\napp = df.DFApp()\n", host=text)

    ended = run_command(tmp_path, "functions", begins=Begins.COLD)

    assert ended.returncode == 1
    assert ended.stderr.startswith(f"Error: {tmp_path / 'host.json'}, line {line}: ")
    assert ended.stderr.endswith("takes neither a byte order mark nor comments there. Remove them.\n")


@pytest.mark.behaviour("devhost.load-failures-explained")
@pytest.mark.behaviour("devhost.functions-list")
def test_a_folder_without_host_json_is_no_app_and_functions_of_one_are_listed_by_path(tmp_path: Path) -> None:
    """A host that runs may have another port than the settings' or the default one: no host says its address."""
    ended = run_command(tmp_path, "start", begins=Begins.WARM)
    source = APP + "@app.route(route='run/{name}', methods=['POST'])\ndef f(req): ...\n"
    folder = make_app(tmp_path, source, local_settings={"Host": {"LocalHttpPort": 7099}})
    listed = run_command(folder, "functions", begins=Begins.WARM).stdout

    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert "Run the host in the folder of a Functions app" in ended.stderr
    assert "\tf: [POST] /api/run/{name}\n" in listed
    assert "localhost" not in listed
