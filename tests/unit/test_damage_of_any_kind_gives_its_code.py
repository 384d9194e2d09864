"""Whatever a crash, a full disk or a hand does to a checkpoint gets the code of that damage."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.checkpoints.domain.headers import ocdbt
from tests import ckpt_files

ZIP = "checkpoint-200/optimizer.pt"
SHARD = "checkpoint-200/model-00002-of-00003.safetensors"
INDEX = "checkpoint-200/model.safetensors.index.json"
NODE = "200/state/d/3bde80a43aa04a91ba7aa9559f0751bf"
DCP_SHARD = "weights/__3_0.distcp"


def _codes(layout, name, content):
    files = ckpt_files.GOOD[layout]()
    assert name in files
    files[name] = content
    return ckpt_files.codes(files)


def _whole(layout, name):
    return ckpt_files.GOOD[layout]()[name]


_FILES = st.sampled_from(
    [
        ("hf_trainer", ZIP),
        ("hf_trainer", SHARD),
        ("dcp", DCP_SHARD),
        ("deepspeed", "global_step200/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"),
        ("megatron_legacy", "iter_0002000/mp_rank_01_000/distrib_optim.pt"),
        ("olmo_core", "step70/train/rank1.pt"),
        ("litgpt", "step-00001000/lit_model.pth"),
        ("lightning", "step=4-train_loss=0.181.ckpt"),
        ("dcp_hf", "step-500/shard-00003-model-00001-of-00001.safetensors"),
        ("safetensors", "final/model.safetensors"),
    ]
)


@settings(deadline=None, max_examples=60)
@given(where=_FILES, kept=st.floats(0.001, 0.999))
def test_a_file_that_was_cut_is_truncated(where, kept):
    layout, name = where
    content = _whole(layout, name)
    cut = content[: max(4, int(len(content) * kept))]
    assert "TRUNCATED" in _codes(layout, name, cut)


@settings(deadline=None, max_examples=30)
@given(where=_FILES, extra=st.integers(1, 5_000))
def test_a_file_with_bytes_after_its_end_is_too_long_and_still_usable(where, extra):
    layout, name = where
    files = ckpt_files.GOOD[layout]()
    files[name] += bytes(extra)
    reports, _ = ckpt_files.checked(files)
    found = [f for report in reports for f in report.findings]
    assert [(f.code, f.fatal) for f in found] == [("SIZE_MISMATCH", False)]


@settings(deadline=None, max_examples=30)
@given(where=_FILES)
def test_an_empty_file_is_of_length_zero(where):
    assert _codes(*where, b"") == {"ZERO_LENGTH"}


@pytest.mark.parametrize(
    ("layout", "name", "code"),
    [
        ("dcp", DCP_SHARD, "MISSING_SHARD"),
        ("dcp", "weights/.metadata", "NO_COMMIT_MARKER"),
        ("megatron", "iter_0000100/.metadata", "NO_COMMIT_MARKER"),
        ("megatron", "latest_checkpointed_iteration.txt", "LATEST_MISSING"),
        ("megatron_legacy", "latest_checkpointed_iteration.txt", "NO_COMMIT_MARKER"),
        ("megatron_legacy", "iter_0001000/mp_rank_01_001/distrib_optim.pt", "RANK_FILES_GAP"),
        ("deepspeed", "latest", "NO_COMMIT_MARKER"),
        ("deepspeed", "global_step100/mp_rank_00_model_states.pt", "RANK_FILES_GAP"),
        ("hf_trainer", SHARD, "MISSING_SHARD"),
        ("hf_trainer", "checkpoint-200/rng_state_2.pth", "RANK_FILES_GAP"),
        ("hf_trainer", "checkpoint-200/trainer_state.json", "NO_COMMIT_MARKER"),
        ("accelerate", "c_1/random_states_0.pkl", "NO_COMMIT_MARKER"),
        ("olmo_core", "step70/.metadata.json", "NO_COMMIT_MARKER"),
        ("olmo_core", "step70/train/rank0.pt", "RANK_FILES_GAP"),
        ("nemo", "m--step=5-last/weights/.metadata", "NO_COMMIT_MARKER"),
        ("orbax", "200/commit_success.txt", "NO_COMMIT_MARKER"),
        ("orbax", NODE, "MISSING_SHARD"),
        ("dcp_hf", "step-500/shard-00002-model-00001-of-00001.safetensors", "MISSING_SHARD"),
    ],
)
def test_what_is_absent_is_named(layout, name, code):
    files = ckpt_files.GOOD[layout]()
    del files[name]
    assert ckpt_files.codes(files) == {code}


@pytest.mark.parametrize(
    ("layout", "name", "content", "code"),
    [
        ("dcp", DCP_SHARD, bytes(len(_whole("dcp", DCP_SHARD))), "BAD_MAGIC"),
        ("hf_trainer", ZIP, bytes(4_000), "BAD_MAGIC"),
        ("hf_trainer", SHARD, bytes(4_000), "BAD_HEADER"),
        ("hf_trainer", INDEX, b'{"weight_map": [', "BAD_HEADER"),
        ("hf_trainer", ZIP, ckpt_files.torch_file(leave_out=["archive/data.pkl"]), "BAD_HEADER"),
        ("hf_trainer", ZIP, ckpt_files.torch_file(leave_out=["archive/data/1"]), "MISSING_TENSOR"),
        ("hf_trainer", ZIP, ckpt_files.torch_file(names=[("posix", "system")]), "UNSAFE_PICKLE"),
        ("hf_trainer", SHARD, ckpt_files.safetensors({"other": (4, 8)}), "MISSING_TENSOR"),
        ("dcp", "weights/.metadata", b"\x80\x04not a pickle", "METADATA_UNREADABLE"),
        (
            "dcp_hf",
            "step-500/shard-00002-model-00001-of-00001.safetensors",
            ckpt_files.dcp_hf()["step-500/shard-00001-model-00001-of-00001.safetensors"],
            "COVERAGE",
        ),
        ("megatron_legacy", "latest_checkpointed_iteration.txt", b"3000", "STALE_LATEST"),
        ("megatron_legacy", "latest_checkpointed_iteration.txt", b"20\x00", "BAD_LATEST"),
        ("deepspeed", "latest", b"global_step300", "STALE_LATEST"),
        ("deepspeed", "latest", b"\xff\xfe", "BAD_LATEST"),
        ("orbax", "200/_CHECKPOINT_METADATA", b'{"commit_timestamp_nsecs": 0}', "NO_COMMIT_MARKER"),
        ("orbax", "200/_CHECKPOINT_METADATA", b'{"commit_', "BAD_HEADER"),
        ("orbax", NODE, _whole("orbax", NODE)[:99], "TRUNCATED"),
        ("orbax", NODE, bytes(326), "BAD_MAGIC"),
        (
            "orbax",
            "200/state/manifest.ocdbt",
            _whole("orbax", "200/state/manifest.ocdbt")[:60],
            "TRUNCATED",
        ),
        ("orbax", "200/state/manifest.ocdbt", bytes(113), "BAD_MAGIC"),
    ],
)
def test_what_was_damaged_inside_gets_one_code(layout, name, content, code):
    assert _codes(layout, name, content) == {code}


def test_a_pointer_behind_a_newer_step_is_a_warning_and_the_step_is_not_committed():
    files = ckpt_files.megatron_legacy() | {"latest_checkpointed_iteration.txt": b"1000"}
    reports, root = ckpt_files.checked(files)
    assert [(f.code, f.fatal) for f in root] == [("LATEST_BEHIND", False)]
    assert [report.level for report in reports] == ["headers_verified", "listed"]


@pytest.mark.parametrize(
    ("latest", "expected"),
    [
        (b"global_step200", set()),
        (b"global_step300", {"STALE_LATEST"}),
        (b"\xff", {"BAD_LATEST"}),
        (None, {"LATEST_MISSING"}),
    ],
)
def test_the_part_of_deepspeed_in_a_trainers_checkpoint_has_a_pointer_too(latest, expected):
    files = ckpt_files.hf_sharded()
    inner = "checkpoint-200/global_step200/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt"
    files[inner] = ckpt_files.torch_file()
    files |= {} if latest is None else {"checkpoint-200/latest": latest}
    assert ckpt_files.codes(files) == expected


def test_a_node_of_an_array_tree_says_how_far_its_values_reach():
    table = b"\x02" + b"\x02" + b"\x03\x01" + b"\x00\x00" + b"d/a" + b"b"
    keys = b"\x02" + b"\x00" + b"\x01\x01" + b"kl"
    values = b"\x64\x05" + b"\x01\x01" + b"\x00\x01" + b"\x80\x20\x07"
    assert ocdbt.needs(b"\x00" + table + keys + values) == {"d/a": 4_196, "d/b": 12}
    assert ocdbt.needs(b"\x01" + table) == {"d/a": 0, "d/b": 0}


def test_a_type_and_a_shape_that_do_not_make_the_bytes_are_no_coverage():
    header = {"a": {"dtype": "F32", "shape": [3, 3], "data_offsets": [0, 16]}}
    head = json.dumps(header).encode()
    content = len(head).to_bytes(8, "little") + head + bytes(16)
    assert _codes("safetensors", "final/model.safetensors", content) == {"COVERAGE"}
