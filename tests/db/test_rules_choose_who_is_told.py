"""The outbox gets a row for each recipient that the rules name."""

import pytest

from apps.alerts import routing, rules_store, services, store
from apps.alerts.models import Channel, Rule
from apps.incidents import services as incidents
from apps.runs import store as runs
from apps.runs.models import Run
from tests.incident_samples import at, explosion

NOW = at(5000)


@pytest.fixture
def run_id(db, settings):
    settings.ALERT_RECIPIENTS = ["oncall@example.org"]
    run_id = runs.ensure_run("lrbump")
    Run.objects.filter(pk=run_id).update(project="llm", config={"wandb/tags": ["prod", 7]})
    return run_id


def channel(name, **fields):
    values = {"kind": "slack", "shown": "…", "changed_at_ns": 1, **fields}
    return Channel.objects.create(name=name, **values).pk


def rule(name, *channels, **fields):
    values = {"severities": ["page"], "changed_at_ns": 1, "channels": channels, **fields}
    return Rule.objects.create(name=name, **values).pk


def told(run_id):
    changes = incidents.absorb(run_id, 0, [explosion()], NOW)
    services.plan(changes, NOW)
    return sorted(d.recipient for d in store.deliveries())


def test_without_rules_the_default_recipients_are_told(run_id):
    assert told(run_id) == ["oncall@example.org"]


def test_a_rule_for_the_project_and_tag_of_the_run_names_its_channels(run_id):
    chat, bob = channel("chat"), channel("bob", kind="email", shown="bob@example.org")
    rule("llm in production", chat, bob, project="llm", tag="prod", kinds=["explosion"])
    rule("others", bob, project="other")
    assert told(run_id) == ["bob@example.org", f"channel:{chat}"]


def test_an_incident_that_no_rule_fits_goes_to_the_default_recipients(run_id):
    rule("others", channel("chat"), project="other")
    assert told(run_id) == ["oncall@example.org"]


def test_a_rule_made_later_adds_a_recipient_and_takes_none_away(run_id):
    assert told(run_id) == ["oncall@example.org"]
    chat = channel("chat")
    rule("all", chat)
    services.sweep(NOW)
    assert sorted(d.recipient for d in store.deliveries()) == [
        f"channel:{chat}",
        "oncall@example.org",
    ]


def test_who_left_a_rule_can_come_back(run_id):
    assert rules_store.leave(0, "oncall@example.org", 5)
    assert not rules_store.leave(0, "oncall@example.org", 6)
    assert routing.book().left == {(0, "oncall@example.org")}
    assert rules_store.come_back(0, "oncall@example.org")
    assert not rules_store.come_back(0, "oncall@example.org")


def test_routing_costs_a_fixed_number_of_statements(run_id, django_assert_num_queries):
    rule("all", channel("chat"))
    incidents.absorb(run_id, 0, [explosion()], NOW)
    found = incidents.store.paging(0)
    with django_assert_num_queries(4):
        routing.routes(found)
