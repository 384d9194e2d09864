import pytest

from apps.checkpoints.domain.codes import Level
from apps.checkpoints.domain.verify import verify
from tests import ckpt_samples

SHARD = "__3_0.distcp"


def _changed(**sizes):
    return {**ckpt_samples.inventory(), **sizes}


def _without(name):
    files = ckpt_samples.inventory()
    del files[name]
    return files


def _codes(found):
    return [f.code for f in found.findings]


def test_a_whole_checkpoint_is_verified_without_findings():
    found = verify(ckpt_samples.inventory(), ckpt_samples.metadata())
    assert (found.level, found.framework, found.findings) == (Level.HEADERS_VERIFIED, "dcp", ())
    assert found.complete


def test_without_the_metadata_content_it_is_only_committed():
    found = verify(ckpt_samples.inventory())
    assert (found.level, found.complete, found.findings) == (Level.COMMITTED, True, ())


@pytest.mark.parametrize(
    ("files", "code", "message"),
    [
        (_without(SHARD), "MISSING_SHARD", "1 file named by .metadata but absent: __3_0.distcp"),
        (_changed(**{SHARD: 0}), "ZERO_LENGTH", "1 file empty: __3_0.distcp"),
        (_changed(**{SHARD: 99}), "TRUNCATED", "1 file shorter than .metadata says: __3_0.distcp"),
    ],
)
def test_a_damaged_shard_makes_it_incomplete(files, code, message):
    found = verify(files, ckpt_samples.metadata())
    assert [(f.code, f.message) for f in found.findings][-1] == (code, message)
    assert set(_codes(found)) == {code}
    assert (found.level, found.complete) == (Level.COMMITTED, False)


@pytest.mark.parametrize(
    ("files", "code"),
    [
        (_changed(**{SHARD: 10**9}), "SIZE_MISMATCH"),
        (_changed(**{"__8_0.distcp": 5}), "FOREIGN_SHARDS"),
    ],
)
def test_a_surplus_is_a_warning_and_stays_usable(files, code):
    found = verify(files, ckpt_samples.metadata())
    assert _codes(found) == [code]
    assert (found.level, found.complete) == (Level.HEADERS_VERIFIED, True)


@pytest.mark.parametrize(
    "files", [_without(".metadata"), {**_without(".metadata"), ".metadata.tmp": 7}]
)
def test_without_its_marker_it_is_not_committed(files):
    found = verify(files)
    assert _codes(found) == ["NO_COMMIT_MARKER"]
    assert (found.level, found.complete) == (Level.LISTED, False)


def test_an_empty_marker_is_no_commit():
    found = verify(_changed(**{".metadata": 0}), b"")
    assert _codes(found) == ["ZERO_LENGTH"]
    assert found.level is Level.LISTED


def test_a_metadata_file_of_another_size_than_announced_is_not_trusted():
    found = verify(_changed(**{".metadata": 12}), ckpt_samples.metadata())
    assert _codes(found) == ["METADATA_UNREADABLE"]


def test_a_nested_directory_is_read_from_where_its_metadata_lies():
    files = {f"model_and_optim/{n}": size for n, size in ckpt_samples.inventory().items()}
    files["train/rank0.pt"] = 10
    assert verify(files, ckpt_samples.metadata()).level is Level.HEADERS_VERIFIED


@pytest.mark.parametrize(
    ("files", "framework", "level"),
    [
        ({"trainer_state.json": 9, "model.safetensors": 9}, "hf_trainer", "committed"),
        ({"_CHECKPOINT_METADATA": 9, "items/d/1": 9}, "orbax", "committed"),
        ({"step=12.ckpt": 9}, "lightning", "committed"),
        ({"model.bin": 9, "optimizer.bin": 9}, "unknown", "listed"),
        ({}, "unknown", "listed"),
    ],
)
def test_other_frameworks_are_committed_by_the_file_they_write_last(files, framework, level):
    found = verify(files)
    assert (found.framework, found.level.value) == (framework, level)


def test_a_hole_in_a_numbering_is_a_missing_shard():
    files = {"model-00001-of-00003.safetensors": 9, "model-00003-of-00003.safetensors": 9}
    found = verify(files)
    assert [f.message for f in found.findings] == [
        "1 file missing in the numbering: model-00002-of-00003.safetensors"
    ]
    assert not found.complete
