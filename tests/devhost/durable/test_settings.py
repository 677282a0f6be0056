"""`extensions.durableTask` of host.json: what is taken, and what is refused by name."""

from __future__ import annotations

import pytest

from devhost.durable.settings import DurableSettings
from devhost.errors import SettingsError

pytestmark = pytest.mark.behaviour("engine.settings")


def test_limits_and_hub_name_are_taken_from_host_json() -> None:
    """Keys that mean nothing on one machine are left alone."""
    section = {
        "hubName": "%PREFIX%hub",
        "maxConcurrentActivityFunctions": 1,
        "maxConcurrentOrchestratorFunctions": 2,
        "maxConcurrentEntityFunctions": 3,
        "maxEntityOperationBatchSize": 4,
        "defaultVersion": "1.0",
        "storageProvider": {
            "type": "AzureStorage",
            "controlQueueVisibilityTimeout": "00:01:00",
            "workItemQueueVisibilityTimeout": "00:00:30",
        },
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


def test_without_settings_the_real_hosts_defaults_hold() -> None:
    """The hub is named after the site, or TestHubName."""
    assert DurableSettings.from_host_json({}, {}) == DurableSettings()
    assert DurableSettings.from_host_json({}, {"WEBSITE_SITE_NAME": "my-site"}).hub_name == "mysite"


@pytest.mark.parametrize("value", [0, -1, "5", 1.5, True])
def test_a_limit_that_is_no_positive_whole_number_is_refused(value: object) -> None:
    """The setting, the value, and what is accepted."""
    with pytest.raises(SettingsError, match=r"maxConcurrentEntityFunctions is .*; give a whole number from 1 up"):
        DurableSettings.from_host_json({"maxConcurrentEntityFunctions": value}, {})


def test_a_version_that_is_no_text_is_refused() -> None:
    """JSON's 1.0 would be compared as another text than "1.0"."""
    with pytest.raises(SettingsError, match=r"defaultVersion is 1.5; give a text such as '1.0'"):
        DurableSettings.from_host_json({"defaultVersion": 1.5}, {})


@pytest.mark.parametrize("value", ["", "1hub", "a-b", "x" * 46, 5, "%MISSING%"])
def test_a_hub_name_that_azure_would_not_take_is_refused(value: object) -> None:
    """Better here than after the deployment."""
    with pytest.raises(SettingsError, match=r"hubName is .*; give 3 to 45 letters and digits"):
        DurableSettings.from_host_json({"hubName": value}, {})


@pytest.mark.parametrize(
    ("key", "value", "accepted"),
    [
        ("controlQueueVisibilityTimeout", "00:00:59", "0:01:00 to 1:00:00"),
        ("controlQueueVisibilityTimeout", 60, "0:01:00 to 1:00:00"),
        ("workItemQueueVisibilityTimeout", "5 minutes", "0:00:01 to 23:59:59"),
    ],
)
def test_a_visibility_timeout_that_azure_would_not_take_is_refused(key: str, value: object, accepted: str) -> None:
    """The real host does not start with it."""
    with pytest.raises(SettingsError, match=f"{key} is {value!r}; give hh:mm:ss from {accepted}"):
        DurableSettings.from_host_json({"storageProvider": {key: value}}, {})
