"""One child: start it, see it ready, start it again when it crashes, stop it."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from apps.core.errors import AppError
from workers.embedded import rootless
from workers.supervisor.console import Console, LogPump
from workers.supervisor.guarding import Guard
from workers.supervisor.spec import ChildSpec

ROOT = Path(__file__).resolve().parents[2]
_POLL_S = 0.15
_FIRST_PAUSE_S, _LONGEST_PAUSE_S, _STEADY_S = 0.5, 30.0, 60.0
_TRIES = 3
_REPEAT_S = 15.0


@dataclass(frozen=True, slots=True)
class World:
    """What all children share. env may grow between levels."""

    console: Console
    guard: Guard
    env: dict[str, str]


class Child:
    """The life of one ChildSpec; start() and stop() from the main thread's event loop."""

    def __init__(self, spec: ChildSpec, world: World) -> None:
        self.spec = spec
        self._world = world
        self._stopping = asyncio.Event()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._process: asyncio.subprocess.Process | None = None
        self._pump = LogPump(world.console, spec.name, self._saw)
        self._keeper: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin; returns at once."""
        self._keeper = asyncio.create_task(self._keep(), name=self.spec.name)

    async def until_ready(self) -> None:
        """Return when it is ready; AppError with the end of its log if it cannot start."""
        await asyncio.shield(self._ready)

    async def stop(self, *, hurry: asyncio.Event) -> None:
        """Stop signal, then SIGKILL after the grace, or at once when `hurry` is set.

        A server is never hurried: its flush is what makes the next start quick.
        """
        self._stopping.set()
        if self._keeper is None:
            return
        if self.spec.server is not None:
            hurry = asyncio.Event()
        self._send(self.spec.stop_signal)
        waiting = asyncio.create_task(hurry.wait())
        await asyncio.wait(
            {self._keeper, waiting},
            timeout=self.spec.grace_s,
            return_when=asyncio.FIRST_COMPLETED,
        )
        waiting.cancel()
        self._send(signal.SIGKILL)
        await asyncio.wait({self._keeper})
        if self._ready.done() and not self._ready.cancelled():
            self._ready.exception()  # seen; else asyncio complains about it

    def _send(self, number: int) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)

    async def _keep(self) -> None:
        pause_s, tries = _FIRST_PAUSE_S, 0
        while not self._stopping.is_set():
            began = time.monotonic()
            how = await self._run_once()
            if self._stopping.is_set() or self._over(how):
                return
            tries += 1
            if not self._ready.done() and (tries >= _TRIES or not self.spec.restart):
                self._fail(how)
                return
            if not self.spec.restart:
                self._world.console.say(f"{self.spec.name} {how}")
                return
            if time.monotonic() - began > _STEADY_S:
                pause_s = _FIRST_PAUSE_S
            self._world.console.say(f"{self.spec.name} {how}; starting it again in {pause_s:g} s")
            await _sleep(pause_s, unless=self._stopping)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)

    def _over(self, how: str) -> bool:
        """Whether a one-shot child has done its work."""
        if not self.spec.once:
            return False
        if how == "ended":
            self._become_ready()
        else:
            self._fail(how)
        return True

    async def _run_once(self) -> str:
        """Run to its end; says how it ended in words."""
        try:
            argv = self._argv()
        except AppError as error:
            return f"cannot start: {error}"
        process = await self._spawn(argv)
        self._process = process
        self._world.guard.add(process.pid, self.spec.grace_s)
        watch = asyncio.create_task(self._watch())
        code = await process.wait()
        watch.cancel()
        _sweep(process.pid)
        self._pump.echo = False
        self._pump.close()
        self._world.guard.remove(process.pid)
        if code < 0:
            return f"was killed by {signal.Signals(-code).name}"
        return f"ended with status {code}" if code else "ended"

    def _argv(self) -> Sequence[str]:
        if self.spec.server is not None:
            self.spec.server.prepare()
            return self.spec.server.command()
        head = rootless.launcher(death_signal=self.spec.stop_signal)
        return [*head, *self.spec.argv]

    async def _spawn(self, argv: Sequence[str]) -> asyncio.subprocess.Process:
        write_end = self._pump.open()
        try:
            return await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=write_end,
                stderr=write_end,
                env=self._environment(),
                cwd=ROOT,
                start_new_session=True,
            )
        finally:
            os.close(write_end)

    def _environment(self) -> Mapping[str, str]:
        return {**os.environ, **self._world.env, **self.spec.env, "PYTHONUNBUFFERED": "1"}

    async def _watch(self) -> None:
        """Ask the probe until it is content, telling the person about long waits."""
        probe = self.spec.ready
        began = said_at = time.monotonic()
        said = ""
        while probe is not None and (reason := await asyncio.to_thread(probe)) is not None:
            now = time.monotonic()
            waited_s = now - began
            new = "recovering" in reason and reason != said
            if new or (now - said_at > _REPEAT_S):
                self._world.console.say(f"{self.spec.name}: {reason} ... ({waited_s:.0f} s)")
                said, said_at = reason, now
            await asyncio.sleep(_POLL_S)
        if not self.spec.once and not (probe is None and self.spec.ready_line):
            self._become_ready()

    def _saw(self, line: bytes) -> None:
        if self.spec.ready_line and self.spec.ready_line.encode() in line:
            self._become_ready()

    def _become_ready(self) -> None:
        self._pump.echo = not self._stopping.is_set()
        if not self._ready.done():
            self._ready.set_result(None)

    def _fail(self, how: str) -> None:
        tail = self._pump.tail()
        if not self._ready.done():
            self._ready.set_exception(AppError(f"{self.spec.name} {how}\n{tail}".rstrip()))


def _sweep(leader: int) -> None:
    """Kill what a dead child left in its process group (a pool, a server's workers)."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


async def _sleep(seconds: float, *, unless: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(unless.wait(), seconds)
    except TimeoutError:
        pass
