"""The host that is asked: where it is, and what opens it. `python dev.py test --url URL` fills these variables."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

VARIABLES = {
    "url": "AGENTS_TEST_URL",
    "key": "AGENTS_TEST_KEY",
    "mcp_key": "AGENTS_TEST_MCP_KEY",
    "storage_log": "AGENTS_TEST_STORAGE_LOG",
    "kill": "AGENTS_TEST_KILL",
    "few": "AGENTS_TEST_FEW",
}


@dataclass(frozen=True)
class Target:
    """A running app; what is empty was not given. `kill` is a command that kills its worker, `storage_log` a file.

    With `few` the figures are taken of a few turns: it is the suite that is tried then, and not the host.
    """

    url: str
    key: str
    mcp_key: str
    storage_log: str
    kill: str
    few: str

    @property
    def headers(self) -> dict[str, str]:
        return {"x-functions-key": self.key} if self.key else {}

    @property
    def mcp_headers(self) -> dict[str, str]:
        return {"x-functions-key": self.mcp_key} if self.mcp_key else {}


def target_from(environ: Mapping[str, str]) -> Target | None:
    """The host that the environment names, or None."""
    given = {name: environ.get(variable, "").strip() for name, variable in VARIABLES.items()}
    return Target(**{**given, "url": given["url"].rstrip("/").removesuffix("/api")}) if given["url"] else None


TARGET = target_from(os.environ)
