"""Login and logout."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from apps.accounts import views

urlpatterns = [
    path("login/", LoginView.as_view(template_name="accounts/login.html"), name="login"),
    path("login/<str:secret>", views.login_by_link, name="login_by_link"),
    path("logout/", LogoutView.as_view(next_page="/login/"), name="logout"),
]
