"""One process's view of a run log in blobs, over a line whose calls are counted, and all that a container holds."""

from __future__ import annotations

from hosting.runlog.blob import BlobStore, run_log_container
from tests.contracts.storage_line import StorageLine, connect_over
from tests.support.azurite import Azurite


class Process:
    """One process's store and its line to the account."""

    def __init__(self, azurite: Azurite, container: str, most_blocks: int = 49_000) -> None:
        self.line = StorageLine()
        connect = connect_over(self.line, azurite.connection_string)
        self.store = BlobStore(run_log_container(connect, container, patience_seconds=5), most_blocks)

    async def warm(self) -> None:
        """Make the container, so that only what follows is counted."""
        await self.store.read("warm")
        self.line.calls.clear()


async def everything(azurite: Azurite, container: str) -> dict[str, tuple[bytes, dict[str, str]]]:
    """Return the content and the metadata of every blob of the container."""
    async with connect_over(StorageLine(), azurite.connection_string)() as service:
        client = service.get_container_client(container)
        names = [str(blob.name) async for blob in client.list_blobs()]
        streams = {name: await client.download_blob(name) for name in names}
        return {name: (await stream.readall(), stream.properties.metadata) for name, stream in streams.items()}
