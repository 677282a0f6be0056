"""Messages of A2A as a client sends them, and what it has of a task when it has read a stream."""

from __future__ import annotations

import itertools
import json
from typing import Any

HEADERS = {"A2A-Version": "1.0"}
_ids = itertools.count(1)


def message(text: str, **fields: Any) -> dict[str, Any]:
    return {"messageId": f"m{next(_ids)}", "role": "ROLE_USER", "parts": [{"text": text}], **fields}


def payloads(text: str) -> list[dict[str, Any]]:
    """Return what each message of a stream holds: its result, or the whole error."""
    bodies = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
    return [body.get("result", body) for body in bodies]


def answer_of(task: dict[str, Any]) -> str:
    """Return the text of a task's newest artifact."""
    return "".join(part["text"] for part in task["artifacts"][-1]["parts"])


def taken(stream: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the task that a reader of a stream has at its end, artifacts joined as the protocol says."""
    task: dict[str, Any] = {}
    texts: dict[str, str] = {}
    for payload in stream:
        if "task" in payload:
            task = dict(payload["task"])
            texts = {one["artifactId"]: answer_of({"artifacts": [one]}) for one in task["artifacts"]}
        elif "statusUpdate" in payload:
            task["status"] = payload["statusUpdate"]["status"]
        else:
            update = payload["artifactUpdate"]
            one = update["artifact"]
            before = texts.get(one["artifactId"], "") if update["append"] else ""
            texts[one["artifactId"]] = before + answer_of({"artifacts": [one]})
    return {"id": task["id"], "status": task["status"], "texts": texts}
