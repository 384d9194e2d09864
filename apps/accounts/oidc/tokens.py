"""ID tokens: who signed what for whom, and until when."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jwt

ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
"""With a key of the provider's own. Neither "none" nor HS256, whose key would be our secret."""
MAX_SUBJECT = 255
LEEWAY_S = 60
"""How far the clocks of provider and server may be apart."""


class BadToken(Exception):
    """A token that does not fit."""


class OtherClock(BadToken):
    """A token of another time: it has expired, or begins later."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a token has to say."""

    issuer: str
    client_id: str
    nonce: str


def opened(token: str, keys: Mapping[str, Any], expected: Expected) -> dict[str, Any]:
    """The claims of a token that is signed, current, and meant for this sign-in.

    keys: the provider's JSON Web Key Set. Raises BadToken. Source: OpenID Connect Core, 3.1.3.7;
    the signature counts even where the token came straight from the provider.
    """
    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            _key(token, keys),
            algorithms=ALGORITHMS,
            audience=expected.client_id,
            issuer=expected.issuer,
            leeway=LEEWAY_S,
            options={"require": ["iss", "sub", "aud", "exp", "iat"]},
        )
    except (jwt.ExpiredSignatureError, jwt.ImmatureSignatureError) as error:
        raise OtherClock(str(error)) from error
    except jwt.PyJWTError as error:
        raise BadToken(str(error)) from error
    if claims.get("azp", expected.client_id) != expected.client_id:
        raise BadToken("it was made for another client")
    if not hmac.compare_digest(str(claims.get("nonce")).encode(), expected.nonce.encode()):
        raise BadToken("it was made for another sign-in")
    if not (0 < len(claims["sub"]) <= MAX_SUBJECT and claims["sub"].isprintable()):
        raise BadToken("its subject is none")
    return claims


def _key(token: str, keys: Mapping[str, Any]) -> jwt.PyJWK:
    """The key that the token names; of a single one, no name is needed. Raises PyJWTError."""
    name = jwt.get_unverified_header(token).get("kid")
    known = jwt.PyJWKSet.from_dict(dict(keys)).keys
    fitting = [key for key in known if key.key_id == name or (name is None and len(known) == 1)]
    if not fitting:
        raise jwt.InvalidKeyError("the provider has no such key")
    return fitting[0]
