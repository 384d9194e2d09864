"""accounts: one line a change, in the transaction of the change."""

import pytest
from django.db import transaction

from apps.accounts import services, store
from apps.accounts.models import ApiToken
from apps.accounts.records import SYSTEM, Actor

pytestmark = pytest.mark.django_db
ADA = Actor("user", "ada", frozenset({"operate"}), user_id=1)


def trail():
    """(actor, action) of every line, oldest first."""
    return [(row.actor, row.action) for row in reversed(store.audit_rows(100))]


def test_a_token_is_born_and_ends(fresh_caches):
    services.make_token("gpu-a01", ["ingest"], actor=ADA)
    token = ApiToken.objects.get()
    services.revoke_token(token.pk, actor=ADA)
    assert trail() == [("user:ada", "token.created"), ("user:ada", "token.revoked")]
    newest, oldest = store.audit_rows(2)
    assert (newest.object, oldest.object) == (f"token {token.pk}",) * 2
    assert oldest.after == {"name": "gpu-a01", "scopes": ["ingest"]}


def test_ending_it_again_changes_nothing_and_leaves_no_line():
    services.make_token("x", ["read"])
    (token,) = ApiToken.objects.all()
    assert services.revoke_token(token.pk, actor=SYSTEM)
    assert not services.revoke_token(token.pk, actor=SYSTEM)
    assert not services.revoke_token(token.pk + 1, actor=SYSTEM)
    assert [action for _, action in trail()] == ["token.created", "token.revoked"]


def test_a_login_link_is_made_and_used_up(client):
    secret = services.login_link_secret()
    client.get(f"/login/{secret}")
    client.get(f"/login/{secret}")
    assert trail() == [
        ("system:lastgood", "login_link.created"),
        ("user:admin", "login.by_link"),
    ]
    assert secret not in str(store.audit_rows(2))


def test_a_refused_token_leaves_no_line():
    with pytest.raises(services.AppError):
        services.make_token("x", ["write"])
    assert trail() == []


def test_a_line_vanishes_with_its_change():
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        services.make_token("x", ["read"])
        raise ZeroDivisionError
    assert trail() == []


def test_a_line_says_everything_it_was_told():
    services.audit(
        ADA, "order.cancelled", "o" * 400, run_id=7, before={"a": 1}, after={"b": 2}, reason="why"
    )
    (row,) = store.audit_rows(1)
    assert (row.object, row.before, row.after, row.reason) == ("o" * 300, {"a": 1}, {"b": 2}, "why")


def test_the_trail_is_read_newest_first_in_pages():
    [services.audit(SYSTEM, f"act.{number}", "x") for number in range(5)]
    first = store.audit_rows(2)
    second = store.audit_rows(2, before_id=first[-1].id)
    assert [row.action for row in first + second] == ["act.4", "act.3", "act.2", "act.1"]
