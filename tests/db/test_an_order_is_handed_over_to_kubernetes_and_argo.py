"""Jobs, JobSets and workflows against an API server that refuses what the published shapes do not
know."""

import pytest

from apps.rollbacks import services, store
from apps.rollbacks.domain.handover import mark
from apps.rollbacks.launchers import engine, handing
from apps.rollbacks.launchers import store as handovers
from apps.rollbacks.launchers.http import Access
from tests import rollback_story
from tests.fake_cluster import TOKEN, serving
from tests.launcher_samples import bind
from tests.rollback_story import KEY, asked

pytestmark = pytest.mark.django_db
PODS = {
    "metadata": {"labels": {"app": "llm", "job-name": "gpt", "controller-uid": "1"}},
    "spec": {
        "containers": [{"name": "train", "image": "llm:1", "env": [
            {"name": "CKPT_RESUME_STEP", "value": "old"}, {"name": "LR", "value": "3e-4"}]}],
        "restartPolicy": "Never",
    },
}  # fmt: skip


@pytest.fixture
def cluster(settings):
    settings.LAUNCHER_TARGETS = "loopback"
    with serving() as running:
        running.nodes = {"gpu-a01": False}
        yield running


@pytest.fixture
def ordered(cluster):
    """ordered(kind, ...): an order for a run whose launcher is of that kind."""

    def order(kind, url=None, token=TOKEN, **config):
        rollback_story.explode()
        access = handing.sealed(Access(url or cluster.url, token))
        config = {"namespace": "training", "name": "gpt", **config}
        bind(kind, sealed=access, **config)
        return services.request(asked(exclude_nodes=("gpu-a01.x.org",)))

    return order


def job(cluster, kind="jobs"):
    spec = {"template": PODS, "selector": {"matchLabels": {"controller-uid": "1"}}}
    if kind == "jobsets":
        jobs = [{"name": "workers", "replicas": 2, "template": {"spec": {"template": PODS}}}]
        spec = {"replicatedJobs": jobs, "network": {"subdomain": "gpt"}}
    kinds = {"jobs": ("batch/v1", "Job"), "jobsets": ("jobset.x-k8s.io/v1alpha2", "JobSet")}
    cluster.objects[kind, "gpt"] = {
        "apiVersion": kinds[kind][0],
        "kind": kinds[kind][1],
        "metadata": {"name": "gpt", "namespace": "training", "uid": "1", "resourceVersion": "7"},
        "spec": spec,
        "status": {"active": 2},
    }


def name_of(order):
    return f"gpt-{mark(KEY, order.id, order.requested_at_ns)}"


def ended(order, state="done"):
    engine.run_due()
    found = handovers.get(order.run_id, order.id)
    assert (found.state, found.text if state == "done" else "") == (state, "")
    return found


def test_a_job_is_suspended_and_one_like_it_follows_off_the_bad_node(cluster, ordered):
    job(cluster)
    order = ordered("kubernetes", cordon=True)
    assert ended(order).launch == f"kubernetes-{name_of(order)}"
    assert cluster.objects["jobs", "gpt"]["spec"]["suspend"] is True
    new = cluster.objects["jobs", name_of(order)]
    assert (new["spec"]["suspend"], "selector" in new["spec"]) == (False, False)
    pods = new["spec"]["template"]
    assert pods["metadata"]["labels"] == {"app": "llm"}
    env = {one["name"]: one["value"] for one in pods["spec"]["containers"][0]["env"]}
    assert env["LR"] == "3e-4"
    assert (env["CKPT_RESUME_STEP"], env["CKPT_BRANCH_DIR"]) == ("900", order.branch_dir)
    assert env["LASTGOOD_LAUNCH"] == f"kubernetes-{name_of(order)}"
    required = pods["spec"]["affinity"]["nodeAffinity"]
    (term,) = required["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{
        "key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["gpu-a01.x.org", "gpu-a01"]
    }]  # fmt: skip
    assert cluster.nodes == {"gpu-a01": True}
    assert store.get(order.run_id, order.id).launch == f"kubernetes-{name_of(order)}"


