"""What the app reads of its host: the task hub, the limit of a function, and the folder whose host.json counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hosting.errors import ConfigurationError
from hosting.host_settings import app_folder, function_timeout_seconds, route_prefix, task_hub
from tests.support.app.scripted import scripted_agent
from tests.support.made_app import app_of

HUB = "AzureFunctionsJobHost__extensions__durableTask__hubName"
TIMEOUT = "AzureFunctionsJobHost__functionTimeout"


def folder_with(folder: Path, **host: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "host.json").write_text(json.dumps({"version": "2.0", **host}), encoding="utf-8")
    return folder


def folder_of_hub(folder: Path, hub: object) -> Path:
    """Return the folder whose host.json names the hub; None names none."""
    return folder_with(folder, extensions={"durableTask": {} if hub is None else {"hubName": hub}})


@pytest.mark.behaviour("log.apart")
@pytest.mark.parametrize(
    ("named", "environ", "hub"),
    [
        ("AgentHub", {}, "agenthub"),
        ("AgentHub", {HUB: "agents"}, "agents"),
        ("%STAGE%hub", {"STAGE": "Blue"}, "bluehub"),
        ("%HUB%", {HUB: "%OTHER%", "HUB": "one", "OTHER": "two"}, "two"),
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
    assert task_hub(folder_of_hub(tmp_path, named), environ) == hub


@pytest.mark.behaviour("log.apart")
@pytest.mark.parametrize(
    "named", ["", "a", "ab", "1hub", "a-b", "a/b", "a}b", "ä23", "x" * 46, 5, "%MISSING%", "%MISSING%hub", "hub\n"]
)
def test_a_task_hub_that_the_engine_would_not_take_is_refused(named: object, tmp_path: Path) -> None:
    """With the value and what it must be; a variable that is not set stays as it is."""
    with pytest.raises(ConfigurationError) as refused:
        task_hub(folder_of_hub(tmp_path, named), {})

    sentence = f"extensions.durableTask.hubName of host.json is {named!r}: it must be 3 to 45"
    assert refused.value.detail.startswith(sentence)


@pytest.mark.parametrize(
    ("host", "environ", "seconds"),
    [
        ({}, {}, 1800),
        ({"functionTimeout": "00:10:00"}, {}, 600),
        ({"functionTimeout": "1.00:00:01"}, {}, 86_401),
        ({"functionTimeout": "-1"}, {}, None),
        ({"functionTimeout": "00:10:00"}, {TIMEOUT: "01:00:00"}, 3600),
        ({"functionTimeout": "00:10:00"}, {TIMEOUT: "-1"}, None),
    ],
)
def test_the_platform_s_limit_is_the_override_else_host_json_else_the_flex_plan_s(
    host: dict[str, Any], environ: dict[str, str], seconds: float | None, tmp_path: Path
) -> None:
    assert function_timeout_seconds(folder_with(tmp_path, **host), environ) == seconds


@pytest.mark.behaviour("hosting.moves-over")
def test_the_route_prefix_is_that_of_the_script_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the worker was started elsewhere; the folder at work comes first if it has a host.json itself."""
    here = folder_with(tmp_path / "here", extensions={"http": {"routePrefix": "v2"}})
    root = folder_with(tmp_path / "wwwroot", extensions={"http": {"routePrefix": "v1"}})
    environs = [{"AzureWebJobsScriptRoot": named} for named in (str(root), "", "nowhere")]
    monkeypatch.chdir(tmp_path)
    assert route_prefix(app_folder(environs[0]), environs[0]) == "v1"
    monkeypatch.chdir(here)
    assert [route_prefix(app_folder(environ), environ) for environ in environs] == ["v2"] * 3

    (root / "host.json").write_text("{", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=r"host\.json is not JSON"):
        app_of(scripted_agent("Joker"), environ=environs[0])
