import pytest

from apps.checkpoints.domain import layouts
from apps.checkpoints.domain.checking import check
from apps.checkpoints.domain.reading import Held
from apps.checkpoints.domain.root import check_root
from apps.checkpoints.domain.tree import FileStat
from tests import ckpt_samples


def _tree(*names, **links):
    files = {name: FileStat(9) for name in names}
    return files | {name: FileStat(9, link_to=target) for name, target in links.items()}


def _found(tree, called=""):
    return [(f.layout, f.step, f.root_name) for f in layouts.find(tree, called)]


@pytest.mark.parametrize(
    ("names", "layout", "step"),
    [
        (("step-100/.metadata", "step-100/__0_0.distcp"), "torchtitan", 100),
        (("weights_5/__0_0.distcp",), "dcp", None),
        (("iter_0001000/.metadata", "iter_0001000/common.pt"), "megatron", 1000),
        (("iter_0001000/mp_rank_00/model_optim_rng.pt",), "megatron_legacy", 1000),
        (("release/mp_rank_00_000/model_optim_rng.pt",), "megatron_legacy", None),
        (("global_step7/mp_rank_00_model_states.pt",), "deepspeed", 7),
        (("checkpoint-8/trainer_state.json", "checkpoint-8/model.safetensors"), "hf_trainer", 8),
        (
            (
                "checkpoint-8/latest",
                "checkpoint-8/a.pt",
                "checkpoint-8/global_step8/x_optim_states.pt",
            ),
            "hf_trainer",
            8,
        ),
        (("ckpt_3/random_states_0.pkl", "ckpt_3/optimizer_0/.metadata"), "accelerate", 3),
        (("run--val_loss=1.0-step=9-last/weights/.metadata",), "nemo", 9),
        (("step70/.metadata.json", "step70/model_and_optim/.metadata"), "olmo_core", 70),
        (("200/_CHECKPOINT_METADATA", "200/items/manifest.ocdbt"), "orbax", 200),
        (("step-00001000/lit_model.pth",), "litgpt", 1000),
        (("step-5/shard-00001-model-00001-of-00001.safetensors",), "dcp_hf", 5),
        (("final/model.safetensors",), "safetensors", None),
    ],
)
def test_a_folder_is_known_by_what_lies_in_it(names, layout, step):
    root = names[0].partition("/")[0]
    assert _found(_tree(*names)) == [(layout, step, root)]


def test_single_files_are_checkpoints_of_their_own_and_a_link_is_none():
    tree = _tree("epoch=0-step=12.ckpt", "step=4.ckpt", **{"last.ckpt": "epoch=0-step=12.ckpt"})
    assert _found(tree) == [
        ("lightning", 4, "step=4.ckpt"),
        ("lightning", 12, "epoch=0-step=12.ckpt"),
    ]


def test_the_root_may_be_the_checkpoint_itself():
    assert _found(_tree(".metadata", "__0_0.distcp"), "step-100") == [("torchtitan", 100, "")]


def test_a_final_model_beside_checkpoints_swallows_none_of_them():
    tree = _tree("model.safetensors", "trainer_state.json", "checkpoint-8/trainer_state.json")
    assert _found(tree) == [("hf_trainer", None, ""), ("hf_trainer", 8, "checkpoint-8")]


def test_what_lies_in_the_folder_of_an_unfinished_save_is_no_checkpoint():
    tree = _tree(
        "300.orbax-checkpoint-tmp-17/_CHECKPOINT_METADATA",
        "300.orbax-checkpoint-tmp-17/commit_success.txt",
        "tmp-checkpoint-8/trainer_state.json",
    )
    assert _found(tree) == []
    (left,) = check_root(tree, (), Held({}))
    assert (left.code, left.fatal) == ("STAGING_DEBRIS", False)
    assert "2 folders left by unfinished saves: 300.orbax-checkpoint-tmp-17" in left.message


@pytest.mark.parametrize(
    ("best", "codes"), [("checkpoint-4", ["BEST_MISSING"]), ("checkpoint-8", [])]
)
def test_a_best_checkpoint_that_was_rotated_away_is_missed(best, codes):
    state = f'{{\n  "best_metric": 1.0,\n  "best_model_checkpoint": "out/{best}",\n'.encode()
    names = ("out/checkpoint-8/trainer_state.json", "out/checkpoint-6/trainer_state.json")
    tree = _tree(*names)
    held = Held({names[0]: state, names[1]: b"{}"})
    assert [one.code for one in check_root(tree, layouts.find(tree), held)] == codes


def test_a_whole_checkpoint_is_verified_by_reading_its_metadata():
    files = {f"run/step-100/{n}": FileStat(s) for n, s in ckpt_samples.inventory().items()}
    (found,) = layouts.find(files)
    shards = {name: _Zeros() for name in files}
    held = Held(shards | {"run/step-100/.metadata": ckpt_samples.metadata()})
    report = check(found, held)
    assert (report.level, [f.code for f in report.findings]) == ("committed", ["BAD_MAGIC"])
    assert report.bytes_read < report.bytes_total


class _Zeros(bytes):
    """A file that a crash left as a hole of zeros."""

    def __len__(self):
        return 10**9

    def __getitem__(self, part):
        return bytes(part.stop - part.start)
