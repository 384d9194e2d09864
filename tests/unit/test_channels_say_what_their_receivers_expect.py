"""Each transport against a real HTTP server that checks what it gets."""

import time

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from apps.alerts.domain.access import Access
from apps.alerts.domain.message import Kind
from apps.alerts.domain.note import Standing, trial
from apps.alerts.domain.outgoing import Verdict
from apps.alerts.transports import ntfy, pagerduty, slack, webhook
from apps.alerts.transports.http import post
from apps.incidents.domain.incident import IncidentState
from tests.channel_samples import HERE, ROUTING_KEY, SECRET, note
from tests.incident_samples import WARN, at, incident
from tests.receiver import receiving

KEY = "inc-42.run-3@lastgood.example.org"
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
"""What Postgres holds: no surrogates, no NUL."""
PD_REQUIRED = {"summary", "severity", "source"}


@pytest.fixture
def server():
    with receiving() as receiver:
        yield receiver


def sent(server, transport, note, path="/hooks/s3cr3t", secret=""):
    """What the server got."""
    call = getattr(transport, "call", None) or (lambda *asked: transport.calls(*asked)[0])
    answer = post(call(note, Access(server.url(path), secret)), HERE)
    assert answer.verdict is Verdict.TAKEN
    return server.received[-1]


def ended():
    over = incident(state=IncidentState.RESOLVED, resolved_at_ns=at(1900), resolution="recovered")
    return note(Kind.CLOSING, incident=over, over=True)


def acknowledged():
    seen = incident(state=IncidentState.ACKNOWLEDGED, acknowledged_by="alice")
    return note(Kind.ACKNOWLEDGED, incident=seen)


# -- chats


def test_a_chat_gets_text_for_all_and_blocks_for_slack(server):
    got = sent(server, slack, note())
    assert got.path == "/hooks/s3cr3t"
    assert got.headers["Content-Type"] == "application/json"
    assert got.json["text"].startswith(":red_circle: *Loss 0.97 -&gt; 3.65 since step 1,001*")
    assert "https://lastgood.example.org/incidents/42/" in got.json["text"]
    header, lead, details, link = got.json["blocks"]
    assert header == {"type": "header", "text": {"type": "plain_text", "text": "llm-300b"}}
    assert lead["text"]["type"] == "mrkdwn"
    assert "Roll back to step 900 (attempt 0)" in details["text"]["text"]
    assert link["text"]["text"].startswith("<https://lastgood.example.org/incidents/42/|")


def test_words_of_a_run_call_nobody_in_a_chat(server):
    got = sent(server, slack, note()).body.decode()
    assert "<!channel>" not in got
    assert "@all" not in got


def test_a_chat_message_stays_within_slacks_limits(server):
    long = incident(title="loss " * 2_000)
    got = sent(server, slack, note(incident=long, run_key="r" * 500)).json
    assert len(got["blocks"][0]["text"]["text"]) <= slack.HEADER_CHARS
    assert all(len(b["text"]["text"]) <= slack.TEXT_CHARS for b in got["blocks"])


def test_a_chat_is_told_who_acknowledged_and_how_it_ended(server):
    assert "ACKNOWLEDGED by alice" in sent(server, slack, acknowledged()).json["text"]
    text = sent(server, slack, ended()).json["text"]
    assert text.startswith(":white_check_mark: *RESOLVED after 14 min")
    assert "The rollback is verified" in text


# -- signed webhooks


def test_a_webhook_is_accepted_by_the_reference_library_of_standard_webhooks(server):
    got = sent(server, webhook, note(now_ns=time.time_ns()), secret=SECRET)
    data = Webhook(SECRET).verify(got.body, dict(got.headers))
    assert data["type"] == "incident.opening"
    assert data["data"]["run"] == "llm-300b"
    assert data["data"]["onset_step"] == 1001
    assert data["data"]["standing"] == "triggered"
    assert data["data"]["url"] == "https://lastgood.example.org/incidents/42/"


@pytest.mark.parametrize("fault", ["body", "key", "old"])
def test_a_changed_body_a_wrong_key_and_an_old_request_are_refused(server, fault):
    late_ns = 301_000_000_000 if fault == "old" else 0
    got = sent(server, webhook, note(now_ns=time.time_ns() - late_ns), secret=SECRET)
    body = got.body.replace(b"llm-300b", b"llm-300c") if fault == "body" else got.body
    key = "whsec_" + "A" * 32 if fault == "key" else SECRET
    with pytest.raises(WebhookVerificationError):
        Webhook(key).verify(body, dict(got.headers))


def test_every_try_of_a_message_has_one_id_and_every_message_its_own():
    again = note(now_ns=at(9000))
    assert note().delivery_id == again.delivery_id
    others = [note(seq=1), note(Kind.REMINDER), note(recipient="channel:8"), ended()]
    ids = {one.delivery_id for one in [note(), *others]}
    assert len(ids) == 5
    call = webhook.call(again, Access("http://x.example", SECRET))
    assert call.headers["webhook-id"] == note().delivery_id


