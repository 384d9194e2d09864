"""The doors of other products' protocols, mounted at the root where their clients look."""

from django.urls import path

from apps.ingest.loki import views as loki
from apps.ingest.otlp import views as otlp

urlpatterns = [
    path("loki/api/v1/push", loki.push),
    path("v1/logs", otlp.logs),
    path("otlp/v1/logs", otlp.logs),
]
