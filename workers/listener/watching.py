"""A watch of one resource: list, then hear every change; list again after a gap, and now and then
because a gap need not be said: a proxy or a cache may lose changes in silence."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.ingest.kubernetes.node import SOURCE
from apps.ingest.kubernetes.parse import parse
from apps.ingest.nodes import status
from apps.ingest.nodes.parse import NodeBatch, Sender
from apps.nodes import conditions_store
from apps.nodes.domain.conditions import Look
from workers.listener.cluster import Cluster
from workers.listener.fetching import Unreached
from workers.listener.taking import Taker

GONE: Final = 410
LIST_EVERY_S: Final = 1_800.0
"""Give or take a fifth, so that the watches of a cluster do not list all at once."""
PARAMS: Final = {"nodes": {}, "pods": {}, "events": {"fieldSelector": "type!=Normal"}}
"""Resource -> what is asked for beside it: most events tell of the usual course of things."""


class Gone(AppError):
    """The server has forgotten the version: everything has to be listed again."""


class _Meta(msgspec.Struct, frozen=True):
    resourceVersion: str = ""


class _Object(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()
    code: int = 0
    message: str = ""


class _Line(msgspec.Struct, frozen=True):
    type: str
    object: _Object = _Object()


@dataclass(slots=True)
class Watch:
    """One resource of a cluster. space: of the objects, "" for all. only: whether no other source
    tells of nodes of Kubernetes, so that what a list does not name is gone. heard: is told after
    each answer what became of it: events and changed looks, and what was left out."""

    name: str
    cluster: Cluster
    resource: str
    taker: Taker
    heard: Callable[[int, NodeBatch], None]
    run: Callable[..., Any]
    space: str = ""
    only: bool = True
    list_every_s: float = LIST_EVERY_S
    _listed: set[str] = field(default_factory=set)
    _list_at_s: float = field(init=False)

    def __post_init__(self) -> None:
        self._list_at_s = self._later_s()

    def _later_s(self) -> float:
        return time.monotonic() + self.list_every_s * random.uniform(0.8, 1.2)  # noqa: S311

    @property
    def path(self) -> str:
        """Where the API has it."""
        space = f"/namespaces/{self.space}" if self.space else ""
        return f"/api/v1{space}/{self.resource}"

    @property
    def _place(self) -> str:
        return f"{self.resource}/{self.space}"

    async def round(self) -> None:
        """From where the last round stopped until the server ends the watch.

        Unreached if it cannot be reached; services.Refused if what it said cannot be kept, which
        the next round hears again. A version that the server has forgotten lists everything again,
        and so does every half hour: what was heard already is not taken twice.
        """
        version = ""
        if time.monotonic() < self._list_at_s:
            version = await self.run(status.version, self.name, self._place)
        try:
            version = version or await self._list()
            async for lines in self.cluster.watch(self.path, PARAMS[self.resource], version):
                version = _version(lines) or version
                await self.run(self._take, b"\n".join(lines))
                await self.run(status.save_version, self.name, self._place, version)
        except (Gone, Unreached) as error:
            if isinstance(error, Unreached) and error.status != GONE:
                raise
            await self.run(status.save_version, self.name, self._place, "")

    async def _list(self) -> str:
        self._listed.clear()
        more = ""
        while True:
            page = await self.cluster.page(self.path, PARAMS[self.resource], more)
            await self.run(self._take, page.body)
            more = page.more
            if not more:
                break
        if self.resource == "nodes" and self.only:
            await self.run(self._end_missing)
        await self.run(status.save_version, self.name, self._place, page.version)
        self._list_at_s = self._later_s()
        return page.version

    def _take(self, body: bytes) -> None:
        batch = parse(body, Sender("", now_ns()))
        self._listed.update(look.node for look in batch.looks)
        self.heard(self.taker.take(self.name, batch), batch)

    def _end_missing(self) -> None:
        """What is held of nodes that are no longer there is over."""
        at_ns = now_ns()
        missing = sorted(conditions_store.nodes_of(SOURCE) - self._listed)
        looks = tuple(Look(SOURCE, node, at_ns, (), whole=True) for node in missing)
        self.taker.take(self.name, NodeBatch((), {}, looks))


def _version(lines: Sequence[bytes]) -> str:
    """The version of the last line; Gone or Unreached if the server ends with an error."""
    version = ""
    for line in lines:
        try:
            said = msgspec.json.decode(line, type=_Line)
        except (msgspec.DecodeError, RecursionError) as error:
            raise Unreached(f"the watch said what is no event: {error}") from error
        if said.type == "ERROR":
            if said.object.code == GONE:
                raise Gone(said.object.message)
            raise Unreached(f"the watch ended: {said.object.code} {said.object.message}"[:300])
        version = said.object.metadata.resourceVersion or version
    return version
