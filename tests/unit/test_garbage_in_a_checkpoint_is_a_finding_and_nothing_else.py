"""Whatever bytes lie where a checkpoint should be, a check ends with a report."""

import os
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.checkpoints.domain import layouts
from apps.checkpoints.domain.checking import check
from apps.checkpoints.domain.headers.pickle_names import BadPickle, names_of
from apps.checkpoints.domain.headers.unsafe import trust
from apps.checkpoints.domain.reading import Held, Unreadable, Vanished
from tests import ckpt_files

_TREES = st.sampled_from(sorted(ckpt_files.GOOD))


@settings(deadline=None, max_examples=40)
@given(layout=_TREES, data=st.data())
def test_any_file_may_hold_anything(layout, data):
    files = ckpt_files.GOOD[layout]()
    name = data.draw(st.sampled_from(sorted(files)))
    files[name] = data.draw(st.binary(max_size=400))
    ckpt_files.checked(files)


@settings(deadline=None, max_examples=60)
@given(layout=_TREES, data=st.data())
def test_any_byte_may_be_another(layout, data):
    files = ckpt_files.GOOD[layout]()
    name = data.draw(st.sampled_from(sorted(name for name in files if files[name])))
    content = bytearray(files[name])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    ckpt_files.checked(files | {name: bytes(content)})


_PARTS = st.sampled_from(
    [
        *(
            "step-1",
            "iter_0000001",
            "checkpoint-2",
            "global_step3",
            "100",
            "a.orbax-checkpoint-tmp",
        ),
        *(".metadata", "__0_0.distcp", "sharded", "weights", "context", "model_and_optim", "train"),
        *("mp_rank_00", "mp_rank_00_001", "rank0.pt", "latest", "last.ckpt", "_METADATA", "x"),
        *("model-00001-of-99999.bin", "shard-00009-model-00001-of-00001.safetensors"),
        *("rng_state_7.pth", "latest_checkpointed_iteration.txt", "trainer_state.json"),
    ]
)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.lists(_PARTS, min_size=1, max_size=4).map("/".join), max_size=12))
def test_any_names_make_a_tree(names):
    ckpt_files.checked(dict.fromkeys(names, b""))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_pickle_or_none(content):
    try:
        names_of(content)
    except BadPickle:
        return


class _Hostile:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.system, (f"touch {self.path}",))


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_that_calls_a_shell_is_named_and_not_run(tmp_path, protocol):
    trap = tmp_path / "executed"
    content = pickle.dumps({"state": _Hostile(trap)}, protocol=protocol)
    assert names_of(content).unsafe == {"posix.system"}
    zipped = ckpt_files.torch_file(data=content)
    assert ckpt_files.codes({"step_1.pt": zipped}) == {"UNSAFE_PICKLE"}
    assert not trap.exists()


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"(ios\nsystem\n.", "os.system"),
        (b"\x80\x04\x8c\x05torch\x8c\tos.system\x93.", "torch.os.system"),
        (b"\x80\x02ctorch.hub\nload\n.", "torch.hub.load"),
        (b"\x80\x02cbuiltins\ngetattr\n.", "builtins.getattr"),
        (b"\x80\x04]\x8c\x04eval\x93.", "a name that the pickle computes"),
        (b"\x80\x02\x82\x01.", "an entry of the extension registry"),
        (b"\x80\x04\x8c\x02os\x940\x8c\x06system\x94h\x00h\x01\x93.", "os.system"),
    ],
)
def test_a_name_that_runs_code_is_found_however_it_is_written(content, named):
    assert names_of(content).unsafe == {named}


@pytest.mark.parametrize(
    ("module", "name", "kind"),
    [
        ("torch._utils", "_rebuild_tensor_v2", "inert"),
        ("torch", "bfloat16", "inert"),
        ("torch", "per_tensor_affine", "inert"),
        ("torch", "FloatStorage", "inert"),
        ("collections", "OrderedDict", "inert"),
        ("numpy._core.multiarray", "_reconstruct", "inert"),
        ("builtins", "set", "inert"),
        ("torch.storage", "_load_from_bytes", "unsafe"),
        ("subprocess", "Popen", "unsafe"),
        ("anything", "a.__globals__.b", "unsafe"),
        ("transformers.training_args", "TrainingArguments", "foreign"),
    ],
)
def test_names_are_inert_foreign_or_unsafe(module, name, kind):
    assert trust(module, name) == kind


class _Failing:
    def __init__(self, error):
        self.error = error

    def read(self, name, start, length):
        raise self.error


@pytest.mark.parametrize("layout", sorted(ckpt_files.GOOD))
@pytest.mark.parametrize(
    ("error", "allowed"),
    [
        (Vanished("gone"), {"MISSING_SHARD"}),
        (Unreadable("no answer in 10 s"), {"UNCHECKED"}),
    ],
)
def test_a_storage_that_fails_is_a_finding(layout, error, allowed):
    steps = layouts.find(ckpt_files.tree(ckpt_files.GOOD[layout]()))
    reports = [check(step, _Failing(error)) for step in steps]
    assert {f.code for report in reports for f in report.findings} == allowed
    assert "headers_verified" not in {report.level for report in reports}


def test_an_older_file_of_torch_is_not_called_checked():
    content = pickle.dumps({"a": 1}, protocol=2) + bytes(5_000)
    reports, _ = ckpt_files.checked({"step_1.pt": content})
    assert [f.code for f in reports[0].findings] == ["UNCHECKED"]
    assert reports[0].level == "committed"


def test_a_file_that_shrinks_while_it_is_read_is_cut():
    files = ckpt_files.hf_sharded()
    (step,) = layouts.find(ckpt_files.tree(files))
    report = check(step, Held({name: content[:6] for name, content in files.items()}))
    assert "TRUNCATED" in {f.code for f in report.findings}
