"""Blob triggers of any app against the emulator's blobs, as the real host was recorded to serve them."""

from __future__ import annotations

import base64
import json
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import azure.functions as func
import pytest
from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.storage.blob import ContentSettings

from devhost.durable.clock import Clock
from devhost.errors import FunctionLoadError
from devhost.triggers.blob_trigger import host_id
from devhost.triggers.listeners import Listeners
from tests.devhost.indexing import SETTINGS, index_of
from tests.devhost.triggers.storage import QuickClock, Seen, Storage, listening, until

pytestmark = [pytest.mark.behaviour("devhost.blob-trigger")]


class Watched:
    """An app with one blob trigger, in a folder, and the container that it watches."""

    def __init__(self, storage: Storage, folder: Path, *, fails: bool = False) -> None:
        self.storage, self.container, self.seen = storage, storage.container(), Seen()
        self.settings = replace(SETTINGS, folder=folder)
        self._fails = fails

    def host(self, clock: Clock | None = None) -> AbstractAsyncContextManager[Listeners]:
        """Import the app and run a host of it until the block ends."""
        app = func.FunctionApp()

        @app.blob_trigger(arg_name="blob", path=f"{self.container}/{{name}}", connection="AzureWebJobsStorage")
        def watch(blob: func.InputStream) -> None:
            self.seen.put(blob)
            if self._fails:
                raise ValueError("a bad blob")

        return listening(app, self.storage, settings=self.settings, clock=clock)


@pytest.fixture
def watched(storage: Storage, tmp_path: Path) -> Watched:
    """An app that watches all blobs of a container."""
    return Watched(storage, tmp_path)


async def test_a_blob_that_is_written_is_given_to_the_function_once_for_each_of_its_etags(
    storage: Storage, watched: Watched
) -> None:
    """With its name, its address and its properties, of which the 45 have the real host's names.

    Again with the same content, or when only its metadata changed; not at the next start.
    """
    kind = ContentSettings(content_type="text/plain", content_language="en")
    async with watched.host():
        storage.upload(watched.container, "a b/é.txt", b"hello 0", metadata={"who": "me"}, content_settings=kind)
        blob = await watched.seen.next()
        storage.upload(watched.container, "a b/é.txt", b"hello 0")
        await watched.seen.next()
        storage.blobs.get_blob_client(watched.container, "a b/é.txt").set_blob_metadata({"who": "you"})
        last = await watched.seen.next()
    async with watched.host():
        storage.upload(watched.container, "b", b"new")
        new = await watched.seen.next()

    assert (last.metadata, new.read(), watched.seen.is_empty) == ({"who": "you"}, b"new", True)
    assert (blob.name, blob.length, blob.read()) == (f"{watched.container}/a b/é.txt", 7, b"hello 0")
    assert blob.uri.endswith(f"/{watched.container}/a%20b/%C3%A9.txt")
    assert blob.metadata == {"who": "me"}
    properties = blob.blob_properties
    assert len(properties) == 45
    shown = {"ContentType": "text/plain", "ContentLanguage": "en", "ContentLength": 7, "BlobType": 0}
    assert {name: properties[name] for name in shown} == shown
    assert (properties["Metadata"], properties["CacheControl"], properties["ETag"]) == ({"who": "me"}, None, {})


async def test_paths_have_parameters_which_outputs_may_name(storage: Storage, tmp_path: Path) -> None:
    app, container, queue = func.FunctionApp(), storage.container(), storage.name()

    @app.blob_trigger(arg_name="blob", path=f"{container}/{{dir}}/{{file}}.txt", connection="AzureWebJobsStorage")
    @app.blob_output(arg_name="copy", path=f"{container}-copy/{{dir}}-{{file}}.out", connection="AzureWebJobsStorage")
    @app.queue_output(arg_name="done", queue_name=queue, connection="AzureWebJobsStorage")
    def upper(blob: func.InputStream, copy: func.Out[bytes], done: func.Out[str]) -> None:
        copy.set(blob.read().upper())
        done.set(str(blob.name))

    for name in ("d1/f1.txt", "d1/d2/f2.txt", "top.txt", "d1/other.md"):
        storage.upload(container, name, b"text")
    async with listening(app, storage, settings=replace(SETTINGS, folder=tmp_path)):
        await until(lambda: len(storage.raw(queue)) == 2)

    assert sorted(storage.bodies(queue)) == [f"{container}/{n}.txt".encode() for n in ("d1/d2/f2", "d1/f1")]
    assert storage.blob(f"{container}-copy", "d1/d2-f2.out") == b"TEXT"
    assert storage.blob(f"{container}-copy", "d1-f1.out") == b"TEXT"


