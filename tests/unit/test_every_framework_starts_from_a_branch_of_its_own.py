"""What is planned for each framework, so that no later restart undoes or repeats a rollback."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.rollbacks.domain.branching import FRAMEWORKS, Chosen, framework_of, plan
from tests.branch_samples import LAYOUTS, STEP, chosen

OLD, NEW = "/data/old", "/data/new.rollback-7"
LINKED = ("hf_trainer", "megatron", "deepspeed", "torchtitan", "dcp", "lightning", "nemo",
          "litgpt", "plain")  # fmt: skip


def planned(framework, old=OLD, new=NEW, **fields):
    return plan(chosen(f"{old}/{LAYOUTS[framework][0]}", new, framework, **fields))


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_framework_is_known_by_its_names(framework):
    name, files = LAYOUTS[framework]
    assert framework_of(f"/d/{name}/", files) == framework
    assert planned(framework).framework == framework


@pytest.mark.parametrize(
    "framework", ["hf_trainer", "megatron", "deepspeed", "torchtitan", "lightning", "nemo"]
)
def test_the_name_of_the_step_is_enough_where_nobody_listed_files(framework):
    assert framework_of(f"/d/{LAYOUTS[framework][0]}") == framework


@pytest.mark.parametrize("framework", LINKED)
def test_on_a_file_system_the_branch_holds_a_link_and_every_start_is_the_same(framework):
    found = planned(framework)
    assert found.directory == NEW
    assert {target for _, target in found.links} == {f"{OLD}/{LAYOUTS[framework][0]}"}
    assert found.load.startswith(f"{NEW}/")
    assert found.arguments == found.later
    assert OLD not in " ".join(found.arguments) + found.code


def test_hugging_face_looks_for_the_newest_step_itself():
    found = planned("hf_trainer")
    assert found.links == (("checkpoint-900", f"{OLD}/checkpoint-900"),)
    assert found.arguments == ("--output_dir", NEW)
    assert found.code == "trainer.train(resume_from_checkpoint=True)"


def test_megatron_reads_its_tracker_and_no_step_flag():
    found = planned("megatron", skip_ranges=((950, 952), (960, 960)))
    assert found.files == (("latest_checkpointed_iteration.txt", "900"),)
    assert found.arguments == (
        "--load", NEW, "--save", NEW, "--exit-on-missing-checkpoint",
        "--iterations-to-skip", "950", "951", "952", "960",
    )  # fmt: skip
    assert "--ckpt-step" in found.avoid


def test_deepspeed_reads_the_tag_in_latest():
    found = planned("deepspeed")
    assert found.files == (("latest", "global_step900"),)
    assert found.code.startswith(f'engine.load_checkpoint("{NEW}")')


def test_lightning_finds_the_step_as_the_last_one():
    assert [name for name, _ in planned("lightning").links] == [
        LAYOUTS["lightning"][0],
        "last.ckpt",
    ]
    last = plan(Chosen(f"{OLD}/last.ckpt", STEP, NEW))
    assert [name for name, _ in last.links] == ["last.ckpt"]


def test_nemo_takes_only_names_that_end_with_last():
    assert planned("nemo").links[0][0] == f"{LAYOUTS['nemo'][0]}-last"


def test_olmo_core_and_maxtext_are_given_the_old_step_at_every_start():
    olmo = planned("olmo_core")
    assert (olmo.links, olmo.arguments) == (olmo.files, olmo.later)
    assert olmo.arguments[:4] == (
        "--trainer.save_folder", NEW, "--trainer.load_path", f"{OLD}/step900",
    )  # fmt: skip
    maxtext = planned("maxtext", "gs://b/base/run/checkpoints", "gs://b/base/run.r-7/checkpoints")
    assert maxtext.arguments == maxtext.later == (
        "base_output_directory=gs://b/base", "run_name=run.r-7",
        "load_full_state_path=gs://b/base/run/checkpoints/900/items",
    )  # fmt: skip


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_in_an_object_store_nothing_is_linked_and_the_old_step_is_loaded(framework):
    found = planned(framework, "s3://b/ckpt", "s3://b/ckpt.rollback-7")
    assert (found.links, found.files) == ((), ())
    assert found.load == f"s3://b/ckpt/{LAYOUTS[framework][0]}"


def test_a_step_flag_is_for_the_first_start_in_an_object_store_only():
    found = planned("megatron", "s3://b/ckpt", "s3://b/new")
    assert found.arguments[:6] == ("--load", "s3://b/ckpt", "--save", "s3://b/new",
                                   "--ckpt-step", "900")  # fmt: skip
    assert "--ckpt-step" not in found.later
    titan = planned("torchtitan", "s3://b/ckpt", "s3://b/new")
    assert titan.arguments == titan.later
    assert "--checkpoint.no_initial_load_model_only" in titan.arguments


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_checkpoint_of_the_branch_itself_needs_nothing(framework):
    found = planned(framework, NEW, NEW)
    assert (found.links, found.files) == ((), ())
    assert found.load == f"{NEW}/{LAYOUTS[framework][0]}"
    assert found.arguments == found.later
    assert "--ckpt-step" not in found.arguments


def test_a_skip_list_that_no_command_line_holds_is_left_out():
    assert "--iterations-to-skip" not in planned("megatron", skip_ranges=((0, 2**61),)).arguments


_part = st.text("abcz0189-_.=", min_size=1, max_size=12)
_uri = st.builds("/".join, st.lists(_part, min_size=1, max_size=4))
_names = st.lists(st.sampled_from([n for _, names in LAYOUTS.values() for n in names]), max_size=4)


@given(_uri, _uri, _names, st.sampled_from(["/", "s3://", "gs://"]))
def test_whatever_the_checkpoint_only_names_inside_of_the_branch_are_made(uri, new, names, root):
    found = plan(Chosen(root + uri, STEP, root + new, tuple(names)))
    assert not any("/" in name or not name for name, _ in (*found.links, *found.files))
    assert found.load in (root + uri, *(f"{root}{new}/{name}" for name, _ in found.links))
    json.dumps(found.as_json())
