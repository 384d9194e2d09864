"""From envelopes to rows: decode, then one transaction for the whole group.

A body that cannot be read goes to quarantine with its reason and never blocks its neighbours; a
server that is away raises, so that the caller tries the whole group again.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import transaction

from apps.core import live
from apps.core.database import is_trouble
from apps.core.errors import AppError, BadPayload
from apps.ingest import entries, store, writes
from apps.ingest.checkpoints.parse import parse as parse_checkpoints
from apps.ingest.envelope import Envelope
from apps.ingest.inflate import InflateLimits, inflate
from apps.ingest.lines.columns import join as join_lines
from apps.ingest.lines.parse import parse as parse_lines
from apps.ingest.lines.write import write_entries
from apps.ingest.logs import write as log_bodies
from apps.ingest.metrics.parse import parse as parse_metrics
from apps.ingest.nodes.parse import parse as parse_nodes
from apps.ingest.packed import write as parcels
from apps.ingest.rows.parse import parse_body as open_rows
from apps.ingest.rows.write import write_rows
from apps.ingest.tensorboard.parse import parse_body as open_events
from apps.ingest.tensorboard.write import write_events
from apps.ingest.wandb import alerts as wandb_alerts
from apps.ingest.wandb import artifact_write
from apps.ingest.wandb.joining import join_records, join_streams
from apps.ingest.wandb.lines import parse_stream
from apps.ingest.wandb.parse import parse_body as open_wandb
from apps.ingest.wandb.write import write_stream
from apps.ingest.wandb.write_file import write_wandb
from apps.runs import contact_store
from apps.runs import store as runs

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Digested:
    """What a group of envelopes became. touched: (run_id, run_key, attempt) with new data."""

    touched: set[tuple[int, str, int]] = field(default_factory=set)
    written: int = 0
    duplicates: int = 0
    quarantined: int = 0


@dataclass(frozen=True, slots=True)
class Protocol:
    """parse: (body, envelope) -> batch, pure. write: (envelope, batch) -> Written.

    A batch may be a body that write() reads. join: (batch, the next one of the same sender) -> both
    as one, or None. numbered: what bodies hold has numbers, so that writing a part of it again does
    no harm.
    """

    parse: Callable[[bytes, Envelope], Any]
    write: Callable[[Envelope, Any], writes.Written]
    join: Callable[[Any, Any], Any] | None = None
    numbered: bool = True


class _WrittenBefore(AppError):
    """Of joined bodies without numbers one was written before: they must be written one by one."""


PROTOCOLS: dict[str, Protocol] = {
    "logs": Protocol(
        lambda body, env: log_bodies.as_received(env, body),
        log_bodies.write_logs,
        log_bodies.join,
        numbered=False,
    ),
    "packed": Protocol(
        lambda body, env: log_bodies.as_received(env, body),
        parcels.write_packed,
        parcels.join,
        numbered=False,
    ),
    "lines": Protocol(lambda body, _: parse_lines(body), write_entries, join_lines, numbered=False),
    "push": Protocol(
        lambda body, _: entries.unpack(body), write_entries, entries.join, numbered=False
    ),
    "wandb": Protocol(lambda body, _: open_wandb(body), write_wandb, join_records),
    "file_stream": Protocol(lambda body, _: parse_stream(body), write_stream, join_streams),
    wandb_alerts.ENDPOINT: Protocol(
        lambda body, env: wandb_alerts.parse_alert(body, env.received_ns), wandb_alerts.write_alert
    ),
    "tensorboard": Protocol(lambda body, _: open_events(body), write_events),
    "rows": Protocol(lambda body, _: open_rows(body), write_rows),
    artifact_write.ENDPOINT: Protocol(
        lambda body, _: artifact_write.parse_commit(body), artifact_write.write_artifact
    ),
    "metrics": Protocol(
        lambda body, env: parse_metrics(body, received_ns=env.received_ns), writes.write_metrics
    ),
    "checkpoints": Protocol(lambda body, _: parse_checkpoints(body), writes.write_checkpoints),
    "nodes": Protocol(lambda body, _: parse_nodes(body), writes.write_nodes),
}


def decode(envelope: Envelope) -> Any:
    """The parsed batch of an envelope; BadPayload says what is wrong with it."""
    limits = InflateLimits(settings.INGEST_MAX_INFLATED_BYTES, settings.INGEST_MAX_RATIO)
    body = inflate(envelope.body, envelope.encoding, limits)
    protocol = PROTOCOLS.get(envelope.endpoint)
    if protocol is None:
        raise BadPayload(f'unknown endpoint "{envelope.endpoint}"', where="envelope.endpoint")
    return protocol.parse(body, envelope)


def _decoded(envelope: Envelope) -> Any:
    """The batch, or the error that keeps it from being one. A parser's bug is such an error too."""
    try:
        return decode(envelope)
    except AppError as error:
        return error
    except Exception as error:
        log.exception("ingest.parser_failed", extra={"batch": envelope.batch_id})
        return BadPayload(
            f"the parser failed: {type(error).__name__}: {error}",
            where=envelope.endpoint,
            hint="this is a fault of Lastgood: report it with the downloaded body",
        )


