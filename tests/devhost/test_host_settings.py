"""host.json and local.settings.json."""

from __future__ import annotations

import pytest

from devhost.errors import SettingsError
from devhost.settings import McpServerSettings, apply_to_environment, read_host_settings, read_local_settings
from tests.support.app_folder import make_app


@pytest.mark.behaviour("devhost.settings-with-comments")
def test_lines_that_begin_with_two_slashes_are_comments(tmp_path):
    """In both files, as the real host reads them; what stands behind a value, or in one, is none."""
    make_app(tmp_path, None)
    (tmp_path / "local.settings.json").write_text(
        '// of this machine\n{"Values": {\n  // "A": "left out",\n  "B": "http://here"\n}}'
    )
    (tmp_path / "host.json").write_text('{\n// the only one\n"version": "2.0"}')

    assert read_local_settings(tmp_path).values == {"B": "http://here"}
    assert read_host_settings(tmp_path, {}).route_prefix == "api"


@pytest.mark.behaviour("devhost.settings-refused-by-name")
@pytest.mark.parametrize(
    ("host", "environ", "named"),
    [
        ("{", {}, "host.json is not valid JSON (line 1, column 2)"),
        ("[]", {}, "host.json must hold a JSON object"),
        ({"version": "1"}, {}, '"version" must be "2.0", but is \'1\''),
        ({"version": "2.0", "functionTimeout": "5 min"}, {}, "'functionTimeout' must be \"-1\" or hh:mm:ss"),
        ({"version": "2.0", "extensions": []}, {}, "'extensions' must be an object"),
        ({"version": "2.0", "extensions": {"http": {"routePrefix": 1}}}, {}, "'extensions.http.routePrefix' must be"),
        ({"version": "2.0", "extensions": {"http": {"customHeaders": {"A": 1}}}}, {}, "customHeaders' must map"),
        ({"version": "2.0", "functions": "a"}, {}, "'functions' must be a list"),
        ({"version": "2.0", "logging": {"logLevel": {"default": "Loud"}}}, {}, "is 'Loud'; use one of trace"),
        ({"version": "2.0", "logging": {"logLevel": {"Host": 2}}}, {}, "'logging.logLevel.Host' is 2; use one of"),
        ({"version": "2.0"}, {"PYTHON_THREADPOOL_THREAD_COUNT": "0"}, "whole number from 1, but is '0'"),
    ],
)
def test_a_wrong_setting_is_refused_by_its_name_and_value(tmp_path, host, environ, named):
    make_app(tmp_path, None, host=host)
    with pytest.raises(SettingsError) as refusal:
        read_host_settings(tmp_path, environ)
    assert named in str(refusal.value)


def test_host_json_sets_prefix_timeout_headers_and_mcp_server(tmp_path):
    extensions = {
        "http": {"routePrefix": "/v1/", "customHeaders": {"X-A": "1"}},
        "mcp": {"serverName": "S", "serverVersion": "2", "instructions": "I"},
        "durableTask": {"hubName": "hub"},
    }
    host = {"version": "2.0", "functionTimeout": "01:02:03", "extensions": extensions}
    make_app(tmp_path, None, host=host)
    settings = read_host_settings(tmp_path, {"PYTHON_THREADPOOL_THREAD_COUNT": "8"})
    assert (settings.route_prefix, settings.function_timeout_seconds, settings.threads) == ("v1", 3723.0, 8)
    assert settings.custom_headers == (("x-a", "1"),)
    assert settings.mcp == McpServerSettings("S", "2", "I")
    assert settings.durable_task == {"hubName": "hub"}


@pytest.mark.parametrize("value", ["-1", -1])
def test_a_timeout_of_minus_one_means_none(tmp_path, value):
    """The real host's word for unbounded."""
    make_app(tmp_path, None, host={"version": "2.0", "functionTimeout": value})
    assert read_host_settings(tmp_path, {}).function_timeout_seconds is None


@pytest.mark.behaviour("devhost.process-variables-win")
def test_a_non_empty_variable_of_the_process_wins_over_local_settings(tmp_path):
    """An empty one does not; null values are skipped; numbers and truth values become text."""
    values = {"KEPT": "file", "FILLED": "file", "NEW": "file", "NOTHING": None, "NUMBER": 5, "TRUTH": True}
    make_app(tmp_path, None, local_settings={"IsEncrypted": False, "Values": values, "Host": {"LocalHttpPort": 7}})
    environ = {"KEPT": "process", "FILLED": ""}
    settings = read_local_settings(tmp_path)
    apply_to_environment(settings, environ)
    assert environ == {"KEPT": "process", "FILLED": "file", "NEW": "file", "NUMBER": "5", "TRUTH": "true"}
    assert settings.port == 7


@pytest.mark.behaviour("devhost.settings-refused-by-name")
@pytest.mark.parametrize(
    ("content", "named"),
    [
        ({"IsEncrypted": True, "Values": {}}, "local.settings.json is encrypted"),
        ({"Values": []}, "'Values' must be an object"),
        ({"Values": {"A": {}}}, "the value of 'A' must be a text"),
        ({"Values": {}, "Host": {"LocalHttpPort": "x"}}, "Host.LocalHttpPort must be a number"),
    ],
)
def test_unusable_local_settings_are_refused_by_name(tmp_path, content, named):
    make_app(tmp_path, None, local_settings=content)
    with pytest.raises(SettingsError) as refusal:
        read_local_settings(tmp_path)
    assert named in str(refusal.value)
