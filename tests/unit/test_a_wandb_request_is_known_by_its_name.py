"""GraphQL requests of the `wandb` client."""

import orjson
import pytest

from apps.core.errors import BadPayload
from apps.ingest.wandb.graphql import (
    Resumable,
    parse_request,
    probed_types,
    resume_status,
    upsert_of,
    upserted,
    viewer,
)
from apps.ingest.wandb.sessions import Session, Told, told_in

FIRST = {
    "name": "r1",
    "project": "p",
    "host": "gpu-a01",
    "program": "/job/train.py",
    "config": '{"lr":{"value":NaN},"model":{"desc":null,"value":{"n":Infinity}},"_wandb":{}}',
    "groupName": "g",
    "tags": ["t"],
}


@pytest.mark.parametrize(
    "request_body",
    [
        {"operationName": "Viewer", "query": "query Viewer { viewer { id } }"},
        {"query": "\nquery Viewer { viewer { id } }"},
        {"query": "mutation Viewer($a: String) { x }", "variables": None},
    ],
)
def test_the_name_is_said_or_stands_in_the_text(request_body):
    assert parse_request(orjson.dumps(request_body)).name == "Viewer"


@pytest.mark.parametrize("body", [b"", b"[]", b'{"query": 1}', b'{"query":"","variables":[]}'])
def test_anything_else_is_refused(body):
    with pytest.raises(BadPayload):
        parse_request(body)


def test_configuration_is_unwrapped_and_strict():
    config = upsert_of(FIRST).config
    assert (config["lr"], config["model"]) == ("NaN", {"n": "Infinity"})
    assert (config["wandb/group"], config["wandb/tags"]) == ("g", ["t"])


def test_configuration_that_is_no_json_is_refused():
    with pytest.raises(BadPayload, match="config"):
        upsert_of({**FIRST, "config": "{"})


@pytest.mark.parametrize(
    ("change", "first"),
    [
        ({}, True),
        ({"id": "r1~0~10~1~2"}, True),
        ({"id": "r1", "displayName": "a change of the name"}, False),
        ({"host": None, "program": None}, False),
    ],
)
def test_the_first_request_of_a_process_says_where_it_runs_without_the_id_it_is_given(
    change, first
):
    assert upsert_of({**FIRST, **change}).first is first


def test_an_old_client_says_when_its_process_started():
    config = '{"_wandb":{"desc":null,"value":{"start_time":1796000934.5}}}'
    assert upsert_of({**FIRST, "config": config}).started == "1796000934.5"
    assert upsert_of(FIRST).started == ""


@pytest.mark.parametrize(
    ("program", "copied"),
    [
        ("/env/bin/wandb", True),
        ("C:\\env\\Scripts\\wandb.exe", True),
        ("/env/lib/wandb/__main__.py", True),
        ("-m wandb.__main__", True),
        ("-m wandb_job", False),
        ("/job/train_wandb", False),
        ("/job/wandb/train.py", False),
    ],
)
def test_a_sync_is_known_by_its_program(program, copied):
    assert upsert_of({**FIRST, "program": program}).copied is copied


def test_a_process_that_does_not_resume_counts_from_zero():
    answer = upserted(upsert_of(FIRST), Session(attempt=2), inserted=False)
    bucket = answer["upsertBucket"]["bucket"]
    assert (bucket["historyLineCount"], bucket["project"]["name"]) == (0, "p")
    assert bucket["project"]["entity"]["name"] == "lastgood-2"


def test_one_that_resumes_is_told_counts_and_last_lines():
    config = {"lr": 1, "wandb/tags": ["t"]}
    found = Resumable("p", "r1", config, 10, 2, 3, '{"_step":9}', "", 4, {"best": 7})
    bucket = resume_status(found)["model"]["bucket"]
    counts = [bucket[f"{name}LineCount"] for name in ("history", "events", "log")]
    assert (counts, bucket["tags"]) == ([10, 2, 3], ["t"])
    assert orjson.loads(bucket["historyTail"]) == ['{"_step":9}']
    assert orjson.loads(bucket["config"]) == {"lr": {"value": 1}}
    assert orjson.loads(bucket["summaryMetrics"]) == {"best": 7}
    assert told_in(bucket["id"]) == Told(4, 10, 2, 3)


def test_a_copy_does_not_say_where_the_training_ran():
    copied = upsert_of({**FIRST, "program": "-m wandb.__main__"})
    assert "wandb/program" in upsert_of(FIRST).config
    assert not {"wandb/program", "wandb/host"} & set(copied.config)


def test_a_forked_run_names_its_parent():
    own = {"value": {"branch_point": {"run_id": "first", "step": 5}}}
    seen = upsert_of({**FIRST, "config": orjson.dumps({"_wandb": own}).decode()})
    assert seen.config["wandb/forked_from"] == "first?_step=5"
    assert "wandb/forked_from" not in upsert_of(FIRST).config


def test_a_run_that_is_rewound_is_no_fork():
    own = {"value": {"branch_point": {"run_id": FIRST["name"], "step": 5}}}
    seen = upsert_of({**FIRST, "config": orjson.dumps({"_wandb": own}).decode()})
    assert "wandb/forked_from" not in seen.config


def test_a_later_request_says_who_and_where_the_process_is():
    place = {"writerId": "w1", "host": "gpu-a01", "root": "/job"}
    config = orjson.dumps({"_wandb": {"value": {"e": {"k": place}}}}).decode()
    seen = upsert_of({"name": "r1", "config": config, "entity": "lastgood-3"})
    assert (seen.writer_id, seen.node, seen.root) == ("w1", "gpu-a01", "/job")
    assert (seen.first, seen.entity) == (False, "lastgood-3")


def test_there_is_no_bucket_where_there_is_nothing_to_resume():
    assert resume_status(None)["model"]["bucket"] is None


def test_an_old_client_finds_the_fields_that_are_answered():
    found = probed_types('query P { A: __type(name: "X") { fields { name } } B : __type(name: "Y")')
    assert found == {name: {"fields": [], "inputFields": []} for name in ("A", "B")}
    known = probed_types('query P { S: __type(name:"ServerInfo") M: __type(name: "Mutation") }')
    assert {"name": "createRunFiles"} in known["M"]["fields"]
    assert {field["name"] for field in known["S"]["fields"]} == set(viewer("x")["serverInfo"])
