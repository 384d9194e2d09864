"""Which chunks a query may leave closed, by their sieves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from apps.logs.domain.query.conditions import LineFilter
from apps.logs.domain.query.sieve import Probe
from apps.logs.domain.query.textsearch import Needle

Probes = tuple[tuple[Probe, ...], ...]
"""A chunk has to pass one probe of each part."""


def probes_of(condition: LineFilter) -> Probes:
    """What a sieve is asked for a query; () if sieves cannot help."""
    parts = [part for needle in condition.contains for part in _of_needle(needle)]
    return tuple(part for part in parts if not any(probe.is_blunt for probe in part))


def _of_needle(needle: Needle) -> Iterator[tuple[Probe, ...]]:
    if isinstance(needle, bytes):
        yield (Probe(needle),)
        return
    for clause in needle.needs.clauses:
        yield tuple(
            Probe(text.encode("utf-8", "replace"), ignore_case=needle.needs.ignore_case)
            for text in clause
        )


def may_match(sieve: bytes, probes: Iterable[Iterable[Probe]]) -> bool:
    """False only if no line of the chunk fulfils the query."""
    return all(any(probe.passes(sieve) for probe in part) for part in probes)
