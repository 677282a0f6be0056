"""The requests that pages show first, sent to the template's app: each gets what its page shows."""

import shutil
from pathlib import Path

import pytest

from tests.support.console_blocks import is_shown, steps_in, typed
from tests.support.pages import page
from tests.support.running_host import RunningHost
from tests.support.template_process import copy_tree

PAGES = (
    "docs/reference/http-runs.md",
    "docs/reference/streaming.md",
    "docs/guides/schedules.md",
    "docs/guides/forks.md",
)


@pytest.mark.slow
@pytest.mark.behaviour("docs.examples-run")
@pytest.mark.skipif(shutil.which("curl") is None, reason="the pages' commands use curl")
async def test_each_request_of_a_page_gets_what_the_page_shows(tmp_path: Path) -> None:
    """Ids and times differ; dots stand for what is left out."""
    copy_tree(tmp_path)
    model = tmp_path / "hosting" / "offline" / "model.py"
    slower = model.read_text(encoding="utf-8").replace("WORD_SECONDS = 0.05", "WORD_SECONDS = 0.25")
    model.write_text(slower, encoding="utf-8")  # so that no two words are one delta on a machine that is busy
    seen = list[str]()
    with RunningHost(tmp_path) as host:
        for name in PAGES:
            for step in steps_in(page(name)):
                if step.command.startswith("curl"):
                    printed = await typed(step, host.origin)
                    assert is_shown(step.output, printed), f"{step.command}\n" + "\n".join(printed)
                    seen.append(name)

    assert (
        seen
        == ["docs/reference/http-runs.md"] * 2
        + ["docs/reference/streaming.md", "docs/guides/schedules.md"]
        + ["docs/guides/forks.md"] * 3
    )
