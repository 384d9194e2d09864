"""What was heard goes the way of every body: through the stream, durable before it counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apps.accounts.records import SYSTEM
from apps.core.clock import now_ns
from apps.ingest import services
from apps.ingest.envelope import Envelope, batch_id
from apps.ingest.nodes.parse import NodeBatch, pack
from apps.nodes.domain.conditions import Look

ENDPOINT = "nodes"
MAX_READINGS = 20_000
"""Of one body: the writer takes it in a few hundred milliseconds."""
MAX_LOOKS = 2_000
MAX_REMEMBERED = 200_000


class Taker:
    """Takes batches. A look that says what the last one of its node said is not sent again, nor is
    an event: gpud tells those of an hour at each turn."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, str, str], int] = {}
        self._told: set[int] = set()

    def take(self, name: str, batch: NodeBatch) -> int:
        """How many new events and changed looks were taken of the source `name`.

        Raises services.Refused if the stream is full or away; then nothing is remembered, and the
        next look says it again.
        """
        news = [look for look in batch.looks if self._said.get(_key(name, look)) != _hash(look)]
        events = {hash((name, one)): one for one in batch.events}
        new = {number: one for number, one in events.items() if number not in self._told}
        if new or any(batch.left_out.values()):
            _send(NodeBatch(tuple(new.values()), batch.left_out))
            if len(self._told) > MAX_REMEMBERED:
                self._told.clear()
            self._told.update(new)
        for part in _parts(news):
            _send(NodeBatch((), {}, tuple(part)))
            if len(self._said) > MAX_REMEMBERED:
                self._said.clear()
            self._said.update((_key(name, look), _hash(look)) for look in part)
        return len(new) + len(news)


def _key(name: str, look: Look) -> tuple[str, str, str]:
    return name, look.source, look.node


def _hash(look: Look) -> int:
    return hash((look.readings, look.whole))


def _parts(looks: Sequence[Look]) -> Iterator[list[Look]]:
    part: list[Look] = []
    size = 0
    for look in looks:
        if part and (len(part) >= MAX_LOOKS or size + len(look.readings) > MAX_READINGS):
            yield part
            part, size = [], 0
        part.append(look)
        size += len(look.readings)
    if part:
        yield part


def _send(batch: NodeBatch) -> None:
    body, at_ns = pack(batch), now_ns()
    envelope = Envelope(
        version=1,
        batch_id=batch_id(None, endpoint=ENDPOINT, run_key=str(at_ns), body=body),
        endpoint=ENDPOINT,
        encoding="identity",
        run_id=0,
        run_key="",
        token="listener",  # noqa: S106 - a name for people
        received_ns=at_ns,
        body=body,
    )
    services.accept(envelope, sender=SYSTEM)
