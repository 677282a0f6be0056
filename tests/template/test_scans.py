"""What others' scanners say of the template: of infra/, of the workflow, of the folder that is deployed."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.support.deployed_tree import copy_deployed
from tests.template.bicep import FILES
from tests.template.checks import ROOT, run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),  # the first one installs the tools
]

# The doctor knows an app by FunctionApp and @app in its text; ours is a subclass that registers its functions itself.
RECOGNISED = """
import azure.functions as func

app = func.FunctionApp()


@app.route(route="own")
def own(req: func.HttpRequest) -> str:
    return "own"
"""
# What it warns of that is not wrong.
EXPECTED = {
    "check_asgi_wsgi_exposure": "hosting/functions names an exception of Starlette, whose requests the host hands over",
    "check_app_insights": "infra/app/api.bicep sets the connection string, not a file of the app",
}


@pytest.mark.behaviour("template.infra-scanned")
def test_checkov_finds_nothing_in_infra_but_the_exceptions_that_give_their_reason() -> None:
    """An exception whose check would pass is not needed any more, and is found here too."""
    ended = run("checkov", "-d", "infra", "--framework", "bicep", "--skip-download", "-o", "json")
    report = json.loads(ended.stdout)
    written = [line for path in FILES for line in re.findall(r"checkov:skip=(\w+): \w+", path.read_text("utf-8"))]

    assert report["results"]["failed_checks"] == []
    assert report["summary"]["parsing_errors"] == 0
    assert sorted(check["check_id"] for check in report["results"]["skipped_checks"]) == sorted(written)


@pytest.mark.behaviour("template.workflow-scanned")
@pytest.mark.parametrize("folder", [".github", "packages/new_app/.github"])
def test_zizmor_finds_nothing_in_the_workflows(folder: str) -> None:
    """Without an exception; its audits that ask GitHub are left out, so that the test needs no network."""
    ended = run("zizmor", "--offline", "--no-config", "--persona", "pedantic", folder)

    assert ended.returncode == 0, ended.stdout


@pytest.mark.behaviour("template.doctor-clean")
def test_the_doctor_finds_nothing_wrong_with_what_is_deployed(tmp_path: Path) -> None:
    """Of the folder as .funcignore leaves it, for the plan and the Python that infra deploys to."""
    copy_deployed(tmp_path)
    shutil.copy(ROOT / ".funcignore", tmp_path)
    (tmp_path / "recognised.py").write_text(RECOGNISED)
    options = ["--profile", "deploy", "--hosting-plan", "flex-consumption", "--target-python", "3.13"]
    ended = run("azure-functions-doctor", "doctor", "--path", str(tmp_path), "--format", "json", *options)
    found = [item for section in json.loads(ended.stdout)["results"] for item in section["items"]]

    assert {item["rule_id"] for item in found if item["status"] not in ("pass", "skip")} == set(EXPECTED)
    assert len(found) > len(EXPECTED)
