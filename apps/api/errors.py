"""Every refusal of the API in the one error shape: {"error", "where", "hint", "docs"}."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

from apps.accounts.services import Forbidden
from apps.core.errors import AppError
from apps.core.http import json_error

_HINTS = {
    401: "send Authorization: Bearer <token>; an administrator makes one with manage.py token",
    403: "ask an administrator for a token or role with the scope this needs",
    404: "check the address; what you may not see is answered like what does not exist",
    405: "see the list of operations at /api/v1/docs",
    429: "wait for Retry-After seconds, then send it again",
}


class Missing(AppError):
    """Nothing with this name, or nothing the caller may see."""


def _where(location: tuple[Any, ...]) -> str:
    """ "query.limit" from pydantic's ("query", "limit"); wrapper names are left out."""
    return ".".join(str(part) for part in location if part not in ("payload",))


def _validation(request: HttpRequest, error: Any) -> HttpResponse:
    first = error.errors[0] if isinstance(error, ValidationError) and error.errors else {}
    more = len(getattr(error, "errors", [])) - 1
    message = str(first.get("msg", "the request is not valid"))
    hint = f"{more} more fields are wrong too" if more > 0 else "see /api/v1/docs for the fields"
    return json_error(422, message, where=_where(tuple(first.get("loc", ()))), hint=hint)


def _app_error(request: HttpRequest, error: Any) -> HttpResponse:
    if not isinstance(error, AppError):
        raise error
    status = 403 if isinstance(error, Forbidden) else 404 if isinstance(error, Missing) else 400
    status = int(getattr(error, "status", status))
    hint = error.hint or _HINTS.get(status, "")
    return json_error(status, error.message, where=error.where or request.path, hint=hint)


def _http_error(request: HttpRequest, error: Any) -> HttpResponse:
    # ninja hides what the parser said behind a sentence of its own.
    cause = error.__cause__
    error = cause if isinstance(cause, HttpError) else error
    status = error.status_code
    headers = {"WWW_Authenticate": "Bearer"} if status == 401 else {}
    return json_error(
        status, str(error), where=request.path, hint=_HINTS.get(status, ""), **headers
    )


def _no_proof(request: HttpRequest, error: Any) -> HttpResponse:
    return _http_error(request, HttpError(401, "this needs a token or a session"))


def _unreadable(request: HttpRequest, error: Any) -> HttpResponse:
    return json_error(503, str(error), where="body", hint="send it again", Retry_After="1")


def _not_found(request: HttpRequest, error: Any) -> HttpResponse:
    return json_error(404, "not found", where=request.path, hint=_HINTS[404])


def install(api: NinjaAPI) -> None:
    """Registers the handlers."""
    api.add_exception_handler(ValidationError, _validation)
    api.add_exception_handler(AppError, _app_error)
    api.add_exception_handler(AuthenticationError, _no_proof)
    api.add_exception_handler(HttpError, _http_error)
    api.add_exception_handler(Http404, _not_found)
    api.add_exception_handler(UnreadablePostError, _unreadable)
