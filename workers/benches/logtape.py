"""The made-up training job of `bench logs`: its hosts, its processes, and the tape of its lines."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

BASE = datetime(2026, 11, 20, tzinfo=UTC)
SITE = "/opt/venv/lib/python3.11/site-packages"
NO_RANK = -1


@dataclass(frozen=True, slots=True)
class CorpusOptions:
    """hours: of the job, times `scale`. gpus_per_host divides ranks."""

    seed: int = 7
    hours: float = 10.0
    scale: float = 1.0
    ranks: int = 64
    gpus_per_host: int = 8

    @property
    def seconds(self) -> float:
        """How long the job takes."""
        return self.hours * 3600 * self.scale


class Said(NamedTuple):
    """One line. at_s: true time since BASE. rank -1: a line of the host (kernel, Slurm)."""

    at_s: float
    number: int
    rank: int
    host: int
    source: str
    level: str
    text: str


@lru_cache(maxsize=4096)
def _second(whole: int) -> str:
    return (BASE + timedelta(seconds=whole)).strftime("%Y-%m-%d %H:%M:%S")


def clock(at_s: float) -> str:
    """`2026-11-20 00:00:08,125`, as Python's logging writes it."""
    second = round(at_s * 1_000_000) // 1_000_000
    return f"{_second(second)},{int(at_s * 1000) % 1000:03d}"


def stamp(at_s: float) -> str:
    """`2026-11-20T00:00:08.125000Z`, as a shipper writes it."""
    second = int(at_s)
    day, _, time = _second(second).partition(" ")
    return f"{day}T{time}.{int((at_s - second) * 1e6):06d}Z"


class Tape:
    """Lines in the order in which they were thought of; all chance comes from one generator."""

    def __init__(self, options: CorpusOptions) -> None:
        self.options = options
        self.ranks, self.gpus = options.ranks, options.gpus_per_host
        self.chance = random.Random(options.seed)  # noqa: S311 - reproducible material
        self.hosts = [f"gpu-{at:03d}" for at in range(self.ranks // self.gpus)]
        self.skew_s = [self.chance.uniform(-0.15, 0.15) for _ in self.hosts]
        if len(self.hosts) > 5:
            self.skew_s[5] = 2.1
        if len(self.hosts) > 3:
            self.skew_s[3] = -1.3
        self.pids = [self.chance.randrange(20000, 900000) for _ in range(self.ranks)]
        self.tids = [pid + self.chance.randrange(60, 900) for pid in self.pids]
        self.root_rank = 17 % self.ranks
        self.lines: list[Said] = []

    def add(self, at_s: float, rank: int, source: str, level: str, text: str) -> None:
        """A line of a rank."""
        number = len(self.lines) + 1
        self.lines.append(Said(at_s, number, rank, rank // self.gpus, source, level, text))

    def add_host(self, at_s: float, host: int, source: str, level: str, text: str) -> None:
        """A line of a host."""
        self.lines.append(Said(at_s, len(self.lines) + 1, NO_RANK, host, source, level, text))

    def hex(self, digits: int) -> str:
        """A number that means nothing."""
        return f"{self.chance.getrandbits(4 * digits):0{digits}x}"
