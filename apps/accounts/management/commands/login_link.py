"""`manage.py login_link` prints a one-time address that logs the administrator in."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from apps.accounts.services import login_link_secret


class Command(BaseCommand):
    help = "Prints a one-time login address (valid for 12 hours)."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{settings.WEB_URL}/login/{login_link_secret()}")
