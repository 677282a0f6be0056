"""`client.files` and `client.uploads` of OpenAI's own client, and files that a message names by their ids."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest

from tests.support.openai_wires import Wires

BODY = b"Zanzibar is an island." * 10

pytestmark = pytest.mark.behaviour("uploads.openai")


@pytest.fixture
async def wires() -> AsyncIterator[Wires]:
    made = Wires(None)
    async with made.http:
        yield made


async def created(wires: Wires, name: str = "island.txt", body: bytes = BODY, purpose: Any = "user_data") -> Any:
    return await wires.openai.files.create(file=(name, body), purpose=purpose)


async def test_the_client_keeps_a_file(wires: Wires) -> None:
    files = wires.openai.files
    file = await created(wires)
    waited = await files.wait_for_processing(file.id, poll_interval=0.01, max_wait_seconds=5)
    content = await files.content(file.id)
    listed = [each.id async for each in files.list()]
    deleted = await files.delete(file.id)

    assert (file.object, file.filename, file.bytes, file.purpose) == ("file", "island.txt", len(BODY), "user_data")
    assert (waited.status, waited.id) == ("processed", file.id)
    assert content.content == BODY
    assert listed == [file.id]
    assert (deleted.id, deleted.deleted) == (file.id, True)
    with pytest.raises(openai.NotFoundError, match="There is no file"):
        await files.retrieve(file.id)


async def test_the_newest_files_are_listed_first(wires: Wires) -> None:
    ids = [(await created(wires, f"{number}.txt", b"%d" % number)).id for number in range(4)]
    other = (await created(wires, "eyes.png", b"png", "vision")).id
    files = wires.openai.files
    newest = [file.id async for file in files.list(limit=2)]
    oldest = [file.id async for file in files.list(limit=2, order="asc", purpose="user_data")]
    with pytest.raises(openai.NotFoundError):
        await files.list(after="file-0")

    assert set(newest) == {*ids, other}
    assert set(oldest) == set(ids)
    assert newest == [*reversed(oldest[:0]), *newest]
    assert [id_ for id_ in reversed(newest) if id_ != other] == oldest


async def test_the_client_uploads_a_file_in_parts(wires: Wires) -> None:
    upload = await wires.openai.uploads.upload_file_chunked(
        file=BODY,
        filename="island.txt",
        bytes=len(BODY),
        mime_type="text/plain",
        purpose="user_data",
        part_size=50,
        md5=hashlib.md5(BODY).hexdigest(),
    )

    assert (upload.status, upload.bytes) == ("completed", len(BODY))
    assert upload.file is not None
    assert (await wires.openai.files.content(upload.file.id)).content == BODY


async def test_parts_of_the_client_are_cancelled_and_checked(wires: Wires) -> None:
    uploads = wires.openai.uploads
    upload = await uploads.create(bytes=4, filename="a.txt", mime_type="text/plain", purpose="user_data")
    part = await uploads.parts.create(upload.id, data=io.BytesIO(b"abcd"))
    with pytest.raises(openai.ConflictError, match="MD5"):
        await uploads.complete(upload.id, part_ids=[part.id], md5="0" * 32)
    cancelled = await uploads.cancel(upload.id)
    with pytest.raises(openai.NotFoundError):
        await uploads.parts.create(upload.id, data=io.BytesIO(b"abcd"))

    assert (upload.status, cancelled.status, part.upload_id) == ("pending", "cancelled", upload.id)


async def test_a_message_has_the_file_that_it_names(wires: Wires) -> None:
    picture = await created(wires, "eyes.png", b"the eyes", "vision")
    content = [{"type": "input_text", "text": "hi"}, {"type": "input_image", "file_id": picture.id}]
    answer = await wires.respond(input=[{"role": "user", "content": content}])
    items = (await wires.http.get(f"openai/v1/responses/{answer.json()['id']}/input_items")).json()["data"]

    assert answer.status_code == 200, answer.text
    assert [part.get("image_url") for part in items[0]["content"]] == [None, "data:image/png;base64,dGhlIGV5ZXM="]


async def test_a_file_that_is_too_large_for_a_message_is_refused(wires: Wires) -> None:
    """With the sizes; and one that the app does not have is the model's own, as before."""
    large = await created(wires, "large.png", b"x" * 300_000)
    for file_id, code in ((large.id, "content_too_large"), ("file-abc", "unsupported_content")):
        part = {"type": "input_image", "file_id": file_id}
        refused = await wires.respond(input=[{"role": "user", "content": [part]}])
        assert (refused.status_code >= 400, refused.json()["error"]["code"]) == (True, code)


async def test_a_message_that_names_a_file_many_times_is_refused_before_all_is_read(wires: Wires) -> None:
    """A small request would be gigabytes otherwise: each id stands for the bytes of a whole file."""
    picture = await created(wires, "eyes.png", b"x" * 190_000, "vision")
    part = {"type": "input_image", "file_id": picture.id}
    answers = [await wires.respond(input=[{"role": "user", "content": [part] * times}]) for times in (2, 8000)]
    body = json.dumps({"model": "Joker", "input": [{"role": "user", "content": [part]}], "pad": " " * 2_000_000})
    large = await wires.http.post("openai/v1/responses", content=body, headers={"content-type": "application/json"})

    assert answers[0].status_code == 200, answers[0].text
    assert (answers[1].status_code, answers[1].json()["error"]["code"]) == (413, "body_too_large")
    assert answers[1].json()["error"]["message"].startswith("The files that the request names have more than")
    assert (large.status_code, large.json()["error"]["code"]) == (413, "body_too_large")


async def test_a_purpose_that_is_none_stores_nothing(wires: Wires) -> None:
    """Before the file or, as some clients send it, behind it."""
    form = [("file", ("a.txt", b"x", "text/plain")), ("purpose", (None, "conquest"))]
    for fields in (form, form[::-1]):
        refused = await wires.http.post("openai/v1/files", files=fields)  # type: ignore[arg-type]
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, "purpose")

    assert [file async for file in wires.openai.files.list()] == []
