"""Queue outputs, blob inputs and outputs of HTTP functions, as the real host was recorded to write and read them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import httpx
import pytest

from tests.devhost.triggers.storage import Storage
from tests.support.running_host import APPS, RunningHost

pytestmark = [pytest.mark.behaviour("devhost.storage-outputs"), pytest.mark.slow]


@pytest.fixture(scope="module")
def client(storage: Storage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of the app of outputs."""
    names = {name: storage.name() for name in ("HELD", "COUNTED")}
    folder = shutil.copytree(APPS / "storage", tmp_path_factory.mktemp("outputs") / "app")
    with (
        RunningHost(folder, environ={"AzureWebJobsStorage": storage.setting, **names}) as host,
        httpx.Client(base_url=f"{host.origin}/api", timeout=20) as client,
    ):
        yield client


@pytest.mark.parametrize(
    ("path", "answer", "messages"),
    [
        ("outs/{}/list", "ok", ["one", "two", "three"]),
        ("outs/{}/list?twice=1", "ok", ["second set"]),
        ("outs/{}/empty", "ok", []),
        ("outs/{}/str", "ok", ["text é"]),
        ("outs/{}/spaced", "ok", ['{\n  "a": [\n    1,\n    {\n      "b": 2.5\n    }\n  ],\n  "c": "é"\n}']),
        ("outs/{}/array", "ok", ['{\n  "a": 1\n}', "x", "3"]),
        ("outs/{}/text", "ok", ['"quoted"']),
        ("outs/{}/messages", "ok", ['{\n  "id": null,\n  "body": "m1"\n}', '{\n  "id": null,\n  "body": "m2"\n}']),
        ("outs/{}/nothing", "ok", [""]),
        ("outs/{}/many", "ok", [f"m{number}" for number in range(32)]),
        ("text/{}/json", "ok", ['{\n  "a": 1\n}']),
        ("out/{}/message", "ok", ['{\n  "id": "mine",\n  "body": "from QueueMessage"\n}']),
        ("out/{}/none", "ok", []),
        ("out/{}/raise", "", []),
        ("outs/{}/large", "", []),
        ("returned/{}", "", ["what it returned"]),
    ],
)
def test_what_is_set_becomes_messages(
    client: httpx.Client, storage: Storage, path: str, answer: str, messages: list[str]
) -> None:
    """One each, in order, JSON written anew; the last set counts, and nothing of a function that failed after it.

    The queue is made where there is none, capitals of its name lowered. What the service refuses is an empty 500.
    """
    queue = storage.name()
    reply = client.post(path.format(queue.upper()))

    assert (reply.text, reply.status_code) == (answer, 500 if "raise" in path or "large" in path else 200)
    assert [body.decode() for body in storage.bodies(queue)] == messages


def test_bytes_are_sent_as_they_are_and_a_blob_is_written_over_the_last(client: httpx.Client, storage: Storage) -> None:
    """As bytes of no kind, in a container that is made, with the mark of the real host."""
    name = storage.name()
    assert client.post(f"outs/{name}/bytes").status_code == 200
    for content in (b"\x00\xff", b"second"):
        assert client.post(f"blob/{name}/b.bin", content=content).text == "ok"
    properties = storage.blobs.get_blob_client(name, "b.bin").get_blob_properties()

    assert (storage.bodies(name), storage.blob(name, "b.bin")) == ([b"\x00\xff\x01"], b"second")
    assert properties.content_settings.content_type == "application/octet-stream"
    assert list(properties.metadata) == ["AzureWebJobsParentId"]


@pytest.mark.parametrize(
    ("path", "status", "content"),
    [
        ("blob/{}/both.txt?text=1", 200, "é".encode()),
        ("blob/{}/both.txt?twice=1", 200, b"second set"),
        ("blob/{}/both.txt?raise=1", 500, None),
        ("both/{}", 500, b"blob"),
    ],
)
def test_a_blob_is_written_once_the_function_has_returned(
    client: httpx.Client, storage: Storage, path: str, status: int, content: bytes | None
) -> None:
    """Two outputs are no transaction: a blob is there, though the queue refused its message."""
    container = storage.name()
    assert client.post(path.format(container), content="é".encode()).status_code == status
    assert storage.blob(container, "both.txt") == content


def test_a_blob_input_has_its_content_only(client: httpx.Client, storage: Storage) -> None:
    container = storage.container()
    storage.upload(container, "b.bin", b"\x00\xff")
    storage.upload(container, "empty", b"")
    storage.upload(container, "t.txt", "é".encode())

    assert client.get(f"blob/{container}/b.bin").text == repr(((None, None, None, None), b"\x00\xff"))
    assert client.get(f"blob/{container}/empty").text == repr(((None, None, None, None), b""))
    assert client.get(f"blob/{container}/missing").text == "None"
    assert client.get(f"blob/{storage.name()}/missing").text == "None"
    assert client.get(f"text_of/{container}/t.txt").text == "'é'"
