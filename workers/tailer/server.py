"""What the agent says to the server over HTTP, and what the answers mean."""

from __future__ import annotations

import email.utils
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from urllib.parse import quote, urlsplit

import httpx
import orjson

LONGEST_WAIT_S = 300.0
_LOCAL = {"127.0.0.1", "localhost", "::1"}
# Not about this batch: the token or the moment is wrong, so the batch waits.
_WAIT = {401, 403, 408, 425, 429}


class Verdict(Enum):
    """taken: the server has it. later: send the same again. never: it will not be accepted."""

    TAKEN = "taken"
    LATER = "later"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Answer:
    """status: 0 if there was no answer. wait_s: what Retry-After asks for."""

    verdict: Verdict
    status: int
    message: str
    wait_s: float | None = None
    body: Mapping[str, object] | None = None


@cache
def authorities() -> ssl.SSLContext:
    """Whom to trust: certifi's authorities, or those of SSL_CERT_FILE. It takes 50 ms, once."""
    return httpx.create_ssl_context()


class Server:
    """One server and one token. Not for use by two threads at a time."""

    def __init__(self, url: str, token: str, timeout_s: float) -> None:
        self._client = httpx.Client(
            base_url=url,
            timeout=timeout_s,
            verify=authorities(),
            trust_env=not is_local(url),
            headers={"Authorization": f"Bearer {token}", "User-Agent": "lastgood-agent"},
        )

    def send(self, path: str, batch_id: str, body: bytes) -> Answer:
        """Post one compressed batch."""
        headers = {
            "X-Batch-Id": batch_id,
            "Content-Encoding": "zstd",
            "Content-Type": "application/octet-stream",
        }
        return self._post(path, body, headers)

    def register(self, run: str, launch: Mapping[str, object]) -> Answer:
        """Register a start; the body of a good answer has its attempt number."""
        headers = {"Content-Type": "application/json"}
        return self._post(
            f"/api/v1/runs/{quote(run, safe='')}/launches", orjson.dumps(launch), headers
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _post(self, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        try:
            response = self._client.post(path, content=body, headers=dict(headers))
        except httpx.HTTPError as error:
            return Answer(Verdict.LATER, 0, f"{type(error).__name__}: {error}")
        return answer_of(response)


def is_local(url: str) -> bool:
    """Whether an address is of this machine: no proxy stands between."""
    return urlsplit(url).hostname in _LOCAL


def answer_of(response: httpx.Response) -> Answer:
    """What an answer means for what was sent."""
    status = response.status_code
    if response.is_success:
        return Answer(Verdict.TAKEN, status, "", body=_object(response))
    never = 400 <= status < 500 and status not in _WAIT
    verdict = Verdict.NEVER if never else Verdict.LATER
    return Answer(verdict, status, _message(response), _retry_after_s(response))


def _object(response: httpx.Response) -> Mapping[str, object]:
    try:
        found = orjson.loads(response.content)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _message(response: httpx.Response) -> str:
    """The server's own words, also if a proxy answered."""
    said = _object(response)
    words = [str(said[name]) for name in ("error", "where", "hint") if said.get(name)]
    return "; ".join(words) or response.text[:300] or response.reason_phrase


def _retry_after_s(response: httpx.Response) -> float | None:
    """Retry-After in seconds, given as a number or as a date."""
    value = response.headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return min(float(value), LONGEST_WAIT_S)
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    return min(max(0.0, moment.timestamp() - time.time()), LONGEST_WAIT_S)
