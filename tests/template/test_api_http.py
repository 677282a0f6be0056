"""api.http, sent as an editor would send it: every request is answered as its comment says."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.template_process import ROOT, copy_tree, running

HOST = [sys.executable, "-m", "devhost", "start", "--port", "0"]


@dataclass(frozen=True)
class Sent:
    """One request of the file: its line, its headers and its body."""

    method: str
    url: str
    headers: dict[str, str]
    body: str


def requests_in(text: str) -> list[Sent]:
    return [request_of(block) for block in text.split("###")[1:]]


def request_of(block: str) -> Sent:
    lines = [line for line in block.splitlines()[1:] if not line.startswith("#")]
    head, _, body = "\n".join(lines).strip().partition("\n\n")
    (method, url), *headers = (line.split(" ", 1) for line in head.splitlines())
    return Sent(method, url, {name.rstrip(":"): value for name, value in headers}, body)


@pytest.mark.slow
async def test_every_request_of_api_http_is_answered(tmp_path: Path) -> None:
    """In the file's order, each with what the ones before it answered filled in."""
    copy_tree(tmp_path)
    async with running(HOST, tmp_path) as app, httpx.AsyncClient(timeout=30) as client:
        statuses, started = [], ""
        for sent in requests_in((ROOT / "api.http").read_text(encoding="utf-8")):
            values = {"host": app.origin, "started.response.body.run_id": started}
            response = await client.request(
                sent.method, filled(sent.url, values), headers=sent.headers, content=sent.body
            )
            started = run_id_in(response) or started
            statuses.append(response.status_code)

    assert statuses[:5] == [200, 200, 200, 200, 202]
    assert statuses[5] in (200, 202)
    assert statuses[6:] == [200, 200, 202, 204, 200]


def filled(url: str, values: dict[str, str]) -> str:
    return re.sub(r"{{(.+?)}}", lambda found: values[found[1]], url)


def run_id_in(response: httpx.Response) -> str | None:
    body: dict[str, Any] = response.json() if response.content and "json" in response.headers["content-type"] else {}
    return body.get("run_id")
