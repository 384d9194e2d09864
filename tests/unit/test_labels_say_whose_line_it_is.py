"""ingest.labels"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.ingest.labels import DEFAULT, FIELDS, of_file

CASES = {
    "torchrun": (
        {"RANK": "11", "LOCAL_RANK": "3", "TORCHELASTIC_RUN_ID": "job-7",
         "TORCHELASTIC_RESTART_COUNT": "2"},
        {"rank": 11, "local_rank": 3, "job_run": "job-7", "launch": "job-7/2"},
    ),
    "torchrun without an id": ({"TORCHELASTIC_RUN_ID": "none", "run": "r"}, {"run": "r"}),
    "slurm": (
        {"SLURM_JOB_ID": "48213", "SLURM_PROCID": "9", "SLURM_LOCALID": "1", "SLURM_NODEID": "1",
         "SLURMD_NODENAME": "gpu-a01"},
        {"job_run": "slurm-48213", "launch": "slurm 48213/0", "rank": 9, "local_rank": 1,
         "node": "gpu-a01"},
    ),
    "torchrun started by slurm, one task a node": (
        {"SLURM_PROCID": "1", "SLURM_LOCALID": "0", "RANK": "11", "LOCAL_RANK": "3"},
        {"rank": 11, "local_rank": 3},
    ),
    "opentelemetry resource": (
        {"k8s.node.name": "gpu-a01", "k8s.pod.name": "w-3", "host.name": "w-3",
         "service.name": "trainer", "log.iostream": "stderr"},
        {"node": "gpu-a01", "source": "trainer", "channel": "stderr"},
    ),
    "the same as loki writes it": (
        {"k8s_node_name": "gpu-a01", "k8s_pod_name": "w-3", "service_name": "trainer"},
        {"node": "gpu-a01", "source": "trainer"},
    ),
    "fluent bit, jobset": (
        {"kubernetes.host": "gpu-a01", "kubernetes.pod_name": "js-w-0-3", "stream": "stdout",
         "kubernetes.labels.jobset.sigs.k8s.io/jobset-name": "llm",
         "kubernetes.labels.jobset.sigs.k8s.io/restart-attempt": "1",
         "kubernetes.labels.batch.kubernetes.io/job-name": "llm-workers-0",
         "kubernetes.container_name": "trainer"},
        {"node": "gpu-a01", "channel": "stdout", "job_run": "llm", "launch": "llm/1",
         "source": "trainer"},
    ),
    "kubeflow: a pod's index is no rank": (
        {"k8s.pod.labels.training.kubeflow.org/job-name": "llm",
         "k8s.pod.labels.training.kubeflow.org/replica-index": "3", "pod": "llm-worker-3"},
        {"job_run": "llm", "launch": "llm/0", "node": "llm-worker-3"},
    ),
    "a torchrun file": (
        {"filename": "/logs/llm_x1/attempt_0/3/stderr.log", "host": "gpu-a01"},
        {"source": "/logs/llm_x1/attempt_0/3/stderr.log", "local_rank": 3, "channel": "stderr",
         "node": "gpu-a01"},
    ),
    "journald": (
        {"_HOSTNAME": "gpu-a01", "_SYSTEMD_UNIT": "slurmd.service", "PRIORITY": "3"},
        {"node": "gpu-a01", "source": "slurmd.service", "level": "3"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_conventions(name):
    labels, told = CASES[name]
    found = DEFAULT.understand(labels).fields
    assert {field: found[field] for field in found if field not in ("job", "restart")} == told


def test_the_order_of_labels_means_nothing():
    for labels, _ in CASES.values():
        turned = dict(reversed(labels.items()))
        assert DEFAULT.understand(turned).fields == DEFAULT.understand(labels).fields


def test_what_no_rule_knows_is_handed_back():
    said = DEFAULT.understand({"cluster": "a", "rank": "x"})
    assert (said.rest, said.odd, said.fields) == ({"cluster": "a", "rank": "x"}, ("rank",), {})


def test_a_run_that_is_no_run_key_is_odd():
    assert DEFAULT.understand({"run": "a b"}).odd == ("run",)


@pytest.mark.parametrize(("path", "told"), [
    ("rank_003.log", {"rank": 3}),
    ("/logs/node0/rank7.log", {"rank": 7}),
    ("logs/local_rank_2.err", {"local_rank": 2, "channel": "stderr"}),
    ("log_rank_12_stderr.log", {"rank": 12, "channel": "stderr"}),
    ("/logs/48213_7.out", {"rank": 7, "channel": "stdout"}),
    ("train-48213_7.err", {"rank": 7, "channel": "stderr"}),
    ("slurm-48213.out", {"channel": "stdout"}),
    ("frank_7.log", {}),
    ("train_2026.log", {}),
    ("stderr", {"channel": "stderr"}),
])  # fmt: skip
def test_what_a_file_name_tells(path, told):
    assert of_file(path) == {"source": path} | told


@given(st.dictionaries(
    st.text(max_size=20) | st.sampled_from(["rank", "RANK", "run", "node", "source", "step"]),
    st.text() | st.integers() | st.floats() | st.none() | st.booleans(), max_size=8,
))  # fmt: skip
def test_any_labels_are_understood_or_handed_back(labels):
    said = DEFAULT.understand(labels)
    assert set(said.fields) <= set(FIELDS)
    assert set(said.odd) <= set(said.rest) <= set(labels)
    assert 0 <= said.fields.get("rank", 0) < 2**31
