"""Pages, JSON and ingest (granian, WSGI)."""

import os

from django.core.wsgi import get_wsgi_application

from apps.core.bodies import FewBodies

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = FewBodies(get_wsgi_application())
