"""JSON-RPC 2.0: a request as a body has it, and the form of its response. Its methods are those of a protocol above."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec import Struct

from hosting.errors import HostingError, UnsupportedMediaTypeError
from hosting.http.replies import Reply, json_reply
from hosting.http.run_call import RawRequest, body_form
from hosting.strict_json.parsing import json_type, parse_json

RequestId = str | int | None
Reader = TypeVar("Reader")


class InvalidRequestError(HostingError, code="invalid_request", status=400):
    """A body that is no JSON-RPC request."""


class MethodNotFoundError(HostingError, code="method_not_found", status=404):
    """A method that the protocol does not have."""


class RpcRequest(Struct, frozen=True):
    """A request for a method; its parameters are for the method to read."""

    id: RequestId
    method: str
    params: object

    def reader(self, methods: Mapping[str, Reader]) -> Reader:
        """Return what reads the parameters of its method; raises `MethodNotFoundError`."""
        if self.method not in methods:
            raise MethodNotFoundError(f"There is no method {self.method[:80]!r}. Methods: {', '.join(methods)}.")
        return methods[self.method]


def read_rpc_members(raw: RawRequest, most_bytes: int) -> dict[str, Any]:
    """Return the members of the message in a body; raises `HostingError`s for a body that is no JSON-RPC message.

    It has a method or an id; the other members are for the caller to check.
    """
    if body_form(raw, most_bytes) != "json":
        raise UnsupportedMediaTypeError("A JSON-RPC message is JSON. Send the header Content-Type: application/json.")
    fields = parse_json(raw.body)
    if not isinstance(fields, dict):
        raise InvalidRequestError(f"The body is a JSON {json_type(fields)}. Send one JSON-RPC message, an object.")
    method, request_id = fields.get("method", ""), fields.get("id")
    if fields.get("jsonrpc") != "2.0" or not isinstance(method, str) or not (method or "id" in fields):
        raise InvalidRequestError('The body is no JSON-RPC message. Send "jsonrpc": "2.0", "id", "method", "params".')
    if isinstance(request_id, bool) or not isinstance(request_id, str | int | None):
        raise InvalidRequestError("The member 'id' must be a text or a whole number.")
    return fields


def read_rpc(raw: RawRequest, most_bytes: int) -> RpcRequest:
    """Return the request in a body; raises `HostingError`s for a body that is not a JSON-RPC request."""
    fields = read_rpc_members(raw, most_bytes)
    if "method" not in fields:
        raise InvalidRequestError("The body is an answer, without the member 'method'. Send a JSON-RPC request.")
    return RpcRequest(fields.get("id"), fields["method"], fields.get("params"))


def envelope(request_id: RequestId, **member: object) -> dict[str, Any]:
    """Return a response with its `result` or its `error`."""
    return {"jsonrpc": "2.0", "id": request_id, **member}


def result_reply(request_id: RequestId, result: Mapping[str, Any]) -> Reply:
    """Return the result of a request as its response."""
    return json_reply(200, envelope(request_id, result=result))
