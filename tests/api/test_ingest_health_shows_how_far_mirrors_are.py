"""What a puller says of its mirrors is checked, kept and shown."""

import pytest

from apps.accounts.services import make_token
from apps.runs import store as runs

SAID = {"source": "https://there/t/p/r1", "state": "running", "step": 7, "behind": 3}


def test_a_mirror_is_shown_with_its_lag(send, operator, valkey):
    runs.ensure_run("r1")
    assert send("runs/r1/mirror", SAID).status_code == 200
    page = operator.get("/ingest/").content.decode()
    assert "https://there/t/p/r1" in page
    assert "not yet" in page
    send("runs/r1/mirror", {**SAID, "behind": 0})
    assert "not yet" not in operator.get("/ingest/").content.decode()


def test_why_a_mirror_fails_is_shown_and_not_executed(send, operator, valkey):
    runs.ensure_run("r1")
    send("runs/r1/mirror", {**SAID, "behind": None, "error": "<b>no\0pe</b>"})
    page = operator.get("/ingest/").content.decode()
    assert "&lt;b&gt;no" in page
    assert "<b>no" not in page


@pytest.mark.parametrize(
    "wrong", [{"step": -2}, {"behind": -1}, {"source": ""}, {"error": "x" * 501}, {"state": None}]
)
def test_what_is_malformed_is_refused(send, valkey, wrong):
    runs.ensure_run("r1")
    assert send("runs/r1/mirror", {**SAID, **wrong}).status_code == 400


def test_a_run_that_is_not_there_is_refused_and_not_made(send, valkey):
    assert send("runs/new/mirror", SAID).status_code == 400
    assert runs.get_run("new") is None


def test_a_token_that_may_only_read_says_nothing(send, valkey):
    secret = make_token("eyes", ["read"])
    assert send("runs/r1/mirror", SAID, secret=secret).status_code == 403
