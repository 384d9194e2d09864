"""What the audit page is asked for, read from its address, and its lines as they are shown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from django.http import HttpRequest

from apps.accounts.records import AuditQuery, AuditRow
from apps.core.cells import cell
from apps.core.errors import AppError
from apps.core.times import read_time_ns, say_time
from apps.dashboard.addresses import query_string

COLUMNS = ("id", "time", "actor", "action", "object", "run", "before", "after", "reason",
           "request_id", "address")  # fmt: skip
_MAX_TEXT = 300


@dataclass(frozen=True, slots=True)
class Filter:
    """ "" asks for nothing. since, until: times as people write them, UTC. run: a key."""

    since: str = ""
    until: str = ""
    actor: str = ""
    action: str = ""
    object: str = ""
    run: str = ""

    @property
    def narrow(self) -> bool:
        """Whether anything is asked for."""
        return any(getattr(self, one.name) for one in fields(self))

    @property
    def rest(self) -> str:
        """The query string: "actor=ada&run=llm-7b"."""
        return query_string(asdict(self))

    def query(self, run_id: int | None) -> AuditQuery:
        """The same in the words of the store. AppError for a time that is none."""
        return AuditQuery(
            from_ns=_moment("since", self.since),
            to_ns=_moment("until", self.until),
            actor=self.actor,
            action=self.action,
            object=self.object,
            run_id=run_id,
        )


def read(request: HttpRequest) -> Filter:
    """The filter of an address."""
    asked = request.GET
    return Filter(**{f.name: asked.get(f.name, "").strip()[:_MAX_TEXT] for f in fields(Filter)})


def _moment(name: str, text: str) -> int | None:
    if not text:
        return None
    found = read_time_ns(text)
    if found is None:
        hint = "write it like 2026-11-20T09:00, in UTC"
        raise AppError(f'"{text}" is not a time', where=name, hint=hint)
    return found


@dataclass(frozen=True, slots=True)
class Change:
    """One named value before and after; None: it was not there."""

    name: str
    before: str | None
    after: str | None


def changes(row: AuditRow) -> list[Change]:
    """What an entry says of before and after, without what stayed the same."""
    names = list(dict.fromkeys([*row.before, *row.after]))
    found = [Change(n, _said(row.before, n), _said(row.after, n)) for n in names]
    return [one for one in found if one.before != one.after]


def _said(values: dict[str, Any], name: str) -> str | None:
    if name not in values:
        return None
    value = values[name]
    if value is None or value in ("", [], {}):
        return "nothing"
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def as_dict(row: AuditRow, runs: dict[int, str]) -> dict[str, Any]:
    """An entry by COLUMNS. runs: id -> key."""
    values = (
        row.id, say_time(row.at_ns), row.actor, row.action, row.object, runs.get(row.run_id, ""),
        row.before, row.after, row.reason, row.request_id, row.address,
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def csv_lines(entries: Iterable[dict[str, Any]]) -> Iterator[Sequence[str]]:
    """Lines of a CSV file, heads first. No cell is taken for a formula."""
    yield COLUMNS
    for entry in entries:
        yield [_cell(value) for value in entry.values()]


def _cell(value: Any) -> str:
    return cell(json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value))


def json_parts(entries: Iterable[dict[str, Any]], chain: dict[str, Any]) -> Iterator[str]:
    """Pieces of one JSON object: {"chain": …, "entries": […]}."""
    yield f'{{"chain": {json.dumps(chain)}, "entries": ['
    for place, entry in enumerate(entries):
        yield (",\n" if place else "\n") + json.dumps(entry, ensure_ascii=False)
    yield "\n]}\n"
