"""What is meant for a developer's machine is refused in production, by a sentence that says what to set instead.

Run logs that production cannot use are refused where they are chosen, in `runlog.choice`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hosting.errors import ConfigurationError
from hosting.process.host_json import host_value
from hosting.settings import Settings
from hosting.surroundings import is_production

ATTRIBUTE = "ONLY_FOR_DEVELOPMENT"
"""Of an agent or its client: a sentence that says what to set for one that may be deployed."""

_MCP_LEVEL = ("extensions", "mcp", "system", "webhookAuthorizationLevel")


@dataclass(frozen=True)
class Safeguards:
    """What an app may not be where it runs; each check raises `ConfigurationError`, and none does in development."""

    is_production: bool
    allows_anonymous: bool
    mcp_level: str

    def check_http(self, *, is_anonymous: bool) -> None:
        """Refuse HTTP routes that ask for no key, unless `AGENT_ANONYMOUS` says that this is meant."""
        if is_anonymous:
            self._refuse_anonymous("http_auth_level of AgentFunctionApp")

    def check_agent(self, agent: object, name: str, *, is_tool: bool) -> None:
        """Refuse an agent that is, or whose client is, for development only, and a tool that asks for no key."""
        for declaring in (agent, getattr(agent, "client", None)):
            advice = getattr(declaring, ATTRIBUTE, None)
            if advice and self.is_production:
                raise ConfigurationError(
                    f"Agent {name!r} uses {type(declaring).__name__}, which is not for production. {advice}"
                )
        if is_tool and self.mcp_level.lower() == "anonymous":
            self._refuse_anonymous(f"{'.'.join(_MCP_LEVEL)} in host.json")

    def _refuse_anonymous(self, door: str) -> None:
        if self.is_production and not self.allows_anonymous:
            raise ConfigurationError(
                f"{door} is Anonymous: whoever finds the app may use its agents and read their threads. Ask for keys, "
                "or set AGENT_ANONYMOUS to 'allow' if this is meant."
            )


def safeguards_of(settings: Settings, folder: Path, environ: Mapping[str, str]) -> Safeguards:
    """Return the safeguards of the app in `folder`; raises `ConfigurationError` for a host.json that is not JSON."""
    return Safeguards(
        is_production=is_production(environ),
        allows_anonymous=settings.anonymous == "allow",
        mcp_level=str(host_value(folder, environ, *_MCP_LEVEL)),
    )
