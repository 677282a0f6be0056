"""The app of the page docs/guides/orchestrations.md, in a folder: its code blocks behind scripted agents."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.support.app_folder import make_app

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "guides" / "orchestrations.md"
HOST = json.loads((ROOT / "tests" / "support" / "app" / "host.json").read_text(encoding="utf-8"))
AGENTS = """\
from tests.support.app.scripted import scripted_agent

from hosting.app import AgentFunctionApp

app = AgentFunctionApp(agents=[scripted_agent("writer"), scripted_agent("critic")])
"""
MORE = """\
from tests.support.orchestrations_more import register

register(app)
"""


def page_blocks(page: Path = PAGE) -> list[str]:
    """Return the Python blocks of a page, in order."""
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def make_page_app(folder: Path) -> Path:
    """Write the app of the page, with more orchestrations behind it."""
    return make_app(folder, "\n".join([AGENTS, *page_blocks(), MORE]), host=HOST)
