"""Login and logout."""

from django.urls import path

from apps.accounts import views

urlpatterns = [
    path("login/", views.SignIn.as_view(), name="login"),
    path("login/<str:secret>", views.login_by_link, name="login_by_link"),
    path("logout/", views.sign_out, name="logout"),
]
