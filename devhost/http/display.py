"""Routes as people and tools are shown them."""

from __future__ import annotations

import re

from devhost.bindings import HttpTrigger
from devhost.http.routes import full_route

_CONSTRAINTS = re.compile(r"\{(\*{0,2}[^:=?{}]+)(?::(?:\{\{|\}\}|[^{}])*?)?(=[^{}?]*)?(\??)\}")


def displayed_route(trigger: HttpTrigger, prefix: str) -> str:
    """Return the full route without its constraints: `api/items/{id?}` for `items/{id:int?}`."""
    return _CONSTRAINTS.sub(r"{\1\2\3}", full_route(trigger, prefix))
