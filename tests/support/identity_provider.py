"""An identity provider of ours that speaks as Entra ID does: key set, metadata, on-behalf-of and client tokens.

It checks what Entra checks: the app's own proof, and the signature, audience, issuer, tenant and life of the caller's
token. It listens on the loopback, with TLS for MSAL, which takes nothing else, and without it for the key set.
"""

from __future__ import annotations

import datetime
import ipaddress
import json
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

TENANT = "11111111-1111-4111-8111-111111111111"
OTHER_TENANT = "22222222-2222-4222-8222-222222222222"
APP = "33333333-3333-4333-8333-333333333333"
ADA = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"
BOB = "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb"
GRAPH = "https://graph.example"
PROOF = "the.app.itself"
_ALGORITHM = "RS256"
_HEADER = {"kid": "first", "note": "canary-of-tokens"}
Spoil = Callable[[dict[str, Any]], Any]
"""Changes an answer of the token endpoint, or returns another one: bytes, an HTTP status, or None for no answer."""


class IdentityProvider:
    """One provider. `canary` is a part of each of its tokens: whoever keeps a token keeps that.

    `asked` has each form that the token endpoint took, `elsewhere` what was sent to another place, and `identities`
    what the endpoint of managed identities was. `spoil` changes what
    it answers.
    """

    def __init__(self, folder: Path) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.asked: list[Mapping[str, str]] = []
        self.elsewhere: list[str] = []
        self.identities: list[str] = []
        self.spoil: Spoil = dict
        self.seconds = 3600
        self.canary = jwt.encode({}, self.key, _ALGORITHM, _HEADER).partition(".")[0]
        self.certificate = folder / "provider.pem"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(_certificate(self.certificate))
        self._tls, self._plain = (ThreadingHTTPServer(("127.0.0.1", 0), self._handler()) for _ in range(2))
        self._tls.socket = context.wrap_socket(self._tls.socket, server_side=True)
        self.authority = f"https://127.0.0.1:{self._tls.server_port}"
        self.issuer = f"{self.authority}/{TENANT}/v2.0"
        self.managed_identity = f"http://127.0.0.1:{self._plain.server_port}/msi"
        self.keys = f"http://127.0.0.1:{self._plain.server_port}/keys"
        for server in (self._tls, self._plain):
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """End both listeners."""
        for server in (self._tls, self._plain):
            server.shutdown()
            server.server_close()

    def token(self, user: str = ADA, *, key: Any = None, **claims: Any) -> str:
        """Return a token of the user for the app; a claim of None is left out."""
        now = int(time.time())
        filled: dict[str, Any] = {
            "iss": self.issuer,
            "aud": APP,
            "tid": TENANT,
            "oid": user,
            "sub": f"of-{user}",
            "iat": now,
            "nbf": now,
            "exp": now + self.seconds,
            "name": user[:3],
            **claims,
        }
        present = {name: value for name, value in filled.items() if value is not None}
        return jwt.encode(present, key or self.key, _ALGORITHM, _HEADER)

    def user_of(self, token: str, audience: str = GRAPH) -> str:
        """Return the user or the app of a token that another service takes, as that service reads it."""
        claims = jwt.decode(token, self.key.public_key(), [_ALGORITHM], audience=audience, issuer=self.issuer)
        return str(claims.get("oid") or claims["azp"])

    def exchanged(self, form: Mapping[str, str]) -> dict[str, Any]:
        """Return the token endpoint's answer to a form."""
        if form.get("client_id") != APP or form.get("client_assertion") != PROOF:
            return _refusal("invalid_client", "AADSTS700213: no federated identity")
        audiences = [scope.removesuffix("/.default") for scope in form["scope"].split() if scope.endswith("/.default")]
        if form["grant_type"] == "client_credentials":
            return self._given(audiences[0], {"azp": APP, "oid": None, "sub": APP})
        if form.get("requested_token_use") != "on_behalf_of":
            return _refusal("unsupported_grant_type", "AADSTS70003: only on behalf of users")
        try:
            caller = jwt.decode(
                form["assertion"],
                self.key.public_key(),
                [_ALGORITHM],
                audience=APP,
                issuer=self.issuer,
                options={"require": ["exp", "nbf", "tid", "oid"]},
            )
        except jwt.PyJWTError as error:
            return _refusal("invalid_grant", f"AADSTS500133: {type(error).__name__} {form['assertion']}")
        if caller["tid"] != TENANT:
            return _refusal("invalid_grant", "AADSTS50013: another tenant")
        answer = self._given(audiences[0], {"oid": caller["oid"], "sub": caller["sub"]})
        return {**answer, "id_token": self.token(caller["oid"], sub=caller["sub"])}

    def _given(self, audience: str, claims: Mapping[str, Any]) -> dict[str, Any]:
        token = self.token(**{"aud": audience, **claims})
        return {"token_type": "Bearer", "access_token": token, "expires_in": self.seconds, "refresh_token": token}

    def _metadata(self) -> dict[str, Any]:
        endpoints = {
            f"{name}_endpoint": f"{self.authority}/{TENANT}/oauth2/v2.0/{name}" for name in ("token", "authorize")
        }
        endpoints["authorization_endpoint"] = endpoints.pop("authorize_endpoint")
        return {"issuer": self.issuer, "jwks_uri": self.keys, **endpoints}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path == "/keys":
                    jwk = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(provider.key.public_key()))
                    self._send({"keys": [{**jwk, "kid": "first", "use": "sig"}]})
                elif self.path.startswith("/msi?"):
                    provider.identities.append(f"{self.path} {self.headers['x-identity-header']}")
                    proof = {"access_token": PROOF, "expires_on": str(int(time.time()) + 3600), "token_type": "Bearer"}
                    self._send(provider.spoil(proof))
                elif self.path == "/elsewhere":
                    provider.elsewhere.append(self.path)
                    self._send(provider.exchanged(provider.asked[-1]))
                else:
                    self._send(provider._metadata())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                if not self.path.endswith("/oauth2/v2.0/token"):
                    provider.elsewhere.append(body)
                    self._send({})
                    return
                form = {name: values[0] for name, values in parse_qs(body).items()}
                provider.asked.append(form)
                self._send(provider.spoil(provider.exchanged(form)))

            def _send(self, answer: Any) -> None:
                if answer is None:
                    self.close_connection = True
                    return
                status, body = (answer, b"{}") if isinstance(answer, int) else (200, answer)
                if isinstance(body, dict):
                    status, body = (400 if "error" in body else 200), json.dumps(body).encode()
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("location", f"{provider.authority}/elsewhere")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        return Handler


def _refusal(error: str, description: str) -> dict[str, Any]:
    return {"error": error, "error_description": description, "suberror": "bad_token"}


def _certificate(path: Path) -> Path:
    """Write a key with its own certificate for the loopback; return the path."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "identity provider of the tests")])
    now = datetime.datetime.now(datetime.UTC)
    alternative = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(alternative, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(secret + certificate.public_bytes(Encoding.PEM))
    return path
