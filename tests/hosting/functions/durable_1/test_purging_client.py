"""Purging by the SDK's client, which puts an instance's id into an address as it is."""

import pytest
from azure.durable_functions.models import PurgeHistoryResult
from azure.durable_functions.models.DurableOrchestrationStatus import DurableOrchestrationStatus

from hosting.functions.durable_1.client import DurableClient


class SdkClient:
    """The two methods of the SDK's client, over one status and one count; `addresses` are their requests."""

    def __init__(self, status: str | None = None, deleted: int = 1) -> None:
        self._status = status
        self._deleted = deleted
        self.addresses: list[str] = []

    async def get_status(self, instance_id: str) -> DurableOrchestrationStatus:
        """Return the status."""
        self.addresses.append(f"GET {instance_id}")
        return DurableOrchestrationStatus(runtimeStatus=self._status)

    async def purge_instance_history(self, instance_id: str) -> PurgeHistoryResult:
        """Return the count."""
        self.addresses.append(f"DELETE {instance_id}")
        return PurgeHistoryResult(self._deleted)


@pytest.mark.behaviour("erasure.instances")
@pytest.mark.parametrize("instance_id", ["", ".", ".."])
async def test_an_id_that_would_be_another_address_is_never_requested(instance_id: str) -> None:
    sdk = SdkClient("Completed")

    assert await DurableClient(sdk).purge(instance_id) == "missing"
    assert sdk.addresses == []


@pytest.mark.behaviour("erasure.instances")
async def test_an_id_stays_one_part_of_the_address() -> None:
    sdk = SdkClient("Completed")

    await DurableClient(sdk).purge("../a?b#c d")

    assert sdk.addresses == ["GET ..%2Fa%3Fb%23c%20d", "DELETE ..%2Fa%3Fb%23c%20d"]
