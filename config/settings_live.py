"""Settings of the event process: the same, with only the event routes."""

from config.settings import *  # noqa: F403

ROOT_URLCONF = "config.urls_live"
MIDDLEWARE = []
