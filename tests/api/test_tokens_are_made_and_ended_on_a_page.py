"""/settings/tokens/: made with a scope and an end, shown once, revoked, their use seen."""

import re
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from apps.accounts import services, store
from apps.accounts.models import ApiToken

TOKENS = "/settings/tokens/"


def make(browser, **form):
    return browser.post(TOKENS, {"name": "gpu-a01", "scope": ["ingest"], "days": "", **form})


def secret_in(answer):
    return re.search(r"lg_[\w-]{43}|local-\w{40}", answer.content.decode())[0]


@pytest.fixture(autouse=True)
def _forgotten(fresh_caches):
    """No test knows a token of another."""


def test_a_token_is_shown_once_and_only_its_hash_is_kept(operator):
    secret = secret_in(make(operator, scope=["read", "ingest"], days="30"))
    assert services.verify_token(secret).scopes == {"read", "ingest"}
    assert secret not in operator.get(TOKENS).content.decode()
    (kept,) = ApiToken.objects.all()
    assert (kept.digest, kept.made_by) == (store.digest(secret), "user:ada")
    assert timedelta(days=29) < kept.expires_at - timezone.now() <= timedelta(days=30)
    row = store.audit_rows(1)[0]
    assert (row.action, row.after["scopes"], "ends" in row.after) == (
        "token.created",
        ["read", "ingest"],
        True,
    )
    assert secret not in str(row)


def test_one_for_wandb_has_its_form(operator):
    assert secret_in(make(operator, wandb="yes")).startswith("local-")


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"name": ""}, "a token needs a name"),
        ({"scope": []}, "unknown scope (none)"),
        ({"scope": ["root"]}, "unknown scope root"),
        ({"days": "0"}, "ends: this is no number of days"),
        ({"days": "99999"}, "ends: this is no number of days"),
    ],
)
def test_a_mistake_makes_no_token(operator, form, said):
    page = make(operator, **form)
    assert (page.status_code, ApiToken.objects.count()) == (400, 0)
    assert said in page.content.decode()


def test_a_token_past_its_end_is_refused(operator, client):
    secret = secret_in(make(operator, scope=["read"], days="7"))
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    stranger = type(client)()
    answer = stranger.get("/api/v1/runs", headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 401
    assert "No token works" in operator.get(TOKENS).content.decode()


def test_a_revoked_token_is_refused_and_said_so(operator):
    secret = secret_in(make(operator))
    (kept,) = ApiToken.objects.all()
    assert operator.post(f"{TOKENS}{kept.pk}/revoke/").status_code == 302
    assert services.verify_token(secret) is None
    assert store.audit_rows(1)[0].action == "token.revoked"
    assert "Tokens that ended (1)" in operator.get(TOKENS).content.decode()
    assert operator.post(f"{TOKENS}{kept.pk}/revoke/").status_code == 404


def test_its_last_use_is_noted_once_in_a_while(db, django_assert_num_queries):
    secret = services.make_token("a", ["read"])
    with django_assert_num_queries(2):
        store.token_actor(secret, timezone.now())
    with django_assert_num_queries(1):
        store.token_actor(secret, timezone.now())
    later = timezone.now() + store.USE_NOTED + timedelta(seconds=1)
    store.token_actor(secret, later)
    assert ApiToken.objects.get().used_at == later


def test_the_command_gives_an_end_too(db, capsys):
    call_command("token", "nightly", "--scope", "read", "--days", "2")
    assert services.verify_token(capsys.readouterr().out.strip())
    assert ApiToken.objects.get().expires_at < timezone.now() + timedelta(days=2)


def test_who_is_no_administrator_does_not_see_them(reader):
    assert reader.get(TOKENS).status_code == 403
