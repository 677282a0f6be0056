"""What a request may carry beside its body, said once for those who read it and for the OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hosting.identity import id_pattern

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Parameter:
    """A named value in a request's path, query or headers; `schema` is the JSON Schema of what is taken."""

    name: str
    place: Literal["path", "query", "header"]
    says: str
    schema: Schema = field(hash=False)

    @property
    def is_required(self) -> bool:
        """Only what the path is made of must be given."""
        return self.place == "path"


_ID: Schema = {"type": "string", "pattern": f"^{id_pattern()}$"}
THREAD_IN_PATH = Parameter("thread_id", "path", "The thread.", _ID)
RUN_IN_PATH = Parameter("run_id", "path", "The run.", _ID)
APPROVAL_IN_PATH = Parameter("approval_id", "path", "The approval.", _ID)
