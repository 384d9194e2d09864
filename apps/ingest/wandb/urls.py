"""The addresses of the `wandb` client, mounted at the root."""

from django.urls import path, re_path

from apps.ingest.wandb import artifact_doors, downloads, views
from apps.ingest.wandb.sessions import ENTITY

urlpatterns = [
    path("graphql", views.graphql_door),
    path("files/<str:entity>/<str:project>/<str:key>/file_stream", views.file_stream_door),
    path("files/download/<str:ticket>", downloads.download, name="wandb-download"),
    path("files/upload/manifest/<str:ticket>", artifact_doors.manifest, name="wandb-manifest"),
    path("files/upload/<str:ticket>", views.upload, name="wandb-upload"),
    re_path(rf"^{ENTITY}(?:-[a-z0-9-]+)?/[^/]+/runs/(?P<key>[^/]+)$", views.run_page),
    path("sdk/otel/v1/metrics", views.telemetry),
    path("sdk/otel/v1/logs", views.telemetry),
]
