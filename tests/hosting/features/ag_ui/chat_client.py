"""What agent-framework's AGUIChatClient gets of the wire, printed as JSON. Argument: our origin."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from agent_framework import Content, Message, tool
from agent_framework_ag_ui import AGUIChatClient, state_carrier


@tool
def where(n: str) -> str:
    """Return where the person is."""
    return f"at {n}"


async def main(origin: str) -> dict[str, Any]:
    """Return what it got: two turns, streamed words, a tool, a call that was approved, an error."""
    got: dict[str, Any] = {}
    async with AGUIChatClient(endpoint=f"{origin}/api/ag-ui/Joker") as joker:
        options: Any = {"metadata": {"thread_id": "t"}}
        said = [Message("user", ["my name is Ada"])]
        first = await joker.get_response(said, options=options)
        stream = joker.get_response([*said, *first.messages, Message("user", ["recall"])], stream=True, options=options)
        words = [update.text async for update in stream if update.text]
        got["turns"] = [first.text, "".join(words)]
        used = await joker.get_response([Message("user", ["tool thread_name"])])
        got["tool"] = [content.type for message in used.messages for content in message.contents]
        picture = Content.from_uri("data:image/png;base64,iVBORw0KGgo=", media_type="image/png")
        got["picture"] = (await joker.get_response([Message("user", [Content.from_text("see"), picture])])).text
        failed = await joker.get_response([Message("user", ["fail"])])
        got["failed"] = [content.type for message in failed.messages for content in message.contents]
    async with AGUIChatClient(endpoint=f"{origin}/api/ag-ui/Clerk") as clerk:
        waits = await clerk.get_response([Message("user", ["call refund 7"])], options=options)
        (asked,) = waits.additional_properties["interrupts"]
        answer = {"interruptId": asked["id"], "status": "resolved", "payload": {"approved": True}}
        made = await clerk.get_response(waits.messages, options={**options, "resume": [answer]})
        got["approved"] = made.text
        hands: Any = {"metadata": {"thread_id": "hands"}, "tools": [where]}
        got["hands"] = (await clerk.get_response([Message("user", ["call where 7"])], options=hands)).text
    async with AGUIChatClient(endpoint=f"{origin}/api/ag-ui/Painter") as painter:
        shared = Message("user", [state_carrier({"color": "red"})])
        got["state"] = (await painter.get_response([Message("user", ["look"]), shared])).text
    async with AGUIChatClient(endpoint=f"{origin}/api/ag-ui/Joker") as joker:
        agent = joker.as_agent(name="remote")
        session = agent.create_session()
        session.state["any"] = "thing"
        got["agent"] = (await agent.run("hello", session=session)).text
    return got


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1]))))
