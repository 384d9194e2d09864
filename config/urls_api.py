"""The read API alone; the data doors fall through to it for GET."""

from apps.api.api import api
from django.urls import path

urlpatterns = [path("api/v1/", api.urls)]
