"""Routes of the event process."""

from apps.dashboard.live import events, health
from django.urls import path

urlpatterns = [path("events", events), path("health/live", health)]
