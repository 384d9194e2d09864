"""The page of a launcher, the hand-over on the page of an order, and the same by API."""

import pytest

from apps.accounts import store as accounts
from apps.accounts.services import make_token
from apps.rollbacks import services, store
from apps.rollbacks.launchers import bindings_store, engine, handing
from apps.rollbacks.launchers import store as handovers
from tests.launcher_samples import bind
from tests.rollback_story import ADA, KEY, asked

FORM = {"kind": "slurm", "job": "train", "drain": "yes", "automatic": "yes", "enabled": "yes"}
PAGE = f"/runs/{KEY}/launcher/"


@pytest.fixture
def order(incident):
    return services.request(asked(exclude_nodes=("gpu-a01",)))


@pytest.fixture
def no_slurm(tmp_path, monkeypatch):
    """A squeue that fails at once."""
    squeue = tmp_path / "squeue"
    squeue.write_text("#!/bin/sh\necho 'squeue: error: Invalid user: ml' >&2\nexit 1\n")
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")


def text(answer):
    return answer.content.decode()


def test_an_administrator_sets_a_launcher_and_it_is_audited(operator, incident):
    assert "Nobody: after an order" in text(operator.get(PAGE))
    assert operator.post(PAGE, FORM).status_code == 302
    found = bindings_store.get("", KEY)
    assert (found.config["job"], found.config["drain"], found.automatic) == ("train", True, True)
    row = accounts.audit_rows(1)[0]
    assert (row.action, row.object) == ("launcher.set", f"launcher of run {KEY}")
    assert "Slurm</strong>, by itself" in text(operator.get(PAGE))

    operator.post(PAGE, {**FORM, "for": "project", "job": "other", "version": 0})
    assert bindings_store.of_run(KEY, "").config["job"] == "train"
    operator.post(PAGE, {"kind": "slurm", "act": "remove"})
    assert bindings_store.of_run(KEY, "").config["job"] == "other"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"job": ""}, "job: the name of a job"),
        ({"script": "/etc/passwd"}, "script: /etc/passwd may not be submitted"),
        ({"version": "7"}, "changed this launcher meanwhile"),
    ],
)
def test_a_mistake_is_said_beside_what_was_entered(operator, incident, change, said):
    bind(job="train")
    page = operator.post(PAGE, {**FORM, "version": "1", **change})
    assert page.status_code in (400, 409)
    assert said in text(page)


def test_who_may_not_administer_looks_only(reader, incident):
    assert "needs the scope “admin”" in text(reader.get(PAGE))
    assert reader.post(PAGE, FORM).status_code == 403
    assert reader.post(f"/runs/{KEY}/orders/1/hand-over/").status_code == 403


def test_the_page_of_an_order_lists_every_effect_before_and_keeps_every_call(
    operator, order, no_slurm
):
    at = f"/runs/{KEY}/orders/{order.id}/"
    assert "No launcher is set up" in text(operator.get(at))
    bind(job="train", drain=True, automatic=False)
    page = text(operator.get(at))
    assert "Drain gpu-a01: no job gets these nodes any more" in page
    assert "bar it from gpu-a01" in page
    # The name under which the launcher takes the order on: another one would be refused.
    assert '--acknowledge "slurm-$SLURM_JOB_ID"' in page
    assert engine.run_due() == 0  # not without being asked

    operator.post(f"{at}hand-over/")
    assert engine.run_due() == 1
    page = text(operator.get(at))
    assert "look for the Slurm job called train: squeue: error: Invalid user: ml" in page
    assert "squeue --noheader --states=all" in page
    assert store.get(order.run_id, order.id).state == "requested"
    operator.post(f"{at}hand-over/again/")
    assert handovers.get(order.run_id, order.id).state == "working"
    assert [row.action for row in accounts.audit_rows(2)] == ["handover.again", "handover.begun"]


def test_a_step_of_which_nobody_knows_goes_on_only_after_a_look(operator, order):
    bind(job="train")
    handing.open_due(order.requested_at_ns)
    handovers.begin(order.run_id, order.id, "find", {}, order.requested_at_ns)
    found = handovers.get(order.run_id, order.id)
    handing.end(found, handovers.HandoverState.UNSURE, "it may have happened", "")
    at = f"/runs/{KEY}/orders/{order.id}/"
    assert "I have looked: it has not happened" in text(operator.get(at))
    page = operator.post(f"{at}hand-over/again/", follow=True)
    assert "look, then say that it has not happened" in text(page)
    operator.post(f"{at}hand-over/again/", {"nothing_happened": "yes"})
    assert handovers.steps(order.run_id, order.id)[0].state == "planned"


def test_an_order_at_work_cannot_be_taken_back(order, no_slurm):
    bind(job="train")
    handing.open_due(order.requested_at_ns)
    handovers.begin(order.run_id, order.id, "find", {}, order.requested_at_ns)
    with pytest.raises(handing.Conflict, match="the hand-over to Slurm is at work"):
        services.cancel(order.run_id, order.id, ADA, "no")
    assert engine.run_due() == 1
    services.cancel(order.run_id, order.id, ADA, "no")


def test_the_same_by_api(client, ask, send, order):
    admin = make_token("admin", ["read", "operate", "admin"])
    at = f"runs/{KEY}/orders/{order.id}/hand-over"
    assert ask(at).status_code == 404
    body = {"kind": "slurm", "config": {"job": "train", "drain": True}}
    put = client.put(f"/api/v1/runs/{KEY}/launcher", body, content_type="application/json",
                     headers={"Authorization": f"Bearer {admin}"})  # fmt: skip
    assert put.json()[0] | {"changed_at_ns": 0} == {
        "project": "", "run": KEY, "kind": "slurm", "shown": "", "automatic": False,
        "enabled": True, "version": 1, "changed_at_ns": 0, "changed_by": "admin",
        "config": {"job": "train", "drain": True, "script": "", "user": "", "workdir": ""},
    }  # fmt: skip
    dry = ask(at).json()
    assert (dry["state"], dry["calls"]) == ("planned", [])
    assert dry["steps"][0]["words"] == "look for the Slurm job called train"
    assert send(at, {}).json()["state"] == "working"
    assert send(at, {}).status_code == 409
    assert send(f"{at}/again", {}).status_code == 409
    left = client.delete(
        f"/api/v1/runs/{KEY}/launcher", headers={"Authorization": f"Bearer {admin}"}
    )
    assert left.json() == []
