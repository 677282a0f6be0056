"""The model of the samples: it calls the first tool that it is offered once, then answers in words."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_framework import ChatResponse, Content, FunctionTool, Message, UsageDetails

from hosting.offline.values import Filling, in_format, value_of
from tests.support.answering import AnsweringModel, says

SECONDS = "SAMPLE_MODEL_SECONDS"
"""How long a model call takes, so that a process can be killed in the middle of one."""

ASKED = "SAMPLE_MODEL_ASKED"
"""A file that gets a line for each model call."""

_HARMFUL = re.compile(r"shell|bash|exec|command|run_code|python|delete|remove", re.IGNORECASE)
_USAGE = UsageDetails(input_token_count=1, output_token_count=1, total_token_count=2)


class SampleModel(AnsweringModel):
    """One model call: a call of a tool that was not called since the newest message of a user, or words."""

    OTEL_PROVIDER_NAME = "samples"

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        if asked := os.environ.get(ASKED):
            with Path(asked).open("a", encoding="utf-8") as file:
                file.write("asked\n")
        await asyncio.sleep(float(os.environ.get(SECONDS, "0")))
        return says(*contents_of(messages, options), usage=_USAGE)


def contents_of(messages: Sequence[Message], options: Mapping[str, Any]) -> list[Content]:
    """Return the call of a tool, or the answer in the wanted format."""
    newest = max((place for place, message in enumerate(messages) if message.role == "user"), default=0)
    has_called = any(content.type == "function_call" for message in messages[newest:] for content in message.contents)
    tools = [tool for tool in options.get("tools") or () if isinstance(tool, FunctionTool)]
    harmless = [tool for tool in tools if not _HARMFUL.search(tool.name)]
    words = messages[newest].text if messages else ""
    if harmless and not has_called and options.get("tool_choice") != "none":
        schema = harmless[0].parameters()
        arguments = value_of(schema, Filling(words[:100] or "sample", schema))
        return [Content.from_function_call(f"call_{len(messages)}", harmless[0].name, arguments=arguments or {})]
    return [Content.from_text(in_format(f"The answer to: {words[:200]}", options.get("response_format")))]
