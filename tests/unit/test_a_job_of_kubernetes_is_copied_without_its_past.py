"""The Job that follows another one, and names that Kubernetes would not take."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import AppError
from apps.rollbacks.domain import argo, kubernetes
from apps.rollbacks.domain.handover import Errand
from tests.fake_cluster import faults

NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)
TEXTS = st.dictionaries(NAMES, st.text(max_size=10), max_size=3)


def errand(env, nodes=(), mark="rb-7-00000000"):
    return Errand("llm", "RB-7", mark, 900, env, tuple(nodes), "why")


def job(env, labels, terms):
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    pods = {
        "containers": [{"name": "train", "env": [{"name": k, "value": v} for k, v in env.items()]}],
        **({"affinity": {"nodeAffinity": affinity}} if terms else {}),
    }
    own = {"controller-uid": "1", "batch.kubernetes.io/job-name": "gpt"}
    return {
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "gpt", "namespace": "training", "uid": "1", "labels": labels | own},
        "spec": {"template": {"metadata": {"labels": labels | own}, "spec": pods}, "suspend": True},
        "status": {"active": 3},
    }  # fmt: skip


@given(TEXTS, TEXTS, st.lists(st.just({"matchExpressions": []}), max_size=3), TEXTS, NAMES)
def test_every_successor_has_the_published_shape_and_nothing_of_the_server(
    env, labels, terms, resume, node
):
    old = job(env, labels, terms)
    new = kubernetes.successor(old, "gpt", errand(resume, [node]), "kubernetes-x")
    assert faults(new, "V1Job") == []
    assert set(new["metadata"]) == {"name", "namespace", "labels", "annotations"}
    assert "status" not in new and new["spec"]["suspend"] is False
    assert new["spec"]["template"]["metadata"]["labels"] == labels
    pods = new["spec"]["template"]["spec"]
    values = {one["name"]: one["value"] for one in pods["containers"][0]["env"]}
    assert values == env | resume | {"LASTGOOD_LAUNCH": "kubernetes-x"}
    required = pods["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert all(
        term["matchExpressions"][-1]["values"] == [node] for term in required["nodeSelectorTerms"]
    )
    assert old == job(env, labels, terms)


@given(NAMES, TEXTS)
def test_the_successor_of_a_successor_keeps_its_root_and_has_no_value_twice(root, resume):
    first = kubernetes.successor(job({}, {}, []), root, errand(resume, mark="rb-1-00000000"), "a")
    second = kubernetes.successor(first, root, errand(resume, mark="rb-2-00000000"), "b")
    assert second["metadata"]["labels"] == {
        kubernetes.ROOT_LABEL: root, kubernetes.ORDER_LABEL: "rb-2-00000000"
    }  # fmt: skip
    names = [one["name"] for one in second["spec"]["template"]["spec"]["containers"][0]["env"]]
    assert len(names) == len(set(names)) == len(resume) + 1
    kubernetes.check_name(second["metadata"]["name"], "name")


def test_a_job_of_a_queue_begins_when_its_queue_says_so():
    waiting = job({}, {"kueue.x-k8s.io/queue-name": "research"}, [])
    assert kubernetes.successor(waiting, "gpt", errand({}), "a")["spec"]["suspend"] is True


def test_a_job_that_chooses_its_pods_by_itself_has_no_successor():
    odd = job({}, {}, [])
    odd["spec"]["manualSelector"] = True
    with pytest.raises(AppError, match="manualSelector has no successor"):
        kubernetes.successor(odd, "gpt", errand({}), "a")


@pytest.mark.parametrize(
    ("read", "said", "where"),
    [
        (kubernetes.config, {"namespace": "training", "name": "../secrets"}, "name"),
        (kubernetes.config, {"namespace": "a/b", "name": "gpt"}, "namespace"),
        (kubernetes.config, {"namespace": "a", "name": "b", "resource": "secret"}, "resource"),
        (argo.config, {"namespace": "a", "name": "b", "template": "c d"}, "template"),
        (
            argo.config,
            {"namespace": "a", "name": "b", "template": "c", "resource": "x"},
            "resource",
        ),
    ],
)
def test_what_would_leave_its_path_is_refused_with_its_field(read, said, where):
    with pytest.raises(AppError) as refused:
        read(said)
    assert refused.value.where == where


@pytest.mark.parametrize("node", ["gpu?dryRun=All", "a/b", "A01", "", "-x"])
def test_what_is_no_name_of_a_node_gets_into_no_path(node):
    with pytest.raises(AppError, match="cannot be the name of a node"):
        kubernetes.node_names([node])


def test_parameters_are_those_of_the_environment_in_lower_case():
    said = argo.parameters(errand({"CKPT_RESUME_STEP": "900"}, ["gpu-a01"]), "argo-x")
    assert said == ["ckpt_resume_step=900", "ckpt_exclude_nodes=gpu-a01", "lastgood_launch=argo-x"]
