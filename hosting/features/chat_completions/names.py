"""The wire's operations, and those that it refuses."""

from __future__ import annotations

from hosting.http.parameters import Parameter, in_path
from hosting.http.route import Place, Route
from hosting.http.wire import AGENT_ID
from hosting.names import id_pattern

FUNCTION = "http_chat_completions"
CHAT = Place().below("chat")


def _operation(method: str, path: str, description: str, needs: str, *parameters: Parameter) -> Route:
    place = CHAT.below(f"v1/{path}")
    return Route("chat_completions", method, place, description, (), (), parameters, needs=needs)  # type: ignore[arg-type]


_ID = in_path("id", "The id.", pattern=f"chatcmpl-{id_pattern(200)}")
MODELS = _operation("GET", "models", "List the agents", "read")
MODEL = _operation("GET", "models/{id}", "Read one agent", "read", AGENT_ID)
CREATE = _operation("POST", "chat/completions", "Ask an agent", "run")
LIST = _operation("GET", "chat/completions", "List completions", "read")
COMPLETION = _operation("GET", "chat/completions/{id}", "Read a completion", "read", _ID)
OPERATIONS = (MODELS, MODEL, CREATE, LIST, COMPLETION)

_NOT_KEPT = "Completions are not kept by id. Name a thread by 'metadata.thread_id', and read that."
NOT_SERVED = {LIST: _NOT_KEPT, COMPLETION: _NOT_KEPT}
"""Operations of the protocol that are refused, and how."""
