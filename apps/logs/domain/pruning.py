"""Which chunks a query may leave closed, by their sieves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from apps.logs.domain.literals import Required, required
from apps.logs.domain.sieve import Probe
from apps.logs.records import LogQuery

Probes = tuple[tuple[Probe, ...], ...]
"""A chunk has to pass one probe of each part."""


def probes_of(query: LogQuery) -> Probes:
    """What a sieve is asked for a query; () if sieves cannot help."""
    parts: list[tuple[Probe, ...]] = [
        (Probe(word.encode("utf-8", "replace"), ignore_case=query.ignore_case),)
        for word in query.words
    ]
    if query.text:
        parts.append((Probe(query.text.encode("utf-8", "replace")),))
    if query.regex:
        parts += _of_regex(required(query.regex), ignore_case=query.ignore_case)
    return tuple(part for part in parts if not any(probe.is_blunt for probe in part))


def _of_regex(needs: Required, *, ignore_case: bool) -> Iterator[tuple[Probe, ...]]:
    ignore = ignore_case or needs.ignore_case
    for clause in needs.clauses:
        yield tuple(Probe(t.encode("utf-8", "replace"), ignore_case=ignore) for t in clause)


def may_match(sieve: bytes, probes: Iterable[Iterable[Probe]]) -> bool:
    """False only if no line of the chunk fulfils the query."""
    return all(any(probe.passes(sieve) for probe in part) for part in probes)
