"""/api/v1/runs/{key}/flight-recorder, and the card on the page of an incident"""

import json
import pickle
import zlib
from dataclasses import replace

import pytest

from apps.incidents import store as incidents
from apps.logs import flight
from apps.logs.domain.triage.report import failure_key
from tests.factories import T0_NS
from tests.flight_samples import as_json, collective, dump, pickled
from workers.tailer.frames import Content, pack
from workers.tasks.logs import dumps as judge_dumps

WAITS = pickled(dump({"0": [0, 1, 2]}, [collective("0", 5)], last=5))
BEHIND = pickled(dump({"0": [0, 1, 2]}, [], last=4))


@pytest.fixture
def upload(client, token):
    def post(body, query="", run="r", secret=token, **headers):
        return client.post(
            f"/api/v1/runs/{run}/flight-recorder{query}",
            body,
            content_type="application/octet-stream",
            headers={"Authorization": f"Bearer {secret}", **headers},
        )

    return post


@pytest.fixture
def attempt(client, token):
    """The first attempt of the run "r"."""
    start = {"slot": "wandb", "launch": "w1", "started_ns": T0_NS}
    client.post(
        "/api/v1/runs/r/launches",
        start,
        content_type="application/json",
        headers={"Authorization": f"Bearer {token}"},
    )


def test_dumps_of_ranks_are_judged_and_read(upload, ask, attempt):
    for rank, body in enumerate([WAITS, BEHIND, WAITS]):
        answer = upload(body, f"?rank={rank}&attempt=0")
        assert answer.json() == {"run": "r", "attempt": 0, "ranks": 1, "new": 1}
    before = ask("runs/r/flight-recorder").json()
    assert (before["verdict"], before["waits"]) == (None, True)
    assert judge_dumps() == 1
    after = ask("runs/r/flight-recorder?attempt=0").json()
    assert (after["waits"], after["confidence_word"], after["agrees"]) == (False, "high", None)
    assert after["verdict"]["ranks"] == [1]
    assert after["verdict"]["summary"] == "Rank 1 stopped first: 2 other ranks wait for it"
    assert after["verdict"]["evidence"][0]["rank"] == 1


def test_a_list_of_dumps_packed_or_not_is_the_same(upload, ask, attempt):
    root = json.loads(as_json(dump({"0": [0, 1]}, [collective("0", 5)])))
    empty = json.loads(as_json(dump({"0": [0, 1]}, [])))
    body = json.dumps([{"rank": 0, "dump": root}, {"rank": 1, "dump": empty}]).encode()
    packed = zlib.compress(body, wbits=31)
    assert upload(packed, **{"Content-Encoding": "gzip"}).json()["new"] == 2
    assert upload(body).json()["new"] == 0
    judge_dumps()
    assert ask("runs/r/flight-recorder").json()["verdict"]["ranks"] == [1]


def test_what_the_agent_packs_is_taken(upload, attempt):
    batch = pack("r", Content("flight-recorder", {}, [WAITS], 0, "rank=2&attempt=0"), {})
    headers = {"Content-Encoding": "zstd", "X-Batch-Id": batch.batch_id}
    answer = upload(batch.body, f"?{batch.query}", **headers)
    assert answer.json() == {"run": "r", "attempt": 0, "ranks": 1, "new": 1}


def test_a_dump_sent_again_changes_nothing_and_a_newer_one_replaces_it(upload, ask, attempt):
    for rank in range(3):
        upload(WAITS, f"?rank={rank}")
    judge_dumps()
    assert ask("runs/r/flight-recorder").json()["verdict"]["ranks"] == []
    assert upload(WAITS, "?rank=2").json()["new"] == 0
    assert judge_dumps() == 0
    assert upload(BEHIND, "?rank=2").json()["new"] == 1
    judge_dumps()
    verdict = ask("runs/r/flight-recorder").json()["verdict"]
    assert (verdict["ranks"], verdict["dumps"]) == ([2], 3)


class Shell:
    def __reduce__(self):
        return (pytest.fail, ("the pickle was run",))


@pytest.mark.parametrize(
    ("body", "query", "words"),
    [
        (pickle.dumps(Shell()), "?rank=0", "the pickle names"),
        (WAITS[:40], "?rank=0", "the pickle cannot be read"),
        (WAITS, "", "a dump does not say its rank"),
        (WAITS, "?rank=-1", "expected a whole number"),
        (WAITS, "?rank=1000000", "there is no rank"),
        (WAITS, "?rank=0&attempt=7", "there is no such attempt"),
        (b"[]", "", "1 to 4,096 dumps"),
        (b'[{"rank": 1}]', "", "the list cannot be read"),
        (b'[{"rank": 1, "dump": {}}, {"rank": 1, "dump": {}}]', "", "a rank is there twice"),
        (b'[{"rank": 1, "dump": {}}]', "", "entries"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_read_is_refused_and_nothing_is_kept(
    upload, ask, attempt, body, query, words
):
    answer = upload(body, query)
    assert answer.status_code == 400
    assert words in f"{answer.json()['error']} {answer.json()['where']}"
    assert ask("runs/r/flight-recorder").status_code == 404


def test_an_attempt_has_only_so_many_dumps(upload, attempt, monkeypatch):
    monkeypatch.setattr(flight, "MAX_DUMPS", 1)
    assert upload(WAITS, "?rank=0").status_code == 200
    assert upload(BEHIND, "?rank=0").status_code == 200
    refused = upload(WAITS, "?rank=1")
    assert refused.status_code == 400
    assert "more are not taken" in refused.json()["hint"]


def test_a_stranger_may_not_send(upload, ask, attempt):
    assert upload(WAITS, "?rank=0", secret="wrong").status_code == 403
    assert ask("runs/r/flight-recorder").status_code == 404


def test_the_page_of_an_incident_shows_the_verdict_beside_that_of_the_logs(
    upload, operator, incident
):
    page = f"/incidents/{incident.id}/"
    assert 'id="flight"' not in operator.get(page).content.decode()
    for rank, body in enumerate([WAITS, BEHIND, WAITS]):
        upload(body, f"?rank={rank}&attempt={incident.attempt}", run="boom")
    assert "are being judged" in operator.get(page).content.decode()
    judge_dumps()
    text = operator.get(page).content.decode()
    assert "Rank 1 stopped first: 2 other ranks wait for it" in text
    assert "has not enqueued all_reduce number 5" in text
    assert "The logs name" not in text
    _logs_name(incident, 2)
    assert "The logs name another rank" in operator.get(page).content.decode()
    _logs_name(incident, 1)
    assert "The logs name the same rank" in operator.get(page).content.decode()


def _logs_name(incident, rank):
    """A failure finding of the attempt that blames a rank."""
    found = incidents.findings(incident.run_id, incident.id)[0]
    key = failure_key(incident.attempt)
    incidents.save_findings(incident.run_id, [replace(found, key=key, rank=rank)], incident.id)
