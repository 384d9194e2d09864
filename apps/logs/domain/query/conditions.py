"""Which lines of a chunk a query asks for, over whole columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apps.core.records import Severity
from apps.logs.domain.chunk.chunks import NO_STEP, ChunkLines
from apps.logs.domain.chunk.chunktexts import Texts
from apps.logs.domain.query.cursor import MAX_INT64, MIN_INT64
from apps.logs.domain.query.ranksets import Spans, merged
from apps.logs.domain.query.regexes import LineRegex
from apps.logs.domain.query.templatematch import of_templates
from apps.logs.domain.query.textsearch import Needle, holding
from apps.logs.domain.reading.lines import TEE
from apps.logs.records import LogQuery


@dataclass(frozen=True, slots=True)
class LineFilter:
    """Conditions on lines, all at once. spans (): any rank. contains, without: needles that every
    line, or no line, holds. templates: the line has one of these; empty: any. steps: lines that
    name a step name one of these; others pass. hide_copies: no console copies.
    """

    spans: Spans = ()
    min_severity: int = 0
    max_severity: int = 255
    contains: tuple[Needle, ...] = ()
    without: tuple[Needle, ...] = ()
    templates: frozenset[int] = frozenset()
    source: str = ""
    from_ns: int = MIN_INT64
    to_ns: int = MAX_INT64
    from_step: int = MIN_INT64
    to_step: int = MAX_INT64
    hide_copies: bool = True

    @property
    def of_text_only(self) -> bool:
        """Whether nothing but the text of a line matters."""
        texts = LineFilter(
            contains=self.contains, without=self.without, templates=self.templates,
            min_severity=Severity.DEBUG, max_severity=Severity.CRITICAL, hide_copies=False,
        )  # fmt: skip
        return self == texts


def filter_of(query: LogQuery) -> LineFilter:
    """The conditions of a query. Raises BadQuery for a regex that cannot be compiled."""
    contains = [_needle(word, ignore_case=query.ignore_case) for word in query.words if word]
    if query.text:
        contains.append(_needle(query.text, ignore_case=False))
    if query.regex:
        contains.append(LineRegex(query.regex, ignore_case=query.ignore_case))
    without = [_needle(word, ignore_case=query.ignore_case) for word in query.without if word]
    return LineFilter(
        spans=merged((*((rank, rank) for rank in query.ranks), *query.rank_spans)),
        min_severity=query.min_severity,
        max_severity=query.max_severity,
        contains=tuple(contains),
        without=tuple(without),
        templates=frozenset(query.templates),
        source=query.source,
        from_ns=MIN_INT64 if query.from_ns is None else query.from_ns,
        to_ns=MAX_INT64 if query.to_ns is None else query.to_ns,
        from_step=MIN_INT64 if query.from_step is None else query.from_step,
        to_step=MAX_INT64 if query.to_step is None else query.to_step,
    )


def _needle(text: str, *, ignore_case: bool) -> Needle:
    if ignore_case:
        return LineRegex(text, ignore_case=True, literal=True)
    return text.encode("utf-8", "replace")


def matching(chunk: ChunkLines, condition: LineFilter) -> NDArray[np.bool_]:
    """Which lines of a chunk fulfil the conditions; bool[n]."""
    return texts_match(chunk.lines_text, condition, columns_match(chunk, condition))


def texts_match(texts: Texts, condition: LineFilter, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which of the lines in `among` hold and do not hold what they must; bool[n]."""
    hit = among
    for needle in condition.contains:
        if hit.any():
            hit = holding(texts, needle, hit)
    for needle in condition.without:
        if hit.any():
            hit = hit & ~holding(texts, needle, hit)
    if condition.templates and hit.any():
        hit = hit & of_templates(texts, condition.templates)
    return hit


def columns_match(chunk: ChunkLines, condition: LineFilter) -> NDArray[np.bool_]:
    """Which lines fulfil the conditions on everything but their text; bool[n]."""
    hit = (chunk.time_ns >= condition.from_ns) & (chunk.time_ns <= condition.to_ns)
    hit &= chunk.severity >= condition.min_severity
    hit &= chunk.severity <= condition.max_severity
    if condition.spans:
        hit &= _within(chunk.rank, condition.spans)
    if condition.from_step != MIN_INT64 or condition.to_step != MAX_INT64:
        step = chunk.step
        inside = (step >= condition.from_step) & (step <= condition.to_step)
        hit &= inside | (step == NO_STEP)
    if condition.hide_copies or condition.source:
        hit &= _origins(chunk, condition)[chunk.origin]
    return hit


def _within(rank: NDArray[np.int32], spans: Spans) -> NDArray[np.bool_]:
    firsts = np.array([first for first, _ in spans], dtype=np.int64)
    lasts = np.array([last for _, last in spans], dtype=np.int64)
    at = np.searchsorted(firsts, rank, side="right") - 1
    return (at >= 0) & (rank <= lasts[at])


def _origins(chunk: ChunkLines, condition: LineFilter) -> NDArray[np.bool_]:
    """Which origins of a chunk are asked for."""
    return np.array(
        [
            condition.source in origin.source
            and not (condition.hide_copies and origin.channel == TEE)
            for origin in chunk.origins
        ],
        dtype=np.bool_,
    )
