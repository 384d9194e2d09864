"""Rules and the delivery log on /alerts/, as people use them."""

import pytest

from apps.accounts import store as accounts
from apps.accounts.records import Actor
from apps.alerts import channels_store, rules_store, sending, services, store
from apps.core.clock import now_ns
from apps.incidents import acting
from apps.incidents import services as incidents
from apps.incidents import store as incident_store
from apps.runs import store as runs
from tests.channel_samples import channel, rule
from tests.incident_samples import explosion
from tests.receiver import receiving

pytestmark = pytest.mark.django_db
HOOK = "https://chat.example.org/hooks/s3cr3t"
RULE = {"name": "pages", "severities": "page", "everybody": "yes", "enabled": "yes", "act": "save"}


@pytest.fixture
def incident(db):
    """An incident of today."""
    (change,) = incidents.absorb(runs.ensure_run("boom"), 0, [explosion()], now_ns())
    return incident_store.get(change.incident_id)


def last_audit():
    return accounts.audit_rows(1)[0]


def test_the_empty_page_says_who_is_told_now(operator, settings):
    settings.ALERT_RECIPIENTS = ["oncall@example.org"]
    page = operator.get("/alerts/").content.decode()
    assert "oncall@example.org" in page
    assert "no rule yet" in page
    assert "No channel yet" in page
    assert "Nothing was sent yet" in page


def test_a_rule_is_added_tried_and_counted(operator, incident):
    number = channel("chat", url=HOOK)
    form = {**RULE, "channels": number, "kinds": incident.kind}
    tried = operator.post("/alerts/rules/new/", {**form, "act": "try"}).content.decode()
    assert "It would have fired 1 time" in tried
    assert incident.label in tried
    assert rules_store.infos() == []
    assert operator.post("/alerts/rules/new/", form).status_code == 302
    (info,) = rules_store.infos()
    assert (info.rule.channels, info.rule.kinds) == ((number,), {incident.kind})
    assert last_audit().action == "alert_rule.added"
    assert (
        '<td class="num" data-label="in 7 d:">1</td>' in operator.get("/alerts/").content.decode()
    )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": " "}, "name: a rule needs a name"),
        ({"severities": "info"}, "severities: a rule names the severities it sends"),
        ({"everybody": ""}, "channels: a rule leads somewhere"),
        ({"channels": "77"}, "channels: there is no channel 77"),
        ({"kinds": "<b>"}, "kinds: these are no kinds of incidents"),
    ],
)
def test_a_rule_that_says_nothing_is_refused(operator, fields, said):
    page = operator.post("/alerts/rules/new/", {**RULE, **fields})
    assert (page.status_code, said in page.content.decode()) == (400, True)
    assert rules_store.infos() == []


def test_a_rule_is_changed_and_removed(operator):
    number = rule("pages", channel("chat", url=HOOK))
    form = {**RULE, "name": "nights", "version": 1}
    assert operator.post(f"/alerts/rules/{number}/", form).status_code == 302
    assert rules_store.info(number).rule.name == "nights"
    assert operator.post(f"/alerts/rules/{number}/", form).status_code == 409
    assert operator.post(f"/alerts/rules/{number}/remove/").status_code == 302
    assert (rules_store.infos(), last_audit().before["name"]) == ([], "nights")


def test_the_page_of_an_incident_says_who_was_told_and_why(operator, incident, settings):
    settings.ALERT_RECIPIENTS = ["oncall@example.org"]
    services.sweep(now_ns())
    page = operator.get(f"/incidents/{incident.id}/").content.decode()
    assert "no rule fits: the default recipients are told" in page
    assert "oncall@example.org</strong>: due" in page


def test_a_silence_is_listed_with_its_end(operator, incident):
    assert "Silenced now" not in operator.get("/alerts/").content.decode()
    alice, moment = Actor("user", "alice", frozenset({"operate"})), now_ns()
    until_ns = moment + 3_600_000_000_000
    acting.silence(
        incident.run_id, incident.id, until_ns, actor=alice, now_ns=moment, reason="known"
    )
    page = operator.get("/alerts/").content.decode()
    section = page[page.index("Silenced now") : page.index("Newest messages")]
    assert incident.label in section
    assert "alice" in section
    assert "known" in section


def test_a_rule_that_leads_nowhere_is_marked(operator):
    rule("pages", channel("chat", url=HOOK, enabled=False))
    assert "none of its channels is on" in operator.get("/alerts/").content.decode()


def test_the_log_shows_a_failure_and_a_person_tries_again(operator, incident, settings):
    settings.ALERT_TARGETS = "loopback"
    with receiving() as server:
        rule("pages", channel("chat", url=server.url()))
        services.sweep(now_ns())
        server.answer(404, b"no_service")
        sending.send_due(lambda run_id, incident: [])
        _read_and_retry(operator)


def _read_and_retry(operator):
    page = operator.get("/alerts/deliveries/?status=failed").content.decode()
    assert "HTTP 404: no_service" in page
    assert "chat</a>" in page
    (failed,) = [d for d in store.deliveries() if d.status == "failed"]
    form = {
        "incident": failed.incident_id,
        "recipient": failed.recipient,
        "kind": failed.kind,
        "seq": failed.seq,
    }
    told = operator.post("/alerts/deliveries/retry/", form, follow=True)
    assert "tried again now" in told.content.decode()
    assert sending.send_due(lambda run_id, incident: []) == 1
    again = operator.post("/alerts/deliveries/retry/", form, follow=True)
    assert "neither failed nor waits" in again.content.decode()


@pytest.mark.parametrize(
    "path",
    [
        "/alerts/rules/new/",
        "/alerts/channels/new/?kind=slack",
        "/alerts/channels/{channel}/",
        "/alerts/channels/{channel}/test/",
        "/alerts/channels/{channel}/remove/",
        "/alerts/rules/{rule}/",
        "/alerts/rules/{rule}/remove/",
        "/alerts/deliveries/retry/",
    ],
)
def test_who_may_only_read_changes_nothing(reader, path):
    number = channel("chat", url=HOOK)
    names = {"channel": number, "rule": rule("pages", number)}
    answer = reader.post(path.format(**names), {**RULE, "address": HOOK})
    assert answer.status_code == 403
    assert (len(channels_store.infos()), len(rules_store.infos())) == (1, 1)


@pytest.mark.parametrize("path", ["/alerts/channels/99/", "/alerts/rules/99/"])
def test_what_is_not_there_is_a_plain_page(operator, path):
    assert operator.get(path).status_code == 404
