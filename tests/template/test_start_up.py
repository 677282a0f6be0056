"""What a newcomer reads first: the lines of a start, and the answer to the request that they propose."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.template_process import copy_tree, running

HOST = [sys.executable, "-m", "devhost", "start", "--port", "0"]


@pytest.mark.slow
@pytest.mark.behaviour("template.start-shows-the-model")
async def test_a_start_shows_the_model_the_agents_and_a_request_that_asks_one(tmp_path: Path) -> None:
    """What else the host serves is counted: that of each feature, so the number is no promise."""
    copy_tree(tmp_path)
    async with running(HOST, tmp_path) as app:
        command = shlex.split(app.printed[-1].removeprefix("Try: "))
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    origin = app.origin
    printed = [re.sub(r"\d+(?= more with)", "N", line) for line in app.printed[2:]]
    assert printed == [
        "Model: offline, for development only. Choose a model by AZURE_OPENAI_ENDPOINT, OPENAI_BASE_URL or "
        "OPENAI_API_KEY: docs/guides/models.md.",
        "",
        "Functions:",
        "",
        f"\thttp-assistant: [POST] {origin}/api/agents/assistant/run",
        "\tN more with --verbose",
        "",
        f"MCP: {origin}/runtime/webhooks/mcp (tools: assistant)",
        "",
        f"Open: {origin}/api/ui/",
        f'Try: curl {origin}/api/agents/assistant/run -d "What is the weather in Paris?"',
    ]
    assert answer == "The weather in Paris: partly cloudy, 18 °C."


@pytest.mark.slow
@pytest.mark.behaviour("template.start-shows-the-model")
@pytest.mark.behaviour("template.misspelt-model-setting-named")
async def test_a_start_names_another_model_and_a_misspelt_setting(tmp_path: Path) -> None:
    """The model's address is shown without a password in it. A setting that a library reads is spelt right."""
    copy_tree(tmp_path)
    settings = {
        "OPENAI_BASE_URL": "http://me:secret@127.0.0.1:9/v1",
        "OPENAI_MODEL": "small",
        "OPENAI_MODEL_NAME": "x",
        "AZURE_OPENAI_MODLE": "x",
        "OPENAI_ORG_ID": "x",
    }
    async with running(HOST, tmp_path, **settings) as app:
        printed = "\n".join(app.printed)

    assert "Model: small at http://127.0.0.1:9/v1/\n" in printed
    for name, nearest in (("OPENAI_MODEL_NAME", "OPENAI_MODEL"), ("AZURE_OPENAI_MODLE", "AZURE_OPENAI_MODEL")):
        assert (
            f"There is no setting {name}, so it does nothing. Is {nearest} meant? See docs/guides/models.md." in printed
        )
    assert printed.count("There is no setting") == 2
