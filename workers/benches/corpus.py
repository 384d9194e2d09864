"""Material for `bench ingest`: log lines and metric rows shaped like a real run's."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

BATCH_BYTES = 256 << 10


@dataclass(frozen=True, slots=True)
class Piece:
    """A byte range of one rank's file on one node, ending at a line end."""

    node: str
    local_rank: int
    source: str
    offset: int
    data: bytes


def pieces_of_folder(data: Path) -> Iterator[Piece]:
    """`data`/raw/NODE/*.log, or any *.log below `data`, in pieces of about BATCH_BYTES."""
    files = sorted((data / "raw").glob("*/*.log")) or sorted(data.rglob("*.log"))
    for at, path in enumerate(files):
        rank = int("".join(filter(str.isdigit, path.stem)) or at)
        whole = path.read_bytes()
        yield from _pieces(path.parent.name, rank % 8, f"{path.parent.name}/{path.name}", whole)


def _pieces(node: str, local_rank: int, source: str, whole: bytes) -> Iterator[Piece]:
    start = 0
    while start < len(whole):
        cut = whole.find(b"\n", start + BATCH_BYTES)
        end = len(whole) if cut < 0 else cut + 1
        yield Piece(node, local_rank, source, start, whole[start:end])
        start = end


def made_up(steps: int, ranks: int = 16, seed: int = 7) -> Iterator[Piece]:
    """Lines of `ranks` ranks on nodes of eight, one a step, one in 500 a warning; the same for a
    seed."""
    for rank in range(ranks):
        chance = random.Random(seed * 1_000 + rank)  # noqa: S311 - reproducible material
        text = "".join(_line(chance, rank, step) for step in range(steps)).encode()
        node = f"gpu-{rank // 8:03d}"
        yield from _pieces(node, rank % 8, f"run/attempt_0/{rank % 8}/stderr.log", text)


_START = datetime(2026, 11, 20, tzinfo=UTC)


def _line(chance: random.Random, rank: int, step: int) -> str:
    at = (_START + timedelta(seconds=step * 0.4 + chance.random() / 50)).strftime("%F %T.%f")[:-3]
    if chance.random() < 0.002:
        return f"{at} [WARNING] [rank{rank}] data: shard {chance.randrange(10**6)} is slow\n"
    loss = 2.0 + chance.random() / 10
    return (
        f"{at} [INFO] [rank{rank}] train: step {step} local_loss={loss:.5f} "
        f"data_time={chance.random() / 1e3:.4f} compute_time={0.3 + chance.random() / 10:.4f} "
        f"mem=71.{chance.randrange(99):02d}GiB\n"
    )


def metric_rows(steps: int, keys: int = 60, seed: int = 7) -> Iterator[dict[str, float]]:
    """Values of one step after the other, float32-exact as `.item()` gives them."""
    chance = np.random.default_rng(seed)
    names = [f"layer/{at:02d}" for at in range(keys)]
    for _ in range(steps):
        yield dict(zip(names, chance.normal(1, 0.1, keys).astype(np.float32).tolist(), strict=True))
