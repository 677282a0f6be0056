"""What AGUIChatClient has of a run whose host may die, as JSON. Arguments: our origin, the message."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from agent_framework import Message
from agent_framework_ag_ui import AGUIChatClient


async def main(origin: str, asked: str) -> dict[str, Any]:
    """Return the words of the answer, or that its stream broke."""
    async with AGUIChatClient(endpoint=f"{origin}/api/ag-ui/Speaker") as client:
        options: Any = {"metadata": {"thread_id": "t"}}
        try:
            answer = await client.get_response([Message("user", [asked])], options=options)
        except Exception as error:  # whatever the client makes of a connection that is gone
            return {"broken": type(error).__name__}
        return {"said": answer.text.split()}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
