"""Ranks over time: pulse, packed matrix, table."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from apps.core.clock import now_ns
from apps.core.records import Severity
from apps.dashboard.log_page import Question, incidents_of
from apps.logs import search
from apps.logs import store as log_store
from apps.logs.domain.triage.silent import steps_behind
from apps.logs.records import RankActivity
from apps.runs import store as runs

TABLE_PAGE = 256
SORTS = ("worst", "silent", "behind", "rank")
_TAIL_NS = 1_000_000_000


def _range(asked: Question) -> tuple[int, int] | None:
    """The times that are shown: those of the address, else all of the attempt."""
    if asked.attempt is None:
        return None
    ask, known = asked.ask, log_store.extent(asked.run.id, asked.attempt)
    if known is None:
        return None
    start = known[0] if ask.from_ns is None else ask.from_ns
    end = known[1] if ask.to_ns is None else ask.to_ns
    return start, max(end, start + _TAIL_NS)


def pulse(asked: Question, buckets: int) -> dict[str, Any]:
    """Edges in ms, lines by severity of each bucket, and onsets of incidents; no buckets if there
    is no line."""
    span = _range(asked)
    if span is None or asked.attempt is None:
        return {"edges": [], "severities": [], "counts": [], "onsets": []}
    found = search.pulse(asked.run.id, asked.attempt, *span, buckets)
    return {
        "edges": (found.edges_ns / 1e6).tolist(),
        "severities": [Severity(s).name.lower() for s in found.severities],
        "counts": found.counts.tolist(),
        "onsets": [
            {"ms": incident.onset_time_ns / 1e6, "label": incident.label}
            for incident in incidents_of(asked)
        ],
    }


def matrix(asked: Question, buckets: int) -> bytes:
    """The packed matrix of the ranks that the query asks for, those of one host side by side."""
    span = _range(asked)
    none = np.zeros(0, np.int64)
    if span is None or asked.attempt is None:
        return pack(none, none.astype(np.int32), np.zeros((0, 0), np.uint8), {})
    found = search.rank_matrix(asked.run.id, asked.attempt, *span, buckets)
    hosts = _hosts(asked.run.id, asked.attempt)
    ranks, worst = _with_silent(found.ranks, found.worst, hosts)
    keep = _asked_for(asked, ranks, hosts)
    return pack(found.edges_ns, ranks[keep], worst[keep], hosts)


def _hosts(run_id: int, attempt: int) -> dict[int, str]:
    """rank -> host, from where ranks were placed, else where they spoke."""
    said = log_store.rank_activity(run_id, attempt)
    spoke = {one.rank: one.node or "" for one in said if one.rank is not None}
    placed = {rank: place.node for rank, place in runs.placements(run_id, attempt).items()}
    return spoke | placed


def _with_silent(
    ranks: NDArray[np.int32], worst: NDArray[np.uint8], hosts: Mapping[int, str]
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """With rows for ranks that are known and said nothing in the range."""
    silent = np.setdiff1d(np.fromiter(hosts, np.int32, len(hosts)), ranks)
    rows = np.zeros((len(silent), worst.shape[1]), np.uint8)
    return np.concatenate([ranks, silent]).astype(np.int32), np.concatenate([worst, rows])


def _asked_for(
    asked: Question, ranks: NDArray[np.int32], hosts: Mapping[int, str]
) -> NDArray[np.int64]:
    """Positions of the ranks that are shown: grouped by host, hosts by their first rank."""
    parts = asked.parts
    shown = np.ones(len(ranks), np.bool_)
    if parts.rank_spans:
        shown = np.zeros(len(ranks), np.bool_)
        for first, last in parts.rank_spans:
            shown |= (ranks >= first) & (ranks <= last)
    names = [hosts.get(int(rank), "") for rank in ranks]
    if parts.nodes:
        shown &= np.isin(names, parts.nodes)
    first_of: dict[str, int] = {}
    for rank, name in sorted(zip(ranks.tolist(), names, strict=True)):
        first_of.setdefault(name, rank)
    group = np.fromiter((first_of[name] for name in names), np.int64, len(names))
    order = np.lexsort((ranks, group))
    return order[shown[order]]


def pack(
    edges_ns: NDArray[np.int64],
    ranks: NDArray[np.int32],
    worst: NDArray[np.uint8],
    hosts: Mapping[int, str],
) -> bytes:
    """Bytes that the browser reads without parsing a number.

    u32 length of a JSON header (edges in ms, n, names of hosts), the header padded to 4 bytes,
    int32[n] ranks, uint16[n] index of the host, uint8[n, buckets] worst severity, 0 = silent.
    """
    names = [hosts.get(int(rank), "") for rank in ranks]
    known = {name: index for index, name in enumerate(dict.fromkeys(names))}
    head = orjson.dumps({"edges": (edges_ns / 1e6).tolist(), "n": len(ranks), "hosts": list(known)})
    head += b" " * (-len(head) % 4)
    host = np.fromiter((known[name] for name in names), np.uint16, len(names))
    size = np.uint32(len(head)).tobytes()
    return b"".join((size, head, ranks.tobytes(), host.tobytes(), worst.tobytes()))


def squeezed(body: bytes) -> bytes:
    """The same for a browser that takes gzip: a matrix is mostly one value."""
    return gzip.compress(body, compresslevel=1, mtime=0)


def table(asked: Question, order: str, page: int | None) -> dict[str, Any]:
    """One page of the ranks, in the order asked for."""
    found = [] if asked.attempt is None else log_store.rank_activity(asked.run.id, asked.attempt)
    wanted = [one for one in found if _is_asked_for(asked, one)]
    order = order if order in SORTS else SORTS[0]
    wanted.sort(key=_KEYS[order])
    median = steps_behind(one.last_step for one in found if one.rank is not None)
    pages = max(1, -(-len(wanted) // TABLE_PAGE))
    at = min(max(page or 1, 1), pages)
    shown = wanted[(at - 1) * TABLE_PAGE : at * TABLE_PAGE]
    return {
        "rows": [(one, Severity(one.worst_severity).name.lower() if one.worst_severity else "",
                  _behind(one, median)) for one in shown],
        "total": len({one.rank for one in wanted if one.rank is not None}),
        "sort": order,
        "page": at,
        "pages": pages,
        "reference_ns": now_ns() if asked.run.state == "running" else None,
    }  # fmt: skip


def _behind(one: RankActivity, median: int | None) -> int:
    """How many steps behind the median of the ranks; 0 for none, and where there is no crowd."""
    if median is None or one.last_step is None:
        return 0
    return max(0, median - one.last_step)


def _is_asked_for(asked: Question, one: RankActivity) -> bool:
    spans, nodes = asked.parts.rank_spans, asked.parts.nodes
    inside = one.rank is not None and any(a <= one.rank <= b for a, b in spans)
    return (inside or not spans) and (not nodes or one.node in nodes)


def _by_rank(one: RankActivity) -> tuple[bool, int, str]:
    return one.rank is None, one.rank or 0, one.node or ""


_KEYS: Mapping[str, Any] = {
    "rank": _by_rank,
    "worst": lambda one: (-(one.worst_severity or 0), *_by_rank(one)),
    "behind": lambda one: (-1 if one.last_step is None else one.last_step, *_by_rank(one)),
    "silent": lambda one: (one.last_ns or 0, *_by_rank(one)),
}
