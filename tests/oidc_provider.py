"""A real OpenID Connect provider on this machine: discovery, keys, PKCE, codes that work once."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "lastgood", "between-the-two"


@cache
def key(name: str = "one") -> rsa.RSAPrivateKey:
    """A key pair; the one called "one" is the provider's."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@dataclass
class OidcProvider:
    """Lets `person` through at once, whoever asks.

    changed: what a test changes in the ID token before it is signed. signed: how it is signed.
    userinfo: what its endpoint says, beside the subject. away: paths that answer 500. odd: path ->
    (content type or none, body), where that is not what it should be.
    """

    url: str = ""
    person: dict[str, Any] = field(default_factory=dict)
    changed: Callable[[dict[str, Any]], dict[str, Any]] = lambda claims: claims
    signed: Callable[[dict[str, Any]], str] = lambda claims: sign(claims)
    userinfo: dict[str, Any] | None = None
    about: dict[str, Any] = field(default_factory=dict)
    away: set[str] = field(default_factory=set)
    odd: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def authorize(self, asked: dict[str, str]) -> str:
        """Where the browser is sent after signing in here."""
        if asked["client_id"] != CLIENT or asked["code_challenge_method"] != "S256":
            raise AssertionError(f"not as agreed: {asked}")
        code = secrets.token_hex(8)
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def walk(self, address: str) -> str:
        """What a browser does with an address of the authorization endpoint."""
        return self.authorize(dict(parse_qsl(urlsplit(address).query)))

    def discovery(self) -> dict[str, Any]:
        found = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        }
        if self.userinfo is not None:
            found["userinfo_endpoint"] = f"{self.url}/userinfo"
        return found | self.about

    def tokens(self, sent: dict[str, str]) -> tuple[int, dict[str, Any]]:
        asked = self.codes.pop(sent.get("code", ""), None)
        challenge = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
        same = base64.urlsafe_b64encode(challenge).rstrip(b"=").decode()
        if asked is None or same != asked["code_challenge"]:
            return 400, {"error": "invalid_grant"}
        if sent["client_secret"] != SECRET or sent["redirect_uri"] != asked["redirect_uri"]:
            return 401, {"error": "invalid_client"}
        now_s = int(time.time())
        claims = {
            "iss": self.url,
            "aud": CLIENT,
            "iat": now_s,
            "exp": now_s + 300,
            "nonce": asked["nonce"],
            "sub": "1",
            **self.person,
        }
        token = self.signed(self.changed(claims))
        return 200, {"access_token": "let-me-see", "token_type": "Bearer", "id_token": token}


def sign(claims: dict[str, Any], name: str = "one", **given: Any) -> str:
    """As the provider signs; name: with which key."""
    arguments = {"algorithm": "RS256", "headers": {"kid": "one"}, **given}
    return jwt.encode(claims, key(name), **arguments)


class _Handler(BaseHTTPRequestHandler):
    """The addresses of a provider; `state` is set by a subclass."""

    state: OidcProvider

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/authorize":
            return self._send(302, b"", Location=self.state.walk(self.path))
        answers = {
            "/.well-known/openid-configuration": self.state.discovery,
            "/keys": lambda: {"keys": [public("one")]},
            "/userinfo": self._userinfo,
        }
        return self._json(200, answers[path]())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self._json(*self.state.tokens(dict(parse_qsl(body))))

    def _userinfo(self) -> dict[str, Any]:
        if self.headers["Authorization"] != "Bearer let-me-see":
            raise AssertionError("userinfo without the access token")
        return {"sub": self.state.person.get("sub", "1"), **(self.state.userinfo or {})}

    def _json(self, status: int, value: dict[str, Any]) -> None:
        path = urlsplit(self.path).path
        kind, body = self.state.odd.get(path, ("application/json", json.dumps(value).encode()))
        typed = {"Content_Type": kind} if kind else {}
        self._send(500 if path in self.state.away else status, body, **typed)

    def _send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name.replace("_", "-"), text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def providing() -> Iterator[OidcProvider]:
    """A provider that runs."""
    state = OidcProvider()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"state": state}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def public(name: str) -> dict[str, Any]:
    """A key as the provider shows it."""
    shown = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key(name).public_key()))
    return {**shown, "kid": name, "use": "sig"}
