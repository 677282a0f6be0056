"""Webhooks: the addresses that an app notifies of the ends of its runs, and their signatures.

Theory. A caller may name the address, so it must lead nowhere inside the network. Its text is checked here, at the
border and once more before each sending: https, a host with a name and a dot. What the name means is only known when it
is resolved; `client.py` checks that, and connects to nothing else. AGENT_WEBHOOK_HOSTS names the hosts to which none
of this applies. Signatures are those of Standard Webhooks (standardwebhooks.com), one for each secret.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field

from hosting.errors import ConfigurationError
from hosting.settings import SettingsPart

SECRET = "AGENT_WEBHOOK_SECRET"
HOSTS = "AGENT_WEBHOOK_HOSTS"
LONGEST_URL = 2048

_PREFIX = "whsec_"
_SECRET_BYTES = range(24, 65)
"""The lengths that the specification allows."""

_LABEL = "[A-Za-z0-9-]{1,63}"
_NAMED = rf"(?:{_LABEL}\.){{1,8}}[A-Za-z][A-Za-z0-9-]{{0,62}}"
"""A host with a dot, whose last label begins with a letter, so never an address in digits."""

_PORT = "[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]"
_IN_PATH = "(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*"
_IN_QUERY = "(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*"
_BEHIND_HOST = rf"(?::(?:{_PORT}))?(?:/{_IN_PATH}(?:\?{_IN_QUERY})?(?:#{_IN_QUERY})?)?"
_HOST = r"[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]"
"""A host in an address: a name, or digits."""

_URL = re.compile(rf"(?:(https://{_NAMED})|https?://({_HOST})){_BEHIND_HOST}")
_NOT_IN_ADDRESSES = '"<>[]\\^`{|}'
_IN_PATTERNS = str.maketrans({".": r"\.", "[": r"\[", "]": r"\]"})


class WebhookSettings(SettingsPart):
    """The settings of webhooks."""

    webhook_secret: str = Field("", pattern=r"^\s*(whsec_[A-Za-z0-9+/]{32,88}={0,2}\s*)+$", repr=False)
    """What webhooks are signed with: 'whsec_' and the base64 of 24 to 64 random bytes; several with blanks, the
    newest first. Without one the app sends none."""

    webhook_hosts: str = Field("", pattern=rf"^\s*({_HOST})(\s*,\s*({_HOST}))*\s*$")
    """Hosts within the network, with commas, that webhooks may be sent to, also over http."""


@dataclass(frozen=True)
class WebhookRules:
    """Which webhooks an app takes, and the secrets that it signs with: the first is the newest."""

    secrets: tuple[bytes, ...] = field(repr=False)
    hosts: tuple[str, ...]

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of an address."""
        allowed = "".join(f"|https?://{host.translate(_IN_PATTERNS)}" for host in self.hosts)
        pattern = f"^(?:https://{_NAMED}{allowed}){_BEHIND_HOST}$"
        return {"type": "string", "format": "uri", "maxLength": LONGEST_URL, "pattern": pattern}

    def refusal(self, url: str) -> str | None:
        """Return why an address is refused, as a sentence; None if it is accepted."""
        match = _URL.fullmatch(url) if len(url) <= LONGEST_URL else None
        if match is not None and (match[1] or match[2].lower() in self.hosts):
            return None
        return f"The webhook {url[:80]!r} is refused. {_advice(url)}"

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
    hosts = tuple(host.strip().lower() for host in settings.webhook_hosts.split(",") if host.strip())
    return WebhookRules(secrets, hosts) if secrets else None


def _advice(url: str) -> str:
    """Return what to do about a refused address."""
    authority, _, behind = url.partition("://")[2].partition("/")
    if len(url) > LONGEST_URL:
        return f"It has {len(url):,} characters. Name one of at most {LONGEST_URL:,}."
    if not url.isascii():
        return "Write its host as xn--..., and the other characters that are not ASCII as %..."
    if any(sign in behind for sign in _NOT_IN_ADDRESSES):
        return "Write each of " + " ".join(_NOT_IN_ADDRESSES) + " as %..., such as %5B."
    if "@" in authority:
        return "Leave out the user before the host: the signature names the sender."
    if "?" in authority or "#" in authority:
        return "Write a / after the host."
    _, colon, port = authority.rpartition(":")
    if colon and port.isdecimal() and not 1 <= int(port) <= 65535:
        return "Name a port from 1 to 65535."
    return f"Name an https address at a host with a name and a dot; {HOSTS} names other hosts."


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
