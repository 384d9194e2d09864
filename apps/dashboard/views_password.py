"""The page where a person sets their own password."""

from __future__ import annotations

import time

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from apps.accounts import ended, services, throttle
from apps.accounts.sessions import is_fresh_by_link
from apps.accounts.views import too_many
from apps.core.clock import now_ns
from apps.core.http import client_address


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def password(request: HttpRequest) -> HttpResponse:
    """The old password is asked for, unless there is none or a one-time link has just signed in."""
    user = User.objects.get(username=request.user.get_username())
    asks = user.has_usable_password() and not is_fresh_by_link(request.session, int(time.time()))
    made: type[SetPasswordForm[User]] = PasswordChangeForm if asks else SetPasswordForm
    form = made(user, request.POST or None)
    if request.method == "POST" and asks:
        tried = throttle.take(user.get_username(), client_address(request), now_ns())
        if tried.wait_s:
            return too_many(request, tried.wait_s)
    if not form.is_valid():
        context = {
            "form": form,
            "asks": asks,
            "has_one": user.has_usable_password(),
            "instead": None if services.may_use_password(user) else settings.OIDC,
        }
        return render(
            request, "settings/password.html", context, status=400 if form.errors else 200
        )
    with transaction.atomic():
        form.save()
        services.note_password(user, client_address(request))
    update_session_auth_hash(request, user)
    ended.all_of(user.pk)
    throttle.forget(user.get_username(), client_address(request))
    messages.success(
        request, "Your password is set. Other devices have to sign in again.", extra_tags="ok"
    )
    return redirect("password")
