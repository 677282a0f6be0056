"""The blobs that a function is given, and the queues and blobs that it writes, around one call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import azure.functions as func

from devhost.bindings import StorageBinding
from devhost.converters import decode_datum, encode_output
from devhost.durable.clock import Clock
from devhost.index import Function
from devhost.ports import FunctionFailedError
from devhost.triggers.connections import Connections, ConnectionSettingError, reason
from devhost.triggers.paths import PathError, TriggerData, fill

if TYPE_CHECKING:
    from azure.functions.meta import Datum

RETURN = "$return"


class Held(func.Out[object]):
    """What a function sets for an output; the last counts."""

    def __init__(self) -> None:
        self._value: object = None

    def set(self, val: object) -> None:
        """Keep the value until the function has returned."""
        self._value = val

    def get(self) -> object:
        """Return the value that was set."""
        return self._value


class StorageValues:
    """Reads inputs before a call, and writes outputs after it; what goes wrong fails the call."""

    def __init__(self, connections: Connections, clock: Clock, *, is_base64: bool) -> None:
        self._connections = connections
        self._clock = clock
        self._is_base64 = is_base64

    async def arguments(self, function: Function, members: TriggerData) -> dict[str, object]:
        """Return the values of the function's blobs, and empty outputs; raise `FunctionFailedError` if one fails."""
        values: dict[str, object] = {}
        for binding in function.storage:
            if binding.kind == "blob input":
                datum = await self._read(binding, members)
                values[binding.parameter] = decode_datum(binding.converter, datum, {})
            elif binding.parameter != RETURN:
                values[binding.parameter] = Held()
        return values

    async def write(
        self, function: Function, arguments: Mapping[str, object], result: object, members: TriggerData
    ) -> None:
        """Write what the function set and returned, one after the other; raise `FunctionFailedError` at the first.

        What was written before stays: outputs are no transaction, here as on the real host.
        """
        for binding in function.storage:
            if binding.kind == "blob input":
                continue
            held = arguments.get(binding.parameter)
            value = held.get() if isinstance(held, Held) else result
            await self._write(binding, encode_output(binding.converter, value), members)

    async def _read(self, binding: StorageBinding, members: TriggerData) -> Datum:
        from azure.core.exceptions import AzureError

        from devhost.triggers.blob_bindings import read_blob

        try:
            path = fill(binding.target, members, self._clock.now())
            account = self._connections.account(binding.connection)
            return await read_blob(account, path, is_binary=binding.is_binary)
        except (AzureError, ConnectionSettingError, PathError, ValueError) as error:
            raise _failure("read", binding, error) from error

    async def _write(self, binding: StorageBinding, datum: Datum, members: TriggerData) -> None:
        from azure.core.exceptions import AzureError

        from devhost.triggers.blob_bindings import write_blob
        from devhost.triggers.queue_output import write_messages

        try:
            target = fill(binding.target, members, self._clock.now())
            account = self._connections.account(binding.connection)
            if binding.kind == "queue output":
                await write_messages(account, target, datum, is_base64=self._is_base64)
            else:
                await write_blob(account, target, datum)
        except (AzureError, ConnectionSettingError, PathError, ValueError) as error:
            raise _failure("write", binding, error) from error


def _failure(verb: str, binding: StorageBinding, error: Exception) -> FunctionFailedError:
    return FunctionFailedError(f"BindingError: cannot {verb} the {binding.kind} '{binding.parameter}': {reason(error)}")
