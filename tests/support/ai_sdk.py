"""An app of the scripted agent, the clerk and the asker with the wire, and a chat of it as `useChat` keeps one."""

from __future__ import annotations

import json
from typing import Any

from tests.support.asker import asker
from tests.support.signer import signer
from tests.support.wired import ORIGIN, WiredApp

Chunk = dict[str, Any]
__all__ = ["ORIGIN", "Chat", "Chats", "Chunk", "chunks_of", "kinds", "text_of", "texts"]


class Chats(WiredApp):
    """The app."""

    wire = "ai-sdk"

    def others(self) -> tuple[Any, ...]:
        return asker(self.notes.append, "Asker"), signer(self.notes.append, "Signer")

    def chat(self, agent: str = "Joker", chat_id: str = "chat1") -> Chat:
        return Chat(self, agent, chat_id)


class Chat:
    """One chat: its `messages` as the client has them."""

    def __init__(self, chats: Chats, agent: str, chat_id: str) -> None:
        self.http, self.path, self.id = chats.http, f"ai-sdk/{agent}", chat_id
        self.messages: list[dict[str, Any]] = []

    def body(self, **fields: Any) -> dict[str, Any]:
        """Return the request that sends the chat as it is."""
        return {"id": self.id, "messages": self.messages, "trigger": "submit-message", **fields}

    async def send(self, text: str, message_id: str | None = None, **fields: Any) -> list[Chunk]:
        """Send a message of the user, and return the chunks of the answer."""
        name = message_id or f"user-{len(self.messages)}"
        self.messages.append({"id": name, "role": "user", "parts": [{"type": "text", "text": text}]})
        return await self.post(**fields)

    async def post(self, **fields: Any) -> list[Chunk]:
        """Send the chat as it is, and return the chunks."""
        answer = await self.http.post(self.path, json=self.body(**fields))
        assert answer.status_code == 200, answer.text
        assert answer.headers["x-vercel-ai-ui-message-stream"] == "v1"
        return chunks_of(answer.text)

    async def refused(self, **fields: Any) -> tuple[int, dict[str, Any]]:
        """Return status and problem of a request that is not served."""
        answer = await self.http.post(self.path, json=self.body(**fields))
        return answer.status_code, answer.json()

    async def stored(self) -> list[dict[str, Any]]:
        """Return the messages that the thread has."""
        answer = await self.http.get(f"{self.path}/{self.id}")
        assert answer.status_code == 200, answer.text
        messages: list[dict[str, Any]] = answer.json()["messages"]
        return messages


def chunks_of(text: str) -> list[Chunk]:
    """Return the chunks of a stream that is whole."""
    lines = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]", text
    return [json.loads(line) for line in lines[:-1]]


def kinds(chunks: list[Chunk]) -> list[str]:
    """Return the kind of each chunk, those of one text as one."""
    named = [chunk["type"] for chunk in chunks]
    return [kind for number, kind in enumerate(named) if kind != "text-delta" or named[number - 1] != kind]


def text_of(chunks: list[Chunk]) -> str:
    return "".join(chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta")


def texts(message: dict[str, Any]) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")
