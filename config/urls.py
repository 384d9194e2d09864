"""Routes of the web process."""

from django.urls import include, path

urlpatterns = [
    path("", include("apps.core.urls")),
    path("", include("apps.accounts.urls")),
    path("api/v1/", include("apps.ingest.urls")),
    path("", include("apps.ingest.urls_push")),
    path("", include("apps.ingest.wandb.urls")),
    path("loki/api/v1/", include("apps.api.loki.urls")),
    path("", include("config.urls_api")),
    path("", include("apps.dashboard.urls")),
]
handler400 = "apps.core.http.bad_request"
handler403 = "apps.core.http.forbidden"
handler404 = "apps.core.http.not_found"
handler500 = "apps.core.http.server_error"
