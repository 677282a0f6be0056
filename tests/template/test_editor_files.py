"""The files for editors, containers and the workflow: they name what is there."""

import json
import re

from dev import NEWEST, OLDEST
from tests.template.bicep import ROOT


def test_the_workflow_runs_the_tests_on_every_python_that_the_app_takes_and_reads_no_secret() -> None:
    workflow = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    supported = [f"{OLDEST[0]}.{minor}" for minor in range(OLDEST[1], NEWEST[1] + 1)]

    assert f"python: {json.dumps(supported)}" in workflow
    assert "- run: python dev.py test\n" in workflow
    assert "secrets." not in workflow


def test_the_deploying_workflow_shows_what_would_change_and_signs_in_without_a_secret() -> None:
    """Only main is deployed, only once `azd pipeline config` has set it up, and each job has its token alone."""
    workflow = (ROOT / ".github/workflows/azure-dev.yml").read_text(encoding="utf-8")
    preview, deploy = workflow.partition("  deploy:\n")[::2]

    assert "secrets." not in workflow
    assert "\npermissions: {}\n" in workflow
    assert "vars.AZURE_CLIENT_ID != ''" in preview
    assert "head.repo.full_name == github.repository" in preview
    assert re.findall(r"azd (provision|deploy|up)\b(.*)", preview) == [("provision", " --preview --no-prompt")]
    assert (
        "    needs: preview\n    if: github.event_name != 'pull_request' && github.ref == 'refs/heads/main'\n" in deploy
    )
    assert re.findall(r"azd (provision|deploy|up)\b(.*)", deploy) == [
        ("provision", " --no-prompt"),
        ("deploy", " --no-prompt"),
    ]
    assert [part.count("id-token: write") for part in (preview, deploy)] == [1, 1]
    assert workflow.count("--federated-credential-provider github") == 2
