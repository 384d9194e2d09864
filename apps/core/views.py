"""Health: is the process alive, can it serve."""

from __future__ import annotations

import redis
from django.db import connection
from django.http import HttpRequest, HttpResponse

from apps.core import valkey
from apps.core.database import SERVER_TROUBLE
from apps.core.http import json_response


def live(request: HttpRequest) -> HttpResponse:
    """200 while the process answers at all."""
    return json_response({"live": True})


def ready(request: HttpRequest) -> HttpResponse:
    """200 when Postgres and Valkey answer, else 503 naming the one that does not."""
    checks = {"postgres": _postgres(), "valkey": _valkey()}
    fine = all(answer == "ok" for answer in checks.values())
    return json_response({"ready": fine, **checks}, 200 if fine else 503)


def _postgres() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except SERVER_TROUBLE:
        return "does not answer"
    return "ok"


def _valkey() -> str:
    try:
        valkey.client().ping()
    except redis.RedisError:
        return "does not answer"
    return "ok"
