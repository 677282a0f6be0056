"""Queues before whole hosts: killed hosts, two hosts, and a storage that is away."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.devhost.triggers.storage import Storage, until
from tests.support.app_folder import make_app
from tests.support.azurite import Azurite
from tests.support.running_host import APPS, RunningHost

pytestmark = pytest.mark.slow
DRAINED = 64
LISTENERS = """
import azure.functions as func

app = func.FunctionApp()


@app.queue_trigger(arg_name="msg", queue_name="a-queue", connection="AzureWebJobsStorage")
def take(msg: func.QueueMessage) -> None: ...


@app.blob_trigger(arg_name="blob", path="a-container/{name}", connection="AzureWebJobsStorage")
def watch(blob: func.InputStream) -> None: ...
"""


class Queues:
    """The queues of one test's app, which lies in a folder of its own."""

    def __init__(self, storage: Storage, folder: Path) -> None:
        self.storage = storage
        self._folder = shutil.copytree(APPS / "storage", folder / "app", ignore=shutil.ignore_patterns(".devhost"))
        self.held, self.counted = storage.queue(), storage.queue()

    @contextmanager
    def host(self, account: str = "", group: str = "") -> Iterator[RunningHost]:
        """Run a host of the app, or of one of its groups."""
        names = {"HELD": self.held, "COUNTED": self.counted}
        environ = {"AzureWebJobsStorage": account or self.storage.setting, **names}
        options = ("--group", group) if group else ()
        with RunningHost(self._folder, "--port", "0", *options, environ=environ) as host:
            yield host

    def done(self) -> list[bytes]:
        """Take and return the bodies that were worked on."""
        client = self.storage.queues.get_queue_client(f"{self.counted}-done")
        return [base64.b64decode(str(message.content)) for message in client.receive_messages(messages_per_page=32)]


@pytest.fixture
def queues(storage: Storage, tmp_path: Path) -> Queues:
    """Queues of the test's own."""
    return Queues(storage, tmp_path)


@pytest.mark.behaviour("devhost.queue-kill")
async def test_a_killed_hosts_message_comes_again_after_its_ten_minutes(queues: Queues) -> None:
    """And not before: another host does not see it. The test ends the ten minutes by the message's own receipt."""
    with queues.host() as host:
        queues.storage.send(queues.held, "in work")
        message, receipt, count = json.loads(host.wait_for("held ", 20).partition(" ")[2])
        host.process.kill()
        host.process.wait()
    assert count == 1
    with queues.host() as other:
        queues.storage.send(queues.counted, "meanwhile")
        await until(lambda: queues.storage.count(f"{queues.counted}-done") == 1 if is_made(queues) else False)
        assert "held" not in other.printed_so_far()
        client = queues.storage.queues.get_queue_client(queues.held)
        client.update_message(message, receipt, visibility_timeout=0)
        again = json.loads(other.wait_for("held ", 20).partition(" ")[2])
        await until(lambda: queues.storage.count(queues.held) == 0)

    assert (again[0], again[2]) == (message, 2)


def is_made(queues: Queues) -> bool:
    """Return whether the queue of what is done is there."""
    return any(queue.name == f"{queues.counted}-done" for queue in queues.storage.queues.list_queues())


@pytest.mark.behaviour("devhost.queue-trigger")
async def test_two_hosts_part_the_messages_of_a_queue(queues: Queues) -> None:
    for number in range(DRAINED):
        queues.storage.send(queues.counted, f"{number}")
    group = "function:count"
    with queues.host(group=group), queues.host(group=group):
        await until(lambda: queues.storage.count(queues.counted) == 0, 60)
        done = queues.done()

    assert sorted(done) == sorted(f"{number}".encode() for number in range(DRAINED))


@pytest.mark.behaviour("devhost.storage-away")
def test_a_storage_that_comes_later_is_listened_to_then(queues: Queues, npm_packages: Path, tmp_path: Path) -> None:
    """The start says in one line which functions do not listen, and what to start; the rest is served meanwhile."""
    first = Azurite(npm_packages, tmp_path)
    setting, origins = first.connection_string, first.origins
    first.stop()
    with queues.host(setting) as host:
        line = host.wait_for("Not listening: ")
        status = httpx.post(f"{host.origin}/api/outs/some-queue/str").status_code
        ports = {service: int(origin.rpartition(":")[2]) for service, origin in origins.items()}
        later = Azurite(npm_packages, tmp_path, ports)
        again = host.wait_for("Listening: ")
    later.stop()

    assert line == (
        f"Not listening: count, hold. Nothing answers at {origins['Queue'].removeprefix('http://')}, which "
        "AzureWebJobsStorage names. Start Azurite (npx azurite); they listen as soon as it answers."
    )
    assert (status, again) == (500, "Listening: count, hold.")


MANAGED = {"AzureWebJobsStorage__accountName": "mine"}


@pytest.mark.behaviour("devhost.storage-away")
@pytest.mark.parametrize(
    ("account", "environ", "sentence"),
    [
        ("", {}, "There is no setting AzureWebJobsStorage. Set it to UseDevelopmentStorage=true for Azurite"),
        ("", MANAGED, "(AzureWebJobsStorage__...), which is for Azure alone"),
        ("nonsense", {}, "The setting AzureWebJobsStorage is not a connection string of a storage account"),
    ],
)
def test_a_setting_that_names_no_storage_is_said_by_name(
    tmp_path: Path, account: str, environ: dict[str, str], sentence: str
) -> None:
    """In one line for all functions that cannot listen without it; the app is served."""
    with RunningHost(make_app(tmp_path, LISTENERS), environ={"AzureWebJobsStorage": account, **environ}) as host:
        assert sentence in host.wait_for("Not listening: take, watch. ")