def test_a_jobset_gets_the_resume_point_in_each_of_its_jobs(cluster, ordered):
    job(cluster, "jobsets")
    order = ordered("kubernetes", resource="jobset")
    ended(order)
    new = cluster.objects["jobsets", name_of(order)]
    assert "subdomain" not in new["spec"]["network"]
    pods = new["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert {"name": "CKPT_RESUME_STEP", "value": "900"} in pods["containers"][0]["env"]


def test_a_workflow_is_stopped_and_its_template_submitted_with_parameters(cluster, ordered):
    cluster.objects["workflows", "gpt"] = {
        "metadata": {"name": "gpt"}, "status": {"phase": "Running"}
    }  # fmt: skip
    order = ordered("argo", template="train")
    assert ended(order).launch == f"argo-{name_of(order)}"
    old = cluster.objects["workflows", "gpt"]["status"]
    assert old == {"phase": "Failed", "message": f"lastgood RB-{order.id} to step 900"}
    new = cluster.objects["workflows", name_of(order)]["spec"]
    assert new["template"] == "train"
    assert {"ckpt_resume_step=900", "ckpt_exclude_nodes=gpu-a01.x.org,gpu-a01"} <= set(
        new["parameters"]
    )


def test_a_workflow_without_a_template_is_resubmitted_once_and_found_again(
    cluster, ordered, monkeypatch
):
    monkeypatch.setattr(engine.time, "sleep", lambda s: None)
    monkeypatch.setattr(engine, "ROUND_S", 60)
    cluster.objects["workflows", "gpt"] = {"metadata": {"name": "gpt"}, "status": {}}
    cluster.lose = [("PUT", "/resubmit")]
    first = ordered("argo")
    ended(first)
    (new,) = (one for (_, name), one in cluster.objects.items() if name != "gpt")
    said = {one["name"]: one["value"] for one in new["spec"]["arguments"]["parameters"]}
    assert (said["ckpt_resume_step"], said["lastgood_launch"]) == ("900", f"argo-{name_of(first)}")
    ended(services.request(asked(750, idempotency_key="k2", supersede=True)))
    assert new["status"]["phase"] == "Failed"
    assert len(cluster.objects) == 3


@pytest.mark.parametrize(
    ("kind", "more", "lost"),
    [
        ("kubernetes", {}, ("POST", "/jobs")),
        ("kubernetes", {}, ("PATCH", "/jobs/gpt")),
        ("argo", {"template": "train"}, ("PUT", "/stop")),
    ],
)
def test_a_lost_answer_makes_nothing_twice(cluster, ordered, monkeypatch, kind, more, lost):
    monkeypatch.setattr(engine.time, "sleep", lambda s: None)
    job(cluster)
    cluster.objects["workflows", "gpt"] = {"metadata": {"name": "gpt"}, "status": {}}
    cluster.lose = [lost]
    before = len(cluster.objects)
    order = ordered(kind, **more)
    ended(order)
    assert cluster.lose == []
    assert len(cluster.objects) == before + 1


def test_the_next_order_finds_the_job_of_the_last_one(cluster, ordered):
    job(cluster)
    first = ordered("kubernetes")
    ended(first)
    second = services.request(asked(750, idempotency_key="k2", supersede=True))
    ended(second)
    assert cluster.objects["jobs", name_of(first)]["spec"]["suspend"] is True
    assert cluster.objects["jobs", name_of(second)]["spec"]["suspend"] is False


def test_what_the_server_refuses_is_said_before_anything_is_stopped(cluster, ordered):
    job(cluster)
    cluster.objects["jobs", "gpt"]["spec"]["parallel"] = 8
    order = ordered("kubernetes")
    ended(order, "failed")
    assert ".spec.parallel is unknown" in handovers.get(order.run_id, order.id).text
    assert "suspend" not in cluster.objects["jobs", "gpt"]["spec"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"token": "wrong"}, "HTTP 401: Unauthorized"),
        ({"url": "http://169.254.169.254"}, "link-local or metadata address; see LAUNCHER_TARGETS"),
        ({"name": "other"}, "there is no job other"),
    ],
)
def test_a_wrong_access_is_said_without_its_token(cluster, ordered, change, said):
    job(cluster)
    order = ordered("kubernetes", **change)
    ended(order, "failed")
    found = handovers.get(order.run_id, order.id)
    assert said in found.text
    calls = handovers.calls(order.run_id, order.id)
    assert calls and TOKEN not in str(calls)
