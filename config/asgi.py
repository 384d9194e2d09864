"""The event stream and nothing else (granian, ASGI): see urls_live.py."""

import os

# Not setdefault: a supervisor that is a manage.py command hands down its own settings module.
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings_live"

from django.core.asgi import get_asgi_application

application = get_asgi_application()
