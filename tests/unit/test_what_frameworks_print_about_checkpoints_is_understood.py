"""Lines as the frameworks print them; sources: their code and public logs, see spoken.py."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.checkpoints.domain.spoken import HINTS, LINES, Speech, said, said_by

MEGATRON = "/fs/run-step-5000/ckpt"
CASES = [
    ("saving checkpoint at iteration     900 to /fs/run-step-5000/ckpt in torch_dist format",
     "requested megatron", 900, f"{MEGATRON}/iter_0000900"),
    ("  scheduled an async checkpoint save at iteration     900 to /fs/run-step-5000/ckpt",
     "requested megatron", 900, f"{MEGATRON}/iter_0000900"),
    ("  successfully saved checkpoint from iteration     900 to /fs/run-step-5000/ckpt",
     "committed megatron", 900, f"{MEGATRON}/iter_0000900"),
    ("successfully saved checkpoint from iteration     845", "committed megatron", 845, None),
    ("  successfully loaded checkpoint from /fs/run-step-5000/ckpt [ t 1/2, p 1/4 ] at "
     "iteration 900",
     "restored megatron", 900, f"{MEGATRON}/iter_0000900"),
    ("[NeMo I 2026-02-17 17:58:41 nemo_logging:393] Scheduled async checkpoint save for "
     "/ckpt/step=24.ckpt",
     "requested nemo", 24, "/ckpt/step=24.ckpt"),
    ("[NeMo I 2026-02-17] Successfully saved checkpoint from iteration      24 to "
     "/ckpt/step=24.ckpt",
     "committed megatron", 24, "/ckpt/step=24.ckpt"),
    ("[Rank 0] [Torch] Checkpoint global_step10 is about to be saved!",
     "requested deepspeed", 10, None),
    ("[Torch] Checkpoint global_step10 is ready now!", "committed deepspeed", 10, None),
    ("[Rank 0] Saving model checkpoint: exp/global_step10/mp_rank_00_model_states.pt",
     "requested deepspeed", 10, "exp/global_step10"),
    ("[Torch] Loaded checkpoint from exp/global_step10/mp_rank_00_model_states.pt.",
     "restored deepspeed", 10, "exp/global_step10"),
    ("Saving model checkpoint to out/checkpoint-9",
     "requested hf_trainer", 9, "out/checkpoint-9"),
    ("  Continuing training from global step 9", "restored hf_trainer", 9, None),
    ("Deleting older checkpoint [out/checkpoint-3] due to args.save_total_limit",
     "deleted hf_trainer", 3, "out/checkpoint-3"),
    ("Loading the checkpoint from /fs/checkpoint/step-250.",
     "loading dcp", 250, "/fs/checkpoint/step-250"),
    ("Loading the checkpoint at step 250.", "loading dcp", 250, None),
    ("Finished loading the checkpoint in 61.68 seconds.", "restored dcp", None, None),
    ("Checkpointer deleted /fs/checkpoint/step-100 in 1.20 seconds.", "deleted dcp", 100,
     "/fs/checkpoint/step-100"),
    ("Epoch 0, global step 12: 'loss' reached 0.07 (best 0.07), saving model to "
     "'/o/step=12-loss=0.07.ckpt' as top 1",
     "requested lightning", 12, "/o/step=12-loss=0.07.ckpt"),
    ("Restored all states from the checkpoint at /o/epoch=249-step=55000.ckpt",
     "restored lightning",
     55_000, "/o/epoch=249-step=55000.ckpt"),
    ("[process=0][thread=async_save] Finished saving checkpoint (finalized tmp dir) to "
     "`/x/pvc/99999`.",
     "committed orbax", 99_999, "/x/pvc/99999"),
    ("Finished restoring checkpoint in 4.52 seconds from /x/pvc/99999/params.", "restored orbax",
     99_999, "/x/pvc/99999"),
    ("Saving checkpoint to '/o/step-00001000/lit_model.pth'",
     "requested litgpt", 1_000, "/o/step-00001000"),
    ("Resuming training from /o/step-00001000", "restored litgpt", 1_000, "/o/step-00001000"),
    ("Saving checkpoint for step 40...", "requested ", 40, None),
    ("Checkpoint for step 40 saved.", "committed ", 40, None),
    ("saved checkpoint to /o/step_40", "committed ", 40, "/o/step_40"),
    ("Saved model checkpoint at step 40", "committed ", 40, None),
    ("Loaded checkpoint /o/step_40/state.pt", "restored ", 40, "/o/step_40"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "step", "path"), CASES)
def test_a_line_is_read(text, kind, step, path):
    found = said_by(text, 7)
    assert (f"{found.speech} {found.framework}", found.step, found.path) == (kind, step, path)
    assert (found.at_ns, found.doubt) == (7, "")


@pytest.mark.parametrize(("text", "kind", "step", "path"), CASES)
def test_each_line_holds_a_hint_that_is_looked_for(text, kind, step, path):
    assert any(hint.decode() in text for hint in HINTS)


@pytest.mark.parametrize(
    "text",
    [
        "(min, max) time across ranks (ms): save-checkpoint ....: (1.0, 2.0)",
        "  checkpoint_activations .......................... True",
        "[Torch] Saving exp/global_step10/mp_rank_00_model_states.pt...",
        "Applied FullAC activation checkpointing to the model",
        "Saving the checkpoint (or staging if async is enabled).",
        "successfully loaded checkpoint from /weights/llama",
        "[rank 1] loading checkpoint /ckpt/mp_rank_01_model_states.pt",
        "Loading safetensors checkpoint shards: 100% Completed | 4/4",
        "failed to load checkpoint from /o/step-40: No such file",
        "saved checkpoint to /o/best",
        "will not load any checkpoints and will start from random",
    ],
)
def test_other_lines_say_nothing(text):
    assert said_by(text, 0) is None


def test_the_path_goes_before_the_words_and_the_doubt_is_kept():
    found = said_by("successfully saved checkpoint from iteration 27 to /ckpt/step=24.ckpt", 0)
    assert (found.step, found.doubt) == (24, "its path says step 24, the log line says 27")


def test_what_every_rank_prints_is_said_once():
    lines = [(at, "[Torch] Checkpoint global_step10 is ready now!") for at in range(64)]
    assert [(one.speech, one.at_ns) for one in said(lines)] == [(Speech.COMMITTED, 0)]


def test_what_is_saved_and_deleted_twice_is_said_twice_whatever_names_the_place():
    saved, deleted = "checkpoint for step 5 saved", "Checkpointer deleted /fs/step-5 in 1.2 s"
    found = said(enumerate([saved, deleted, deleted, saved, saved, deleted]))
    assert [(one.speech, one.at_ns) for one in found] == [
        (Speech.COMMITTED, 0),
        (Speech.DELETED, 1),
        (Speech.COMMITTED, 3),
        (Speech.DELETED, 5),
    ]


@given(
    st.lists(
        st.sampled_from([line.marker for line in LINES]) | st.text(max_size=20) | st.just("9"),
        max_size=12,
    )
)
def test_no_text_breaks_it(words):
    found = said_by(" ".join(words), 1)
    assert found is None or found.step is None or 0 <= found.step < 2**62 + 1
