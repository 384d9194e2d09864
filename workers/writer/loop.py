"""The stream consumer: read, write in one transaction, acknowledge, analyse, tell open pages."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass

import redis
from django.db import InterfaceError, OperationalError, close_old_connections

from apps.core.clock import now_ns
from apps.core.errors import AppError, BadPayload
from apps.ingest import analyse, stream
from apps.ingest.digest import Digested, digest
from apps.ingest.envelope import Envelope, unpack
from apps.ingest.poison import park

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WriterPolicy:
    """count: entries a transaction. block_ms: how long to wait for the first.

    idle_ms: after this silence another writer's entries are taken over.
    max_deliveries: an entry handed out more often kills writers and is parked.
    """

    count: int = 64
    block_ms: int = 500
    idle_ms: int = 30_000
    max_deliveries: int = 5
    retry_s: float = 1.0


class Writer:
    """One consumer of the group. Give it a name that survives restarts."""

    def __init__(self, name: str, policy: WriterPolicy | None = None) -> None:
        self.name = name
        self.policy = policy or WriterPolicy()
        self.stopping = threading.Event()

    def run(self) -> None:
        """Works until `stopping` is set; waits out a Postgres or Valkey that is away."""
        while not self.stopping.is_set():
            try:
                stream.make_group()
                self._drain_own()
                while not self.stopping.is_set():
                    self.step()
            except (OperationalError, InterfaceError, redis.RedisError) as error:
                log.warning("writer.waits_for_server", extra={"reason": str(error)[:200]})
                close_old_connections()
                self.stopping.wait(self.policy.retry_s)

    def step(self) -> int:
        """One round; the number of entries handled."""
        if stream.claim_abandoned(self.name, self.policy.count, self.policy.idle_ms):
            self._drain_own()
        entries = stream.read_new(self.name, self.policy.count, self.policy.block_ms)
        self.handle(entries)
        self.analyse_due()
        return len(entries)

    def _drain_own(self) -> None:
        """Entries this name was handed before it died.

        Once more together; if that fails too, one by one, since one of them may be the killer.
        """
        while entries := stream.read_own(self.name, self.policy.count):
            suspicious = any(entry.deliveries > 2 for entry in entries)
            for group in [[entry] for entry in entries] if suspicious else [entries]:
                self.handle(group)

    def handle(self, entries: list[stream.Entry]) -> Digested:
        """Writes and acknowledges the entries, then analyses what they touched."""
        envelopes: list[Envelope] = []
        for entry in entries:
            try:
                envelope = unpack(entry.data)
            except BadPayload as error:
                park(entry, error)
                continue
            if entry.deliveries > self.policy.max_deliveries:
                park(entry, _deadly(entry), envelope)
                continue
            envelopes.append(envelope)
        result = digest(envelopes)
        stream.done(entries)
        self._after(result)
        return result

    def _after(self, result: Digested) -> None:
        for run_id, key, attempt in sorted(result.touched):
            analyse.bring_up_to_date(run_id, key, attempt)

    def analyse_due(self) -> None:
        """Attempts that asked to be looked at again, or whose writer died before analysing."""
        for run_id, key, attempt in analyse.due(now_ns()):
            analyse.bring_up_to_date(run_id, key, attempt)


def _deadly(entry: stream.Entry) -> AppError:
    return BadPayload(
        f"handed out {entry.deliveries} times without being written",
        where="stream entry",
        hint="it seems to kill the writer: report it with the downloaded body",
    )
