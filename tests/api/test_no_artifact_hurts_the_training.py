"""What is not kept of the `wandb` client's artifacts is answered kindly, and counted."""

import base64

import orjson
import pytest

from apps.checkpoints import store as checkpoints
from apps.ingest.models import WandbManifest
from apps.ingest.store import counters
from apps.ingest.wandb import artifacts_store
from apps.runs import store as runs
from tests.artifact_door import ASKED, Door, manifest


@pytest.fixture
def door(client, token, valkey, settings):
    """What is accepted is written at once."""
    settings.INGEST_ACK = "commit"
    return Door(client, token)


@pytest.fixture
def run_id(door):
    return runs.ensure_run("r1")


def test_files_are_not_asked_for_and_counted(door, run_id):
    made = door.create(clientID="files")
    specs = [{"artifactID": made["id"], "name": f"w{at}.bin", "md5": "x"} for at in range(2)]
    answer = door.ask("CreateArtifactFiles", input={"artifactFiles": specs, "storageLayout": "V2"})
    nodes = [edge["node"] for edge in answer["data"]["createArtifactFiles"]["files"]["edges"]]
    assert [node["displayName"] for node in nodes] == ["w0.bin", "w1.bin"]
    assert [(node["uploadUrl"], node["artifact"]["id"]) for node in nodes] == [
        (None, made["id"])
    ] * 2
    door.log(orjson.dumps({"contents": {"w0.bin": {"digest": "x", "size": 5}}}), clientID="files")
    counted = counters(run_id)
    assert (counted["files_not_kept: artifact"], counted["artifacts_not_kept"]) == (2, 1)
    assert checkpoints.checkpoints(run_id) == []


def test_tables_are_refused_and_counted(door, run_id):
    answer = door.ask("CreateArtifact", input=ASKED | {"artifactTypeName": "run_table"})
    assert "keeps no tables" in answer["errors"][0]["message"]
    assert counters(run_id)["artifacts_not_kept"] == 1
    assert artifacts_store.artifacts(run_id) == []


def test_a_run_has_a_bounded_number_of_artifacts(door, monkeypatch, run_id):
    monkeypatch.setattr(artifacts_store, "MAX_ARTIFACTS", 1)
    states = [door.create(clientID=str(at))["state"] for at in range(2)]
    assert states == ["PENDING", "COMMITTED"]
    assert counters(run_id)["artifacts_not_kept"] == 1


def test_a_training_that_waits_is_told_what_it_logged(door):
    found = door.ask("ArtifactByID", id=door.create()["id"])["data"]["artifact"]
    named = (found["artifactSequence"]["name"], found["artifactType"]["name"], found["state"])
    assert named == ("ckpt", "model", "COMMITTED")
    assert found["metadata"] == '{"iteration":100,"loss":"NaN"}'


def test_an_old_client_that_waits_reads_the_manifest_back(door, client):
    made = door.create()
    found = door.ask("ArtifactByIDShort", id=made["id"])["data"]["artifact"]
    url = found["currentManifest"]["file"]["directUrl"]
    assert client.get(url).json()["contents"] == {}
    door.log(manifest())
    assert client.get(url).content == manifest()
    assert found["artifactSequence"]["project"]["entityName"] == "lastgood"


def test_one_beyond_the_bound_can_be_waited_for_too(door, monkeypatch):
    monkeypatch.setattr(artifacts_store, "MAX_ARTIFACTS", 0)
    found = door.ask("ArtifactByID", id=door.create()["id"])["data"]["artifact"]
    assert (found["state"], found["metadata"]) == ("COMMITTED", "{}")


def test_aliases_come_and_go(door, run_id):
    made = door.create()
    for operation, alias in (("AddAliases", "best"), ("AddAliases", "b"), ("DeleteAliases", "b")):
        named = [{"alias": alias, "artifactCollectionName": "ckpt"}]
        answer = door.ask(operation, input={"artifactID": made["id"], "aliases": named})
        assert answer["data"] == {"result": {"success": True}}
    (kept,) = artifacts_store.artifacts(run_id)
    assert kept.logged.aliases == ("latest", "best")


@pytest.mark.parametrize("operation", ["LinkArtifact", "UpdateArtifact"])
def test_links_and_later_words_are_counted_and_hurt_nobody(door, run_id, operation):
    given = {"artifactID": door.create()["id"], "artifactPortfolioName": "c", "projectName": "p"}
    assert door.ask(operation, input=given)["data"]["result"]
    assert counters(run_id)["artifact_updates_not_kept"] == 1


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ("UpsertSweep", "sweeps"),
        ("CreateAgent", "sweeps"),
        ("pushToRunQueue", "launch"),
        ("FetchRegistries", "registry"),
        ("x" * 900, "other"),
    ],
)
def test_what_lastgood_does_not_do_is_said_and_counted(door, operation, kind):
    assert "Lastgood" in door.ask(operation)["errors"][0]["message"]
    assert counters(0) == {f"unsupported: {kind}": 1}


@pytest.mark.parametrize(
    ("operation", "variables"),
    [
        ("CreateArtifact", {"input": ASKED | {"runName": "nowhere"}}),
        ("CreateArtifactManifest", {"artifactID": "x"}),
        ("CreateArtifactFiles", {"input": {"artifactFiles": 1}}),
        ("CreateArtifactFiles", {"input": {"artifactFiles": [{"artifactID": "AA=="}]}}),
        ("CommitArtifact", {}),
        ("UseArtifact", {"input": {"artifactID": "x"}}),
        ("ArtifactMembershipByName", {"name": "ckpt:latest"}),
    ],
)
def test_what_cannot_be_done_is_said_under_200(door, operation, variables):
    assert door.ask(operation, **variables)["errors"][0]["message"]


@pytest.mark.parametrize("run", [2**62, 2**64, 0])
@pytest.mark.parametrize("operation", ["AddAliases", "UpdateArtifact", "CreateArtifactManifest"])
def test_an_id_for_a_run_that_is_not_there_changes_nothing(door, run, operation):
    made = base64.urlsafe_b64encode(b'[%d,"k","p","t","n"]' % run).decode()
    given = {"artifactID": made, "includeUpload": True}
    answer = door.ask(operation, **given, input=given)
    assert "no such artifact" in answer["errors"][0]["message"]


def test_a_manifest_that_cannot_be_given_back_says_why(door, client, monkeypatch):
    made = door.create()
    door.put(made["id"], manifest())
    found = door.ask("ArtifactByID", id=made["id"])["data"]["artifact"]
    monkeypatch.setattr(artifacts_store, "MAX_MANIFEST_BYTES", 1)
    answer = client.get(found["currentManifest"]["file"]["directUrl"])
    assert (answer.status_code, "more than 1" in answer.json()["error"]) == (404, True)


def test_manifests_without_end_fill_no_disk(door, monkeypatch):
    made = door.create()
    monkeypatch.setattr(artifacts_store, "MAX_MANIFEST_BYTES", 500)
    for number in range(9):
        assert door.put(made["id"], manifest(f"file:///{number}")) == 200
    assert sum(WandbManifest.objects.values_list("content_bytes", flat=True)) < 1_000
