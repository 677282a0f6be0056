"""What LangChain's ChatOpenAI gets of a wire, printed as JSON. Arguments: our origin, and the wire's name."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any

import openai
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

WIRES: dict[str, dict[str, Any]] = {
    "chat-completions": {"base_url": "/api/chat/v1"},
    "responses": {"base_url": "/api/openai/v1", "use_responses_api": True},
}
PICTURE = "iVBORw0KGgo="


class Place(BaseModel):
    """Where the person is."""

    n: str


@tool
def where(n: str) -> str:
    """Where the person is."""
    return f"at {n}"


@tool
def when(n: str) -> str:
    """When the person comes."""
    return f"at {n}"


class Client:
    """LangChain's client of one wire."""

    def __init__(self, origin: str, wire: str) -> None:
        self._fields = {**WIRES[wire], "base_url": origin + WIRES[wire]["base_url"]}
        self._is_responses = wire == "responses"

    def model(self, name: str, **fields: Any) -> ChatOpenAI:
        """Return the client of an agent; it never repeats a request by itself."""
        return ChatOpenAI(**{"model": name, "api_key": "unused", "max_retries": 0, **self._fields, **fields})

    async def talks(self) -> dict[str, Any]:
        """Return turns, streams and batches."""
        joker = self.model("Joker")
        messages: list[BaseMessage] = [HumanMessage("my name is Ada")]
        messages += [await joker.ainvoke(messages), HumanMessage("recall")]
        last = joker.invoke(messages)
        chunks = [chunk async for chunk in self.model("Joker", stream_usage=True).astream("say one two")]
        whole = chunks[0]
        for chunk in chunks[1:]:
            whole += chunk
        return {
            "turns": [messages[1].text, last.text],
            "tokens": [usage_of(last), usage_of(whole)],
            "streamed": whole.text,
        }

    async def runs_tools(self) -> dict[str, Any]:
        """Return what its tools make, the choice among them, and streamed calls."""
        clerk = self.model("Clerk").bind_tools([where])
        messages: list[BaseMessage] = [HumanMessage("call where 1, look 2, where 3")]
        while True:
            answer = clerk.invoke(messages)
            messages.append(answer)
            if not answer.tool_calls:
                break
            messages += [where.invoke(call) for call in answer.tool_calls]
        messages.append(HumanMessage("thanks"))
        thanked = clerk.invoke(messages)
        chunks = [chunk async for chunk in clerk.astream("call where 4")]
        called = chunks[0]
        for chunk in chunks[1:]:
            called += chunk
        obedient = self.model("Obedient")
        named = obedient.bind_tools([where, when], tool_choice="when", parallel_tool_calls=False, strict=True)
        anyone = obedient.bind_tools([where], tool_choice="any").invoke("hello")
        failed = ToolMessage("it broke", tool_call_id=called.tool_calls[0]["id"], status="error")
        return {
            "told": [answer.text, thanked.text],
            "streamed": [(call["name"], call["args"]) for call in called.tool_calls],
            "named": [(call["name"], call["args"]) for call in named.invoke('{"n": "5"}').tool_calls],
            "any": json.loads(anyone.text),
            "failed": clerk.invoke([HumanMessage("call where 4"), called, failed]).text,
        }

    async def formats(self) -> dict[str, Any]:
        """Return what it makes of structured output."""
        obedient, joker = self.model("Obedient"), self.model("Joker")
        by_call = obedient.with_structured_output(Place, method="function_calling")
        return {
            "function_calling": by_call.invoke('{"n": "6"}').n,
            "json_schema": joker.with_structured_output(Place).invoke('say {"n": "9"}').n,
            "json_mode": joker.with_structured_output(Place, method="json_mode").invoke('say {"n": "10"}').n,
        }

    async def sends(self) -> dict[str, Any]:
        """Return what reaches the model of contents and options, and what is ignored by name."""
        joker = self.model("Joker")
        picture = {"type": "image", "base64": PICTURE, "mime_type": "image/png"}
        file = {"type": "file", "base64": "JVBERi0=", "mime_type": "application/pdf", "filename": "a.pdf"}
        options: dict[str, Any] = {"temperature": 0.5, "top_p": 0.5, "max_tokens": 5, "verbosity": "low"}
        of_chat = {"frequency_penalty": 0.5, "presence_penalty": 0.5, "seed": 3, "reasoning_effort": "low"}
        options |= {"reasoning": {"effort": "low"}} if self._is_responses else of_chat
        ignored = {"service_tier": "flex", "metadata": {"mine": "x"}, "store": True, "top_p": 0.5}
        answer = self.model("Joker", include_response_headers=True, **ignored).invoke("say f")
        return {
            "picture": joker.invoke([HumanMessage([{"type": "text", "text": "see"}, picture])]).text,
            "file": joker.invoke([HumanMessage([{"type": "text", "text": "see"}, file])]).text,
            "options": json.loads(self.model("Obedient", **options).invoke("hello").text),
            "ignored": answer.response_metadata["headers"]["x-ms-ignored"],
        }

    async def meets_errors(self) -> dict[str, Any]:
        """Return what it raises."""
        joker, errors = self.model("Joker"), []
        wanted = {"top_logprobs": 2} if self._is_responses else {"logprobs": True}
        tries: Sequence[Any] = (
            lambda: self.model("nobody").invoke("hello"),
            lambda: self.model("Joker", **wanted).invoke("hello"),
            lambda: joker.bind_tools([{"type": "web_search"}]).invoke("hello"),
            lambda: joker.invoke("fail"),
        )
        for attempt in tries:
            try:
                errors.append(attempt().text)
            except openai.APIError as error:
                errors.append([getattr(error, "status_code", None), error.code])
            except ValueError as error:
                errors.append([type(error).__name__, str(error)[:40]])
        return {"errors": errors}

    async def continues(self) -> dict[str, Any]:
        """Return a turn that names the response before it alone."""
        if not self._is_responses:
            return {}
        blocks = self.model("Joker", output_version="v1").invoke("say g").content
        joker = self.model("Joker", use_previous_response_id=True)
        messages: list[BaseMessage] = [HumanMessage("my name is Bob")]
        messages += [joker.invoke(messages), HumanMessage("recall")]
        return {"continued": joker.invoke(messages).text, "blocks": [block["type"] for block in blocks]}


def usage_of(message: Any) -> int:
    """Return the tokens of an answer."""
    return int(message.usage_metadata["total_tokens"])


async def main(origin: str, wire: str) -> dict[str, Any]:
    """Return all that it got."""
    client, got = Client(origin, wire), {}
    parts = (client.talks, client.runs_tools, client.formats, client.sends, client.meets_errors, client.continues)
    for part in parts:
        got |= {f"{part.__name__}.{name}": value for name, value in (await part()).items()}
    return got


if __name__ == "__main__":
    print(json.dumps({**asyncio.run(main(*sys.argv[1:])), "fields": sorted(ChatOpenAI.model_fields)}))
