import json
from dataclasses import replace

import pytest

from apps.checkpoints import store as checkpoints
from apps.checkpoints.domain import inventory
from apps.rollbacks import files, resume, services
from apps.rollbacks.domain.order import verify
from tests import rollback_story
from tests.incident_samples import at
from tests.rollback_samples import falling
from tests.rollback_story import ADA, KEY, asked

pytestmark = pytest.mark.django_db


@pytest.fixture
def incident(settings, tmp_path):
    settings.ORDERS_DIR = tmp_path / "orders"
    return rollback_story.explode()


def _payload(settings, run_id):
    return verify(services.resume_point(run_id).document, settings.ORDER_SIGNING_KEY)


def test_without_an_order_it_is_the_newest_checkpoint_with_a_warning(incident, settings):
    payload = _payload(settings, incident.run_id)
    assert (payload["source"], payload["step"], payload["order"]) == (
        "newest_checkpoint", 1200, None
    )  # fmt: skip
    assert payload["warning"].startswith(f"INC-{incident.id} is open and began at step 1001")


def test_an_order_is_signed_and_complete(incident, settings):
    order = services.request(asked(exclude_nodes=("gpu-b02",), skip_ranges=((990, 1010),)))
    payload = _payload(settings, incident.run_id)
    assert payload == {
        "version": 1,
        "run": KEY,
        "source": "order",
        "order": order.id,
        "state": "requested",
        "from_attempt": 0,
        "step": 900,
        "checkpoint_uri": "/data/boom/step-900",
        "checkpoint_attempt": 0,
        "inventory_digest": order.inventory_digest,
        "exclude_nodes": ["gpu-b02"],
        "skip_ranges": [[990, 1010]],
        "reason": "loss exploded",
        "approver": "ada",
        "issued_at_ns": order.requested_at_ns,
        "env": {
            "CKPT_RESUME_URI": "/data/boom/step-900",
            "CKPT_RESUME_STEP": "900",
            "CKPT_RESUME_PATH": f"/data/boom.rollback-{order.id}/step-900",
            "CKPT_BRANCH_DIR": f"/data/boom.rollback-{order.id}",
        },
        "branch": {
            "framework": "torchtitan",
            "directory": f"/data/boom.rollback-{order.id}",
            "load": f"/data/boom.rollback-{order.id}/step-900",
            "links": [["step-900", "/data/boom/step-900"]],
            "files": [],
            "arguments": ["--checkpoint.folder", f"/data/boom.rollback-{order.id}"],
            "later_arguments": ["--checkpoint.folder", f"/data/boom.rollback-{order.id}"],
            "code": "",
            "avoid": ["--checkpoint.load_step", "--checkpoint.initial_load_in_hf"],
            "note": "torchtitan does not save the state of the random generators.",
        },
        "warning": "",
    }


def test_who_wrote_a_checkpoint_of_unknown_files_is_told_by_the_registry(incident):
    known = checkpoints.get(incident.run_id, 0, 900)
    unnamed = replace(known, path="/data/boom/900", packed_files=inventory.pack({}))
    assert resume.framework(replace(unnamed, framework="orbax")) == "orbax"
    assert resume.framework(replace(unnamed, framework="unknown")) == "plain"
    assert resume.framework(replace(known, framework="orbax")) == "torchtitan"
    assert resume.framework(None) is None


def test_the_etag_changes_exactly_with_the_content(incident):
    first = services.resume_point(incident.run_id)
    assert services.resume_point(incident.run_id).etag == first.etag
    order = services.request(asked())
    second = services.resume_point(incident.run_id)
    assert second.etag != first.etag
    services.acknowledge(incident.run_id, order.id, "slurm-77", ADA)
    assert services.resume_point(incident.run_id).etag != second.etag


def test_a_followed_order_is_not_given_again(incident, settings):
    order = services.request(asked())
    rollback_story.start(1)
    rollback_story.log(incident.run_id, 1, falling(900, 1100, seed=2))
    services.watch(incident.run_id, 1, at(5_000))
    again = _payload(settings, incident.run_id)
    assert (again["source"], again["step"]) == ("newest_checkpoint", 900)
    assert again["env"]["CKPT_BRANCH_DIR"] == order.branch_dir
    rollback_story.save(incident.run_id, 1, 1050)
    later = _payload(settings, incident.run_id)
    assert (later["checkpoint_attempt"], later["step"], later["warning"]) == (1, 1050, "")


def test_what_to_skip_and_whom_to_exclude_outlives_the_first_start(incident, settings):
    services.request(asked(exclude_nodes=("gpu-b02",), skip_ranges=((990, 1010), (880, 890))))
    rollback_story.start(1)
    rollback_story.log(incident.run_id, 1, falling(900, 980, seed=2))
    services.watch(incident.run_id, 1, at(5_000))
    rollback_story.save(incident.run_id, 1, 960)
    again = _payload(settings, incident.run_id)
    assert (again["step"], again["skip_ranges"]) == (960, [[990, 1010]])
    assert again["exclude_nodes"] == ["gpu-b02"]
    rollback_story.log(incident.run_id, 1, falling(980, 1100, seed=2))
    rollback_story.save(incident.run_id, 1, 1050)
    services.watch(incident.run_id, 1, at(5_000))
    later = _payload(settings, incident.run_id)
    assert (later["step"], later["skip_ranges"], later["exclude_nodes"]) == (1050, [], [])


def test_a_run_without_checkpoints_starts_at_the_beginning(settings):
    payload = _payload(settings, rollback_story.start(0))
    assert (payload["source"], payload["step"], payload["env"]) == ("none", None, {})
    assert payload["branch"] is None


def test_the_file_is_there_while_the_order_waits(
    incident, settings, valkey, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        order = services.request(asked())
    written = json.loads(files.path_of(KEY).read_bytes())
    assert verify(written, settings.ORDER_SIGNING_KEY)["order"] == order.id
    with django_capture_on_commit_callbacks(execute=True):
        services.cancel(incident.run_id, order.id, ADA, "wrong step")
    assert not files.path_of(KEY).exists()
    assert [p.name for p in files.path_of(KEY).parent.iterdir()] == [".lock"]


def test_a_run_key_is_never_a_path(settings, tmp_path):
    settings.ORDERS_DIR = tmp_path
    assert files.path_of("../../etc/x").parent == tmp_path
