"""Routes of the event process."""

from django.urls import path

from apps.dashboard.live import events, health

urlpatterns = [path("events", events), path("health/live", health)]
