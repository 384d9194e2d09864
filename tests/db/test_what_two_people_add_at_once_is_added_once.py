"""People, launchers of a project and pins, added by two at the same moment: words, not a fault."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from apps.accounts import people, people_store, services
from apps.accounts.domain.arrival import Claims, Provider
from apps.accounts.oidc.arriving import arrive
from apps.accounts.records import SYSTEM, Role
from apps.core.errors import Conflict
from apps.core.sql import query
from apps.metrics.models import Pin
from apps.metrics.store import pins
from apps.rollbacks.domain.handover import Kind
from apps.rollbacks.launchers import bindings
from apps.rollbacks.launchers.bindings import BindingAsked
from apps.rollbacks.launchers.http import Access
from apps.rollbacks.models import LauncherBinding
from apps.runs import store as runs
from tests.stack import until
from tests.threads import at_once

WAITING = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
pytestmark = pytest.mark.django_db(transaction=True)


def test_people_whose_names_differ_in_case(valkey):
    names = ("Ada", "ada", "ADA")
    errors = at_once(*[partial(people.add, n, "", Role.VIEWER, actor=SYSTEM) for n in names])
    assert [str(one) for one in errors] == [
        "name: somebody has this name already; names differ"
    ] * 2
    assert User.objects.count() == 1


def test_the_first_administrator_of_two_links(valkey):
    assert at_once(services.login_link_secret, services.login_link_secret) == []
    assert User.objects.count() == 1


def test_a_login_link_beside_somebody_whom_a_provider_brings():
    """Whoever comes in waits for the link without holding the administrator whom it is for."""
    root = people_store.add("root", "")
    people_store.set_role(root, Role.ADMIN)
    everybody = {Role.VIEWER: frozenset("*")}
    provider = Provider("https://id.example.org", "", "", groups=everybody, creates=True)
    come = partial(arrive, Claims("1", names=("ada",)), provider, "")
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            people_store.one_at_a_time()
            coming = pool.submit(at_once, come)
            until(lambda: bool(query(WAITING)), "it to wait")
            services.link_for(root, actor=SYSTEM)
        assert coming.result() == []
    assert set(User.objects.values_list("username", flat=True)) == {"root", "ada"}


def test_the_launcher_of_a_project_from_pages_of_two_runs():
    for key in ("one", "two"):
        runs.ensure_run(key)
    asked = BindingAsked(
        Kind.KUBERNETES,
        {"namespace": "training", "name": "gpt"},
        Access("https://kube.example.org:6443", "s3cr3t"),
        whole_project=True,
    )
    found = [runs.get_run(key) for key in ("one", "two")]
    saves = [partial(bindings.save, run, asked, SYSTEM, 1) for run in found]
    (error,) = at_once(*saves)
    assert isinstance(error, Conflict)
    assert LauncherBinding.objects.count() == 1


def test_a_series_that_everybody_sees():
    run_id = runs.ensure_run("one")
    add = [lambda: pins.add_pin(run_id, pins.EVERYBODY, "loss", 1)] * 3
    assert at_once(*add) == []
    assert Pin.objects.count() == 1
