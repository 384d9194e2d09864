"""Taking an order on needs the scope operate or ingest; either is enough."""

import pytest

from apps.accounts.services import make_token

ORDER = {"step": 900, "confirm": "900", "reason": "loss exploded", "idempotency_key": "k1"}


@pytest.fixture
def order(send, incident):
    return send("runs/boom/rollback", ORDER).json()["id"]


def take(send, order, scope):
    path = f"runs/boom/rollback/{order}/acknowledge"
    return send(path, {"launch": "slurm-7"}, secret=make_token(scope, [scope]))


@pytest.mark.parametrize("scope", ["operate", "ingest"])
def test_either_may(send, order, scope):
    assert take(send, order, scope).json()["state"] == "acknowledged"


def test_a_reader_may_not(send, order):
    answer = take(send, order, "read")
    assert answer.status_code == 403
    assert answer.json()["error"] == 'this needs the scope "ingest" or "operate"'


def test_a_stranger_is_told_to_sign_in(client, order):
    answer = client.post(f"/api/v1/runs/boom/rollback/{order}/acknowledge")
    assert answer.status_code == 401
