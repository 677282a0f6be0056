"""Workflows of the shapes of Microsoft's samples 09 to 13, given as graphs and called by its routes, as they move."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.support.made_app import app_of, served
from tests.support.moved_graphs import letters, triage

pytestmark = pytest.mark.behaviour("workflows.upstream")


async def ended(http: httpx.AsyncClient, name: str, body: Any) -> dict[str, Any]:
    """Begin as a client of theirs does, and return how the instance stands once its run has ended."""
    headers = {"content-type": "application/json" if isinstance(body, dict) else "text/plain"}
    content = json.dumps(body) if isinstance(body, dict) else body
    started = await http.post(f"/api/workflow/{name}/run", content=content, headers=headers)
    assert started.status_code == 202, started.text
    place = f"/api/workflows/{name}/threads/{started.json()['instanceId']}/runs/{started.headers['x-ms-run-id']}"
    await http.get(f"{place}/events")
    return dict((await http.get(started.json()["statusQueryGetUri"])).json())


@pytest.mark.parametrize(
    ("graph", "letter", "output"),
    [
        (letters, 'say {"is_spam": true, "reason": "loud"}', "spam: loud"),
        (letters, 'say {"is_spam": false, "reason": "calm"}', 'sent {"is_spam": false, "reason": "calm"}'),
        (triage, 'say {"is_spam": true, "reason": "loud"}', "spam: loud"),
        (triage, 'say {"is_spam": false, "reason": "calm"}', 'sent echo: {"is_spam": false, "reason": "calm"}'),
    ],
)
async def test_conditions_lead_from_an_agents_finding(graph: Any, letter: str, output: str) -> None:
    """Samples 09 and 10; the letter of one run is not in the next one's state."""
    hosted = graph()
    async with served(app_of(workflow=hosted)) as (_, http):
        first = await ended(http, hosted.name, letter)
        second = await ended(http, hosted.name, 'say {"is_spam": true, "reason": "again"}')

    assert (first["runtimeStatus"], first["output"]) == ("Completed", [output])
    assert (second["runtimeStatus"], second["output"]) == ("Completed", ["spam: again"])
