"""What the system metrics of a `wandb` process say of the GPUs of its host. Plain Python."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Final

from apps.ingest.exposition import meaning
from apps.ingest.wandb.said import SystemSample
from apps.nodes.domain.conditions import Look, Reading

SOURCE: Final = "wandb"
_GPU = re.compile(r"system/gpu\.(\d{1,3})\.(\w{1,40})(?:/l:.*)?")
SAME: Final = {
    "temp": "DCGM_FI_DEV_GPU_TEMP",
    "memoryTemp": "DCGM_FI_DEV_MEMORY_TEMP",
    "uncorrectedMemoryErrors": "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
}
"""W&B's name -> the metric of dcgm-exporter that tells the same."""
MIN_BUSY: Final = 4
BUSY_PERCENT: Final = 50.0
SLOW: Final = 0.85
"""A clock below this part of the host's median is slow ..."""
WELL: Final = 0.92
"""... until it has this part of it again."""
_MOST: Final = 1e15


def looks(node: str, samples: Sequence[SystemSample]) -> Iterator[Look]:
    """How the GPUs of the host stand at each sample, in their order; none without a host or GPU.

    Values that are no number say nothing.
    """
    for sample in samples if node else ():
        gpus = _by_gpu(sample.values)
        readings = (*_counted(gpus), *_clocks(gpus))
        if readings:
            yield Look(SOURCE, node, sample.time_ns, readings)


def _by_gpu(values: Mapping[str, float]) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    for key, value in values.items():
        if (named := _GPU.fullmatch(key)) and abs(value) < _MOST:
            found.setdefault(int(named[1]), {})[named[2]] = value
    return found


def _counted(gpus: Mapping[int, Mapping[str, float]]) -> Iterator[Reading]:
    for gpu, values in gpus.items():
        for name, metric in SAME.items():
            if name in values:
                (watched,) = meaning.WATCHED[metric]
                yield meaning.reading(metric, watched, {"gpu": str(gpu)}, values[name])


def _clocks(gpus: Mapping[int, Mapping[str, float]]) -> Iterator[Reading]:
    """GPUs at work that run slower than the others of their host: heat, power, a bad board.

    All wait for the slowest, so all are busy: the clock tells them apart.
    """
    clocks = {
        gpu: values["smClock"]
        for gpu, values in gpus.items()
        if values.get("smClock", 0) > 0 and values.get("gpu", 0) >= BUSY_PERCENT
    }
    if len(clocks) < MIN_BUSY:
        return
    usual = median(clocks.values())
    for gpu, clock in clocks.items():
        words = f"SM clock {clock:.0f} MHz, the median of the host's GPUs is {usual:.0f}"
        yield Reading(
            name=f"clock GPU {gpu}",
            kind="slow_clock",
            level="warning" if clock < SLOW * usual else "",
            message=words,
            device=f"GPU {gpu}",
            near=clock < WELL * usual,
        )
