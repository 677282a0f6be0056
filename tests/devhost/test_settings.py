"""host.json, local.settings.json, what they say of the durable engine, and the options of the command line."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from devhost.cli import command_line
from devhost.durable.settings import DurableSettings
from devhost.errors import SettingsError
from devhost.settings import McpServerSettings, apply_to_environment, read_host_settings, read_local_settings
from tests.support.app_folder import make_app
from tests.support.pages import page, part


@pytest.mark.behaviour("devhost.settings-with-comments")
@pytest.mark.behaviour("devhost.process-variables-win")
def test_local_settings_are_variables_but_where_the_process_has_them(tmp_path: Path) -> None:
    """An empty one does not win; null is skipped; numbers and truth values become text. `//` begins a comment."""
    make_app(tmp_path, None, host='{\n// the only one\n"version": "2.0"}')
    (tmp_path / "local.settings.json").write_text(
        '// of this machine\n{"IsEncrypted": false, "Host": {"LocalHttpPort": 7}, "Values": {\n  // "A": "left out",\n'
        '"KEPT": "file", "FILLED": "http://here", "NOTHING": null, "NUMBER": 5, "TRUTH": true}}'
    )
    environ = {"KEPT": "process", "FILLED": ""}
    settings = read_local_settings(tmp_path)
    apply_to_environment(settings, environ)

    assert environ == {"KEPT": "process", "FILLED": "http://here", "NUMBER": "5", "TRUTH": "true"}
    assert (settings.port, read_host_settings(tmp_path, {}).route_prefix) == (7, "api")


def test_host_json_sets_prefix_timeout_headers_and_mcp_server(tmp_path: Path) -> None:
    extensions = {
        "http": {"routePrefix": "/v1/", "customHeaders": {"X-A": "1"}},
        "mcp": {"serverName": "S", "serverVersion": "2", "instructions": "I"},
        "durableTask": {"hubName": "hub"},
    }
    make_app(tmp_path, None, host={"version": "2.0", "functionTimeout": "01:02:03", "extensions": extensions})
    settings = read_host_settings(tmp_path, {"PYTHON_THREADPOOL_THREAD_COUNT": "8"})
    assert (settings.route_prefix, settings.function_timeout_seconds, settings.threads) == ("v1", 3723.0, 8)
    assert settings.custom_headers == (("x-a", "1"),)
    assert settings.mcp == McpServerSettings("S", "2", "I")
    assert settings.durable_task == {"hubName": "hub"}
    for unbounded in ("-1", -1):
        make_app(tmp_path, None, host={"version": "2.0", "functionTimeout": unbounded})
        assert read_host_settings(tmp_path, {}).function_timeout_seconds is None


HOST_REFUSED: list[tuple[object, str]] = [
    ("{", "host.json is not valid JSON (line 1, column 2)"),
    ("[]", "host.json must hold a JSON object"),
    ({"version": "1"}, '"version" must be "2.0", but is \'1\''),
    ({"version": "2.0", "functionTimeout": "5 min"}, "'functionTimeout' must be \"-1\" or hh:mm:ss"),
    ({"version": "2.0", "extensions": []}, "'extensions' must be an object"),
    ({"version": "2.0", "extensions": {"http": {"routePrefix": 1}}}, "'extensions.http.routePrefix' must be"),
    ({"version": "2.0", "extensions": {"http": {"customHeaders": {"A": 1}}}}, "customHeaders' must map"),
    ({"version": "2.0", "functions": "a"}, "'functions' must be a list"),
    ({"version": "2.0", "logging": {"logLevel": {"default": "Loud"}}}, "is 'Loud'; use one of trace"),
    ({"version": "2.0", "logging": {"logLevel": {"Host": 2}}}, "'logging.logLevel.Host' is 2; use one of"),
    ({"version": "2.0"}, "whole number from 1, but is '0'"),
]
LOCAL_REFUSED: list[tuple[object, str]] = [
    ({"IsEncrypted": True, "Values": {}}, "local.settings.json is encrypted"),
    ({"Values": []}, "'Values' must be an object"),
    ({"Values": {"A": {}}}, "the value of 'A' must be a text"),
    ({"Values": {}, "Host": {"LocalHttpPort": "x"}}, "Host.LocalHttpPort must be a number"),
]


@pytest.mark.behaviour("devhost.settings-refused-by-name")
def test_a_wrong_setting_is_refused_by_its_name_and_value(tmp_path: Path) -> None:
    for host, named in HOST_REFUSED:
        environ = {"PYTHON_THREADPOOL_THREAD_COUNT": "0"} if "whole number" in named else {}
        make_app(tmp_path, None, host=host)
        with pytest.raises(SettingsError) as refusal:
            read_host_settings(tmp_path, environ)
        assert named in str(refusal.value)
    for local, named in LOCAL_REFUSED:
        make_app(tmp_path, None, local_settings=local)
        with pytest.raises(SettingsError) as refusal:
            read_local_settings(tmp_path)
        assert named in str(refusal.value)


@pytest.mark.behaviour("engine.settings")
def test_limits_and_hub_name_are_taken_from_host_json() -> None:
    """Keys that mean nothing on one machine are left alone. Without a name the hub is called like the site."""
    visibility = {"controlQueueVisibilityTimeout": "00:01:00", "workItemQueueVisibilityTimeout": "00:00:30"}
    section = {
        "hubName": "%PREFIX%hub",
        "maxConcurrentActivityFunctions": 1,
        "maxConcurrentOrchestratorFunctions": 2,
        "maxConcurrentEntityFunctions": 3,
        "maxEntityOperationBatchSize": 4,
        "defaultVersion": "1.0",
        "storageProvider": {"type": "AzureStorage", **visibility},
    }
    assert DurableSettings.from_host_json(section, {"PREFIX": "my"}) == DurableSettings(
        hub_name="myhub",
        max_concurrent_activities=1,
        max_concurrent_orchestrators=2,
        max_concurrent_entities=3,
        max_entity_operation_batch_size=4,
        default_version="1.0",
        control_queue_visibility_seconds=60.0,
        work_item_queue_visibility_seconds=30.0,
    )
    assert DurableSettings.from_host_json({}, {}) == DurableSettings()
    assert DurableSettings.from_host_json({}, {"WEBSITE_SITE_NAME": "my-site"}).hub_name == "mysite"


NUMBER = "give a whole number from 1 up"
NAME = "give 3 to 45 letters and digits"
HOUR = "give hh:mm:ss from 0:01:00 to 1:00:00"


@pytest.mark.behaviour("engine.settings")
@pytest.mark.parametrize(
    ("key", "value", "accepted"),
    [
        *(("maxConcurrentEntityFunctions", value, NUMBER) for value in (0, "5", 1.5, True)),
        *(("hubName", value, NAME) for value in ("", "1hub", "a-b", "x" * 46, 5, "%MISSING%")),
        ("defaultVersion", 1.5, "give a text such as '1.0'"),  # JSON's 1.0 would be compared as another text than "1.0"
        *(("controlQueueVisibilityTimeout", value, HOUR) for value in ("00:00:59", 60)),
        ("workItemQueueVisibilityTimeout", "5 minutes", "give hh:mm:ss from 0:00:01 to 23:59:59"),
    ],
)
def test_a_value_that_azure_would_not_take_is_refused(key: str, value: object, accepted: str) -> None:
    """The setting, the value, and what is accepted: better here than after the deployment."""
    section = {key: value} if "Timeout" not in key else {"storageProvider": {key: value}}
    with pytest.raises(SettingsError, match=f"{key} is .*; {accepted}"):
        DurableSettings.from_host_json(section, {})


@pytest.mark.behaviour("devhost.documented")
def test_every_command_and_option_of_start_stands_in_the_table_and_no_other() -> None:
    """Help apart, and what its help hides: the host's word to itself."""
    text = part(page("docs/reference/commands.md"), "## Run and look at an app")
    choices = [action.choices for action in command_line()._actions if isinstance(action.choices, dict)]
    start = choices[0]["start"]
    shown = [action for action in start._actions if action.help != argparse.SUPPRESS]
    options = {option for action in shown for option in action.option_strings} - {"-h", "--help"}

    documented = re.findall(r"^\| `python dev\.py (?:host (?=[a-z]))?(\w+)` \|", text, re.MULTILINE)
    assert sorted(documented) == sorted("run" if command == "start" else command for command in choices[0])
    assert sorted(re.findall(r"^\| `(--[\w-]+)` \|", text, re.MULTILINE)) == sorted(options)
