"""The doors: /loki/api/v1/... for reading, with a token of the scope `read`.

Errors are plain text, as Loki's clients show them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from apps.accounts.bearer import secret_in
from apps.accounts.services import Forbidden, require, verify_token
from apps.api.loki import answers, asking, fetching, naming
from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.core.http import json_response
from apps.core.places import RETRY_S, SEARCHES
from apps.logs.domain.query.logql import LABELS, Constant, Counting, Selection, parse_logql
from apps.logs.domain.query.ranksets import BadQuery

View = Callable[..., HttpResponse]
Given = Mapping[str, str]


def _door(view: View) -> View:
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            secret = secret_in(request.headers.get("Authorization", ""))
            actor = verify_token(secret) if secret else None
            if actor is None:
                answer = _text(401, "this needs a token: Bearer, or Basic with it as password")
                answer["WWW-Authenticate"] = 'Basic realm="Lastgood"'
                return answer
            require(actor, "read")
            return view(request, *args, **kwargs)
        except Forbidden as error:
            return _text(403, f"{error.message}; {error.hint}")
        except AppError as error:
            parts = (error.message, error.where and f"({error.where})", error.hint)
            return _text(400, "; ".join(part for part in parts if part))

    return csrf_exempt(require_http_methods(["GET", "POST"])(guarded))


def _text(status: int, words: str) -> HttpResponse:
    return HttpResponse(words, content_type="text/plain; charset=utf-8", status=status)


def _given(request: HttpRequest) -> Given:
    """Parameters of the address and of a posted form."""
    return {**request.GET.dict(), **request.POST.dict()}


def _searching(view: View) -> View:
    """A view that searches, with a place for it; 429 if there is none, as Loki says it."""

    @wraps(view)
    def placed(request: HttpRequest) -> HttpResponse:
        give_back = SEARCHES.take()
        if give_back is None:
            answer = _text(429, "too many searches run at once; try again in a moment")
            answer["Retry-After"] = str(RETRY_S)
            return answer
        try:
            return view(request)
        finally:
            give_back()

    return placed


@_door
@_searching
def query_range(request: HttpRequest) -> HttpResponse:
    """Lines of a selection, or counts over time."""
    asked = asking.read(_given(request), now_ns())
    query = parse_logql(asked.query)
    if isinstance(query, Selection):
        found = fetching.find_lines(query, asked)
        body = answers.success("streams", answers.streams(found.lines), warnings=found.warnings)
    elif isinstance(query, Counting):
        series, warnings = _counted(query, asked)
        body = answers.success("matrix", answers.matrix(series), warnings=warnings)
    else:
        body = answers.success("vector", _constant(query, asked.end_ns))
    return json_response(body)


@_door
@_searching
def query(request: HttpRequest) -> HttpResponse:
    """Counts at one time (`time`, now if nothing is said)."""
    given = _given(request)
    at_ns = asking.read({"end": given.get("time", "")}, now_ns()).end_ns
    wanted = parse_logql(given.get("query", ""))
    if isinstance(wanted, Constant):
        return json_response(answers.success("vector", _constant(wanted, at_ns)))
    if isinstance(wanted, Selection):
        raise BadQuery("lines are asked for with query_range", where="query")
    once = asking.Asked("", at_ns, at_ns, 1, False, asking.HOUR_NS)
    series, warnings = _counted(wanted, once)
    return json_response(answers.success("vector", answers.vector(series), warnings=warnings))


def _constant(query: Constant, at_ns: int) -> list[Any]:
    return [{"metric": {}, "value": [at_ns / 1e9, f"{query.value:.0f}"]}]


def _counted(query: Counting, asked: asking.Asked) -> tuple[list[answers.Series], list[str]]:
    if fetching.pulsed(query, asked):
        minutes = fetching.count_minutes(query, asked)
        return list(fetching.summed(minutes, query, asked)), []
    found = fetching.count_lines(query, asked)
    return list(fetching.sampled(found.times, query, asked)), found.warnings


@_door
def labels(request: HttpRequest) -> HttpResponse:
    """The labels that every stream may have."""
    return json_response({"status": "success", "data": list(LABELS)})


@_door
def label_values(request: HttpRequest, name: str) -> HttpResponse:
    """Values of one label, of all runs or of a selection (`query`)."""
    text = _given(request).get("query", "")
    selection = parse_logql(text) if text else Selection(())
    if not isinstance(selection, Selection):
        raise BadQuery('a selector such as {run="gpt"} is wanted', where="query")
    known = name if name in LABELS else ""
    values = naming.values_of(known, selection) if known else []
    return json_response({"status": "success", "data": values})


@_door
def series(request: HttpRequest) -> HttpResponse:
    """The streams of selections (`match[]`)."""
    asked = [*request.GET.getlist("match[]"), *request.POST.getlist("match[]")]
    found: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
    for text in asked:
        selection = parse_logql(text)
        if not isinstance(selection, Selection):
            raise BadQuery('a selector such as {run="gpt"} is wanted', where="match[]")
        for stream in naming.series_of(selection):
            found[tuple(stream.items())] = stream
    return json_response({"status": "success", "data": list(found.values())})
