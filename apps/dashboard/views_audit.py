"""The audit trail: who did what to what and why; as a page and as a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.accounts import seal_store
from apps.accounts import store as accounts
from apps.accounts.records import AuditQuery
from apps.core.errors import AppError
from apps.core.http import json_error
from apps.dashboard import audit_ask, csv_file
from apps.dashboard.views import number
from apps.runs import store as runs

PAGE = 100
EXPORT_PAGE = 500
FORMATS = ("csv", "json")


@require_safe
def audit(request: HttpRequest) -> HttpResponse:
    """Lines that fit the filter, newest first; 400 with the reason for a filter that is none."""
    asked = audit_ask.read(request)
    error: AppError | None = None
    rows = []
    try:
        rows = accounts.audit_rows(PAGE, number(request, "before"), _query(asked))
    except AppError as trouble:
        error = trouble
    keys = runs.keys({row.run_id for row in rows})
    context = {
        "asked": asked,
        "error": error,
        "rows": [
            {"row": row, "changes": audit_ask.changes(row), "key": keys.get(row.run_id)}
            for row in rows
        ],
        "chain": seal_store.state(),
        "next": rows[-1].id if len(rows) == PAGE else None,
        "later": "before" in request.GET,
        "formats": FORMATS,
    }
    return render(request, "dashboard/audit.html", context, status=400 if error else 200)


@require_safe
def export(request: HttpRequest, form: str) -> HttpResponse | StreamingHttpResponse:
    """The same lines, all of them, as a CSV or JSON file."""
    if form not in FORMATS:
        raise Http404("no such format")
    try:
        query = _query(audit_ask.read(request))
    except AppError as error:
        return json_error(400, error.message, where=error.where, hint=error.hint)
    entries = _entries(query)
    if form == "csv":
        return csv_file.answer("audit", audit_ask.csv_lines(entries))
    parts = audit_ask.json_parts(entries, _chain())
    answer = StreamingHttpResponse(parts, content_type="application/json")
    answer["Content-Disposition"] = 'attachment; filename="audit.json"'
    return answer


def _query(asked: audit_ask.Filter) -> AuditQuery:
    run = runs.get_run(asked.run) if asked.run else None
    if asked.run and run is None:
        raise AppError(f'there is no run "{asked.run}"', where="run", hint="write its whole key")
    return asked.query(run.id if run else None)


def _entries(query: AuditQuery) -> Iterator[dict[str, Any]]:
    """All lines of a query, newest first, a page of them at a time."""
    before: int | None = None
    while rows := accounts.audit_rows(EXPORT_PAGE, before, query):
        keys = runs.keys({row.run_id for row in rows})
        yield from (audit_ask.as_dict(row, keys) for row in rows)
        before = rows[-1].id


def _chain() -> dict[str, Any]:
    """What the seals say of the file: to compare with what was noted elsewhere."""
    found = seal_store.state()
    head = found.head
    return {
        "ok": not found.broken,
        "seals": found.seals,
        "broken_seals": [seal.number for seal in found.broken],
        "head": {"seal": head.number, "entry": head.last_id, "sha256": head.digest}
        if head
        else None,
    }
