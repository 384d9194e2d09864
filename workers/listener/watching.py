"""A watch of one resource: list once, then hear every change; after a gap list again."""

from __future__ import annotations

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
    _listed: set[str] = field(default_factory=set)

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
        the next round hears again. A version that the server has forgotten lists everything again.
        """
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
