"""An S3-compatible bucket: put, read ranges, delete, list. Nothing of the tables is known here.

Every trouble is BucketAway: the writer waits for the bucket as it waits for Postgres, whatever the
reason is (away, full, wrong key, no such bucket): none of them is the fault of what is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from django.conf import settings
from django.db import OperationalError

if TYPE_CHECKING:
    from obstore.store import S3Store

TIMEOUT = timedelta(seconds=20)
RETRIES = {
    "max_retries": 4,
    "retry_timeout": timedelta(seconds=30),
    "backoff": {
        "init_backoff": timedelta(milliseconds=100),
        "max_backoff": timedelta(seconds=4),
        "base": 2,
    },
}
LISTED = 1_000


class BucketAway(OperationalError):
    """The bucket does not take or give objects. One of SERVER_TROUBLE: waiting may help."""


class ObjectGone(Exception):
    """The bucket answers that it has no such object."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One object of a listing. made_at: when it was written, by the clock of the bucket."""

    key: str
    size_bytes: int
    made_at: datetime


def bucket() -> Bucket | None:
    """The bucket of the settings; None if bodies are kept in Postgres."""
    name = settings.LOGS_BUCKET
    return _bucket(name, settings.LOGS_BUCKET_URL) if name else None


@lru_cache(maxsize=2)
def _bucket(name: str, endpoint: str) -> Bucket:
    return Bucket(name, endpoint)


class Bucket:
    """Objects of one bucket, below a prefix: `name` or `name/prefix`. Thread safe.

    Tries again with growing pauses for RETRIES; then BucketAway.
    """

    def __init__(self, name: str, endpoint: str = "") -> None:
        self.name, _, prefix = name.removeprefix("s3://").partition("/")
        self.prefix = prefix.strip("/") + "/" if prefix.strip("/") else ""
        self._endpoint = endpoint
        self._made: S3Store | None = None

    @property
    def _store(self) -> S3Store:
        """Made at the first use: its threads do not outlive a fork."""
        if self._made is None:
            from obstore.store import S3Store

            self._made = S3Store(self.name, **_options(self._endpoint))
        return self._made

    def put(self, key: str, data: bytes) -> None:
        """Writes an object; it is durable when this returns."""
        import obstore

        with self._trouble(f"put {key}"):
            obstore.put(self._store, self.prefix + key, data)

    def ranges(self, key: str, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """(start, length) -> bytes of one object; neighbouring spans in one request.

        Raises ObjectGone.
        """
        import obstore

        starts, lengths = [start for start, _ in spans], [length for _, length in spans]
        with self._trouble(f"get {key}"):
            try:
                found = obstore.get_ranges(
                    self._store, self.prefix + key, starts=starts, lengths=lengths
                )
            except FileNotFoundError as error:
                raise ObjectGone(key) from error
        return [bytes(part) for part in found]

    def delete(self, keys: Sequence[str]) -> None:
        """Removes objects; those that are not there are fine."""
        import obstore

        with self._trouble("delete"):
            for key in keys:
                try:
                    obstore.delete(self._store, self.prefix + key)
                except FileNotFoundError:
                    continue

    def below(self, folder: str) -> Iterator[list[Listed]]:
        """Objects whose key starts with `folder`/, LISTED at a time."""
        import obstore

        with self._trouble(f"list {folder}"):
            pages = obstore.list(self._store, self.prefix + folder, chunk_size=LISTED)
            for page in pages:
                yield [_listed(meta, len(self.prefix)) for meta in page]

    def check(self) -> None:
        """Writes and removes a small object: raises BucketAway if that is not possible."""
        key = f"check/{uuid4().hex}"
        self.put(key, b"lastgood")
        self.delete([key])

    @contextmanager
    def _trouble(self, doing: str) -> Iterator[None]:
        from obstore.exceptions import BaseError

        try:
            yield
        except ObjectGone:
            raise
        except (BaseError, OSError) as error:
            # The first line only: the rest repeats the request, and it is shown on pages.
            reason = str(error).strip().split("\n", 1)[0][:300]
            raise BucketAway(f"the log bucket {self.name} fails ({doing}): {reason}") from error


def _options(endpoint: str) -> dict[str, Any]:
    """What is unset comes from the usual AWS variables, or the machine's role."""
    given = {
        "endpoint": endpoint,
        "region": settings.LOGS_BUCKET_REGION,
        "access_key_id": settings.LOGS_BUCKET_KEY_ID,
        "secret_access_key": settings.LOGS_BUCKET_SECRET,
    }
    return {
        **{name: value for name, value in given.items() if value},
        # One request an object: not every server knows the other way.
        "disable_bulk_delete": True,
        "virtual_hosted_style_request": False,
        "client_options": {"allow_http": endpoint.startswith("http://"), "timeout": TIMEOUT},
        "retry_config": RETRIES,
    }


def _listed(meta: Any, prefix: int) -> Listed:
    return Listed(meta["path"][prefix:], meta["size"], meta["last_modified"])
