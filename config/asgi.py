"""The event stream and nothing else (granian, ASGI): see urls_live.py."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings_live")

from django.core.asgi import get_asgi_application

application = get_asgi_application()
