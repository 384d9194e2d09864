"""The read API alone; the data doors fall through to it for GET."""

from django.urls import path

from apps.api.api import api

urlpatterns = [path("api/v1/", api.urls)]