async def test_a_blob_that_fails_is_given_up_after_five_tries(storage: Storage, tmp_path: Path) -> None:
    """A message in the poison queue of all blobs names it; it is not tried again, also at the next start."""
    watched = Watched(storage, tmp_path, fails=True)
    storage.upload(watched.container, "bad.txt", b"bad")
    async with watched.host():
        await watched.seen.several(5)
        await until(lambda: poison_of(watched) != [])
    async with watched.host():
        storage.upload(watched.container, "next.txt", b"next")
        blob = await watched.seen.next()

    [message] = poison_of(watched)
    assert blob.read() == b"next"
    assert list(message) == ["Type", "FunctionId", "BlobType", "ContainerName", "BlobName", "ETag"]
    named = message["Type"], message["FunctionId"], message["BlobName"]
    assert named == ("BlobTrigger", "Host.Functions.watch", "bad.txt")
    assert message["ETag"].startswith('"0x')


def poison_of(watched: Watched) -> list[dict[str, str]]:
    """Return the messages of the container's blobs in the poison queue, which all blobs share."""
    try:
        client = watched.storage.queues.get_queue_client("webjobs-blobtrigger-poison")
        peeked = [json.loads(base64.b64decode(str(message.content))) for message in client.peek_messages(32)]
    except ResourceNotFoundError:
        return []
    return [message for message in peeked if message["ContainerName"] == watched.container]


async def test_two_hosts_of_a_folder_share_the_blobs(storage: Storage, watched: Watched) -> None:
    """Whichever sees a blob first makes its receipt, so it comes once."""
    for number in range(8):
        storage.upload(watched.container, f"{number:02}")
    async with watched.host(), watched.host():
        blobs = await watched.seen.several(8)
        storage.upload(watched.container, "last")
        last = await watched.seen.next()

    assert sorted(blob.name[-2:] for blob in blobs) == [f"{number:02}" for number in range(8)]
    assert (last.name, watched.seen.is_empty) == (f"{watched.container}/last", True)


class LaterClock(QuickClock):
    """The same, two minutes on."""

    def now(self) -> datetime:
        return super().now() + timedelta(minutes=2)


async def test_a_blob_whose_host_died_before_it_was_queued_is_taken_over(storage: Storage, watched: Watched) -> None:
    """Its open receipt is left alone for a minute, in which its host may still be at it."""
    storage.upload(watched.container, "a")
    etag = storage.blobs.get_blob_client(watched.container, "a").get_blob_properties().etag
    host = host_id(watched.settings.folder, {})
    receipt = f"blobreceipts/{host}/Host.Functions.watch/{etag}/{watched.container}/a"
    with suppress(ResourceExistsError):
        storage.blobs.create_container("azure-webjobs-hosts")
    storage.upload("azure-webjobs-hosts", receipt, b"", metadata={"state": "open"})
    async with watched.host():
        storage.upload(watched.container, "b")
        other = await watched.seen.next()
    async with watched.host(LaterClock()):
        taken_over = await watched.seen.next()

    assert (other.name[-1], taken_over.name[-1]) == ("b", "a")
    properties = storage.blobs.get_blob_client("azure-webjobs-hosts", receipt).get_blob_properties()
    assert properties.metadata == {}


def test_a_path_without_a_container_is_refused_and_hosts_of_one_folder_have_one_id(tmp_path: Path) -> None:
    """The setting of the real host wins."""
    for path in ("{container}/a", "/a"):
        app = func.FunctionApp()
        app.blob_trigger(arg_name="blob", path=path, connection="c")(lambda blob: None)
        with pytest.raises(FunctionLoadError, match="give a container's name before the first /"):
            index_of(app)
    assert host_id(tmp_path, {}) == host_id(tmp_path / "x" / "..", {})
    assert host_id(tmp_path, {}) != host_id(tmp_path / "x", {})
    assert host_id(tmp_path, {"AzureFunctionsWebHost__hostid": "Mine"}) == "mine"
