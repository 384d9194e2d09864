"""The stream consumer: read, write in one transaction, acknowledge, analyse, tell open pages."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import redis
from django.conf import settings
from django.db import connection

from apps.core import valkey
from apps.core.clock import now_ns
from apps.core.database import SERVER_TROUBLE, migrations_missing, schema_as_trouble
from apps.core.errors import AppError, BadPayload
from apps.ingest import analyse, store, stream
from apps.ingest.digest import Digested, digest
from apps.ingest.envelope import Envelope, unpack
from apps.ingest.pace import Pace
from apps.ingest.poison import park
from apps.logs.store import check_bucket

log = logging.getLogger(__name__)
ENVELOPE_BYTES = 4 << 10
"""What an entry is larger than its body, at most."""


@dataclass(frozen=True, slots=True)
class WriterPolicy:
    """count: entries read at once. read_bytes: of them, unless one is larger. group_bytes: the
    same of a transaction. Both bound memory, and count compressed bytes. block_ms: how long to
    wait for the first entry.

    rest_s: pause after a round, in which further bodies gather to be written in one transaction
    with the statements of one. A `wandb` client posts every 15 s and a page asks at most once a
    second: nobody waits for it. None after a round that was full, since the next one waits
    already, nor while more than rest_bytes wait.

    idle_ms: after this silence another writer's entries are taken over.
    max_deliveries: an entry handed out more often kills writers and is parked.
    """

    count: int = 256
    read_bytes: int = 32 << 20
    group_bytes: int = 16 << 20
    block_ms: int = 500
    rest_s: float = 0.5
    rest_bytes: int = 16 << 20
    idle_ms: int = 30_000
    max_deliveries: int = 5
    retry_s: float = 1.0


class Writer:
    """One consumer of the group. Give it a name that survives restarts."""

    def __init__(self, name: str, policy: WriterPolicy | None = None) -> None:
        self.name = name
        self.policy = policy or WriterPolicy()
        self.stopping = threading.Event()
        self.pace = Pace()

    def run(self) -> None:
        """Works until `stopping` is set; waits out a Postgres, Valkey or bucket that is away."""
        while not self.stopping.is_set():
            try:
                with schema_as_trouble():
                    self._work()
            except (*SERVER_TROUBLE, redis.RedisError) as error:
                log.warning("writer.waits_for_server", extra={"reason": str(error)[:200]})
                self._wait_for_servers()

    def _work(self) -> None:
        stream.make_group()
        self.drain_own()
        while not self.stopping.is_set():
            handled = self.step()
            drained = 0 < handled < self.policy.count
            if drained and stream.held_bytes() < self.policy.rest_bytes:
                self.stopping.wait(self.policy.rest_s)

    def _wait_for_servers(self) -> None:
        """Returns when all servers work again and the schema is as new as this code.

        An outage is one delivery, however long it is.
        """
        while not self.stopping.wait(self.policy.retry_s):
            connection.close()
            try:
                if migrations_missing():
                    continue
                # A write: a full or read-only server answers questions.
                store.count(0, {"server_outages": 1})
                valkey.client().ping()
                check_bucket()
            except (*SERVER_TROUBLE, redis.RedisError):
                continue
            return

    def step(self) -> int:
        """One round; the number of entries handled."""
        if stream.claim_abandoned(self.name, self.policy.count, self.policy.idle_ms):
            self.drain_own()
        entries = stream.read_new(self.name, self._limits(), self.policy.block_ms)
        for group in self._groups(entries):
            self.handle(group)
        self.analyse_due()
        return len(entries)

    def drain_own(self) -> None:
        """Entries this name was handed before it died.

        Once more together; if that fails too, one by one, since one of them may be the killer.
        Only what is tried counts as delivered: the killer must not take the others with it.
        """
        while deliveries := stream.pending(self.name, self.policy.count):
            alone = any(times > 1 for times in deliveries.values())
            size = 1 if alone else max(1, self._limits().at_once(stream.held_bytes()))
            tried = dict(islice(deliveries.items(), size))
            for group in self._groups(stream.take(self.name, tried)):
                self.handle(group)

    def _limits(self) -> stream.ReadLimits:
        largest = settings.INGEST_MAX_BODY_BYTES + ENVELOPE_BYTES
        most = max(self.policy.read_bytes, largest)
        return stream.ReadLimits(self.policy.count, most, largest)

    def _groups(self, entries: list[stream.Entry]) -> Iterator[list[stream.Entry]]:
        """The entries in order, cut where group_bytes is reached."""
        group: list[stream.Entry] = []
        size = 0
        for entry in entries:
            if group and size + len(entry.data) > self.policy.group_bytes:
                yield group
                group, size = [], 0
            group.append(entry)
            size += len(entry.data)
        if group:
            yield group

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
        analyse.bring_all_up_to_date(sorted(result.touched), self.pace)
        return result

    def analyse_due(self) -> None:
        """Attempts that asked to be looked at again, or whose writer died before analysing."""
        analyse.bring_all_up_to_date(analyse.due(now_ns()), self.pace)


def _deadly(entry: stream.Entry) -> AppError:
    return BadPayload(
        f"handed out {entry.deliveries} times without being written",
        where="stream entry",
        hint="it seems to kill the writer: report it with the downloaded body",
    )
