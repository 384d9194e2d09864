"""Counts of templates: one row a batch, in the transaction of its lines, added up now and then."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from django.db import transaction
from numpy.typing import NDArray

from apps.core.sql import execute, query
from apps.logs.domain.pattern.tally import (
    Columns,
    Tally,
    bounded,
    fold,
    most_frequent,
    tally,
)
from apps.logs.domain.pattern.tallyblock import decode_tally, encode_tally
from apps.logs.domain.pattern.templates import masked
from apps.logs.domain.reading.columns import LineColumns

MAX_TEMPLATES = 2_000
"""Templates of a run. Lines of further ones are counted under OTHER."""
MAX_EXAMPLE_CHARS = 1_000
MAX_REMEMBERED_RUNS = 500

FAN_IN_BITS = 6
MAX_LEVEL = 5
_MASK = 2**64 - 1

_ADD = """
    INSERT INTO logs_templatetally (run_id, attempt, level, first_hour, last_hour, body)
    VALUES (%s, %s, %s, %s, %s, %s) RETURNING tally_id
"""
# -- uses the primary key
_TAKE = """
    DELETE FROM logs_templatetally WHERE run_id = %s AND attempt = %s AND level < %s RETURNING body
"""
_KNOWN = "SELECT template_id FROM logs_template WHERE run_id = %s"  # -- uses the primary key
_TEXTS = """
    INSERT INTO logs_template (run_id, attempt, template_id, text, example)
    SELECT %s, %s, * FROM unnest(%s::int8[], %s::text[], %s::text[]) ON CONFLICT DO NOTHING
"""

# Templates whose text is committed, by run: a batch of nothing new asks nothing.
_committed: dict[int, frozenset[int]] = {}


class TemplateCounts:
    """How often each template was said, of one attempt while lines are written; in the caller's
    transaction, which has the run locked.

    A run has at most MAX_TEMPLATES templates, those that came first; further ones are counted under
    OTHER. Cost: about 0.2 us a line, and one statement if no template is new.
    """

    def __init__(self, run_id: int, attempt: int) -> None:
        self._run_id, self._attempt = run_id, attempt
        self._known = _committed.get(run_id, frozenset())
        self._is_whole = False
        self._tallies: list[Tally] = []

    def count(self, node: str, lines: LineColumns, template: NDArray[np.int64]) -> None:
        """The new lines of one node. template: of each line."""
        columns = Columns(
            template=template,
            rank=lines.rank.astype(np.int64),
            time_ns=lines.time_ns,
            severity=lines.severity.astype(np.int64),
            seq=lines.seq,
        )
        found, first = tally(columns, node)
        ids = found.rows["template"].tolist()
        if not self._known.issuperset(ids):
            number_of = dict(zip(ids[::-1], first[::-1].tolist(), strict=True))
            self._learn(found, lambda template: lines.message(number_of[template]))
            found = bounded(found, self._known)
        self._tallies.append(found)

    def add(self) -> None:
        """Adds what was counted, as one row."""
        together = fold(self._tallies)
        if len(together):
            level = _level(_insert(self._run_id, self._attempt, 0, together))
            if level:
                _add_up(self._run_id, self._attempt, level)

    def _learn(self, found: Tally, example_of: Callable[[int], str]) -> None:
        """Makes the templates known that the run has room for."""
        if not self._is_whole:
            self._known = frozenset(template for (template,) in query(_KNOWN, [self._run_id]))
            self._is_whole = True
        room = max(MAX_TEMPLATES - len(self._known), 0)
        frequent = most_frequent(found, len(found))
        new = [template for template in frequent if template not in self._known][:room]
        if new:
            examples = [example_of(template)[:MAX_EXAMPLE_CHARS] for template in new]
            texts = [masked(example) for example in examples]
            execute(_TEXTS, [self._run_id, self._attempt, new, texts, examples])
        known = self._known = self._known | frozenset(new)
        transaction.on_commit(lambda: _remember(self._run_id, known))


def _remember(run_id: int, known: frozenset[int]) -> None:
    if len(_committed) >= MAX_REMEMBERED_RUNS:
        _committed.clear()
    _committed[run_id] = known


def _insert(run_id: int, attempt: int, level: int, found: Tally) -> int:
    hours = found.rows["hour"]
    row = [level, int(hours.min()), int(hours.max()), encode_tally(found)]
    ((number,),) = query(_ADD, [run_id, attempt, *row])
    return int(number)


def _level(number: int) -> int:
    """What to add up after the row with this number: 1 for each 64th, 2 for each 4,096th ...

    The number is mixed first (the finalizer of SplitMix64, Steele, Lea and Flood 2014): runs that
    write in turns would else never, or always, meet a round one.
    """
    mixed = number & _MASK
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ mixed >> shift) * factor & _MASK
    mixed ^= mixed >> 31
    zeros = (mixed & -mixed).bit_length() - 1
    return min(zeros // FAN_IN_BITS, MAX_LEVEL)


def _add_up(run_id: int, attempt: int, level: int) -> None:
    """Makes one row of this level of all that are lower, so that few lie there at a time."""
    parts = [decode_tally(bytes(body)) for (body,) in query(_TAKE, [run_id, attempt, level])]
    _insert(run_id, attempt, level, fold(parts))


def read_tally(run_id: int, attempt: int, from_hour: int, to_hour: int) -> Tally:
    """What was counted in these hours, both included, by template and hour.

    -- uses the primary key
    """
    sql = """
        SELECT body FROM logs_templatetally
        WHERE run_id = %s AND attempt = %s AND last_hour >= %s AND first_hour <= %s
    """
    rows = query(sql, [run_id, attempt, from_hour, to_hour])
    found = fold([decode_tally(bytes(body)) for (body,) in rows])
    hours = found.rows["hour"]
    inside = (hours >= from_hour) & (hours <= to_hour)
    return Tally(found.rows[inside], found.sets, found.nodes)


def texts(run_id: int) -> dict[int, tuple[str, str]]:
    """Template -> (masked text, example), of all templates of a run: at most MAX_TEMPLATES.

    -- uses the primary key
    """
    sql = "SELECT template_id, text, example FROM logs_template WHERE run_id = %s"
    return {template: (text, example) for template, text, example in query(sql, [run_id])}


def said_before(run_id: int, attempt: int) -> set[int]:
    """Templates that an earlier attempt of the run said. -- uses the primary key"""
    sql = "SELECT template_id FROM logs_template WHERE run_id = %s AND attempt < %s"
    return {template for (template,) in query(sql, [run_id, attempt])}


def template_texts(run_id: int, templates: Sequence[int]) -> list[str]:
    """Masked texts of these templates, those that are known. -- uses the primary key"""
    if not templates:
        return []
    sql = "SELECT text FROM logs_template WHERE run_id = %s AND template_id = ANY(%s::int8[])"
    return [text for (text,) in query(sql, [run_id, list(templates)])]
