"""A folder of an S3-compatible bucket: LIST gives names, sizes and etags; bytes come in ranges.

No HEAD, no whole object, nothing is ever written.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from apps.checkpoints.domain.reading import Unreadable, Vanished
from apps.checkpoints.domain.tree import FileStat
from apps.checkpoints.storage.listing import Bounds, Listing, Taken, sayable
from apps.checkpoints.storage.pace import Pace
from apps.core.times import ns_of

if TYPE_CHECKING:
    from obstore.store import RetryConfig, S3Store

PAGE = 1_000
_PAST_END = "416 Range Not Satisfiable"
TIMEOUT = timedelta(seconds=20)
RETRIES: dict[str, Any] = {
    "max_retries": 3,
    "retry_timeout": timedelta(seconds=30),
    "backoff": {
        "init_backoff": timedelta(milliseconds=100),
        "max_backoff": timedelta(seconds=4),
        "base": 2,
    },
}


class BucketTrouble(OSError):
    """The bucket does not answer, or refuses."""


@dataclass(frozen=True, slots=True)
class S3Access:
    """How to reach a server; what is "" comes from AWS's variables or the machine's role."""

    endpoint: str = ""
    region: str = ""
    key_id: str = ""
    secret: str = ""


class S3Folder:
    """What lies in a bucket below a prefix, "" for all of it."""

    def __init__(
        self, bucket: str, prefix: str, access: S3Access, pace: Pace | None = None
    ) -> None:
        self._bucket = bucket
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._store = client(bucket, access)
        self._pace = pace or Pace(0)

    def listing(self, bounds: Bounds | None = None) -> Listing:
        """Everything below, in the order of the keys. Raises BucketTrouble, FileNotFoundError.

        An empty listing may be a prefix that does not exist: a bucket has no folders.
        """
        import obstore

        limits = bounds or Bounds()
        taken = Taken(limits, time.monotonic() + limits.seconds)
        with trouble(self._bucket, "list"), _odd_keys(taken):
            for page in obstore.list(self._store, self._prefix or None, chunk_size=PAGE):
                if not all(self._take(meta, taken) for meta in page):
                    break
        if taken.cut:
            _note_holes(taken)
        _drop_folder_marks(taken.files)
        return taken.listing()

    def read(self, name: str, start: int, length: int) -> bytes:
        """The bytes [start, start + length) of an object, fewer where it ends before.

        A negative start counts from the end. Raises Vanished, and Unreadable for other trouble.
        """
        if length <= 0:
            return b""
        self._pace.spend(length)
        try:
            return self._ranged(self._prefix + name, start, length)
        except FileNotFoundError as error:
            raise Vanished("the object is not there", where=name) from error
        except BucketTrouble as error:
            raise Unreadable(str(error), where=name) from error

    def _ranged(self, key: str, start: int, length: int) -> bytes:
        import obstore
        from obstore.exceptions import GenericError

        with trouble(self._bucket, f"read {key}"):
            try:
                if start >= 0:
                    return bytes(obstore.get_range(self._store, key, start=start, length=length))
                asked = obstore.get(self._store, key, options={"range": {"suffix": -start}})
                return bytes(asked.bytes())[:length]
            except GenericError as error:
                if _PAST_END not in str(error):
                    raise
                return b""

    def _take(self, meta: Any, taken: Taken) -> bool:
        """Takes one object in; False if the listing has to stop."""
        if taken.full(time.monotonic()):
            return False
        name = str(meta["path"])[len(self._prefix) :]
        if not name:
            return True
        if not sayable(name):
            taken.miss(name.rpartition("/")[0], name[:100], "its name is too long")
            return True
        made_ns = ns_of(meta["last_modified"])
        taken.files[name] = FileStat(int(meta["size"]), made_ns, etag=meta["e_tag"])
        return True


@contextmanager
def trouble(bucket: str, doing: str) -> Iterator[None]:
    """Raises BucketTrouble for what the client says, FileNotFoundError for what is not there."""
    from obstore.exceptions import BaseError

    try:
        yield
    except FileNotFoundError:
        raise
    except (BaseError, OSError) as error:
        # The first line only: the rest repeats the request.
        reason = str(error).strip().split("\n", 1)[0][:300]
        raise BucketTrouble(f"the bucket {bucket} fails ({doing}): {reason}") from error


@contextmanager
def _odd_keys(taken: Taken) -> Iterator[None]:
    """A key with an empty part ("a//b") ends the listing: the client library reads none of them."""
    from obstore.exceptions import InvalidPathError

    try:
        yield
    except InvalidPathError as error:
        reason = str(error).strip().split("\n", 1)[0][:300]
        taken.cut = f"the listing stopped at a key that cannot be read: {reason}"


def _note_holes(taken: Taken) -> None:
    """Keys come in order: what is missing may lie in any folder of the last one."""
    last = next(reversed(taken.files), "")
    for folder in (*_parents(last), ""):
        taken.miss(folder)


def _drop_folder_marks(files: dict[str, FileStat]) -> None:
    """Removes the empty objects by which some tools pretend that there are folders."""
    empty = [name for name, seen in files.items() if not seen.size]
    folders = {parent for name in files for parent in _parents(name)} if empty else set()
    for name in empty:
        if name in folders:
            del files[name]


def _parents(name: str) -> Iterator[str]:
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name


def client(bucket: str, access: S3Access) -> S3Store:
    """The client of one bucket; nothing is asked of it yet."""
    from obstore.store import S3Store

    given = {
        "endpoint": access.endpoint,
        "region": access.region,
        "access_key_id": access.key_id,
        "secret_access_key": access.secret,
    }
    options: dict[str, Any] = {name: value for name, value in given.items() if value}
    return S3Store(
        bucket,
        **options,
        virtual_hosted_style_request=False,
        client_options={"allow_http": access.endpoint.startswith("http://"), "timeout": TIMEOUT},
        retry_config=cast("RetryConfig", RETRIES),
    )
