"""Routes, mounted at /loki/api/v1/."""

from django.urls import path

from apps.api.loki import views

urlpatterns = [
    path("query_range", views.query_range),
    path("query", views.query),
    path("labels", views.labels),
    path("label", views.labels),
    path("label/<str:name>/values", views.label_values),
    path("series", views.series),
]
