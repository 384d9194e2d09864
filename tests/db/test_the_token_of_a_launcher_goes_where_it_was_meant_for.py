"""Addresses and tokens of launchers: kept encrypted, audited without them, never sent elsewhere."""

import pytest

from apps.accounts import store as accounts
from apps.accounts.records import Actor
from apps.accounts.services import Forbidden
from apps.core.errors import AppError
from apps.rollbacks.domain.handover import Kind
from apps.rollbacks.launchers import bindings, bindings_store, handing
from apps.rollbacks.launchers.bindings import BindingAsked
from apps.rollbacks.launchers.http import Access
from apps.runs import store as runs
from tests.incident_samples import T0
from tests.rollback_story import ADA, KEY

pytestmark = pytest.mark.django_db
ROOT = Actor("user", "root", frozenset({"read", "operate", "admin"}))
CONFIG = {"namespace": "training", "name": "gpt"}
URL, TOKEN = "https://kube.example.org:6443", "s3cr3t"


@pytest.fixture
def run():
    runs.ensure_run(KEY)
    return runs.get_run(KEY)


def save(run, url=URL, token=TOKEN, version=0, actor=ROOT, **more):
    asked = BindingAsked(Kind.KUBERNETES, CONFIG, Access(url, token), version=version, **more)
    bindings.save(run, asked, actor, T0)
    return bindings_store.get("", KEY)


def test_the_token_is_encrypted_and_in_no_audit_row(run):
    found = save(run)
    assert handing.unsealed(found.sealed) == Access(URL, TOKEN)
    assert TOKEN not in found.sealed + repr(found)
    row = accounts.audit_rows(1)[0]
    assert (row.after["shown"], row.after["access"]) == ("kube.example.org:6443", "new")
    assert TOKEN not in str(row)


def test_a_change_keeps_what_was_left_empty_but_not_for_another_address(run):
    save(run)
    kept = save(run, url="", token="", version=1, automatic=True)
    assert handing.unsealed(kept.sealed) == Access(URL, TOKEN)
    with pytest.raises(AppError, match="a token is missing"):
        save(run, url="https://evil.example.org", token="", version=2)
    assert handing.unsealed(bindings_store.get("", KEY).sealed) == Access(URL, TOKEN)


@pytest.mark.parametrize(
    ("access", "where"),
    [
        ({"url": "file:///etc/passwd"}, "url"),
        ({"url": "https://user:pw@kube.example.org"}, "url"),
        ({"url": "https://kube.example.org/?x"}, "url"),
        ({"token": "two words"}, "token"),
        ({"token": "a\r\nX-Evil: 1"}, "token"),
        ({"token": ""}, "token"),
    ],
)
def test_what_is_no_access_is_refused_with_its_field(run, access, where):
    with pytest.raises(AppError) as refused:
        save(run, **access)
    assert refused.value.where == where


def test_only_administrators_set_it(run):
    with pytest.raises(Forbidden):
        save(run, actor=ADA)


def test_a_lost_key_is_said(run, settings):
    found = save(run)
    settings.SECRET_KEY = "another"
    with pytest.raises(AppError, match="SECRET_KEY has changed; enter its address and token"):
        handing.unsealed(found.sealed)
