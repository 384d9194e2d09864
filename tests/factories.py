"""The smallest valid objects, as plain functions."""

from __future__ import annotations

from typing import Any

import orjson

from apps.ingest.envelope import Envelope, batch_id

T0_NS = 1_795_981_200_000_000_000
STEP_NS = 400_000_000


def metric_body(
    losses: dict[int, Any], *, attempt: int | None = 0, rank: int | None = None, t0_ns: int = T0_NS
) -> bytes:
    """A metrics body: step -> loss. Strings such as "NaN" stay as they are."""
    rows = [
        {"step": step, "time_ns": t0_ns + step * STEP_NS, "rank": rank,
         "values": {"train/loss": loss}}
        for step, loss in losses.items()
    ]  # fmt: skip
    return orjson.dumps({"attempt": attempt, "rows": rows})


def log_body(
    text: bytes,
    *,
    offset: int = 0,
    source: str = "run_x/attempt_0/0/stderr.log",
    local_rank: int | None = 0,
    node: str = "gpu-a01",
    attempt: int = 0,
    channel: str = "stderr",
    **said: Any,
) -> bytes:
    """A logs body with one segment; said: its further fields."""
    segment = {
        "source": source,
        "channel": channel,
        "local_rank": local_rank,
        "offset": offset,
        "bytes": len(text),
        "seen_ns": T0_NS,
    } | said
    header = {"v": 1, "attempt": attempt, "node": node, "segments": [segment]}
    return orjson.dumps(header) + b"\n" + text


def envelope(
    endpoint: str, body: bytes, *, run_id: int, run_key: str = "r", **given: Any
) -> Envelope:
    """An accepted request."""
    made = batch_id(given.pop("batch", None), endpoint=endpoint, run_key=run_key, body=body)
    return Envelope(
        version=1,
        batch_id=made,
        endpoint=endpoint,
        encoding=given.pop("encoding", "identity"),
        run_id=run_id,
        run_key=run_key,
        token="test",
        received_ns=T0_NS,
        body=body,
    )
