"""A running job, an order, and Slurm starts it again where the order says: nothing is faked."""

import pytest
from django.test import Client

from apps.accounts.services import make_token
from apps.nodes import hosts_store
from apps.rollbacks import services, store
from apps.rollbacks.launchers import engine
from apps.rollbacks.launchers import store as handovers
from tests import rollback_story
from tests.launcher_samples import ASKING, GIVEN, bind, script
from tests.node_samples import heard
from tests.rollback_story import ADA, KEY, asked
from tests.stack import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def incident(slurm, valkey):
    return rollback_story.explode()


def printed(path):
    return path.read_text() if path.exists() else ""


def followed(order):
    return handovers.get(order.run_id, order.id)


def test_a_running_job_is_requeued_without_the_bad_node_and_takes_the_order_on(
    slurm, incident, live_server, tmp_path, settings
):
    secret = make_token("job", ["read", "ingest"])
    start = script(
        tmp_path, "train", ASKING, url=live_server.url, token=secret,
        key=settings.ORDER_SIGNING_KEY,
    )  # fmt: skip
    out = tmp_path / "train.out"
    job = slurm.submit(start, "--job-name=train", "--nodelist=gpu-a01")
    until(lambda: "step=1200" in printed(out), "the first start")
    bind(job="train", drain=True)

    sent = Client().post(
        f"/api/v1/runs/{KEY}/rollback",
        {"step": 900, "confirm": "900", "reason": "ECC errors", "idempotency_key": "k",
         "exclude_nodes": ["gpu-a01.cluster.example"]},
        content_type="application/json",
        headers={"Authorization": f"Bearer {make_token('ada', ['read', 'operate'])}"},
    )  # fmt: skip
    assert sent.status_code == 200, sent.content
    order = store.get(incident.run_id, sent.json()["id"])
    assert engine.run_due() == 1

    assert (followed(order).state, followed(order).launch) == ("done", f"slurm-{job}")
    until(lambda: "restart=1" in printed(out), "the second start")
    assert printed(out).splitlines()[-1] == (
        f"restart=1 node=gpu-a02 step=900 save={order.branch_dir} without=gpu-a01.cluster.example"
    )
    assert slurm.jobs() == {job: "RUNNING"}
    taken = store.get(order.run_id, order.id)
    assert (taken.state, taken.launch) == ("acknowledged", f"slurm-{job}")
    state, why = slurm.ask("sinfo", "-hn", "gpu-a01", "-o", "%T|%E").strip().split("|")
    assert (state, why) == ("drained", f"lastgood RB-{order.id}: ECC errors")
    host = hosts_store.get("gpu-a01.cluster.example").standing
    assert (host.state, host.cause) == ("cordoned", f"drain:{order.id}")
    (told,), _ = heard("slurm", slurm.ask("scontrol", "-o", "show", "node").encode())
    assert (told.node, told.kind) == ("gpu-a01", "drained")
    assert f"lastgood RB-{order.id}: ECC errors (" in told.message


def test_a_script_is_submitted_with_the_resume_point_once_the_old_job_has_ended(
    slurm, incident, tmp_path, settings
):
    settings.SLURM_SCRIPTS = [str(tmp_path)]
    start = script(tmp_path, "train", GIVEN)
    old = slurm.submit(start, "--job-name=train", "--nodelist=gpu-a02")
    until(lambda: printed(tmp_path / "train.out"), "the first start")
    bind(job="train", script=str(start))
    order = services.request(asked(exclude_nodes=("gpu-a01",)))
    engine.run_due()

    new = followed(order).launch.removeprefix("slurm-")
    until(lambda: printed(tmp_path / "train.out").count("restart=") == 2, "the second start")
    last = printed(tmp_path / "train.out").splitlines()[-1]
    assert last == f"restart=0 node=gpu-a02 step=900 save={order.branch_dir} key="
    assert slurm.jobs() == {old: "CANCELLED", new: "RUNNING"}
    assert store.get(order.run_id, order.id).launch == f"slurm-{new}"


def test_what_slurm_would_not_take_is_said_before_anything_is_stopped(
    slurm, incident, tmp_path, settings
):
    settings.SLURM_SCRIPTS = [str(tmp_path)]
    start = script(tmp_path, "train", GIVEN)
    old = slurm.submit(start, "--job-name=train")
    bind(job="train", script=str(start))
    order = services.request(asked(exclude_nodes=slurm.nodes))
    engine.run_due()

    assert followed(order).state == "failed"
    assert "Requested node configuration is not available" in followed(order).text
    assert slurm.jobs()[old] in ("PENDING", "RUNNING")
    assert store.get(order.run_id, order.id).state == "requested"
    services.cancel(order.run_id, order.id, ADA, "all nodes were excluded by mistake")
