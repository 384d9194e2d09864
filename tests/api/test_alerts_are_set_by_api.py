"""/api/v1/alerts/: rules, channels, tests and the delivery log for programs."""

import pytest

from apps.accounts.services import make_token
from apps.alerts import channels_store, rules_store, sending, services
from apps.core.clock import now_ns
from apps.incidents import services as incidents
from apps.runs import store as runs
from tests.channel_samples import channel, rule
from tests.incident_samples import explosion
from tests.receiver import receiving

pytestmark = pytest.mark.django_db
HOOK = "https://chat.example.org/hooks/s3cr3t"
CHANNEL = {"name": "chat", "kind": "slack", "address": HOOK}


@pytest.fixture
def call(client):
    """A request with a token of the scopes; the answer's status and JSON."""

    def ask(method, path, body=None, scope="read,operate,admin"):
        secret = make_token("ci", scope.split(","))
        answer = getattr(client, method)(
            f"/api/v1/alerts/{path}",
            body,
            content_type="application/json",
            headers={"Authorization": f"Bearer {secret}"},
        )
        return answer.status_code, answer.json()

    return ask


def test_a_channel_is_added_changed_and_removed(call):
    status, made = call("post", "channels", CHANNEL)
    assert (status, made["shown"], made["made_secret"]) == (200, "https://chat.example.org/…", "")
    status, changed = call(
        "put", f"channels/{made['id']}", {"name": "x", "kind": "slack", "version": 1}
    )
    assert (status, changed["name"], changed["version"]) == (200, "x", 2)
    assert call("put", f"channels/{made['id']}", {**CHANNEL, "version": 1})[0] == 409
    assert "s3cr3t" not in str(call("get", "channels"))
    assert call("delete", f"channels/{made['id']}") == (200, [])
    assert call("delete", f"channels/{made['id']}")[0] == 404


def test_the_signing_secret_that_was_made_is_told_once(call):
    _, made = call("post", "channels", {**CHANNEL, "kind": "webhook"})
    assert made["made_secret"].startswith("whsec_")
    assert made["made_secret"] not in str(call("get", "channels"))


def test_the_kind_of_a_channel_stays(call):
    number = channel("chat", url=HOOK)
    status, answer = call("put", f"channels/{number}", {**CHANNEL, "kind": "ntfy", "version": 1})
    assert (status, answer["where"]) == (400, "kind")


def test_a_rule_is_added_previewed_changed_and_removed(call):
    incidents.absorb(runs.ensure_run("boom"), 0, [explosion()], now_ns())
    asked = {"name": "pages", "channels": [channel("chat", url=HOOK)], "kinds": ["explosion"]}
    _, tried = call("post", "rules/preview", asked)
    assert (tried["days"], tried["fits"], tried["looked_at"], tried["whole"]) == (7, 1, 1, True)
    _, made = call("post", "rules", asked)
    assert (made["severities"], made["kinds"]) == (["page"], ["explosion"])
    _, changed = call("put", f"rules/{made['id']}", {**asked, "tag": "prod", "version": 1})
    assert (changed["tag"], changed["version"]) == ("prod", 2)
    _, listed = call("get", "rules")
    assert [one["tag"] for one in listed["items"]] == ["prod"]
    status, left = call("delete", f"rules/{made['id']}")
    assert (status, left["items"], rules_store.infos()) == (200, [], [])


@pytest.mark.parametrize(
    ("fields", "status", "where"),
    [
        ({"severities": ["info"]}, 422, "body.severities.0"),
        ({"severities": []}, 400, "severities"),
        ({"channels": [99]}, 400, "channels"),
        ({"name": "a\nb"}, 400, "name"),
    ],
)
def test_a_rule_that_is_wrong_names_the_field(call, fields, status, where):
    asked = {"name": "pages", "everybody": True, **fields}
    found, answer = call("post", "rules", asked)
    assert (found, answer["where"]) == (status, where)


def test_a_test_gives_the_answer_of_the_receiver(call, settings):
    settings.ALERT_TARGETS = "loopback"
    with receiving() as server:
        number = channel("chat", url=server.url())
        server.answer(403, b"invalid_token")
        assert call("post", f"channels/{number}/test")[1] == {
            "delivered": False,
            "status": 403,
            "error": "HTTP 403: invalid_token",
        }
        assert call("post", f"channels/{number}/test", scope="operate")[1]["delivered"]


def test_a_failed_message_is_listed_and_tried_again(call, settings):
    settings.ALERT_TARGETS = "loopback"
    with receiving() as server:
        rule("pages", channel("chat", url=server.url()))
        moment = now_ns()
        services.plan(incidents.absorb(runs.ensure_run("boom"), 0, [explosion()], moment), moment)
        server.answer(404, b"no_service")
        sending.send_due(lambda run_id, incident: [])
        _, failed = call("get", "deliveries?status=failed")
        (one,) = failed["items"]
        assert (one["error"], one["kind"]) == ("HTTP 404: no_service", "opening")
        assert failed["next"] is None
        asked = {name: one[name] for name in ("recipient", "kind", "seq")}
        asked["incident"] = one["incident_id"]
        assert call("post", "deliveries/retry", asked)[0] == 200
        assert sending.send_due(lambda run_id, incident: []) == 1
        assert call("post", "deliveries/retry", asked)[0] == 409


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("post", "channels", "read,operate"),
        ("post", "rules", "read,operate"),
        ("put", "rules/1", "read,operate"),
        ("delete", "rules/1", "read,operate"),
        ("delete", "channels/1", "read,operate"),
        ("post", "channels/1/test", "read,ingest"),
        ("post", "deliveries/retry", "read,ingest"),
        ("get", "deliveries", "ingest"),
        ("get", "channels", "ingest"),
    ],
)
def test_the_scope_decides(call, method, path, scope):
    status, answer = call(method, path, CHANNEL, scope)
    assert (status, answer["error"].startswith("this needs the scope")) == (403, True)
    assert channels_store.infos() == []
