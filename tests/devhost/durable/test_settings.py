"""`extensions.durableTask` of host.json: what is taken, and what is refused by name."""

from __future__ import annotations

import pytest

from devhost.durable.settings import DurableSettings
from devhost.errors import SettingsError

pytestmark = pytest.mark.behaviour("engine.settings")


def test_limits_and_hub_name_are_taken_from_host_json() -> None:
    """Keys that mean nothing on one machine are left alone. Without a name the hub is called like the site."""
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
    assert DurableSettings.from_host_json({}, {}) == DurableSettings()
    assert DurableSettings.from_host_json({}, {"WEBSITE_SITE_NAME": "my-site"}).hub_name == "mysite"


NUMBER = "give a whole number from 1 up"
NAME = "give 3 to 45 letters and digits"


@pytest.mark.parametrize(
    ("key", "value", "accepted"),
    [
        *(("maxConcurrentEntityFunctions", value, NUMBER) for value in (0, -1, "5", 1.5, True)),
        *(("hubName", value, NAME) for value in ("", "1hub", "a-b", "x" * 46, 5, "%MISSING%")),
        ("defaultVersion", 1.5, "give a text such as '1.0'"),  # JSON's 1.0 would be compared as another text than "1.0"
        ("controlQueueVisibilityTimeout", "00:00:59", "give hh:mm:ss from 0:01:00 to 1:00:00"),
        ("controlQueueVisibilityTimeout", 60, "give hh:mm:ss from 0:01:00 to 1:00:00"),
        ("workItemQueueVisibilityTimeout", "5 minutes", "give hh:mm:ss from 0:00:01 to 23:59:59"),
    ],
)
def test_a_value_that_azure_would_not_take_is_refused(key: str, value: object, accepted: str) -> None:
    """The setting, the value, and what is accepted: better here than after the deployment."""
    section = {key: value} if "Timeout" not in key else {"storageProvider": {key: value}}
    with pytest.raises(SettingsError, match=f"{key} is .*; {accepted}"):
        DurableSettings.from_host_json(section, {})
