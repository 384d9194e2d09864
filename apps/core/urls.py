"""Health checks. /ready is where shippers that know Loki ask."""

from django.urls import path

from apps.core import views

urlpatterns = [
    path("health/live", views.live),
    path("health/ready", views.ready),
    path("ready", views.ready),
]
