"""Login and logout."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from apps.accounts import views

urlpatterns = [
    path("login/", views.SignIn.as_view(), name="login"),
    path("login/<str:secret>", views.login_by_link, name="login_by_link"),
    path("logout/", LogoutView.as_view(next_page="/login/"), name="logout"),
]
