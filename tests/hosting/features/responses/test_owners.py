"""Each caller has responses and conversations of their own, as they have threads on our own routes."""

from __future__ import annotations

import pytest

from hosting.app import Principal, PrincipalRequest
from tests.hosting.features.responses.wired import Wired

ADA, BOB = {"x-user": "ada"}, {"x-user": "bob"}


def signed_in(request: PrincipalRequest) -> Principal | None:
    """Return whom the header names."""
    name = request.headers.get("x-user")
    return None if name is None else Principal("https://login.example", name)


@pytest.mark.behaviour("responses.owners")
async def test_anothers_responses_and_conversations_are_not_there() -> None:
    """Not read, followed, continued, cancelled or deleted; who is not signed in is the protocol's 401."""
    wired = Wired(principal=signed_in)
    async with wired.http as http:
        body = {"model": "Joker", "input": "my secret"}
        created = (await http.post("responses", json=body, headers=ADA)).json()
        place = f"responses/{created['id']}"
        conversation = f"conversations/conv_{created['id'].partition('~')[2]}"
        continued = {**body, "previous_response_id": created["id"]}
        tried = [
            await http.get(place, headers=BOB),
            await http.get(f"{place}?stream=true", headers=BOB),
            await http.get(f"{place}/input_items", headers=BOB),
            await http.post(f"{place}/cancel", headers=BOB),
            await http.delete(place, headers=BOB),
            await http.post("responses", json=continued, headers=BOB),
            await http.get(f"{conversation}/items/x", headers=BOB),
        ]
        lists = [(await http.get("conversations?agent_id=Joker", headers=who)).json()["data"] for who in (ADA, BOB)]
        unsigned = await http.get(place)
        meta = (await http.get("http://app.example/api/openai/meta")).json()
        own = await http.get(place, headers=ADA)

    assert [answer.status_code for answer in tried] == [404] * len(tried)
    assert not any("secret" in answer.text for answer in tried)
    assert (unsigned.status_code, unsigned.json()["error"]["type"]) == (401, "authentication_error")
    assert own.json() == created
    assert [[one["id"] for one in listed] for listed in lists] == [[conversation.partition("/")[2]], []]
    assert meta["auth_required"] is False  # who signs callers in otherwise than by bearer_token, the app cannot say
