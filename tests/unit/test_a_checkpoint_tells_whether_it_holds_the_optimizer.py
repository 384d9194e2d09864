"""checkpoints.domain.optimizer, on names that real frameworks write."""

import pytest

from apps.checkpoints.domain.optimizer import holds_optimizer
from tests.failure_cases import recorded


@pytest.mark.parametrize(
    ("files", "framework", "holds"),
    [
        (["model.safetensors", "optimizer.pt", "trainer_state.json"], "hf_trainer", True),
        (["model.safetensors", "trainer_state.json"], "hf_trainer", False),
        (["zero_pp_rank_0_mp_rank_00_optim_states.pt"], "unknown", True),
        (["model-00001-of-00002.safetensors"], "safetensors", False),
        (["__0_0.distcp", ".metadata"], "dcp", None),
        (["epoch=1-step=900.ckpt"], "lightning", None),
        ([], "unknown", None),
    ],
)
def test_the_names_of_its_files_tell_or_nothing_is_claimed(files, framework, holds):
    assert holds_optimizer(files, framework) is holds


def test_the_metadata_of_a_real_checkpoint_names_the_moments():
    content = (recorded("sdc_rollback") / "checkpoints/step-600/.metadata").read_bytes()
    assert holds_optimizer([".metadata"], "dcp", content) is True
