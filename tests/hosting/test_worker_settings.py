"""The warnings at start-up about settings that the Python worker lacks."""

import re
from pathlib import Path

import pytest

from hosting.app import AgentFunctionApp
from hosting.assembly import SETTINGS
from hosting.host_settings import WORKER_SETTINGS, report_missing
from hosting.settings import report_unknown
from tests.support.running_host import RunningHost

HOSTED = {"WEBSITE_SITE_NAME": "agents"}
ALONE = {"AzureWebJobsScriptRoot": "app", "AZURE_FUNCTIONS_ENVIRONMENT": "Development"}
GIVEN = {setting.name: setting.value for setting in WORKER_SETTINGS}
NAMES = list(GIVEN)
APP = "from hosting.app import AgentFunctionApp\n\napp = AgentFunctionApp()\n"


def warned(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return re.findall(r"^Set the app setting (\S+) to ", capsys.readouterr().err, re.MULTILINE)


@pytest.mark.behaviour("azure.names-missing-worker-settings")
@pytest.mark.parametrize(
    ("environ", "python", "missing"),
    [
        (HOSTED, (3, 12), NAMES),
        (HOSTED, (3, 13), ["PYTHON_THREADPOOL_THREAD_COUNT"]),
        ({**HOSTED, **GIVEN}, (3, 12), []),
        ({**HOSTED, **GIVEN, "PYTHON_ENABLE_INIT_INDEXING": "0"}, (3, 10), ["PYTHON_ENABLE_INIT_INDEXING"]),
        ({**HOSTED, **GIVEN, "PYTHON_THREADPOOL_THREAD_COUNT": " "}, (3, 10), ["PYTHON_THREADPOOL_THREAD_COUNT"]),
        (ALONE, (3, 12), ["PYTHON_ENABLE_INIT_INDEXING", "PYTHON_ISOLATE_WORKER_DEPENDENCIES"]),
        ({}, (3, 12), []),
    ],
)
def test_each_missing_setting_is_named(
    environ: dict[str, str], python: tuple[int, int], missing: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The worker of Python 3.13 indexes early and isolates by itself; where no host is, nothing can be missing."""
    report_missing(environ, python)

    assert warned(capsys) == missing


@pytest.mark.behaviour("azure.names-missing-worker-settings")
def test_the_line_says_what_does_not_work_and_the_app_starts(capsys: pytest.CaptureFixture[str]) -> None:
    """A warning, not a refusal: a worker of another make may do without."""
    lacking = {name: value for name, value in GIVEN.items() if name != "PYTHON_THREADPOOL_THREAD_COUNT"}
    AgentFunctionApp(environ={"AzureWebJobsStorage": "UseDevelopmentStorage=true", **HOSTED, **lacking})

    assert capsys.readouterr().err == (
        "Set the app setting PYTHON_THREADPOOL_THREAD_COUNT to 32: without it orchestrators and your own synchronous "
        "functions share a handful of threads. See docs/reference/deployment.md.\n"
    )


@pytest.mark.behaviour("hosting.misspelt-settings-named")
@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("AGENT_RUNLOG", "AGENT_LOG"),
        ("AGENT_WAIT_SECOND", "AGENT_WAIT_SECONDS"),
        ("agent_archive", "AGENT_ARCHIVE"),
        ("AGENT_MAX_BODY", "AGENT_MAX_BODY_BYTES"),
        ("AGENT_SCHEDULE", "AGENT_SCHEDULES"),
        ("AGENT_WEBHOOK_SECRETS", "AGENT_WEBHOOK_SECRET"),
    ],
)
def test_a_misspelt_setting_is_named_with_the_nearest_known_one(
    name: str, nearest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    report_unknown({**ALONE, name: "x", "AGENT_QUEUE_LIMIT": "3", "AGENTS_TEST_URL": "y"}, SETTINGS)

    assert capsys.readouterr().err == (
        f"There is no setting {name}, so it does nothing. Is {nearest} meant? See docs/reference/settings.md.\n"
    )


@pytest.mark.slow
@pytest.mark.behaviour("hosting.misspelt-settings-named")
def test_a_misspelt_setting_of_local_settings_is_named_when_the_local_host_starts(tmp_path: Path) -> None:
    """As is one of the environment: the host puts the file's there."""
    (tmp_path / "host.json").write_text('{"version": "2.0"}', encoding="utf-8")
    (tmp_path / "local.settings.json").write_text('{"Values": {"AGENT_LOGS": "memory"}}', encoding="utf-8")
    (tmp_path / "function_app.py").write_text(APP, encoding="utf-8")
    with RunningHost(tmp_path) as host:
        printed = "\n".join(host.printed)

    assert "There is no setting AGENT_LOGS, so it does nothing. Is AGENT_LOG meant?" in printed
