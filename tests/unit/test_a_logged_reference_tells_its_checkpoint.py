"""What the manifest of an artifact says about a checkpoint."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.checkpoints.domain.steps import step_of_name, step_of_parts
from apps.core.errors import BadPayload
from apps.ingest.wandb.manifest import Logged, Reference, checkpoint_of, parse_manifest

MD5 = "1B2M2Y8AsgTpgAmY7PhCfg=="


def logged(**given):
    usual = {"type": "model", "name": "ckpt", "aliases": (), "metadata": {}, "history_step": None}
    return Logged(**usual | {"logged_ns": 5} | given)


def below(root, files=None):
    files = {"__0_0.distcp": 10, ".metadata": 3} if files is None else files
    return [Reference(f"{root}/{name}", size) for name, size in files.items()]


def manifest(**contents):
    return orjson.dumps({"version": 1, "contents": contents})


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("step-1000", 1000),
        ("step1000", 1000),
        ("step-00001000", 1000),
        ("global_step1000", 1000),
        ("iter_0001000", 1000),
        ("checkpoint-500", 500),
        ("epoch=3-step=1200.ckpt", 1200),
        ("llm--val_loss=1.5-step=70-consumed_samples=900-last", 70),
        ("checkpoint-2-step-7", 7),
        ("epoch=3", None),
        ("checkpoint-8b", None),
        ("model-00001-of-00004.safetensors", None),
        ("timestep", None),
        ("footstep-3", None),
        ("v12", None),
        ("", None),
    ],
)
def test_names_of_the_frameworks(name, step):
    assert step_of_name(name) == step


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("ckpt/step-100/shards", (1, 100)),
        ("step-1/iter_0000002", (1, 2)),
        ("run/checkpoints/200/items", (2, 200)),
        ("run/200/items", None),
        ("200", None),
    ],
)
def test_the_last_part_that_names_a_step_counts(path, found):
    assert step_of_parts(path.split("/")) == found


@given(st.text(max_size=80))
def test_any_name_has_a_step_or_none(name):
    step = step_of_name(name)
    assert step is None or 0 <= step < 10**18


def test_a_local_folder_is_a_path_with_its_files():
    seen = checkpoint_of(logged(), below("file:///ckpt/step-100"))
    assert (seen.path, seen.step, seen.doubt) == ("/ckpt/step-100", 100, "")
    assert seen.files == {"__0_0.distcp": 10, ".metadata": 3}


def test_the_order_of_the_files_does_not_matter():
    files = below("s3://b/ckpt/iter_0000010", {"a/x": 1, "b/y": 2, "c": 3})
    assert checkpoint_of(logged(), files) == checkpoint_of(logged(), files[::-1])


def test_an_address_is_read_as_the_client_reads_it():
    seen = checkpoint_of(logged(), below("file:///my%20runs/step-1"))
    assert seen.path == "/my runs/step-1"


def test_a_folder_nobody_looked_into_has_unknown_files():
    seen = checkpoint_of(logged(), [Reference("s3://bucket/ckpt/step-2000/", None)])
    assert (seen.path, seen.step, seen.files) == ("s3://bucket/ckpt/step-2000", 2000, None)


def test_one_unknown_size_makes_the_list_unknown():
    references = [*below("s3://b/step-1"), Reference("s3://b/step-1/more", None)]
    assert checkpoint_of(logged(), references).files is None


@pytest.mark.parametrize(
    ("url", "path", "files"),
    [
        ("file:///c/step=12-loss=0.1.ckpt", "/c/step=12-loss=0.1.ckpt", "step=12-loss=0.1.ckpt"),
        ("file:///c/step-12/model.pt", "/c/step-12", "model.pt"),
        ("s3://b/step-12/deep/model.pt", "s3://b/step-12/deep/model.pt", "model.pt"),
    ],
)
def test_a_lone_file(url, path, files):
    seen = checkpoint_of(logged(), [Reference(url, 9)])
    assert (seen.path, seen.step, seen.files) == (path, 12, {files: 9})


@pytest.mark.parametrize(
    ("said", "step", "doubt"),
    [
        ({"history_step": 100}, 100, ""),
        ({"history_step": 101}, 100, ""),
        ({"history_step": 140}, 100, "its path says step 100, the W&B step says 140"),
        ({"history_step": 99}, 100, "its path says step 100, the W&B step says 99"),
        ({"name": "ckpt-90"}, 100, "its path says step 100, its name says 90"),
        ({"aliases": ("latest", "step-100")}, 100, ""),
        ({"aliases": ("step-1", "step-2")}, 100, ""),
        ({"metadata": {"iteration": 90}}, 100, "its path says step 100, its metadata says 90"),
        ({"metadata": {"iteration": True, "step": -1}}, 100, ""),
    ],
)
def test_the_path_says_the_step_and_the_others_may_doubt_it(said, step, doubt):
    seen = checkpoint_of(logged(**said), below("file:///ckpt/step-100"))
    assert (seen.step, seen.doubt) == (step, doubt)


@pytest.mark.parametrize(
    ("said", "step", "doubt"),
    [
        ({"metadata": {"global_step": 7}, "history_step": 7}, 7, ""),
        ({"history_step": 12}, 12, ""),
        ({}, 0, "nothing says its step, so that 0 was taken"),
    ],
)
def test_a_path_without_a_step_leaves_it_to_the_others(said, step, doubt):
    seen = checkpoint_of(logged(**said), below("s3://bucket/latest"))
    assert (seen.step, seen.doubt) == (step, doubt)


@pytest.mark.parametrize(
    ("kind", "references"),
    [
        ("Checkpoint", below("s3://bucket/latest", {"weights.bin": 1})),
        ("thing", below("s3://bucket/latest")),
        ("thing", below("s3://bucket/step-9", {"weights.bin": 1})),
    ],
)
def test_type_marks_or_path_make_a_checkpoint(kind, references):
    assert checkpoint_of(logged(type=kind), references) is not None


@pytest.mark.parametrize(
    ("kind", "references"),
    [
        ("model", []),
        ("dataset", below("s3://bucket/step-9")),
        ("thing", below("s3://bucket/latest", {"weights.bin": 1})),
    ],
)
def test_anything_else_is_none(kind, references):
    assert checkpoint_of(logged(type=kind), references) is None


def test_a_manifest_gives_its_references_only():
    found = parse_manifest(
        manifest(
            tracker={"digest": MD5, "size": 4, "birthArtifactID": "x"},
            shard={"digest": MD5, "size": 1000, "ref": "file:///c/shard", "extra": {}},
            empty={"digest": MD5, "size": 0, "ref": "file:///c/empty"},
            folder={"digest": "s3://b/f", "ref": "s3://b/f", "size": 0},
            own={"digest": MD5, "ref": "wandb-artifact://abc/x", "size": 1},
        )
    )
    assert found == [
        Reference("file:///c/shard", 1000),
        Reference("file:///c/empty", 0),
        Reference("s3://b/f", None),
    ]


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b"", "manifest"),
        (b"{}", "manifest"),
        (manifest(a={"digest": 1}), "manifest.contents[...].digest"),
        (manifest(a={"digest": "x", "ref": "y", "size": -1}), "manifest.contents[...].size"),
    ],
)
def test_a_malformed_manifest_names_its_field(body, where):
    with pytest.raises(BadPayload) as caught:
        parse_manifest(body)
    assert caught.value.where == where


NAMES = st.text("ab-_=.0123456789step/%", max_size=12)


@given(
    st.lists(st.tuples(NAMES, st.none() | st.integers(0, 2**62)), max_size=5),
    st.sampled_from(["file://", "file:", "s3://", ""]),
)
def test_any_references_give_a_checkpoint_or_none(pairs, scheme):
    references = [Reference(scheme + name, size) for name, size in pairs]
    seen = checkpoint_of(logged(), references)
    assert (seen is None) == (not references)
    known = [r.size for r in references]
    assert seen is None or (seen.files is None) == (None in known)


@given(st.binary(max_size=60) | st.recursive(st.none() | st.text(), st.lists).map(orjson.dumps))
def test_anything_but_a_manifest_is_refused_in_one_way(body):
    with pytest.raises(BadPayload):
        parse_manifest(body)
