"""The app's task hub, by host.json and by what stands over it: whose name each store of threads is opened under."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hosting.errors import ConfigurationError
from hosting.host_settings import task_hub

ROOT = Path(__file__).parents[2]
OVERRIDE = "AzureFunctionsJobHost__extensions__durableTask__hubName"
APART = pytest.mark.behaviour("log.apart")


def folder_with(folder: Path, hub: object) -> Path:
    host = {"version": "2.0", "extensions": {"durableTask": {"hubName": hub} if hub is not None else {}}}
    (folder / "host.json").write_text(json.dumps(host), encoding="utf-8")
    return folder


@APART
@pytest.mark.parametrize(
    ("named", "environ", "hub"),
    [
        ("AgentHub", {}, "agenthub"),
        ("AgentHub", {OVERRIDE: "agents"}, "agents"),
        ("%STAGE%hub", {"STAGE": "Blue"}, "bluehub"),
        ("%HUB%", {OVERRIDE: "%OTHER%", "HUB": "one", "OTHER": "two"}, "two"),
        ("x" * 45, {}, "x" * 45),
        (None, {}, "testhubname"),
        (None, {"WEBSITE_SITE_NAME": "my-Site"}, "mysite"),
        (None, {"WEBSITE_SITE_NAME": "1-up"}, "t1up"),
        (None, {"WEBSITE_SITE_NAME": "a-1"}, "a1hub"),
        (None, {"WEBSITE_SITE_NAME": "x-" * 40}, "x" * 40),
        (None, {"WEBSITE_SITE_NAME": "x" * 60}, "x" * 45),
    ],
)
def test_the_task_hub_is_the_one_that_the_engine_uses(
    named: str | None, environ: dict[str, str], hub: str, tmp_path: Path
) -> None:
    """host.json's, or the app setting's that overrides it; else the site's name, as far as a hub may have it."""
    assert task_hub(folder_with(tmp_path, named), environ) == hub


@APART
def test_the_task_hub_of_this_app_is_the_one_of_its_host_json() -> None:
    """Whoever renames it gets an empty app, and an empty log with it."""
    named = json.loads((ROOT / "host.json").read_text(encoding="utf-8"))["extensions"]["durableTask"]["hubName"]

    assert task_hub(ROOT, {}) == named.lower()


@APART
@pytest.mark.parametrize(
    "named", ["", "a", "ab", "1hub", "a-b", "a/b", "a}b", "ä23", "x" * 46, 5, "%MISSING%", "%MISSING%hub", "hub\n"]
)
def test_a_task_hub_that_the_engine_would_not_take_is_refused(named: object, tmp_path: Path) -> None:
    """With the value and what it must be; a variable that is not set stays as it is."""
    with pytest.raises(ConfigurationError) as refused:
        task_hub(folder_with(tmp_path, named), {})

    assert refused.value.detail.startswith(
        f"extensions.durableTask.hubName of host.json is {named!r}: it must be 3 to 45"
    )
