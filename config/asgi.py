"""The event stream and nothing else (granian, ASGI): see urls_live.py."""

import os
from typing import Any

# Not setdefault: a supervisor that is a manage.py command hands down its own settings module.
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings_live"

import django
from django.core.handlers.asgi import ASGIHandler


class OneThread(ASGIHandler):
    """Django's handler, but all requests share one thread for what is not async.

    Django gives each request a thread until its end, and an open page is a request of hours.
    """

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await self.handle(scope, receive, send)


django.setup(set_prefix=False)
application = OneThread()
