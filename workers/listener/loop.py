"""Everything that the file of sources names, at once; one that fails holds up no other."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from django.db import connections

from apps.core.clock import now_ns
from apps.core.database import SERVER_TROUBLE
from apps.core.errors import AppError
from apps.ingest.nodes import status
from apps.ingest.nodes.parse import NodeBatch
from apps.ingest.nodes.sources import MAX_FILE_BYTES, Source, read
from apps.ingest.nodes.status import Status
from workers.listener import scraping
from workers.listener.cluster import WATCH_S, cluster_of
from workers.listener.taking import Taker
from workers.listener.watching import Watch

log = logging.getLogger(__name__)
T = TypeVar("T")
LOOK_EVERY_S: Final = 5.0
"""How often the file is looked at."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0


class Listener:
    """Listens until `stopping` is set. What blocks runs in one thread, in order."""

    def __init__(self, path: Path, stopping: threading.Event) -> None:
        self.path, self.stopping = path, stopping
        self._taker = Taker()
        self._lanes = scraping.Lanes()
        self._thread = ThreadPoolExecutor(1, "taker")

    def run(self) -> None:
        """AppError if the file cannot be read at the start; later the old one goes on."""
        sources = load(self.path)
        with self._thread:
            asyncio.run(self._all(sources))

    async def _all(self, sources: tuple[Source, ...]) -> None:
        while not self.stopping.is_set():
            await self._in_thread(status.forget_all_but, [one.name for one in sources])
            tasks = [asyncio.create_task(self._one(one, sources)) for one in sources]
            try:
                sources = await self._changed(sources)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _changed(self, sources: tuple[Source, ...]) -> tuple[Source, ...]:
        """The file, once it says something else or the listener is to stop."""
        said = ""
        while not self.stopping.is_set():
            await asyncio.sleep(min(LOOK_EVERY_S, 0.2) if said == "" else LOOK_EVERY_S)
            try:
                if (found := load(self.path)) != sources:
                    return found
                said = "good"
            except AppError as error:
                if str(error) != said:
                    log.error("listener.file_unread", extra={"reason": str(error)})
                said = str(error)
        return sources

    async def _one(self, source: Source, sources: tuple[Source, ...]) -> None:
        if source.kind != "kubernetes":
            await self._forever(source, partial(self._scrape, source), source.every_s)
            return
        told = Told(source)
        only = sum(one.kind == "kubernetes" for one in sources) == 1
        try:
            cluster = cluster_of(source)
        except AppError as error:
            await self._in_thread(told.failed, "", error)
            return
        spaces = source.namespaces or [""]
        parts = [("nodes", ""), *((what, one) for what in ("pods", "events") for one in spaces)]
        watches = [
            Watch(source.name, cluster, what, self._taker, told.heard, self._in_thread, one, only)
            for what, one in parts
        ]
        told.parts = len(watches)
        async with asyncio.TaskGroup() as group:
            for watch in watches:
                group.create_task(self._forever(source, watch.round, 0.0, told, watch.path))

    async def _forever(
        self,
        source: Source,
        once: Callable[[], Any],
        every_s: float,
        told: Told | None = None,
        part: str = "",
    ) -> None:
        """Round after round; pauses grow while rounds fail."""
        pause_s = FIRST_PAUSE_S
        while True:
            began = time.monotonic()
            try:
                await once()
                pause_s = FIRST_PAUSE_S
                if told is not None:
                    await self._in_thread(told.well, part)
                await asyncio.sleep(max(every_s - (time.monotonic() - began), 0.05))
                continue
            except (AppError, *SERVER_TROUBLE) as error:
                log.warning("listener.waits", extra={"source": source.name, "reason": str(error)})
                if told is not None:
                    await self._in_thread(told.failed, part, error)
            except Exception:
                log.exception("listener.failed", extra={"source": source.name})
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _scrape(self, source: Source) -> None:
        before = {one.name: one for one in await self._in_thread(status.statuses)}
        turn = scraping.Turn(source, self._taker, before.get(source.name))
        await scraping.ask(source, self._lanes, partial(self._in_thread, turn.take))
        await self._in_thread(status.save, turn.status())

    async def _in_thread(self, work: Callable[..., T], *args: Any) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, partial(_closing, work, *args))


class Told:
    """How a cluster fares: its watches put together."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.parts = 1
        self._heard_ns = next((s.heard_ns for s in status.statuses() if s.name == source.name), 0)
        self._told = 0
        self._left_out: Counter[str] = Counter()
        self._errors: dict[str, str] = {}

    def heard(self, told: int, batch: NodeBatch) -> None:
        """A watch has said something."""
        self._heard_ns = now_ns()
        self._told += told
        self._left_out.update(batch.left_out)
        self._save()

    def well(self, part: str) -> None:
        """A watch ended in the usual way."""
        self._errors.pop(part, None)
        self._heard_ns = now_ns()
        self._save()

    def failed(self, part: str, error: Exception) -> None:
        """A watch or its list failed."""
        self._errors[part] = str(error)[:300]
        self._save()

    def _save(self) -> None:
        first = next((f"{at} {why}".strip() for at, why in self._errors.items()), "")
        left_out = {why: count for why, count in self._left_out.items() if count}
        status.save(Status(
            name=self._source.name, kind="kubernetes", tried_ns=now_ns(), heard_ns=self._heard_ns,
            silent_after_s=WATCH_S + 60.0, targets=self.parts, failing=len(self._errors),
            error=first, told=self._told, left_out=left_out,
        ))  # fmt: skip


def load(path: Path) -> tuple[Source, ...]:
    """The sources of the file. AppError if it cannot be read or says what it may not."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise AppError(f"more than {MAX_FILE_BYTES} bytes", where=str(path))
        return read(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise AppError(f"cannot be read: {error}", where="NODE_SOURCES") from error


def _closing(work: Callable[..., T], *args: Any) -> T:
    """A connection that lies idle between rounds is given back."""
    try:
        return work(*args)
    finally:
        connections.close_all()
