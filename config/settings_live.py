"""Settings of the event process: the same, with only the event routes."""

from config.settings import *  # noqa: F403

INSTALLED_APPS = [app for app in INSTALLED_APPS if not app.startswith("allauth.")]  # noqa: F405
ROOT_URLCONF = "config.urls_live"
MIDDLEWARE = []
