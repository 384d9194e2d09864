import threading

import pytest

from apps.accounts import store as accounts
from apps.api import orders as api
from apps.rollbacks import services

ORDER = {"step": 900, "confirm": "900", "reason": "loss exploded", "idempotency_key": "k1"}


def test_the_order_is_the_resume_point_until_it_is_followed(ask, send, incident):
    before = ask("runs/boom/resume-point")
    assert before.json()["payload"]["source"] == "newest_checkpoint"
    order = send("runs/boom/rollback", ORDER).json()
    assert (order["step"], order["state"], order["incident_id"]) == (900, "requested", incident.id)
    point = ask("runs/boom/resume-point", **{"If-None-Match": before["ETag"]})
    assert (point.status_code, point.json()["payload"]["order"]) == (200, order["id"])
    taken = send(f"runs/boom/rollback/{order['id']}/acknowledge", {"launch": "torchrun-2"}).json()
    assert (taken["state"], taken["launch"]) == ("acknowledged", "torchrun-2")
    (listed,) = ask("runs/boom/orders").json()["items"]
    assert [line["after"] for line in listed["history"]] == ["requested", "acknowledged"]
    assert ask(f"runs/boom/orders/{order['id']}").json() == listed


def test_the_same_key_is_the_same_order(send, incident):
    assert send("runs/boom/rollback", ORDER).json() == send("runs/boom/rollback", ORDER).json()


def test_a_second_order_hears_who_was_first(send, incident):
    send("runs/boom/rollback", ORDER)
    answer = send("runs/boom/rollback", {**ORDER, "idempotency_key": "k2"})
    assert answer.status_code == 409
    assert "by test is requested" in answer.json()["error"]


def test_an_order_may_be_taken_back(send, incident):
    order = send("runs/boom/rollback", ORDER).json()
    path = f"runs/boom/rollback/{order['id']}/cancel"
    assert send(path, {"reason": "wrong run"}).json()["state"] == "cancelled"


@pytest.mark.parametrize(
    ("act", "state"), [("acknowledge", "acknowledged"), ("resolve", "resolved")]
)
def test_an_incident_is_changed_with_an_audit_row(ask, send, incident, act, state):
    answer = send(f"incidents/{incident.id}/{act}", {"reason": "looking"})
    assert answer.json()["state"] == state
    row = accounts.audit_rows(1)[0]
    assert (row.action, row.actor, row.reason) == (f"incident.{state}", "token:test", "looking")


def test_an_unchanged_resume_point_waits_and_then_says_so(ask, incident):
    tag = ask("runs/boom/resume-point")["ETag"]
    answer = ask("runs/boom/resume-point?wait=0.2", **{"If-None-Match": tag})
    assert (answer.status_code, answer["ETag"]) == (304, tag)


@pytest.mark.django_db
def test_a_waiting_launcher_gets_the_order_at_once(ask, incident, monkeypatch):
    tag = ask("runs/boom/resume-point")["ETag"]
    real, calls = services.resume_point, []

    def changes_at_the_second_look(run_id):
        calls.append(run_id)
        if len(calls) == 2:
            services.request(_asked())
        return real(run_id)

    monkeypatch.setattr(services, "resume_point", changes_at_the_second_look)
    answer = ask("runs/boom/resume-point?wait=20", **{"If-None-Match": tag})
    assert (answer.status_code, answer.json()["payload"]["step"]) == (200, 900)


def _asked():
    from tests.rollback_story import asked

    return asked()


def test_too_many_waiting_launchers_are_answered_at_once(ask, incident, monkeypatch):
    monkeypatch.setattr(api, "_slots", threading.BoundedSemaphore(1))
    api._slots.acquire()
    tag = ask("runs/boom/resume-point")["ETag"]
    answer = ask("runs/boom/resume-point?wait=20", **{"If-None-Match": tag})
    assert (answer.status_code, answer["Retry-After"]) == (304, "5")