@pytest.mark.parametrize(
    ("message", "standing", "kind"),
    [(acknowledged(), "acknowledged", "acknowledged"), (ended(), "resolved", "closing")],
)
def test_a_webhook_tells_how_the_incident_stands(message, standing, kind):
    body = webhook.payload(message)
    assert (body["type"], body["data"]["standing"]) == (f"incident.{kind}", standing)


# -- ntfy


def test_ntfy_gets_json_for_its_topic_at_the_root_of_the_server(server):
    got = sent(server, ntfy, note(), "/loss-alerts", "tk_abc")
    assert got.path == "/"
    assert got.headers["Authorization"] == "Bearer tk_abc"
    assert got.json["topic"] == "loss-alerts"
    assert got.json["title"].startswith("CRITICAL llm-300b: Loss 0.97 -> 3.65")
    assert (got.json["priority"], got.json["tags"]) == (5, ["rotating_light", "page"])
    assert got.json["click"] == "https://lastgood.example.org/incidents/42/"


@pytest.mark.parametrize(
    ("message", "priority"),
    [
        (note(incident=incident(severity=WARN)), 4),
        (note(Kind.REMINDER), 5),
        (acknowledged(), 2),
        (ended(), 3),
    ],
    ids=["warning", "reminder", "acknowledged", "ended"],
)
def test_ntfy_wakes_nobody_for_good_news(server, message, priority):
    assert sent(server, ntfy, message, "/t").json["priority"] == priority


def test_a_push_of_any_length_stays_a_message(server):
    long = note(incident=incident(title="Verlüst " * 2_000))
    assert len(sent(server, ntfy, long, "/t").json["message"].encode()) <= ntfy.MESSAGE_BYTES


# -- PagerDuty


def events(message):
    """(action, key) of each event."""
    calls = pagerduty.calls(message, Access("http://x.example", ROUTING_KEY))
    return [(e["event_action"], e["dedup_key"]) for e in map(orjson.loads, (c.body for c in calls))]


def test_pagerduty_gets_a_trigger_that_its_schema_allows(server):
    event = sent(server, pagerduty, note(), "/v2/enqueue", ROUTING_KEY).json
    assert event["routing_key"] == ROUTING_KEY
    assert event["event_action"] == "trigger"
    assert event["payload"].keys() >= PD_REQUIRED
    assert event["payload"]["severity"] == "critical"
    assert event["payload"]["source"] == "llm-300b"
    assert event["payload"]["timestamp"] == "2025-06-15T15:23:21.000Z"
    assert event["links"] == [{"href": event["client_url"], "text": "Open in Lastgood"}]


def test_all_events_of_a_page_share_their_key():
    messages = [note(), note(Kind.REMINDER, seq=1), acknowledged(), ended()]
    assert [events(message)[0] for message in messages] == [
        ("trigger", KEY),
        ("trigger", KEY),
        ("acknowledge", KEY),
        ("resolve", KEY),
    ]


def test_a_warning_that_turns_into_a_page_opens_an_alert_of_its_own():
    """PagerDuty would only add a second trigger of the same key to the alert that wakes nobody."""
    assert events(note(incident=incident(severity=WARN))) == [("trigger", f"{KEY}/warn")]
    assert events(note(Kind.ESCALATION)) == [("trigger", KEY), ("resolve", f"{KEY}/warn")]
    assert events(ended()) == [("resolve", KEY), ("resolve", f"{KEY}/warn")]


def test_the_routing_key_is_in_no_header(server):
    got = sent(server, pagerduty, note(), "/v2/enqueue", ROUTING_KEY)
    assert ROUTING_KEY not in str(got.headers)


# -- anything a run may say


@given(st.text(CHARACTERS, max_size=5_000), st.text(CHARACTERS, max_size=300))
def test_whatever_a_run_is_called_and_says_makes_a_request_within_limits(title, key):
    message = note(incident=incident(title=title), run_key=key)
    access = Access("https://x.example/topic", SECRET)
    calls = [module.call(message, access) for module in (slack, webhook, ntfy)]
    for call in (*calls, *pagerduty.calls(message, access)):
        assert isinstance(orjson.loads(call.body), dict)
        assert len(call.body) < 40_000
        assert all(value.isascii() and value.isprintable() for value in call.headers.values())


# -- tests of a channel


@pytest.mark.parametrize("transport", [slack, webhook, ntfy, pagerduty])
def test_a_test_message_cannot_be_taken_for_an_incident(server, transport):
    message = trial("night shift", "https://l.example", "l.example", at(1))
    text = sent(server, transport, message, "/topic", SECRET).body.decode()
    assert "est of the channel" in text or "TEST of the channel" in text
    assert "critical" not in text
    assert message.standing is Standing.TRIGGERED
