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
def host(storage: Storage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """The app of outputs."""
    names = {name: storage.name() for name in ("STARTED", "HELD", "COUNTED")}
    folder = shutil.copytree(APPS / "storage", tmp_path_factory.mktemp("outputs") / "app")
    with RunningHost(folder, environ={"AzureWebJobsStorage": storage.setting, **names}) as host:
        yield host


def post(host: RunningHost, path: str, content: bytes = b"", **params: str) -> tuple[int, str]:
    """Call a function; return status and text."""
    response = httpx.post(f"{host.origin}/api/{path}", content=content, params=params, timeout=20)
    return response.status_code, response.text


def get(host: RunningHost, path: str) -> str:
    """Call a function that reads; return its text."""
    return httpx.get(f"{host.origin}/api/{path}", timeout=20).text


@pytest.mark.parametrize(
    ("mode", "messages"),
    [
        ("list", [b"one", b"two", b"three"]),
        ("empty", []),
        ("str", ["text é".encode()]),
        ("json", [b'{\n  "a": 1\n}']),
        ("array", [b'{\n  "a": 1\n}', b"x", b"3"]),
        ("text", [b'"quoted"']),
        ("bytes", [b"\x00\xff\x01"]),
        ("messages", [b'{\n  "id": null,\n  "body": "m1"\n}', b'{\n  "id": null,\n  "body": "m2"\n}']),
        ("nothing", [b""]),
    ],
)
def test_what_is_set_becomes_messages(host: RunningHost, storage: Storage, mode: str, messages: list[bytes]) -> None:
    """One each, in order; a text that is JSON is written anew; the queue is made where there is none."""
    queue = storage.name()
    assert post(host, f"outs/{queue}/{mode}") == (200, "ok")
    assert storage.bodies(queue) == messages


def test_a_queue_message_becomes_json_of_its_id_and_body(host: RunningHost, storage: Storage) -> None:
    """And not its body."""
    queue = storage.name()
    assert post(host, f"out/{queue}/message") == (200, "ok")
    assert storage.bodies(queue) == [b'{\n  "id": "mine",\n  "body": "from QueueMessage"\n}']


@pytest.mark.parametrize(("mode", "status"), [("none", 200), ("raise", 500)])
def test_nothing_set_and_a_failure_write_nothing(host: RunningHost, storage: Storage, mode: str, status: int) -> None:
    """A failure after the set, too: outputs are written once the function has returned."""
    queue = storage.name()
    assert post(host, f"out/{queue}/{mode}") == (status, "ok" if status == 200 else "")
    assert storage.raw(queue) == []


@pytest.mark.parametrize(("queue", "mode"), [("a_b", "str"), ("large", "large")])
def test_what_the_queue_refuses_is_an_empty_500(host: RunningHost, queue: str, mode: str) -> None:
    """An invalid name, and a message over the service's limit."""
    assert post(host, f"outs/{queue}/{mode}") == (500, "")


def test_what_a_function_returns_can_be_a_message(host: RunningHost, storage: Storage) -> None:
    """By `$return`; the request is answered without it."""
    queue = storage.name()
    assert post(host, f"returned/{queue}") == (200, "")
    assert storage.bodies(queue) == [b"what it returned"]


def test_a_blob_is_written_over_the_last(host: RunningHost, storage: Storage) -> None:
    """As bytes of no kind, in a container that is made, with the mark of the real host."""
    container = storage.name()
    for content in (b"\x00\xff", b"second"):
        assert post(host, f"blob/{container}/b.bin", content) == (200, "ok")
    properties = storage.blobs.get_blob_client(container, "b.bin").get_blob_properties()

    assert storage.blob(container, "b.bin") == b"second"
    assert properties.content_settings.content_type == "application/octet-stream"
    assert list(properties.metadata) == ["AzureWebJobsParentId"]


@pytest.mark.parametrize(
    ("params", "status", "content"),
    [({"text": "1"}, 200, "é".encode()), ({"twice": "1"}, 200, b"second set"), ({"raise": "1"}, 500, None)],
)
def test_a_blob_is_written_once_the_function_has_returned(
    host: RunningHost, storage: Storage, params: dict[str, str], status: int, content: bytes | None
) -> None:
    """A text as UTF-8, the last that was set, and nothing of a function that failed."""
    container = storage.name()
    assert post(host, f"blob/{container}/t.txt", "é".encode(), **params)[0] == status
    assert storage.blob(container, "t.txt") == content


def test_a_blob_input_has_its_content_only(host: RunningHost, storage: Storage) -> None:
    """Neither name nor length; None for a blob that is not there."""
    container = storage.container()
    storage.upload(container, "b.bin", b"\x00\xff")
    storage.upload(container, "empty", b"")

    assert get(host, f"blob/{container}/b.bin") == repr(((None, None, None, None), b"\x00\xff"))
    assert get(host, f"blob/{container}/empty") == repr(((None, None, None, None), b""))
    assert get(host, f"blob/{container}/missing") == "None"
    assert get(host, f"blob/{storage.name()}/missing") == "None"
    storage.upload(container, "t.txt", "é".encode())
    assert get(host, f"text_of/{container}/t.txt") == "'é'"


def test_two_outputs_are_no_transaction(host: RunningHost, storage: Storage) -> None:
    """The blob is there, though the queue refused its message."""
    container = storage.name()
    assert post(host, f"both/{container}") == (500, "")
    assert storage.blob(container, "both.txt") == b"blob"
