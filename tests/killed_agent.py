"""Agents in processes of their own that die by SIGKILL, at a chosen step or from outside."""

import multiprocessing
import os
import random
import signal
from dataclasses import replace
from pathlib import Path

import httpx

from tests.agents import append
from workers.tailer.agent import Agent
from workers.tailer.server import authorities

authorities()

_processes = multiprocessing.get_context("forkserver")
# What an agent loads when it first needs it, is loaded once for all: it takes longer than its work.
_processes.set_forkserver_preload(["tests.killed_agent", "workers.tailer.parcels", "httpcore"])


class _Fuse:
    """Kills this process before step number `steps`; a step is a call of a burning function."""

    def __init__(self, steps):
        self.steps = steps

    def burn(self, owner, name):
        real = getattr(owner, name)

        def counted(*args, **options):
            self.steps -= 1
            if self.steps < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **options)

        setattr(owner, name, counted)


def _run(settings, steps):
    fuse = _Fuse(steps)
    fuse.burn(os, "fsync")
    fuse.burn(Path, "replace")
    fuse.burn(Path, "unlink")
    fuse.burn(httpx.Client, "post")
    Agent(settings).run()


def start(settings, steps=10**9):
    """An agent in its own process."""
    process = _processes.Process(target=_run, args=(settings, steps))
    process.start()
    return process


def kill_at_each_step(settings, path, pieces):
    """One agent per piece of the file, each killed one step later than the one before.

    Returns how many of them were killed (the last ones may finish first).
    """
    killed = 0
    for steps, piece in enumerate(pieces):
        append(path, piece)
        process = start(replace(settings, once=True), steps)
        process.join()
        killed += process.exitcode == -signal.SIGKILL
    return killed


def kill_at_random_moments(settings, path, pieces, seed):
    """Agents that follow the file while it grows, each killed after a random time."""
    moments = random.Random(seed)
    for piece in pieces:
        process = start(settings)
        half = len(piece) // 2
        append(path, piece[:half])
        process.join(moments.uniform(0.05, 0.4))
        append(path, piece[half:])
        process.join(moments.uniform(0.0, 0.2))
        process.kill()
        process.join()
