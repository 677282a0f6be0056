"""Ids of the wire's objects, its operations, and those that it refuses.

An id says where its object is: a response's has the run, the agent and the thread, a conversation's the agent and the
thread. The owner is never in it: whoever sends an id reaches threads of their own alone.
"""

from __future__ import annotations

from msgspec import Struct

from hosting.core.request.fields import TRUTH_WORD
from hosting.core.thread.run import Run
from hosting.errors import UnknownRunError, UnknownThreadError
from hosting.http.parameters import Parameter, in_path, text_in_query
from hosting.http.route import Place, Route
from hosting.http.wire import AGENT_ID
from hosting.names import Address, id_pattern, is_id

FUNCTION = "http_responses"
OPENAI = Place().below("openai")


class IdParts(Struct, frozen=True):
    """The object of an id: a thread of an agent, and for a response the run."""

    agent: str
    thread_id: str
    run_id: str = ""

    def address(self, owner: str) -> Address:
        """Return the thread, as a thread of that owner."""
        return Address.of(self.agent, self.thread_id, owner)


def response_id(run: Run, run_id: str | None = None) -> str:
    """Return the id of a run's response, or of the response of another run of its thread."""
    return f"resp_{run_id or run.run_id}~{run.accepted.agent.lower()}~{run.accepted.thread_id}"


def conversation_id(agent: str, thread_id: str) -> str:
    """Return the id of a thread's conversation."""
    return f"conv_{agent.lower()}~{thread_id}"


def read_response_id(text: str) -> IdParts:
    """Return what a response's id refers to; raises `UnknownRunError` for an invalid id."""
    run_id, _, rest = text.removeprefix("resp_").partition("~")
    agent, _, thread_id = rest.partition("~")
    if not (text.startswith("resp_") and is_id(run_id) and is_id(thread_id)):
        raise UnknownRunError(f"There is no response {text[:80]!r}. Send an id from this app.")
    return IdParts(agent, thread_id, run_id)


def read_conversation_id(text: str) -> IdParts:
    """Return what a conversation's id refers to; raises `UnknownThreadError` for an invalid id."""
    agent, _, thread_id = text.removeprefix("conv_").partition("~")
    if not (text.startswith("conv_") and is_id(thread_id)):
        raise UnknownThreadError(f"There is no conversation {text[:80]!r}. Send an id from this app.")
    return IdParts(agent, thread_id)


def _operation(method: str, path: str, description: str, needs: str = "read", *parameters: Parameter) -> Route:
    return Route("responses", method, OPENAI.below(f"v1/{path}"), description, (), (), parameters, needs=needs)  # type: ignore[arg-type]


_ID = id_pattern(200)
_RESPONSE = in_path("id", "The id.", pattern=f"resp_{_ID}")
_CONVERSATION = in_path("id", "The id.", pattern=f"conv_{_ID}")
_ITEM = in_path("item", "The id.", pattern=_ID)
STARTING_AFTER = text_in_query(
    "starting_after", "Only events after this number.", "(-[0-9]{1,16}|[0-9]{1,17})", "a sequence_number."
)
_FOLLOWED = (Parameter("stream", "query", "true: the response's events.", TRUTH_WORD), STARTING_AFTER)
_PAGE = (
    Parameter("limit", "query", "The most items to return.", {"type": "integer", "minimum": 1, "maximum": 100}),
    Parameter("order", "query", "asc (oldest first) or desc.", {"type": "string", "enum": ["asc", "desc"]}),
    Parameter("after", "query", "Only items after this id.", {"type": "string"}),
)
_OF_AGENT = Parameter("agent_id", "query", "The agent, if the app has several.", {"type": "string"})
_ITEMS = "conversations/{id}/items"
MODELS = _operation("GET", "models", "List the agents")
MODEL = _operation("GET", "models/{id}", "Read one agent", "read", AGENT_ID)
CREATE = _operation("POST", "responses", "Ask an agent", "run")
RESPONSE = _operation("GET", "responses/{id}", "Read or follow a response", "read", _RESPONSE, *_FOLLOWED)
DELETE = _operation("DELETE", "responses/{id}", "Delete the only response of a conversation", "own", _RESPONSE)
CANCEL = _operation("POST", "responses/{id}/cancel", "Cancel a response", "run", _RESPONSE)
_INPUTS = "responses/{id}/input_items"
INPUT_ITEMS = _operation("GET", _INPUTS, "List a response's input items", "read", _RESPONSE, *_PAGE)
LIST = _operation("GET", "conversations", "List an agent's conversations", "read", _OF_AGENT)
BEGIN = _operation("POST", "conversations", "Start a conversation", "run")
CONVERSATION = _operation("GET", "conversations/{id}", "Read a conversation", "read", _CONVERSATION)
UPDATE = _operation("POST", "conversations/{id}", "Change a conversation's metadata", "own", _CONVERSATION)
DELETE_CONVERSATION = _operation("DELETE", "conversations/{id}", "Delete a conversation", "own", _CONVERSATION)
ITEMS = _operation("GET", _ITEMS, "List a conversation's items", "read", _CONVERSATION, *_PAGE)
ADD_ITEMS = _operation("POST", _ITEMS, "Put messages into a conversation", "run", _CONVERSATION)
ITEM = _operation("GET", f"{_ITEMS}/{{item}}", "Read one item", "read", _CONVERSATION, _ITEM)
DELETE_ITEM = _operation("DELETE", f"{_ITEMS}/{{item}}", "Delete one item", "own", _CONVERSATION, _ITEM)
META = Route("responses", "GET", OPENAI.below("meta"), "Read the settings of DevUI", (), is_for_all=True)
ENTITIES = _operation("GET", "entities", "List the agents, for DevUI")
ENTITY = _operation("GET", "entities/{id}/info", "Read one agent, for DevUI", "read", AGENT_ID)
OPERATIONS = (
    *(META, ENTITIES, ENTITY),
    *(MODELS, MODEL, CREATE, RESPONSE, DELETE, CANCEL, INPUT_ITEMS),
    *(LIST, BEGIN, CONVERSATION, UPDATE, DELETE_CONVERSATION, ITEMS, ADD_ITEMS, ITEM, DELETE_ITEM),
)


NOT_SERVED = {DELETE_ITEM: "Single items cannot be deleted. Delete the conversation."}
"""Operations of the protocol that are refused, and how."""
