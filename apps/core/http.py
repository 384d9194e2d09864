"""HTTP pieces every app shares: the one error shape, strict JSON, security headers."""

from __future__ import annotations

import logging
import secrets
import sys
from collections.abc import Callable
from typing import Any

import orjson
from django.conf import settings
from django.core.exceptions import DisallowedHost, RequestDataTooBig, TooManyFieldsSent
from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import split_domain_port
from django.template.loader import render_to_string
from django.utils.http import url_has_allowed_host_and_scheme

from apps.core.database import is_trouble
from apps.core.plain import plain

DOCS = "/api/v1/docs"
log = logging.getLogger(__name__)


def json_response(value: Any, status: int = 200, **headers: str) -> HttpResponse:
    """Strict JSON; keyword names become header names (`_` -> `-`)."""
    response = HttpResponse(
        orjson.dumps(plain(value), option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY),
        content_type="application/json",
        status=status,
    )
    for name, text in headers.items():
        response[name.replace("_", "-")] = text
    return response


def json_error(
    status: int, error: str, *, where: str = "", hint: str = "", **headers: str
) -> HttpResponse:
    """The one error shape: what happened, where, what to do, where to read on."""
    body = {"error": error, "where": where, "hint": hint, "docs": DOCS}
    return json_response(body, status, **headers)


def _wants_json(request: HttpRequest) -> bool:
    return request.path.startswith(("/api/", "/health/"))


def _page(name: str, status: int, **context: Any) -> HttpResponse:
    """A page about an error. Without the request: who asks would be looked up in the database, and
    the host be checked again, while one of them may be what is wrong."""
    return HttpResponse(render_to_string(name, context), status=status)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404 as JSON below /api, as a page elsewhere."""
    if _wants_json(request):
        return json_error(404, "not found", where=request.path)
    return _page("404.html", 404)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400, or 413 for a form that is too large. What was wrong with it is in the log only."""
    large = isinstance(exception, RequestDataTooBig | TooManyFieldsSent)
    status, words = (413, "too large") if large else (400, "the request is not understood")
    if _wants_json(request):
        return json_error(status, words, where=request.path)
    return _page(f"{status}.html", status)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403 as JSON below /api, as a page elsewhere."""
    if _wants_json(request):
        return json_error(403, "not allowed", where=request.path)
    return _page("403.html", 403)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 for a form without the token of its page, with the way back to that page."""
    if _wants_json(request):
        return json_error(403, "this needs the CSRF token of the session", where=request.path)
    back = request.headers.get("Referer", "")
    own = url_has_allowed_host_and_scheme(back, {request.get_host()})
    return _page("403_csrf.html", 403, back=back if own else "/")


def server_error(request: HttpRequest) -> HttpResponse:
    """500 without a trace: the log has it, and the fault's own mark to find it by. 503 if Postgres
    is away or not migrated yet."""
    error = sys.exception()
    if isinstance(error, Exception) and is_trouble(error):
        answer = _error(request, 503, "the database does not answer", "try again in a moment")
        answer["Retry-After"] = "5"
        return answer
    fault = secrets.token_hex(4)
    log.error("fault %s: %r of %s", fault, type(error).__name__, request.path)
    hint = f"the server log has it as fault {fault}"
    return _error(request, 500, "internal error", hint, fault=fault)


def _error(
    request: HttpRequest, status: int, words: str, hint: str, **context: str
) -> HttpResponse:
    if _wants_json(request):
        return json_error(status, words, where=request.path, hint=hint)
    return _page(f"{status}.html", status, **context)


def client_address(request: HttpRequest) -> str:
    """Where a request comes from, TRUSTED_PROXIES in front of web left out; "" if unknown.

    Each proxy appends the address it was asked from: what stands left of that is the sender's word.
    """
    seen = request.headers.get("X-Forwarded-For", "").split(",")
    proxies = settings.TRUSTED_PROXIES
    if proxies and len(seen) >= proxies:
        return seen[-proxies].strip()[:64]
    return str(request.META.get("REMOTE_ADDR", ""))[:64]


class NoNul:
    """NUL in an address is answered like any name that does not exist: Postgres holds no such."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if "\0" in request.path or "%00" in request.META.get("QUERY_STRING", ""):
            return not_found(request, Http404())
        return self.get_response(request)


class SecurityHeaders:
    """Strict content security policy and friends on every answer."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        connect = f"'self' {self._events_origin(request)}".strip()
        response.headers.setdefault(
            "Content-Security-Policy",
            "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
            "form-action 'self'; frame-ancestors 'none'; manifest-src 'self'; worker-src 'none'; "
            f"connect-src {connect}",
        )
        response.headers.setdefault("Permissions-Policy", "camera=(), microphone=()")
        page = response.headers.get("Content-Type", "").startswith("text/html")
        kept = "private, no-store" if page else "private, no-cache"
        response.headers.setdefault("Cache-Control", kept)
        return response

    @staticmethod
    def _events_origin(request: HttpRequest) -> str:
        """Where /events may be fetched from: the configured address, else PORT + 1 here."""
        if settings.EVENTS_URL:
            return "/".join(settings.EVENTS_URL.split("/")[:3])
        try:
            host, _ = split_domain_port(request.get_host())
        except DisallowedHost:
            return ""
        return f"{request.scheme}://{host}:{settings.PORT + 1}"
