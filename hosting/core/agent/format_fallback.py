"""Answers in a format from a model server that accepts no schemas (`json_schema`).

Such a server refuses the request, so no model was called for it. The same request is sent once more, with the schema in
its instructions and, where an object is wanted, as `json_object`. llama.cpp's server for Python takes the schema beside
that type, whatever it describes, and holds the model to it. The answer is checked against the schema as any other
(`structured_value`). It stands right before the model: the journal around it has the messages as they came, and knows
nothing of which form was sent. So an attempt after a kill may choose again, and gets its recorded answers all the same.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from agent_framework import (
    Agent,
    ChatContext,
    ChatMiddleware,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    ResponseStream,
)

from hosting.core.request.response_format import agents_own_format
from hosting.core.thread.run_request import ResponseFormat

logger = logging.getLogger(__name__)

_REFUSED = (400, 422)
_BROKEN, _OF_LLAMA_CPP = 500, ("llama_cpp", "validation error")
"""So llama.cpp's server for Python answers a body that it finds wrong before any model sees it."""
_FIELD = "response_format"
_NAMED = ("json_schema", "json_object", f"{_FIELD} type")
"""Words of a server's refusal besides the field: the type that it got, or the types that it knows."""
_BAD_SCHEMA = "invalid schema"
_MOST_CAUSES = 10


class FormatFallback:
    """One agent's model server: whether it refuses schemas. Only a cache, of this process.

    `takes_schema_beside`: it takes one as a member of `json_object`.
    """

    def __init__(self, agent_name: str) -> None:
        self._agent_name = agent_name
        self.refuses_schemas = False
        self.takes_schema_beside = False

    def learn(self, refusal: str) -> None:
        """Remember that the server refuses schemas, and how; write it to the log once."""
        if not self.refuses_schemas:
            self.takes_schema_beside = all(words in refusal for words in _OF_LLAMA_CPP)
            self.refuses_schemas = True
            logger.warning(
                "The model server of agent %s refuses json_schema. From now on schemas are sent in the instructions.",
                self._agent_name,
            )


class SchemaInInstructions(ChatMiddleware):
    """Sends a format's schema in the instructions to a server that refuses it; it stands right before the model."""

    def __init__(self, fallback: FormatFallback, response_format: ResponseFormat) -> None:
        self._fallback = fallback
        self._format = response_format

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Call the model, and once more where its server refused the format; an answer is never asked for twice."""
        if not (context.options or {}).get(_FIELD):
            await call_next()
            return
        if self._fallback.refuses_schemas:
            self._rewrite(context)
            await call_next()
            return
        try:
            await call_next()
        except Exception as error:
            refusal = refusal_of_schemas(error)
            if refusal is None:
                raise
        else:
            if isinstance(context.result, ResponseStream):
                context.result = self._stream(context, context.result, call_next)
            return
        self._fallback.learn(refusal)
        self._rewrite(context)
        await call_next()

    def _stream(
        self, context: ChatContext, first: ResponseStream[Any, Any], call_next: Callable[[], Awaitable[None]]
    ) -> ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        """Return the answer as a stream, which learns of a refusal only when it is read."""
        chosen = first

        async def updates() -> AsyncIterator[ChatResponseUpdate]:
            nonlocal chosen
            is_answered = False
            try:
                async for update in first:
                    is_answered = True
                    yield update
            except Exception as error:
                refusal = None if is_answered else refusal_of_schemas(error)
                if refusal is None:
                    raise
            else:
                return
            self._fallback.learn(refusal)
            self._rewrite(context)
            await call_next()
            assert isinstance(context.result, ResponseStream)
            chosen = context.result
            async for update in chosen:
                yield update

        async def response(_: object) -> ChatResponse[Any]:
            whole: ChatResponse[Any] = await chosen.get_final_response()
            return whole

        return ResponseStream(updates(), finalizer=response)

    def _rewrite(self, context: ChatContext) -> None:
        options = dict(context.options or {})
        schema = self._format.json_schema or {}
        options.pop(_FIELD, None)
        if self._fallback.takes_schema_beside:
            options[_FIELD] = {"type": "json_object", "schema": schema}
        elif schema.get("type") == "object":
            options[_FIELD] = {"type": "json_object"}
        instructions = [str(options["instructions"])] if options.get("instructions") else []
        options["instructions"] = "\n\n".join([*instructions, instructions_of(self._format)])
        context.options = options


def own_format_fallback(agent: Agent[Any]) -> list[ChatMiddleware]:
    """Return the fallback of an agent with its own format: the tool of another, or one in a workflow."""
    own_format = agents_own_format(agent)
    if own_format is None or own_format.json_schema is None or not isinstance(agent.client, ChatMiddlewareLayer):
        return []
    return [SchemaInInstructions(FormatFallback(str(agent.name)), own_format)]


def instructions_of(response_format: ResponseFormat) -> str:
    """Return the sentences that ask a model for a value of the schema."""
    about = f" It is: {response_format.description}" if response_format.description else ""
    schema = json.dumps(response_format.json_schema, ensure_ascii=False)
    return f"Answer with one JSON value and nothing around it.{about}\nIt must fit this JSON Schema:\n{schema}"


def refusal_of_schemas(error: BaseException) -> str | None:
    """Return the words of a server that refused the request because it takes no schema, in small letters, else None.

    A schema that it finds wrong is no such case. Clients raise errors of their own from those of their library, which
    have the status of the answer.
    """
    cause: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if cause is None:
            return None
        status, text = getattr(cause, "status_code", None), str(cause).lower()
        if status in _REFUSED or (status == _BROKEN and all(words in text for words in _OF_LLAMA_CPP)):
            is_refusal = _FIELD in text and any(name in text for name in _NAMED) and _BAD_SCHEMA not in text
            return text if is_refusal else None
        cause = cause.__cause__ or cause.__context__
    return None
