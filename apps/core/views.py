"""Health: is the process alive, can it serve."""

from __future__ import annotations

import redis
from django.http import HttpRequest, HttpResponse

from apps.core import valkey
from apps.core.database import SERVER_TROUBLE, migrations_missing
from apps.core.http import json_response


def live(request: HttpRequest) -> HttpResponse:
    """200 while the process answers at all."""
    return json_response({"live": True})


def ready(request: HttpRequest) -> HttpResponse:
    """200 when Postgres and Valkey answer and the schema is as new as the code; else 503 naming
    what is wrong."""
    checks = {"postgres": _postgres(), "valkey": _valkey()}
    fine = all(answer == "ok" for answer in checks.values())
    return json_response({"ready": fine, **checks}, 200 if fine else 503)


def _postgres() -> str:
    try:
        missing = migrations_missing()
    except SERVER_TROUBLE:
        return "does not answer"
    return f"run manage.py migrate: {', '.join(missing)}" if missing else "ok"


def _valkey() -> str:
    try:
        valkey.client().ping()
    except redis.RedisError:
        return "does not answer"
    return "ok"
