"""Each caller has chats of their own, as on our own routes."""

from __future__ import annotations

import pytest

from hosting.app import Principal, PrincipalRequest
from tests.support.ai_sdk import Chats, chunks_of, text_of

pytestmark = pytest.mark.behaviour("ai-sdk.owners")

ADA, BOB = {"x-user": "ada"}, {"x-user": "bob"}


def signed_in(request: PrincipalRequest) -> Principal | None:
    """Return whom the header names."""
    name = request.headers.get("x-user")
    return None if name is None else Principal("https://login.example", name)


async def test_anothers_chat_is_not_there() -> None:
    """The same ids of chat and message are another, empty chat; who is not signed in is refused."""
    chats = Chats(principal=signed_in)
    async with chats.http as http:
        secret, question = chats.chat(), chats.chat()
        secret.messages = [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "my secret"}]}]
        question.messages = [{"id": "u2", "role": "user", "parts": [{"type": "text", "text": "recall"}]}]
        await http.post(secret.path, json=secret.body(), headers=ADA)
        read = [(await http.get("ai-sdk/Joker/chat1", headers=who)).json()["messages"] for who in (ADA, BOB)]
        followed = await http.get("ai-sdk/Joker/chat1/stream", headers=BOB)
        bob = await http.post(question.path, json=question.body(), headers=BOB)
        ada = await http.post(question.path, json=question.body(), headers=ADA)
        unsigned = await http.post(secret.path, json=secret.body())

    assert ([message["id"] for message in read[0]][:1], read[1], followed.status_code) == (["u1"], [], 204)
    assert text_of(chunks_of(bob.text)) == "recall"
    assert text_of(chunks_of(ada.text)) == "my secret | recall"
    assert (unsigned.status_code, unsigned.json()["code"]) == (401, "unauthorized")
