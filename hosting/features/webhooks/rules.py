"""Webhooks: the addresses that an app notifies of the ends of its runs, and their signatures.

Theory. A caller may name the address, so it must lead nowhere inside the network (`hosting.outside`). Its text is
checked at the border and once more before each sending; what its name means, by `client.py`. AGENT_WEBHOOK_HOSTS names
the hosts to which none of this applies. Signatures are those of Standard Webhooks (standardwebhooks.com), one for each
secret.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field

from hosting.errors import ConfigurationError
from hosting.outside import HOST_LIST, LONGEST_URL, address_pattern, advice_about, hosts_of, is_allowed_address
from hosting.settings import SettingsPart

SECRET = "AGENT_WEBHOOK_SECRET"
HOSTS = "AGENT_WEBHOOK_HOSTS"

_PREFIX = "whsec_"
_SECRET_BYTES = range(24, 65)
"""The lengths that the specification allows."""


class WebhookSettings(SettingsPart):
    """The settings of webhooks."""

    webhook_secret: str = Field("", pattern=r"^\s*(whsec_[A-Za-z0-9+/]{32,88}={0,2}\s*)+$", repr=False)
    """What webhooks are signed with: 'whsec_' and the base64 of 24 to 64 random bytes; several with blanks, the
    newest first. Without one the app sends none."""

    webhook_hosts: str = Field("", pattern=HOST_LIST)
    """Hosts within the network, with commas, that webhooks may be sent to, also over http."""


@dataclass(frozen=True)
class WebhookRules:
    """Which webhooks an app takes, and the secrets that it signs with: the first is the newest."""

    secrets: tuple[bytes, ...] = field(repr=False)
    hosts: tuple[str, ...]

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of an address."""
        pattern = address_pattern(self.hosts)
        return {"type": "string", "format": "uri", "maxLength": LONGEST_URL, "pattern": pattern}

    def refusal(self, url: str) -> str | None:
        """Return why an address is refused, as a sentence; None if it is accepted."""
        if is_allowed_address(url, self.hosts):
            return None
        return f"The webhook {url[:80]!r} is refused. {advice_about(url, HOSTS)}"

    def signature(self, message_id: str, timestamp: int, body: bytes) -> str:
        """Return the header `webhook-signature`, by every secret."""
        signed = f"{message_id}.{timestamp}.".encode() + body
        digests = (hmac.new(secret, signed, hashlib.sha256).digest() for secret in self.secrets)
        return " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in digests)


def webhook_rules(settings: WebhookSettings) -> WebhookRules | None:
    """Return the rules of an app, None for an app without a secret, which sends no webhooks.

    Raises `ConfigurationError`, which never has any of a secret in it.
    """
    secrets = tuple(_secret(number, text) for number, text in enumerate(settings.webhook_secret.split(), 1))
    return WebhookRules(secrets, hosts_of(settings.webhook_hosts)) if secrets else None


def _secret(number: int, text: str) -> bytes:
    try:
        secret = base64.b64decode(text.removeprefix(_PREFIX), validate=True)
    except binascii.Error:
        secret = b""
    if len(secret) not in _SECRET_BYTES:
        raise ConfigurationError(f"Secret {number} of {SECRET} is not base64 of 24 to 64 bytes. Create a new one.")
    return secret


def check_webhook(agent: str, url: str | None, rules: WebhookRules | None) -> None:
    """Raise `ConfigurationError` for the webhook of an agent that cannot be sent to."""
    if url is not None and rules is None:
        raise ConfigurationError(
            f"Agent {agent!r} has a webhook and no secret to sign with. Set {SECRET} (docs/guides/notifications.md)."
        )
    if url is not None and rules is not None and (refusal := rules.refusal(str(url))) is not None:
        raise ConfigurationError(f"Agent {agent!r}: {refusal}")
