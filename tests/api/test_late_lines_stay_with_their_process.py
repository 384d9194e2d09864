"""What a wandb process sends after its successor has begun goes to its own attempt."""

import base64

import orjson
import pytest

from apps.ingest.envelope import unpack
from apps.ingest.stream import STREAM

FIRST = {"name": "r1", "project": "p", "host": "h", "program": "train.py", "config": "{}"}
LINES = {"files": {"wandb-history.jsonl": {"offset": 0, "content": ['{"_step":0,"loss":1}']}}}


@pytest.fixture
def call(client, token, valkey):
    packed = base64.b64encode(f"api:{token}".encode()).decode()

    def post(path, body):
        return client.post(
            path,
            orjson.dumps(body),
            content_type="application/json",
            headers={"Authorization": f"Basic {packed}"},
        ).json()

    return post


@pytest.fixture
def begin(call):
    """Begins a process; the entity it was told."""

    def process(**said):
        body = {"operationName": "UpsertBucket", "query": "", "variables": {**FIRST, **said}}
        bucket = call("/graphql", body)["data"]["upsertBucket"]["bucket"]
        return bucket["project"]["entity"]["name"]

    return process


@pytest.fixture
def attempt_of(call, valkey):
    """The attempt that lines sent under an entity are accepted for."""

    def sent(entity, lines=LINES):
        call(f"/files/{entity}/p/r1/file_stream", lines)
        newest = valkey.xrevrange(STREAM, count=1)[0][1]
        return unpack(newest[b"e"]).attempt

    return sent


def test_each_process_keeps_its_own_attempt(begin, attempt_of):
    first = begin()
    attempt_of(first)
    second = begin(notes="again")
    assert (first, second) == ("lastgood", "lastgood-1")
    assert [attempt_of(entity) for entity in (second, first, second)] == [1, 0, 1]


@pytest.mark.parametrize("entity", ["my-team", "lastgood-7", "lastgood-sync-7"])
def test_an_entity_nobody_was_told_is_the_newest_process(begin, attempt_of, entity):
    attempt_of(begin())
    begin(notes="again")
    assert attempt_of(entity) == 1


def test_the_address_a_later_process_prints_leads_to_the_run(reader):
    for entity in ("lastgood", "lastgood-3", "lastgood-sync-2"):
        answer = reader.get(f"/{entity}/p/runs/r1")
        assert (answer.status_code, answer["Location"]) == (302, "/runs/r1/")
