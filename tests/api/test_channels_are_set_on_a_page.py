"""Channels on /alerts/: added, changed, tested and removed, as people do it."""

import pytest

from apps.accounts import store as accounts
from apps.alerts import channels_store, rules_store
from apps.alerts.models import Channel
from apps.alerts.sealing import unseal
from tests.channel_samples import ROUTING_KEY, channel, rule
from tests.receiver import receiving

pytestmark = pytest.mark.django_db
HOOK = "https://chat.example.org/hooks/s3cr3t"


@pytest.fixture
def server(settings):
    settings.ALERT_TARGETS = "loopback"
    with receiving() as receiver:
        yield receiver


def new_channel(browser, kind="slack", **fields):
    form = {"name": "chat", "address": HOOK, "enabled": "yes", **fields}
    return browser.post(f"/alerts/channels/new/?kind={kind}", form)


def last_audit():
    return accounts.audit_rows(1)[0]


def test_a_channel_is_added_and_its_address_never_shown_again(operator):
    answer = new_channel(operator)
    (info,) = channels_store.infos()
    assert (answer.status_code, answer["Location"]) == (302, f"/alerts/channels/{info.id}/")
    assert unseal(channels_store.access(info.id).sealed).url == HOOK
    pages = operator.get("/alerts/").content + operator.get(answer["Location"]).content
    assert b"https://chat.example.org/" in pages
    assert b"s3cr3t" not in pages
    assert (last_audit().action, last_audit().after["shown"]) == (
        "alert_channel.added",
        "https://chat.example.org/…",
    )
    assert "s3cr3t" not in str(last_audit())


def test_a_made_signing_secret_is_shown_once(operator):
    page = new_channel(operator, "webhook").content.decode()
    (info,) = channels_store.infos()
    secret = unseal(channels_store.access(info.id).sealed).secret
    assert secret in page
    assert secret not in operator.get(f"/alerts/channels/{info.id}/").content.decode()
    assert secret not in str(last_audit())


@pytest.mark.parametrize(
    ("kind", "fields", "said"),
    [
        ("slack", {"name": ""}, "name: a channel needs a name"),
        ("slack", {"address": "ftp://x"}, "address: this is no http or https address"),
        ("pagerduty", {"secret": "short"}, "secret: the integration key"),
        ("email", {"address": "a, b"}, "address: this is no mail address"),
        ("ntfy", {"address": "https://ntfy.example.org/"}, "address: the address of ntfy"),
    ],
)
def test_a_mistake_is_said_beside_what_was_entered(operator, kind, fields, said):
    page = new_channel(operator, kind, **fields)
    assert page.status_code == 400
    assert said in page.content.decode()
    assert channels_store.infos() == []


def test_two_channels_never_have_one_name(operator):
    new_channel(operator)
    page = new_channel(operator, name="CHAT")
    assert "another channel is called CHAT" in page.content.decode()


def test_a_change_keeps_what_was_left_empty(operator):
    number = channel("pager", "pagerduty", "https://pager.example.org/x", ROUTING_KEY)
    form = {"name": "night", "address": "", "secret": "", "version": 1, "enabled": "yes"}
    assert operator.post(f"/alerts/channels/{number}/", form).status_code == 302
    kept = unseal(channels_store.access(number).sealed)
    assert (kept.url, kept.secret) == ("https://pager.example.org/x", ROUTING_KEY)
    assert last_audit().before["name"] == "pager"


def test_a_new_address_never_gets_the_old_secret(operator):
    number = channel("pager", "pagerduty", "https://pager.example.org/x", ROUTING_KEY)
    form = {"name": "pager", "address": "https://evil.example.org/", "version": 1}
    page = operator.post(f"/alerts/channels/{number}/", form)
    assert page.status_code == 400
    assert unseal(channels_store.access(number).sealed).url == "https://pager.example.org/x"


def test_who_was_overtaken_is_told(operator):
    number = channel("chat", url=HOOK, changed_by="bob", version=2)
    page = operator.post(f"/alerts/channels/{number}/", {"name": "chat", "version": 1})
    assert page.status_code == 409
    assert b"bob changed this channel meanwhile" in page.content


def test_a_channel_that_a_rule_names_is_not_removed(operator):
    number = channel("chat", url=HOOK)
    rule("pages", number)
    page = operator.post(f"/alerts/channels/{number}/remove/")
    assert (page.status_code, b"rules use this channel: pages" in page.content) == (422, True)
    rules_store.remove(rules_store.infos()[0].rule.id)
    assert operator.post(f"/alerts/channels/{number}/remove/").status_code == 302
    assert channels_store.infos() == []


def test_a_test_says_how_it_went(operator, server):
    number = channel("chat", url=server.url())
    page = operator.post(f"/alerts/channels/{number}/test/", follow=True)
    assert "“chat” has taken a test message" in page.content.decode()
    assert "No incident, nothing to do" in server.received[0].json["text"]
    server.answer(403, b"invalid_token")
    page = operator.post(f"/alerts/channels/{number}/test/", {"back": "channel"}, follow=True)
    assert "has not taken the test message: HTTP 403: invalid_token" in page.content.decode()
    info = channels_store.info(number)
    assert (info.test_error, last_audit().action) == (
        "HTTP 403: invalid_token",
        "alert_channel.tested",
    )


def test_a_test_of_a_pager_resolves_what_it_opened(operator, server):
    number = channel("pager", "pagerduty", server.url("/v2/enqueue"), ROUTING_KEY)
    operator.post(f"/alerts/channels/{number}/test/")
    opened, *ended = [request.json for request in server.received]
    assert (opened["event_action"], ended[0]["event_action"]) == ("trigger", "resolve")
    assert opened["dedup_key"] in {event["dedup_key"] for event in ended}
    assert opened["payload"]["severity"] == "info"


def test_a_test_of_a_mail_channel_is_a_mail(operator, mailoutbox):
    number = channel("bob", "email", "bob@example.org")
    operator.post(f"/alerts/channels/{number}/test/")
    assert [m.to for m in mailoutbox] == [["bob@example.org"]]
    assert mailoutbox[0].subject == "TEST of the channel bob: nothing is wrong"


def test_a_channel_whose_key_is_lost_is_said_on_the_page(operator, settings):
    channel("chat", url=HOOK)
    Channel.objects.update(sealed="gAAAA")
    assert "SECRET_KEY has changed: chat" in operator.get("/alerts/").content.decode()


def test_an_operator_tests_but_does_not_change(client, django_user_model, server):
    client.force_login(django_user_model.objects.create_user("op", is_staff=True))
    number = channel("chat", url=server.url())
    assert client.post(f"/alerts/channels/{number}/test/").status_code == 302
    assert client.post(f"/alerts/channels/{number}/", {"name": "x"}).status_code == 403
    page = client.get("/alerts/").content.decode()
    assert "Send test" in page
    assert "Add a rule" not in page


@pytest.mark.parametrize("kind", ["", "fax"])
def test_an_unknown_kind_is_not_there(operator, kind):
    assert operator.get(f"/alerts/channels/new/?kind={kind}").status_code == 404
