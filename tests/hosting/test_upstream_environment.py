"""The environment variables that Microsoft's package reads: an app that moves over keeps them."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

from hosting.errors import ConfigurationError
from hosting.host_settings import app_folder, route_prefix
from tests.support.app.scripted import scripted_agent
from tests.support.made_app import app_of

READ = re.compile(r"(?:environ\.get|environ\[|getenv)\(?\s*[\"']?(\w+)")
KNOWN = {"AzureWebJobsScriptRoot", "WEBSITE_HOSTNAME_ENV"}
"""Those that are served here: the second, WEBSITE_HOSTNAME, in features/workflows/test_hitl_context.py."""

pytestmark = pytest.mark.behaviour("hosting.moves-over")


def test_it_reads_no_others() -> None:
    """A new one in a later version of theirs fails here, until it is served or named."""
    found = importlib.util.find_spec("agent_framework_azurefunctions")
    if found is None or found.origin is None:
        pytest.skip("agent-framework-azurefunctions is not installed: its sources are read")
    sources = [path.read_text(encoding="utf-8") for path in Path(found.origin).parent.rglob("*.py")]

    assert {name for source in sources for name in READ.findall(source)} == KNOWN


def folder_of(path: Path, prefix: str) -> Path:
    path.mkdir()
    host = {"version": "2.0", "extensions": {"http": {"routePrefix": prefix}}}
    (path / "host.json").write_text(json.dumps(host), encoding="utf-8")
    return path


def test_the_route_prefix_is_that_of_the_script_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the worker was started elsewhere, as in a container."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    environ = {"AzureWebJobsScriptRoot": str(folder_of(tmp_path / "wwwroot", "v1"))}

    assert route_prefix(app_folder(environ), environ) == "v1"

    (tmp_path / "wwwroot" / "host.json").write_text("{", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"host\.json is not JSON"):
        app_of(scripted_agent("Joker"), environ=environ)


@pytest.mark.parametrize("named", ["", "nowhere"])
def test_the_folder_at_work_is_the_apps_otherwise(named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One with a host.json comes first: it is the one that the app was loaded from."""
    monkeypatch.chdir(folder_of(tmp_path / "here", "v2"))
    environ = {"AzureWebJobsScriptRoot": named}

    assert route_prefix(app_folder(environ), environ) == "v2"
