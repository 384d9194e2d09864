"""POST /api/v1/runs/{key}/launches"""

import pytest

from apps.logs.domain.parcel.reader import reader_number
from tests.factories import T0_NS

MINUTE_NS = 60_000_000_000


@pytest.fixture
def start(client, token):
    def send(slot, launch, started_ns=T0_NS, **more):
        return client.post(
            "/api/v1/runs/r/launches",
            {"slot": slot, "launch": launch, "started_ns": started_ns, **more},
            content_type="application/json",
            headers={"Authorization": f"Bearer {token}"},
        )

    return send


def test_the_sources_of_one_launch_share_attempt_0(start):
    answers = [start("wandb", "w1"), start("torchrun:a", "a1"), start("torchrun:b", "b1")]
    said = {"run": "r", "attempt": 0, "reader": reader_number()}
    assert [answer.json() for answer in answers] == [said] * 3


def test_asking_again_gives_the_same_attempt(start):
    start("wandb", "w1")
    start("wandb", "w2", T0_NS + 5 * MINUTE_NS)
    assert start("wandb", "w1").json()["attempt"] == 0


def test_a_second_start_opens_attempt_1_as_child_of_0(start):
    from apps.runs.store import attempts, ensure_run

    start("wandb", "w1")
    assert start("wandb", "w2", T0_NS + 5 * MINUTE_NS).json()["attempt"] == 1
    assert [(a.number, a.parent) for a in attempts(ensure_run("r"))] == [(0, None), (1, 0)]


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, "body"),
        ({"slot": "", "launch": "x", "started_ns": 1}, "slot"),
        ({"slot": "a", "launch": "x" * 501, "started_ns": 1}, "launch"),
        ({"slot": "a", "launch": "x\0", "started_ns": 1}, "launch"),
        ({"slot": "a", "launch": "x", "started_ns": -1}, "started_ns"),
        ({"slot": "a", "launch": "x", "started_ns": 1, "node": "n" * 256}, "node"),
        ({"slot": "a", "launch": "x", "started_ns": 1, "resume_step": 2**63}, "resume_step"),
    ],
)
def test_a_malformed_start_is_400(client, token, body, where):
    answer = client.post(
        "/api/v1/runs/r/launches",
        body,
        content_type="application/json",
        headers={"Authorization": f"Bearer {token}"},
    )
    assert (answer.status_code, answer.json()["where"]) == (400, where)


def test_a_start_of_a_run_that_is_received_live_is_not_registered_if_so_wished(start):
    from apps.ingest.wandb.process_store import add_process
    from apps.runs.store import ensure_run

    assert start("wandb", "file", unless_live=True).json()["attempt"] == 0
    add_process(ensure_run("r"), 0, "said", T0_NS)
    assert start("wandb", "file", unless_live=True).json()["attempt"] == 0
    answer = start("wandb", "other file", T0_NS + 5 * MINUTE_NS, unless_live=True)
    assert answer.json() == {"run": "r", "attempt": None, "live": True}
    assert start("wandb", "other file", T0_NS + 5 * MINUTE_NS).json()["attempt"] == 1
