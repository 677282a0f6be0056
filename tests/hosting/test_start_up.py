"""What a start says on a host that drops its exceptions and its log records, and hands on what is printed."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.app_folder import make_app
from tests.support.running_host import ROOT, host_environment, run_command
from tests.support.warm_python import Begins, start_python

pytestmark = pytest.mark.behaviour("hosting.start-up-printed")

LOCAL = {"AzureWebJobsScriptRoot": ".", "AZURE_FUNCTIONS_ENVIRONMENT": "Development", "AGENT_LOG": "memory"}
WORKER = {
    "PYTHON_ENABLE_INIT_INDEXING": "1",
    "PYTHON_ISOLATE_WORKER_DEPENDENCIES": "1",
    "PYTHON_THREADPOOL_THREAD_COUNT": "32",
}
ETAG = "AzureFunctionsJobHost__extensions__durableTask__storageProvider__useInstanceTableEtag"
PRODUCTION = {
    "WEBSITE_SITE_NAME": "shop",
    "AZURE_FUNCTIONS_ENVIRONMENT": "Production",
    "AzureWebJobsStorage": "UseDevelopmentStorage=true",
    ETAG: "true",
}
TEMPLATE = (ROOT / "function_app.py").read_text(encoding="utf-8")
MADE = "from hosting.app import AgentFunctionApp\n\napp = AgentFunctionApp({})\n"
TAKEN = """
import azure.functions as func
from agent_framework import Agent
from hosting.app import AgentFunctionApp
from tests.support.app.scripted import ScriptedClient

app = AgentFunctionApp(agents=[Agent(ScriptedClient(), name="one")])


@app.route(route="agents", methods=["GET"])
def mine(req: func.HttpRequest) -> str:
    return ""
"""
BEGIN = "The app does not start: "


def indexed(folder: Path, environ: Mapping[str, str]) -> tuple[int, list[str]]:
    """Return the exit code of a worker that loads the app of the folder, and what it printed to stderr."""
    settings = {**host_environment(), **WORKER, **environ}
    worker = start_python(
        "tests.hosting.indexing_worker",
        folder=folder,
        environ=settings,
        has_errors=True,
        begins=Begins.WITHOUT_PRODUCT,
    )
    _, complained = worker.communicate()
    return worker.wait(), (complained or "").splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("environ", "line"),
    [
        (
            PRODUCTION,
            "function_app.py, line 12: Agent 'assistant' uses OfflineChatClient, which is not for production. Choose a "
            "model by AZURE_OPENAI_ENDPOINT, OPENAI_BASE_URL or OPENAI_API_KEY: docs/guides/models.md.",
        ),
        (
            {**LOCAL, "OPENAI_MODEL": "small"},
            "agents/models.py, line 74: ModelSettingsError: OPENAI_MODEL is set, and OPENAI_BASE_URL or OPENAI_API_KEY "
            "is not: OpenAI or a server that speaks its protocol needs both. Set OPENAI_BASE_URL or OPENAI_API_KEY, or "
            "remove OPENAI_MODEL to talk to the offline model. See docs/guides/models.md.",
        ),
    ],
    ids=["offline-model", "model"],
)
def test_a_refusal_of_the_template_is_one_line_with_its_page(
    tmp_path: Path, environ: dict[str, str], line: str
) -> None:
    folder = make_app(tmp_path, TEMPLATE)
    for file in ("agents", "hosting", "state"):
        (folder / file).symlink_to(ROOT / file)

    assert indexed(folder, environ) == (1, [BEGIN + line])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "line"),
    [
        (
            {"function_app.py": MADE.format("agents=[], enable_paeg=True")},
            "function_app.py, line 3: AgentFunctionApp has no option 'enable_paeg'. "
            "See docs/reference/hosting.md for its options.",
        ),
        (
            {"function_app.py": MADE.format("wires=['a2b']")},
            "function_app.py, line 3: There is no wire 'a2b'. Did you mean 'a2a'? See docs/reference/hosting.md.",
        ),
        (
            {"function_app.py": "import hosting.start_up\nimport mine\n", "mine.py": "import not_there\n"},
            "mine.py, line 1: ModuleNotFoundError: No module named 'not_there'. Add its package to requirements.txt, "
            "or correct the name.",
        ),
        (
            {"function_app.py": "import hosting.start_up\nimport mine\n", "mine.py": "x = 1\ndef (:\n"},
            "mine.py, line 2: SyntaxError: invalid syntax.",
        ),
        (
            {"function_app.py": "import hosting.start_up\n\nraise ValueError('two\\nlines')\n"},
            "function_app.py, line 3: ValueError: two lines.",
        ),
    ],
    ids=["option", "wire", "package", "syntax", "lines"],
)
def test_whatever_stops_an_app_is_one_line_with_its_place_and_page(
    tmp_path: Path, files: dict[str, str], line: str
) -> None:
    folder = make_app(tmp_path, None)
    for name, source in files.items():
        (folder / name).write_text(source, encoding="utf-8")

    assert indexed(folder, LOCAL) == (1, [BEGIN + line])


@pytest.mark.slow
def test_what_is_refused_after_the_import_is_printed_too(tmp_path: Path) -> None:
    code, printed = indexed(make_app(tmp_path, TAKEN), LOCAL)

    assert (code, len(printed)) == (1, 1)
    assert printed[0].startswith(f"{BEGIN}The route 'agents' of your function 'mine' (function_app.py, line ")


@pytest.mark.slow
def test_an_app_that_starts_prints_its_warnings_alone(tmp_path: Path) -> None:
    """Each names its setting and a page; what the script catches stopped nothing."""
    source = f"try:\n    import not_there\nexcept ImportError:\n    pass\n{MADE.format('')}"
    environ = {**LOCAL, "AGENT_LOGS": "memory", "PYTHON_ENABLE_INIT_INDEXING": ""}

    assert indexed(make_app(tmp_path, source), environ) == (
        0,
        [
            "Set the app setting PYTHON_ENABLE_INIT_INDEXING to 1: without it no HTTP route is answered. See "
            "docs/reference/deployment.md.",
            "There is no setting AGENT_LOGS, so it does nothing. Is AGENT_LOG meant? See docs/reference/settings.md.",
            "This app has no agents. Give agents=[...] or call add_agent(...). See docs/reference/hosting.md.",
        ],
    )


@pytest.mark.slow
@pytest.mark.behaviour("devhost.load-failures-explained")
def test_the_local_host_says_once_what_the_app_has_printed(tmp_path: Path) -> None:
    """One line, as on Azure; and its own where the app says nothing."""
    folder = make_app(tmp_path, MADE.format("wires=['a2b']"))

    refused: subprocess.CompletedProcess[str] = run_command(folder, "start", "--port", "0")
    (folder / "function_app.py").write_text("raise ValueError('no stock')\n", encoding="utf-8")
    failed = run_command(folder, "start", "--port", "0")

    assert refused.returncode == failed.returncode == 1
    assert refused.stderr.splitlines() == [
        f"{BEGIN}function_app.py, line 3: There is no wire 'a2b'. Did you mean 'a2a'? See docs/reference/hosting.md."
    ]
    assert failed.stderr.splitlines() == [
        f"Error: {folder / 'function_app.py'}, line 1: ValueError: no stock. Correct it."
    ]
