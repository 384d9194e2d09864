"""What the numbers that single ranks log mean, by their names: losses, norms, parts of a step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from apps.metrics.domain.layer_statistics import spoken

MAX_JUDGED = 12
"""Series of one run that are compared across ranks at each step: a sender chooses the names."""


class Meaning(StrEnum):
    """How a per-rank number is compared.

    signal: should agree between ranks as the loss does. data, compute: a rank that needs longer
    makes all others wait. communication: the rank that waits least is the one all others wait for.
    total: includes waiting for the slowest, so it names nobody; it says how long a step is.
    """

    LOSS = "loss"
    SIGNAL = "signal"
    DATA = "data"
    COMPUTE = "compute"
    COMMUNICATION = "communication"
    TOTAL = "total"
    NONE = "none"


PARTS = (Meaning.DATA, Meaning.COMPUTE, Meaning.COMMUNICATION)
"""What a step consists of."""

_KNOWN: Mapping[Meaning, tuple[str, ...]] = {
    Meaning.SIGNAL: (
        "grad norm", "local grad norm", "gradient norm", "gnorm", "param norm", "weight norm",
        "logit max", "act max",
    ),
    Meaning.DATA: (
        "data time", "data", "dataloader time", "data loading time", "data load time", "data wait",
        "data wait time", "batch load time", "load time", "fetch time", "input time",
        "batch generator",
    ),
    Meaning.COMPUTE: (
        "compute time", "compute", "forward time", "forward", "fwd time", "fwd", "backward time",
        "backward", "bwd time", "bwd", "fwd bwd time", "fwd bwd", "forward backward time",
        "forward backward", "forward compute", "backward compute", "optimizer time", "optimizer",
        "optim time",
    ),
    Meaning.COMMUNICATION: (
        "comm time", "communication time", "comm", "allreduce time", "all reduce time",
        "allreduce", "all reduce", "nccl time", "sync time", "wait time", "barrier time",
        "collective time", "grad sync time",
    ),
    Meaning.TOTAL: (
        "step time", "iteration time", "iter time", "step duration", "elapsed time per iteration",
    ),
}  # fmt: skip
_BY_NAME = {name: meaning for meaning, names in _KNOWN.items() for name in names}
_PLACE = {name: at for at, name in enumerate(_BY_NAME)}
_UNITS = {" ms": 1e-3, " us": 1e-6, " s": 1.0, " sec": 1.0, " seconds": 1.0}


@dataclass(frozen=True, slots=True)
class RankSignal:
    """A per-rank series. factor: to seconds, for a part of a step; else 1."""

    series: str
    meaning: Meaning
    factor: float = 1.0


def signal_of(series: str, said: Mapping[str, str] | None = None) -> RankSignal:
    """What a per-rank series is, by what people said of it or by its name; NONE if unknown.

    said: series -> a value of Meaning. `data_time_ms` is in milliseconds. Losses are found by
    their role (roles.local_losses) and not here.
    """
    tail, factor = _without_unit(spoken(series).rpartition("/")[2])
    told = (said or {}).get(series)
    meaning = Meaning(told) if told else _BY_NAME.get(tail, Meaning.NONE)
    timed = meaning in (*PARTS, Meaning.TOTAL)
    return RankSignal(series, meaning, factor if timed else 1.0)


def judged(
    series: Iterable[str], said: Mapping[str, str] | None = None, most: int = MAX_JUDGED
) -> list[RankSignal]:
    """Those that are compared across ranks, and totals, in a fixed order: said ones, then best
    known first. At most `most`."""
    found = [signal_of(name, said) for name in series]
    found = [one for one in found if one.meaning not in (Meaning.NONE, Meaning.LOSS)]
    chosen = said or {}
    found.sort(key=lambda one: (one.series not in chosen, _place(one.series), one.series))
    return found[:most]


def _place(series: str) -> int:
    return _PLACE.get(_without_unit(spoken(series).rpartition("/")[2])[0], len(_PLACE))


def _without_unit(name: str) -> tuple[str, float]:
    """The name without a unit at its end, and what one of them is in seconds."""
    for unit, factor in _UNITS.items():
        if name.endswith(unit):
            return name.removesuffix(unit), factor
    return name, 1.0
