"""Login and logout. None of allauth's own addresses is here."""

from django.urls import path

from apps.accounts import views
from apps.accounts.oidc import views as oidc

urlpatterns = [
    path("login/", views.SignIn.as_view(), name="login"),
    path("login/oidc/", oidc.begin, name="oidc_begin"),
    path("login/oidc/return/", oidc.finish, name="oidc_return"),
    path("login/<str:secret>", views.login_by_link, name="login_by_link"),
    path("logout/", views.sign_out, name="logout"),
]
