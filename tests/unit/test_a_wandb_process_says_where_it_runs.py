"""Facts of `wandb-metadata.json`; everything in it is a stranger's word."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.ingest.wandb.facts import Facts, facts_of, parse_metadata

GPUS = [{"name": "NVIDIA H100", "uuid": f"GPU-{at}"} for at in range(8)]
SLURM = {"job_id": "4242", "procid": "25", "localid": "1", "ntasks": "64", "nnodes": "8"}
WHOLE = {
    "host": "gpu-b04",
    "gpu": "NVIDIA H100",
    "gpu_count": 8,
    "gpu_nvidia": GPUS,
    "slurm": SLURM | {"restart_count": "2"},
    "args": ["--lr", "3e-4", "--api-key", "s3cret", "--hub_token=s3cret"],
    "python": "3.11.7",
    "git": {"remote": "git@github.com:team/llm", "commit": "4f2a"},
}


def test_one_task_for_each_accelerator_tells_rank_and_device():
    facts = facts_of(WHOLE)
    assert (facts.node, facts.rank, facts.local_rank) == ("gpu-b04", 25, 1)
    assert (facts.world_size, facts.device) == (64, "GPU-1")
    assert facts.labels == {
        "wandb/commit": "4f2a",
        "wandb/gpu": "NVIDIA H100",
        "wandb/gpu_count": 8,
        "wandb/python": "3.11.7",
        "wandb/slurm_job": "4242",
        "wandb/slurm_restarts": 2,
        "wandb/args": "--lr 3e-4 --api-key *** --hub_token=***",
    }


@pytest.mark.parametrize(
    ("said", "user"),
    [
        ({"username": "ada", "email": "a@lab.example"}, "ada"),
        ({"username": "root", "email": "a@lab.example"}, "a@lab.example"),
        ({"username": "root"}, None),
        ({"username": 7, "email": ["x"]}, None),
    ],
)
def test_who_started_it_is_told_but_root_is_everybody(said, user):
    assert facts_of(said).labels.get("wandb/user") == user


@pytest.mark.parametrize(
    "changed",
    [
        {"slurm": SLURM | {"ntasks": "8"}},
        {"slurm": SLURM | {"procid": "64"}},
        {"slurm": SLURM | {"procid": "x"}},
        {"slurm": {}},
        {"gpu_count": None},
    ],
)
def test_a_launcher_for_each_node_is_not_taken_for_a_rank(changed):
    facts = facts_of(WHOLE | changed)
    assert (facts.node, facts.rank, facts.world_size, facts.device) == ("gpu-b04", *[None] * 3)


@pytest.mark.parametrize("devices", [None, {}, [], [1] * 8, [{"uuid": 5}] * 8])
def test_devices_without_a_uuid_leave_the_rank(devices):
    facts = facts_of(WHOLE | {"gpu_nvidia": devices})
    assert (facts.rank, facts.device) == (25, None)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*WHOLE, "x"]), JSON | st.just(SLURM) | st.just(GPUS)))
def test_any_metadata_gives_facts_that_can_be_stored(said):
    facts = facts_of(said)
    assert facts.rank is None or 0 <= facts.rank < (facts.world_size or 0)
    assert orjson.dumps(dict(facts.labels))


@pytest.mark.parametrize("content", [b"", b"[1]", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_metadata_says_nothing(content):
    assert parse_metadata(content) == Facts()
