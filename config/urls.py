"""Routes of the web process."""

from django.urls import include, path

from apps.api.api import api

urlpatterns = [
    path("", include("apps.core.urls")),
    path("", include("apps.accounts.urls")),
    path("api/v1/", include("apps.ingest.urls")),
    path("api/v1/", api.urls),
    path("", include("apps.dashboard.urls")),
]
handler404 = "apps.core.http.not_found"
handler500 = "apps.core.http.server_error"
