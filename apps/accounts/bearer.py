"""The secret in an Authorization header, in the two forms that programs can be told to send."""

from __future__ import annotations

import base64


def secret_in(header: str) -> str:
    """The token of `Bearer TOKEN`, or of `Basic` with the token as password; "" if there is none.

    What log shippers, Grafana and the `wandb` client are set up with is a name and a password: the
    name means nothing here.
    """
    scheme, _, rest = header.strip().partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip()
    if scheme.lower() != "basic":
        return ""
    try:
        _, _, secret = base64.b64decode(rest, validate=False).decode().partition(":")
    except ValueError:
        return ""
    return secret.strip()
