"""Settings of the event process: the same, with only the event routes and async middleware."""

from config.settings import *  # noqa: F403

ROOT_URLCONF = "config.urls_live"
MIDDLEWARE = ["django.contrib.sessions.middleware.SessionMiddleware"]
