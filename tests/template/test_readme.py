"""The README, typed in from a clone: each command runs, and prints what the README shows."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.support.console_blocks import is_shown, steps_in, typed
from tests.support.template_process import ROOT, copy_tree, running

README = (ROOT / "README.md").read_text(encoding="utf-8")
START = "python dev.py run"


@pytest.mark.slow
@pytest.mark.behaviour("template.readme-runs")
@pytest.mark.skipif(shutil.which("curl") is None, reason="the README's commands use curl")
async def test_from_a_clone_every_command_of_the_readme_prints_what_it_shows(tmp_path: Path) -> None:
    """Installed for real, from the package index or its cache."""
    copy_tree(tmp_path)
    first, *others = steps_in(README)
    assert first.command == START

    async with running([sys.executable, "dev.py", "run", "--port", "0"], tmp_path) as app:
        assert is_shown(first.output, app.printed), "\n".join(app.printed)
        for step in others:
            printed = await typed(step, app.origin)
            assert is_shown(step.output, printed), f"{step.command}\n" + "\n".join(printed)


def test_the_mcp_settings_are_json_and_name_the_endpoint_that_the_host_prints() -> None:
    """Both shapes, as their clients read them."""
    blocks = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)]
    printed = next(line for line in README.splitlines() if line.startswith("MCP: ")).split()[1]
    servers = [next(iter(block.values()))["durable-agents"] for block in blocks]

    assert [set(block) for block in blocks] == [{"servers"}, {"mcpServers"}]
    assert servers == [{"type": "http", "url": printed}] * 2


def test_every_page_that_the_readme_links_is_there() -> None:
    """A newcomer's next click."""
    linked = re.findall(r"\]\((?!https?:)([^)]+)\)", README)

    assert [page for page in linked if not (ROOT / page).is_file()] == []


def test_a_block_with_another_output_is_told_apart() -> None:
    """The comparison itself: ids, times and ports may differ, words may not."""
    shown = ("done in 3 s at http://localhost:7071", "...", "run 0c9e4a5e1f5b4d0e8a9c0b1d2e3f4a5b")
    printed = ("done in 12 s at http://localhost:40001", "any", "run ffffffffffffffffffffffffffffffff")

    assert is_shown(shown, printed)
    assert not is_shown(shown, (*printed, "more"))
    assert not is_shown(shown, ("failed in 3 s", *printed[1:]))
