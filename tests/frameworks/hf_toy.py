# ruff: noqa: T201
"""Hugging Face's Trainer as people use it: `--output_dir DIR`, go on from the newest checkpoint."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from torch.utils.data import Dataset
from toy import SAVE_EVERY, Net, batch, breaks_at, dies_after
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint


class Steps(Dataset):
    """One item a step: its number."""

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> int:
        return index


class Killed(TrainerCallback):
    """Says where training begins, and ends the process without any goodbye."""

    def on_train_begin(self, args, state, control, **given):
        print(f"begins after step {state.global_step}", flush=True)

    def on_step_end(self, args, state, control, **given):
        # Saving comes behind the end of a step: the kill comes with the next one.
        if state.global_step > dies_after():
            os._exit(9)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--output_dir", required=True)
    folder = parser.parse_args().output_dir
    arguments = TrainingArguments(
        output_dir=folder, max_steps=100_000, per_device_train_batch_size=1, logging_steps=1,
        save_steps=SAVE_EVERY, save_total_limit=int(os.environ.get("TOY_KEEPS", "2")),
        learning_rate=3e-3, report_to=[],
        lr_scheduler_type="constant", disable_tqdm=True, use_cpu=True, dataloader_num_workers=0,
    )  # fmt: skip
    trainer = Trainer(
        model=Net(), args=arguments, train_dataset=Steps(), callbacks=[Killed()],
        data_collator=lambda numbers: batch(numbers[0], breaks_at()),
    )  # fmt: skip
    trainer._get_train_sampler = lambda *given: None
    found = get_last_checkpoint(folder) if Path(folder).is_dir() else None
    trainer.train(resume_from_checkpoint=found is not None)


if __name__ == "__main__":
    main()
