"""Start-up checks of rollbacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from apps.alerts.domain.access import signing_key
from apps.core.errors import AppError


@register()
def webhook_is_usable(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """The address is one, and its secret can sign."""
    if not settings.ORDER_WEBHOOK_URL:
        return []
    found: list[CheckMessage] = []
    if urlsplit(settings.ORDER_WEBHOOK_URL).scheme not in ("http", "https"):
        hint = "such as https://launcher.example/hooks/lastgood"
        found.append(Error("ORDER_WEBHOOK_URL is no address", hint=hint, id="rollbacks.E001"))
    try:
        signing_key(settings.ORDER_WEBHOOK_SECRET)
    except AppError as error:
        hint = 'make one: echo "whsec_$(head -c 32 /dev/urandom | base64)"'
        text = f"ORDER_WEBHOOK_SECRET: {error.message}"
        found.append(Error(text, hint=hint, id="rollbacks.E002"))
    return found
