"""Which ranks the others wait for, from dumps of PyTorch's flight recorder.

A rank waits for those that have not enqueued its first unfinished collective of each process group,
or for the peer without the matching send or receive. Where such chains end stands who stopped
first: one rank, or ranks that wait for each other. Time and memory grow linearly with the ranks and
their unfinished operations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from apps.core.records import Evidence
from apps.logs.domain.triage.flight_dump import Dump, Group, Operation
from apps.logs.domain.triage.flight_graph import End, Wait, ends_of, waits_of

PROVEN, LIKELY, UNSURE, NONE = 0.85, 0.6, 0.35, 0.0
MAX_NAMED = 8
MAX_QUOTED_WAITS = 3
FEW_RANKS = 4
FEW_PART = 4
"""More ranks than this, or than this part of the job, are no answer to "who was first"."""


@dataclass(frozen=True, slots=True)
class FlightVerdict:
    """Who stopped first. ranks: sorted; empty: not derivable, `summary` says why.

    together: sets of more than one rank that wait for each other. waiting: ranks that wait for
    `ranks`, directly or through others. dumps: ranks whose dump was read. absent: ranks that the
    dumps name and that sent none. skipped: operations that name no group or peer. confidence: 0..1.
    """

    ranks: tuple[int, ...]
    together: tuple[tuple[int, ...], ...]
    waiting: int
    dumps: int
    absent: tuple[int, ...]
    skipped: int
    confidence: float
    summary: str
    evidence: tuple[Evidence, ...]


def judge(dumps: Mapping[int, Dump]) -> FlightVerdict:
    """The verdict on the dumps of one start of a job: global rank -> its dump.

    The order of the dumps does not matter. A rank without a dump is named only if no rank with one
    stopped: whoever forgot to send a dump is waited for in the dumps of its neighbours. If some
    rank would be named had the silent ones come as far as the others, both are, with doubt.
    """
    dumps = {rank: dumps[rank] for rank in sorted(dumps)}
    everyone = _everyone(dumps.values())
    waits = waits_of(dumps, everyone)
    ends = _explained(ends_of(waits), dumps)
    if not ends:
        return _without_end(dumps, everyone)
    named = _ranks_of(ends)
    either = () if any(rank in dumps for rank in named) else _ranks_of(ends_of(_proven(waits)))
    ranks = tuple(sorted({*named, *either}))
    together = tuple(end.ranks for end in ends if len(end.ranks) > 1)
    waiting = {rank for wait in waits for rank in wait.waiting} - set(ranks)
    return FlightVerdict(
        ranks=ranks,
        together=together,
        waiting=len(waiting),
        dumps=len(dumps),
        absent=tuple(rank for rank in everyone if rank not in dumps),
        skipped=sum(dump.skipped for dump in dumps.values()),
        confidence=UNSURE if either else _confidence(dumps, everyone, ranks, waits),
        summary=_doubt(named, either) or _summary(ranks, together, len(waiting), dumps),
        evidence=tuple(_evidence(dumps, ranks, waits)),
    )


def _explained(ends: list[End], dumps: Mapping[int, Dump]) -> list[End]:
    shown = [end for end in ends if any(rank in dumps for rank in end.ranks)]
    return shown or ends


def _proven(waits: Iterable[Wait]) -> list[Wait]:
    """The waits as if every rank without a dump had come as far as the others."""
    return [replace(wait, waiting=(), missing=()) if wait.guessed else wait for wait in waits]


def _ranks_of(ends: Iterable[End]) -> tuple[int, ...]:
    return tuple(sorted({rank for end in ends for rank in end.ranks}))


def _doubt(silent: Sequence[int], either: Sequence[int]) -> str:
    if not either:
        return ""
    verb = "it" if len(silent) == 1 else "they"
    return (
        f"{_named(silent)} sent no dump: {verb} stopped first, or {_named(either, begin=False)} did"
    )


def _everyone(dumps: Iterable[Dump]) -> tuple[int, ...]:
    found, groups = set(), dict[tuple[str, int], Group]()
    for dump in dumps:
        found.add(dump.rank)
        groups.update((one.group.key, one.group) for one in dump.pending)
        found.update(one.peer for one in dump.pending if one.peer is not None)
    for group in groups.values():
        found.update(group.ranks)
    return tuple(sorted(found))


def _confidence(
    dumps: Mapping[int, Dump],
    everyone: Sequence[int],
    ranks: Sequence[int],
    waits: Iterable[Wait],
) -> float:
    absent = len(everyone) - len(dumps)
    silent = sum(rank not in dumps for rank in ranks)
    if len(ranks) > max(FEW_RANKS, len(everyone) // FEW_PART) or silent > 1:
        return UNSURE
    proven = {rank for wait in waits for rank in wait.missing if _is_proven(dumps, rank, wait)}
    whole = not absent and not any(dump.skipped for dump in dumps.values())
    return PROVEN if whole and proven.issuperset(ranks) else LIKELY


def _is_proven(dumps: Mapping[int, Dump], rank: int, wait: Wait) -> bool:
    """Whether the dump of a rank itself shows that it did not come as far."""
    operation = wait.operation
    if rank not in dumps or operation.peer is not None:
        return False
    return dumps[rank].surely_before(operation.group.name, operation.seq)


def _summary(
    ranks: Sequence[int],
    together: Sequence[Sequence[int]],
    waiting: int,
    dumps: Mapping[int, Dump],
) -> str:
    others = f"{waiting} other {'rank waits' if waiting == 1 else 'ranks wait'}"
    if together and len(together[0]) == len(ranks):
        rest = f"; {others} for them" if waiting else ""
        return f"{_named(ranks)} wait for each other{rest}"
    silent = "" if any(rank in dumps for rank in ranks) else " and sent no dump"
    return f"{_named(ranks)} stopped first: {others} for {_them(ranks)}{silent}"


def _them(ranks: Collection[int]) -> str:
    return "it" if len(ranks) == 1 else "them"


def _named(ranks: Sequence[int], *, begin: bool = True) -> str:
    """`Rank 9`, `Ranks 9 and 14`, `Ranks 0, 1, ... (12 ranks)`."""
    word = "Rank" if len(ranks) == 1 else "Ranks"
    word = word if begin else word.lower()
    if len(ranks) > MAX_NAMED:
        shown = ", ".join(map(str, ranks[:MAX_NAMED]))
        return f"{word} {shown}, ... ({len(ranks)} ranks)"
    *most, last = map(str, ranks)
    return f"{word} {', '.join(most)} and {last}" if most else f"{word} {last}"


def _evidence(
    dumps: Mapping[int, Dump], ranks: Sequence[int], waits: Sequence[Wait]
) -> Iterable[Evidence]:
    by_rank: dict[int, list[Wait]] = defaultdict(list)
    wanted = set(ranks[:MAX_NAMED])
    for wait in waits:
        for rank in wanted.intersection(wait.missing):
            by_rank[rank].append(wait)
    for rank in sorted(by_rank):
        found = by_rank[rank]
        found.sort(key=lambda wait: (not _is_proven(dumps, rank, wait), wait.since_ns))
        for wait in found[:MAX_QUOTED_WAITS]:
            yield Evidence(_reason(rank, wait), time_ns=wait.since_ns or None, rank=rank)


def _reason(rank: int, wait: Wait) -> str:
    operation = wait.operation
    where = f"group {operation.group.label}"
    who = _named(wait.waiting, begin=False)
    verb = "waits" if len(wait.waiting) == 1 else "wait"
    if operation.peer is not None:
        mine, other = ("send", "receive") if operation.kind[:4] == "send" else ("receive", "send")
        if wait.guessed:
            return f"Rank {rank} sent no dump; {who} {verb} for its {other} in {where}"
        return f"Rank {rank} has no {other} open for the {mine} of {who} in {where}"
    what = f"{operation.kind} number {operation.seq:,} of {where}"
    if wait.guessed:
        return f"Rank {rank} sent no dump; {who} {verb} in {what}"
    return f"Rank {rank} has not enqueued {what}; {who} {verb} in it"


def _without_end(dumps: Mapping[int, Dump], everyone: Sequence[int]) -> FlightVerdict:
    ranks, evidence = _odd_ones(dumps.values())
    if ranks:
        summary = f"{_named(ranks)} called something else than the others: the order differs"
    elif any(dump.pending for dump in dumps.values()):
        summary = (
            "No rank is behind: all have enqueued what the others wait for, "
            "so the operation itself hangs (network, driver or GPU)"
        )
    else:
        summary = "No rank had an unfinished operation: the dumps do not show a hang"
    return FlightVerdict(
        ranks=ranks,
        together=(),
        waiting=0,
        dumps=len(dumps),
        absent=tuple(rank for rank in everyone if rank not in dumps),
        skipped=sum(dump.skipped for dump in dumps.values()),
        confidence=LIKELY if ranks else NONE,
        summary=summary,
        evidence=evidence,
    )


def _odd_ones(dumps: Iterable[Dump]) -> tuple[tuple[int, ...], tuple[Evidence, ...]]:
    """Ranks whose call differs from that of most others in the same place, if most agree."""
    calls: dict[tuple[tuple[str, int], int], dict[str, list[Dump]]] = defaultdict(dict)
    shown: dict[tuple[tuple[str, int], int], Operation] = {}
    for dump in dumps:
        for one in dump.pending:
            if one.peer is None:
                place = (one.group.key, one.seq)
                calls[place].setdefault(one.kind, []).append(dump)
                shown.setdefault(place, one)
    for place, kinds in sorted(calls.items()):
        most, *rest = sorted(kinds.items(), key=lambda item: -len(item[1]))
        odd = tuple(sorted(dump.rank for _, others in rest for dump in others))
        if odd and len(most[1]) > len(odd):
            where = f"number {place[1]:,} of group {shown[place].group.label}"
            text = f"{_named(odd)} called {rest[0][0]} where {len(most[1])} called {most[0]}"
            return odd, (Evidence(f"{text}: {where}", rank=odd[0]),)
    return (), ()
