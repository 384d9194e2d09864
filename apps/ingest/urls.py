"""The doors, mounted at /api/v1/ before the read API."""

from django.urls import path

from apps.ingest import flight, views
from apps.ingest.dispatch import post_to
from apps.ingest.nodes import views as nodes

urlpatterns = [
    path("runs/<str:key>/launches", post_to(views.launches)),
    path("runs/<str:key>/logs", post_to(views.run_door("logs"))),
    path("runs/<str:key>/packed", post_to(views.run_door("packed"))),
    path("runs/<str:key>/lines", post_to(views.run_door("lines"))),
    path("runs/<str:key>/wandb", post_to(views.run_door("wandb"))),
    path("runs/<str:key>/tensorboard", post_to(views.run_door("tensorboard"))),
    path("runs/<str:key>/rows", post_to(views.run_door("rows"))),
    path("runs/<str:key>/metrics", post_to(views.run_door("metrics"))),
    path("runs/<str:key>/checkpoints", post_to(views.run_door("checkpoints"))),
    path("runs/<str:key>/flight-recorder", post_to(flight.flight_recorder)),
    path("runs/<str:key>/mirror", post_to(views.mirror)),
    path("nodes/events", post_to(nodes.node_events)),
    *(path(f"nodes/{name}", post_to(nodes.told_by(name))) for name in nodes.DOORS),
]
