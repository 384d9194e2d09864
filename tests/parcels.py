"""Parcels of log bytes, as the agent makes them."""

import orjson

from apps.ingest.packed.parse import parse
from tests.log_samples import SEEN_NS
from workers.tailer import parcels
from workers.tailer.frames import Content

SOURCE = "job_1/attempt_0/0/stderr.log"
LINES = b"".join(
    b"2026-11-29 19:46:%02d.%03d [INFO] [rank0] step %d local_loss=%d.5\n" % (n % 60, n, n, n)
    for n in range(40)
)


def segment(data, *, source=SOURCE, offset=0, **more):
    """How a piece of a file is described."""
    return {
        "source": source,
        "channel": "stderr",
        "local_rank": 0,
        "offset": offset,
        "bytes": len(data),
        "seen_ns": SEEN_NS,
        **more,
    }


def content(*pieces, **more):
    """A body of raw bytes. pieces: (description, bytes)."""
    header = {"v": 1, "attempt": 0, "node": "gpu-a01", "time_shift_ns": 0, **more}
    header["segments"] = [described for described, _ in pieces]
    data = [data for _, data in pieces]
    return Content("logs", header, data, sum(one.count(b"\n") for one in data))


def body_of(content):
    """The bytes of a body, before compression."""
    return orjson.dumps(content.header) + b"\n" + b"".join(content.data)


def packed(*pieces, before=None, **more):
    """The body of the parcel of these pieces."""
    read = parcels.read(content(*pieces, **more), before or [b""] * len(pieces))
    assert read.content is not None
    return body_of(read.content)


def changed(body, **header):
    """The body with another header."""
    line, _, rest = body.partition(b"\n")
    return orjson.dumps(orjson.loads(line) | header) + b"\n" + rest


def opened(*pieces, **more):
    """What the server makes of a parcel of these pieces."""
    return parse(packed(*pieces, **more))
