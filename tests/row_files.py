"""Bodies with rows of JSON-lines, CSV and trainer_state files."""

import orjson

SEEN_NS = 1_795_982_000_000_000_000


def rows_body(rows, *, first=0, **changes):
    """rows: dicts (JSON) or texts. The body that the agent would post."""
    records = [row.encode() if isinstance(row, str) else orjson.dumps(row) + b"\n" for row in rows]
    header = {
        "v": 1, "attempt": 0, "file": "metrics.jsonl", "part": "0.a", "first": first,
        "seen_ns": SEEN_NS, "format": "jsonl", "lengths": [len(record) for record in records],
    } | changes  # fmt: skip
    return orjson.dumps(header) + b"\n" + b"".join(records)
