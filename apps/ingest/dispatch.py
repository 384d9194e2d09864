"""Some addresses take data by POST and give it back by GET from the read API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve
from django.views.decorators.csrf import csrf_exempt

from apps.core.http import json_error

View = Callable[..., HttpResponse]


def post_to(door: View) -> View:
    """POST goes to `door`; the rest to the read API at the same address, or 405."""

    def view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method == "POST":
            return door(request, *args, **kwargs)
        try:
            match = resolve(request.path, urlconf=settings.READ_API_URLCONF)
        except Resolver404:
            return json_error(405, "this address takes data", hint="use POST", Allow="POST")
        found: HttpResponse = match.func(request, *match.args, **match.kwargs)
        return found

    return csrf_exempt(view)
