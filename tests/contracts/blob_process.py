"""One process's view of a run log in blobs, and all that a container holds."""

from __future__ import annotations

from hosting.runlog.blob import BlobStore, run_log_container
from tests.support.azurite import Azurite
from tests.support.fault_proxy import connect_quickly


def store_at(account: str, container: str, most_blocks: int = 49_000) -> BlobStore:
    """Return one process's store, whose repeats do not wait."""
    return BlobStore(run_log_container(connect_quickly(account), container, patience_seconds=5), most_blocks)


async def everything(azurite: Azurite, container: str) -> dict[str, tuple[bytes, dict[str, str]]]:
    """Return the content and the metadata of every blob of the container."""
    async with connect_quickly(azurite.connection_string)() as service:
        client = service.get_container_client(container)
        names = [str(blob.name) async for blob in client.list_blobs()]
        streams = {name: await client.download_blob(name) for name in names}
        return {name: (await stream.readall(), stream.properties.metadata) for name, stream in streams.items()}