def digest(envelopes: Sequence[Envelope], *, quarantine: bool = True) -> Digested:
    """Writes the envelopes in one transaction, each at most once, and tells open pages.

    quarantine=False raises BadPayload instead, for a sender that waits for the answer.
    Raises what `is_trouble` knows when Postgres is away or not migrated: nothing was written then.
    """
    result = Digested()
    with transaction.atomic():
        runs.lock_runs({envelope.run_id for envelope in envelopes})
        for joined, batch in _joined(_by_run(envelopes)):
            _note_contact(joined)
            for envelope, refusal in _refusals(joined, batch, result):
                _refuse(envelope, refusal, result, quarantine=quarantine)
    run_keys = {envelope.run_key for envelope in envelopes}
    transaction.on_commit(lambda: _tell(run_keys, result))  # of the caller, if it began one
    return result


def _tell(run_keys: Set[str], result: Digested) -> None:
    """Pages show what is durable before it is analysed, which may take its time."""
    written = {run_key for _, run_key, _ in result.touched}
    for run_key in run_keys:
        what = ("ingest", "metrics", "logs", "checkpoints") if run_key in written else ("ingest",)
        live.publish(run_key, step=None, what=what)


def _note_contact(joined: Sequence[Envelope]) -> None:
    """Whoever sends is in contact, also with what was sent before or cannot be read."""
    if joined[0].run_id:
        contact_store.note(joined[0].run_id, max(e.received_ns for e in joined))


def _refusals(
    joined: Sequence[Envelope], batch: Any, result: Digested
) -> Iterator[tuple[Envelope, AppError]]:
    """Writes a batch; what of it cannot be written. If the whole cannot, one after the other."""
    refusal = _taken(joined, batch, result)
    if refusal is None:
        return
    if len(joined) == 1:
        yield joined[0], refusal
        return
    log.warning("ingest.not_joined", extra={"reason": str(refusal)})
    for envelope in joined:
        yield from _refusals([envelope], _decoded(envelope), result)


def _by_run(envelopes: Sequence[Envelope]) -> list[Envelope]:
    """Those of a run side by side, in their order: between runs no order means anything."""
    first = {envelope.run_id: -at for at, envelope in enumerate(reversed(envelopes))}
    return sorted(envelopes, key=lambda envelope: first[envelope.run_id])


def _joined(envelopes: Sequence[Envelope]) -> Iterator[tuple[list[Envelope], Any]]:
    """Envelopes and what they say. Several of one sender that follow each other are one batch.

    Decoded one after the other: a group of large bodies would not fit into memory.
    """
    held: list[Envelope] = []
    whole: Any = None
    for envelope in envelopes:
        batch = _decoded(envelope)
        both = _both(held[-1], whole, envelope, batch) if held else None
        if both is None and held:
            yield held, whole
            held = []
        held, whole = [*held, envelope], batch if both is None else both
    if held:
        yield held, whole


def _both(before: Envelope, whole: Any, envelope: Envelope, batch: Any) -> Any:
    protocol = PROTOCOLS.get(envelope.endpoint)
    if protocol is None or protocol.join is None or _sender(before) != _sender(envelope):
        return None
    if isinstance(whole, AppError) or isinstance(batch, AppError):
        return None
    return protocol.join(whole, batch)


def _sender(envelope: Envelope) -> tuple[int, str, int | None, str]:
    return envelope.run_id, envelope.endpoint, envelope.attempt, envelope.writer


def _taken(envelopes: Sequence[Envelope], batch: Any, result: Digested) -> AppError | None:
    """Writes a batch, in a savepoint of its own; why not, if it cannot be written."""
    if isinstance(batch, AppError):
        return batch
    try:
        with transaction.atomic():
            _write(envelopes, batch, result)
    except AppError as error:
        return error
    except Exception as error:
        if is_trouble(error):
            raise
        log.exception("ingest.write_failed", extra={"batch": envelopes[0].batch_id})
        return BadPayload(f"could not be written: {type(error).__name__}: {error}")
    return None


def _refuse(envelope: Envelope, error: AppError, result: Digested, *, quarantine: bool) -> None:
    if not quarantine:
        raise error
    if store.quarantine(envelope, error):
        store.count(envelope.run_id, {"quarantined": 1})
        result.quarantined += 1
    log.warning("ingest.quarantined", extra={"batch": envelope.batch_id, "reason": str(error)})


def _write(envelopes: Sequence[Envelope], batch: Any, result: Digested) -> None:
    """Of joined bodies with numbers those that were written before do no harm."""
    first = envelopes[0]
    fresh = store.claim_batches(first.run_id, [envelope.batch_id for envelope in envelopes])
    repeated = len(envelopes) - len(fresh)
    if fresh and repeated and not PROTOCOLS[first.endpoint].numbered:
        raise _WrittenBefore("of joined bodies one was written before")
    attempts: Set[int] = frozenset()
    counts = Counter({"duplicate_batches": repeated})
    if fresh:
        written = PROTOCOLS[first.endpoint].write(first, batch)
        attempts = written.attempts
        store.mark_written(first.run_id, sorted(attempts))
        counts.update(written.counts)
    store.count(first.run_id, counts)
    result.touched |= {(first.run_id, first.run_key, number) for number in attempts}
    result.written += len(fresh)
    result.duplicates += repeated
