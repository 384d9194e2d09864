"""Is a web server ready?"""

from __future__ import annotations

import http.client
import os

_TIMEOUT_S = 5.0


def http_ok(address: str, port: int, path: str) -> str | None:
    """None once GET `path` answers 200, else what it does instead.

    Sends a Host that ALLOWED_HOSTS lets in.
    """
    host = (os.environ.get("ALLOWED_HOSTS") or address).split(",")[0].strip().lstrip(".")
    link = http.client.HTTPConnection(address, port, timeout=_TIMEOUT_S)
    try:
        link.request("GET", path, headers={"Host": address if host == "*" else host})
        status = link.getresponse().status
    except (OSError, http.client.HTTPException):
        return "does not answer yet"
    finally:
        link.close()
    return None if status == http.client.OK else f"answers {status} at {path}"
