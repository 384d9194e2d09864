"""Orders told to a real HTTP server."""

import pytest
from standardwebhooks import Webhook

from apps.rollbacks import checks, services, store, telling, words_store
from apps.rollbacks.domain.order import verify
from apps.rollbacks.domain.webhook import MOST_WAIT_S, wait_s
from apps.rollbacks.models import OrderWord
from tests import rollback_story
from tests.receiver import receiving
from tests.rollback_story import ADA, KEY, asked

pytestmark = pytest.mark.django_db
SECRET = "whsec_" + "c2VjcmV0" * 5


@pytest.fixture
def incident(settings, tmp_path, valkey):
    settings.ORDERS_DIR = tmp_path / "orders"
    return rollback_story.explode()


@pytest.fixture
def receiver(incident, settings):
    settings.ALERT_TARGETS, settings.ORDER_WEBHOOK_SECRET = "loopback", SECRET
    with receiving() as found:
        settings.ORDER_WEBHOOK_URL = found.url()
        yield found


def types(receiver):
    return [one.json["type"] for one in receiver.received]


def notes(order):
    return [e.why for e in store.events(order.run_id, order.id) if e.act == "note"]


def all_due():
    OrderWord.objects.update(due_at_ns=0)


def test_an_order_is_told_with_its_signed_document(receiver, settings):
    order = services.request(asked())
    assert telling.tell_due() == 1
    (sent,) = receiver.received
    assert Webhook(SECRET).verify(sent.body, dict(sent.headers.items()))
    assert sent.json["type"] == "rollback.requested"
    data = sent.json["data"]
    assert (data["run"], data["step"], data["by"], data["why"]) == (
        KEY,
        900,
        "ada",
        "loss exploded",
    )
    assert data["url"].endswith(f"/runs/{KEY}/orders/{order.id}/")
    document = verify(data["document"], settings.ORDER_SIGNING_KEY)
    assert document["branch"]["load"] == f"{order.branch_dir}/step-900"
    assert telling.tell_due() == 0
    assert notes(order) == [f"http://127.0.0.1:{receiver.port}/… was told: rollback.requested"]


def test_each_change_is_told_in_its_order(receiver):
    order = services.request(asked())
    services.acknowledge(order.run_id, order.id, "slurm-77", ADA)
    services.cancel(order.run_id, order.id, ADA, "wrong step")
    assert telling.tell_due() == 3
    assert types(receiver) == [
        "rollback.requested", "rollback.acknowledged", "rollback.cancelled",
    ]  # fmt: skip
    assert len({one.headers["webhook-id"] for one in receiver.received}) == 3
    assert receiver.received[-1].json["data"]["document"] is None


def test_one_that_is_away_is_told_later_under_the_same_id_and_nothing_overtakes(receiver):
    order = services.request(asked())
    services.cancel(order.run_id, order.id, ADA, "wrong step")
    receiver.answer(503, b"busy")
    assert telling.tell_due() == 1
    assert notes(order) == []
    all_due()
    assert telling.tell_due() == 2
    assert types(receiver) == ["rollback.requested", "rollback.requested", "rollback.cancelled"]
    first, second, _ = (one.headers["webhook-id"] for one in receiver.received)
    assert first == second


def test_one_that_refuses_is_asked_once_and_the_order_says_so(receiver):
    order = services.request(asked())
    receiver.answer(404, b"nothing here")
    assert telling.tell_due() == 1
    all_due()
    assert telling.tell_due() == 0
    (note,) = notes(order)
    assert note.endswith("was not told rollback.requested: HTTP 404: nothing here")
    assert "s3cr3t" not in note


def test_one_that_is_away_for_a_day_is_given_up(receiver, monkeypatch):
    order = services.request(asked())
    monkeypatch.setattr(telling, "now_ns", lambda: order.requested_at_ns + 25 * 3600 * 10**9)
    receiver.answer(503, b"busy")
    telling.tell_due()
    assert OrderWord.objects.count() == 0
    assert notes(order)[0].endswith("HTTP 503: busy")


def test_two_workers_tell_once(receiver):
    services.request(asked())
    now = telling.now_ns()
    assert len(words_store.claim(now, now + telling.LEASE_NS, 20)) == 1
    assert telling.tell_due() == 0


def test_an_address_that_is_too_near_is_not_spoken_to(receiver, settings):
    settings.ALERT_TARGETS = "private"
    order = services.request(asked())
    telling.tell_due()
    assert receiver.received == []
    assert "is a loopback address" in notes(order)[0]


def test_without_a_webhook_nothing_is_kept(incident, settings):
    settings.ORDER_WEBHOOK_URL = ""
    services.request(asked())
    assert (OrderWord.objects.count(), telling.tell_due()) == (0, 0)


@pytest.mark.parametrize(
    ("url", "secret", "found"),
    [
        ("", "", []),
        ("https://x.example/h", SECRET, []),
        ("x.example/h", SECRET, ["rollbacks.E001"]),
        ("https://x.example/h", "secret", ["rollbacks.E002"]),
    ],
)
def test_a_webhook_that_cannot_work_is_told_at_the_start(settings, url, secret, found):
    settings.ORDER_WEBHOOK_URL, settings.ORDER_WEBHOOK_SECRET = url, secret
    assert [error.id for error in checks.webhook_is_usable(None)] == found


def test_waits_grow_up_to_a_limit_and_follow_the_receiver():
    assert [wait_s(n, None) for n in (1, 2, 3)] == [5.0, 10.0, 20.0]
    assert (wait_s(1, 30.0), wait_s(99, None), wait_s(1, 1e9)) == (30.0, MOST_WAIT_S, MOST_WAIT_S)
