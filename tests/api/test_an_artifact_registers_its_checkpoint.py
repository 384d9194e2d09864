"""A reference that the `wandb` client logs as an artifact is a checkpoint with its files."""

import pytest
from django.db import OperationalError

from apps.checkpoints import store as checkpoints
from apps.ingest.store import counters, quarantine_counts
from apps.ingest.wandb import artifacts_store
from apps.runs import store as runs
from tests.artifact_door import SHARDS, Door, manifest


@pytest.fixture
def door(client, token, valkey, settings):
    """What is accepted is written at once."""
    settings.INGEST_ACK = "commit"
    return Door(client, token)


@pytest.fixture
def run_id(door):
    return runs.ensure_run("r1")


def test_a_reference_becomes_a_checkpoint_with_its_files(door, run_id):
    door.log(manifest())
    (kept,) = checkpoints.checkpoints(run_id)
    assert (kept.attempt, kept.step, kept.path) == (0, 100, "/ckpt/step-100")
    assert (kept.files, kept.complete, kept.findings) == (SHARDS, True, ())
    (artifact,) = artifacts_store.artifacts(run_id)
    assert (artifact.state, artifact.step) == ("checkpoint", 100)
    assert artifact.logged.metadata == {"iteration": 100, "loss": "NaN"}
    assert artifact.logged.aliases == ("latest",)


def test_asked_again_it_is_the_same_artifact(door):
    made = [door.create(), door.create()]
    assert made[0] == made[1]
    assert made[0]["state"] == "PENDING"
    assert [door.put(made[0]["id"], manifest()) for _ in range(2)] == [200, 200]


def test_committed_again_it_is_the_same_checkpoint(door, run_id):
    door.log(manifest())
    before = checkpoints.checkpoints(run_id)
    door.log(manifest(files={"other": 1}))
    assert checkpoints.checkpoints(run_id) == before
    assert counters(run_id)["checkpoints"] == 1


def test_nothing_is_registered_before_the_commit(door, run_id):
    assert door.put(door.create()["id"], manifest()) == 200
    assert checkpoints.checkpoints(run_id) == []


def test_what_several_processes_wrote_together_is_one_checkpoint(door, run_id):
    parts = [{"__0_0.distcp": 10}, {"__1_0.distcp": 20}, {".metadata": 3}]
    made = [door.create(clientID=str(at), distributedID="d") for at in range(3)]
    assert len({one["id"] for one in made}) == 1
    assert [door.put(made[0]["id"], manifest(files=part)) for part in parts] == [200] * 3
    door.ask("CommitArtifact", artifactID=made[0]["id"])
    (kept,) = checkpoints.checkpoints(run_id)
    assert kept.files == {"__0_0.distcp": 10, "__1_0.distcp": 20, ".metadata": 3}


def test_a_list_that_is_too_large_is_shown_in_quarantine(door, monkeypatch, run_id):
    monkeypatch.setattr("apps.ingest.wandb.artifact_doors.MAX_MANIFEST_BYTES", 10)
    monkeypatch.setattr(artifacts_store, "MAX_MANIFEST_BYTES", 10)
    door.log(manifest())
    assert (quarantine_counts([run_id]), checkpoints.checkpoints(run_id)) == ({run_id: 1}, [])


def test_a_list_that_comes_too_slowly_is_asked_for_again(door, monkeypatch):
    monkeypatch.setattr("apps.ingest.wandb.putting.MAX_UPLOAD_S", -1.0)
    assert door.put(door.create()["id"], manifest()) == 503


def test_without_the_database_the_client_comes_back(door, monkeypatch):
    made = door.create()

    def away(*_):
        raise OperationalError("gone")

    monkeypatch.setattr("apps.ingest.wandb.artifact_services.take_manifest", away)
    assert door.put(made["id"], manifest()) == 503


def test_an_expired_or_changed_address_takes_nothing(door, client, monkeypatch):
    url = door.address(door.create()["id"])
    assert client.put(f"{url}x", b"{}").status_code == 403
    monkeypatch.setattr("apps.ingest.wandb.artifact_doors.MANIFEST_LIFE_S", -1)
    assert client.put(url, b"{}").status_code == 403


def test_each_process_may_put_its_own_part(door, client, run_id):
    made = door.create(distributedID="d")
    asked = {"artifactManifestID": made["id"], "includeUpload": True, "digest": "x"}
    answer = door.ask("UpdateArtifactManifest", **asked)["data"]["updateArtifactManifest"]
    url = answer["artifactManifest"]["file"]["uploadUrl"]
    assert client.put(url, manifest(), "application/json").status_code == 200
    assert len(artifacts_store.manifests(run_id, "unknown")) == 0
    (kept,) = artifacts_store.artifacts(run_id)
    assert artifacts_store.manifests(run_id, kept.key) == [manifest()]


@pytest.mark.parametrize(
    "odd",
    [
        {"aliases": [1, None]},
        {"metadata": "{"},
        {"metadata": "[1]"},
        {"metadata": '"' + "x" * 100_000},
        {"historyStep": -1},
        {"historyStep": "1"},
        {"artifactTypeName": "t\0" * 500},
    ],
)
def test_odd_words_about_an_artifact_cost_no_checkpoint(door, odd, run_id):
    door.log(manifest(), **odd)
    assert [kept.step for kept in checkpoints.checkpoints(run_id)] == [100]


def test_the_page_of_checkpoints_says_what_it_was_logged_as(door, reader):
    door.log(manifest("s3://bucket/step-90"), aliases=[{"alias": "best"}])
    page = reader.get("/runs/r1/checkpoints/").content.decode()
    assert "s3://bucket/step-90" in page
    assert "logged as ckpt (model): best" in page
    assert "its path says step 90, its metadata says 100, the W&amp;B step says 101" in page


def test_an_alias_is_shown_where_it_was_given_last(door, run_id):
    """As W&B has it: `latest` is one version, not each that once was."""
    steps = (100, 200)
    for step in steps:
        alias = {"artifactCollectionName": "ckpt"}
        aliases = [alias | {"alias": "latest"}, alias | {"alias": f"step-{step}"}]
        where = manifest(f"file:///ckpt/step-{step}")
        door.log(where, clientID=str(step), digest=str(step), aliases=aliases)
    shown = artifacts_store.by_checkpoint(run_id)
    names = [shown[0, step][0].logged.aliases for step in steps]
    assert names == [("step-100",), ("latest", "step-200")]
