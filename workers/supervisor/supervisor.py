"""Start everything in order, stay in the foreground, stop everything in reverse order."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import signal
import sys
from collections.abc import Sequence

from apps.core.errors import AppError
from workers.embedded import rootless
from workers.supervisor import plan as planning
from workers.supervisor.child import ROOT, Child, World
from workers.supervisor.console import Console
from workers.supervisor.guarding import Guard
from workers.supervisor.home import Home
from workers.supervisor.plan import Plan
from workers.supervisor.spec import ChildSpec

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1


def run(extra: Sequence[ChildSpec] = (), notes: Sequence[str] = ()) -> int:
    """Run Lastgood until SIGINT, SIGTERM or SIGHUP; the process's exit status.

    extra: more children, started once the others are ready and stopped first. notes: lines to
    print below the ready line. Call from the main thread: children die with the thread that
    forked them. With LASTGOOD_DIE_WITH_PARENT=1 (set by make) the end of the parent stops it too.
    """
    _show_messages_of("workers.embedded")
    if os.environ.pop("LASTGOOD_DIE_WITH_PARENT", "") == "1" and sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    try:
        plan = planning.read(os.environ)
        return asyncio.run(_Supervisor(plan, extra, notes).run())
    except AppError as error:
        sys.stderr.write(f"{error}\n")
        return 1


class _Supervisor:
    def __init__(self, plan: Plan, extra: Sequence[ChildSpec], notes: Sequence[str]) -> None:
        self._plan = plan
        self._extra = extra
        self._notes = notes
        self._home = Home(plan.home)
        self._console = Console(self._home.log_dir)
        self._guard = Guard(self._home)
        self._world = World(self._console, self._guard, {})
        self._levels: list[list[Child]] = []

    async def run(self) -> int:
        """Own the home, run until a signal, leave nothing."""
        self._stop, self._hurry = asyncio.Event(), asyncio.Event()
        self._home.acquire(self._console.say)
        planning.refuse_taken_port(self._plan)
        for number in _STOP_SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, self._signalled)
        self._guard.start()
        starting = asyncio.create_task(self._start())
        stopping = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                starting.result()
                await stopping
        finally:
            starting.cancel()
            stopping.cancel()
            await self._end()
        return 0

    def _signalled(self) -> None:
        """First signal: stop in order. A later one: do not wait for graces."""
        if self._stop.is_set():
            self._hurry.set()
            return
        self._console.say("stopping (once more to hurry) ...")
        self._stop.set()

    async def _start(self) -> None:
        await self._start_level(self._plan.servers())
        self._announce_servers()
        await self._start_level([planning.migrate()])
        link = asyncio.create_task(self._login_link())
        try:
            await self._start_level(planning.services(self._plan))
            await self._start_level(self._extra)
            self._console.say(f"Lastgood is ready: {await link}")
        finally:
            await _drop(link)
        for note in self._notes:
            self._console.say(note)

    async def _start_level(self, specs: Sequence[ChildSpec]) -> None:
        """Start all, then wait until all are ready; the first failure ends the wait."""
        if not specs:
            return
        self._console.say(f"starting {', '.join(spec.name for spec in specs)}")
        level = [Child(spec, self._world) for spec in specs]
        self._levels.append(level)
        for child in level:
            child.start()
        await asyncio.gather(*(child.until_ready() for child in level))

    def _announce_servers(self) -> None:
        self._world.env.update(self._plan.environment())
        for password in self._plan.passwords():
            self._console.hide(password)
        self._home.publish(
            {
                "database_url": self._plan.database_url,
                "redis_url": self._plan.redis_url,
                "web_url": self._plan.web_url,
                "events_url": self._plan.events_url,
                "pid": os.getpid(),
            }
        )

    async def _login_link(self) -> str:
        """The one-time address that `manage.py login_link` prints."""
        argv = [*rootless.launcher(), *planning.manage("login_link")]
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, **self._world.env},
            cwd=ROOT,
            start_new_session=True,
        )
        try:
            out, err = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
        words = out.decode().split()
        if process.returncode != 0 or not words:
            raise AppError(f"no login link could be made:\n{err.decode(errors='replace')}")
        return words[-1]

    async def _end(self) -> None:
        for level in reversed(self._levels):
            await asyncio.gather(*(child.stop(hurry=self._hurry) for child in level))
        self._guard.dismiss()
        self._home.release()


def _show_messages_of(name: str) -> None:
    """Plain lines at the terminal, whatever logging Django has set up."""
    logger = logging.getLogger(name)
    logger.handlers = [logging.StreamHandler(sys.stdout)]
    logger.setLevel(logging.INFO)
    logger.propagate = False


async def _drop(task: asyncio.Task[str]) -> None:
    """End a side task whose result no longer matters; its failure is not shown."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()
