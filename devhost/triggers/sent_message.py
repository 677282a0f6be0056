"""One message that is sent by hand, and the values that a binding makes of it."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import SimpleNamespace

from azure.functions.meta import Datum

_numbers = itertools.count(int(time.time() * 1000))
"""Sequence numbers, which go on behind those of an earlier host."""


class SendError(Exception):
    """A message that the function's binding never brings; the message is a sentence."""


@dataclass(frozen=True)
class SentMessage:
    """What was sent. `metadata` are members of the binding's message, by names whose case does not count."""

    body: str
    metadata: Mapping[str, str]
    session: str | None
    sent: datetime

    def next_number(self) -> int:
        """Return a sequence number above all earlier ones."""
        return next(_numbers)

    @property
    def moment(self) -> str:
        """The time of sending, as metadata has it."""
        return self.sent.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def over(self, members: Mapping[str, object]) -> tuple[dict[str, object], dict[str, str]]:
        """Return the members with those of the metadata in their place, and the metadata that are none of them."""
        values, rest = dict(members), {}
        spelled = {name.lower(): name for name in members}
        for name, text in self.metadata.items():
            member = spelled.get(name.lower())
            if member is None:
                rest[name] = text
            else:
                values[member] = _as(members[member], name, text)
        return values, rest


def _as(default: object, name: str, text: str) -> object:
    """Return the text as a whole number where the member is one."""
    if not isinstance(default, int):
        return text
    try:
        return int(text)
    except ValueError:
        raise SendError(f"--metadata {name} must be a whole number, but is {text!r}.") from None


@dataclass(frozen=True)
class TriggerValue:
    """What a trigger brings: its data and its members."""

    datum: Datum
    members: Mapping[str, Datum]


def data_of(members: Mapping[str, object]) -> dict[str, Datum]:
    """Return members as the host sends them: texts as they are, others as JSON, those that are None not at all."""
    return {
        name: Datum(value, "string") if isinstance(value, str) else Datum(json.dumps(value), "json")
        for name, value in members.items()
        if value is not None
    }


def batch_of(bodies: Iterable[str]) -> Datum:
    """Return the data of a trigger with cardinality many."""
    return Datum(SimpleNamespace(string=list(bodies)), "collection_string")
