"""What a prompt's function answered, as the result of `prompts/get` (host contract 5.7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from azure.functions.meta import Datum

from devhost.mcp.envelope import Envelope, json_object, json_objects, nested, read_envelope
from devhost.mcp.prompts import Prompt
from devhost.mcp.results import Result, text_block, text_of


def prompt_result(prompt: Prompt, datum: Datum) -> Result:
    """Return the result: one message of the user, or what the envelope describes, else `ValueError`.

    Without result schema the text stays text, even when it is the JSON of messages.
    """
    if not prompt.has_result_schema:
        return {"messages": [{"content": text_block(text_of(datum)), "role": "user"}]}
    envelope = read_envelope(datum)
    read = _ENVELOPES.get(str(envelope.get("type")))
    if read is None:
        raise ValueError(f"unknown type {envelope.get('type')!r}")
    return read(envelope)


def _whole_result(envelope: Envelope) -> Result:
    return json_object(nested(envelope, "content"))


def _messages(envelope: Envelope) -> Result:
    return {"messages": json_objects(nested(envelope, "content"))}


_ENVELOPES: Mapping[str, Callable[[Envelope], Result]] = {
    "get_prompt_result": _whole_result,
    "prompt_messages": _messages,
}
