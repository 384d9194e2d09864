"""Checkpoints of every layout in a scratch directory, and the resume points that lead to them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from apps.rollbacks.domain.branching import Chosen, framework_of, plan

KEY = "a key of the cluster"
RUN = "gpt-7b"
STEP = 900
LAYOUTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "hf_trainer": ("checkpoint-900", ("model.safetensors", "trainer_state.json")),
    "megatron": ("iter_0000900", ("metadata.json", ".metadata", "__0_0.distcp")),
    "deepspeed": ("global_step900", ("mp_rank_00_model_states.pt",)),
    "torchtitan": ("step-900", (".metadata", "__0_0.distcp")),
    "dcp": ("epoch_2_it_900", (".metadata", "__0_0.distcp")),
    "lightning": ("step=900-loss=2.1.ckpt", ()),
    "nemo": ("gpt--val_loss=2.1-step=900-consumed_samples=7200.0", ("weights/.metadata",)),
    "olmo_core": ("step900", ("model_and_optim/.metadata", "train/rank0.pt", ".metadata.json")),
    "orbax": ("900", ("_CHECKPOINT_METADATA", "state/_METADATA")),
    "maxtext": ("900", ("_CHECKPOINT_METADATA", "items/_METADATA")),
    "litgpt": ("step-00000900", ("lit_model.pth",)),
    "plain": ("weights", ("model.bin",)),
}
"""framework -> name of the step, names of its files; a step without files is a file itself."""


def written(folder: Path, framework: str) -> Path:
    """A step of this layout, a few bytes a file; its path."""
    name, files = LAYOUTS[framework]
    step = folder / name
    for file in (step / file for file in files) if files else [step]:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x" * (len(file.name) + 1))
    return step


def digest(step: Path) -> str:
    """Of the inventory, as a launcher computes it from a listing."""
    found = [step] if step.is_file() else [path for path in step.rglob("*") if path.is_file()]
    root = step.parent if step.is_file() else step
    pairs = sorted((path.relative_to(root).as_posix(), path.stat().st_size) for path in found)
    return hashlib.sha256(json.dumps(pairs, separators=(",", ":")).encode()).hexdigest()


def chosen(uri: str, branch: str, framework: str, **fields: Any) -> Chosen:
    """What a plan is made from."""
    return Chosen(uri, STEP, branch, names=LAYOUTS[framework][1], **fields)


def payload(step: Path, branch: Path, framework: str, **fields: Any) -> dict[str, Any]:
    """The resume point of an order, as far as a client reads it."""
    asked = chosen(str(step), str(branch), framework)
    assert framework_of(asked.uri, asked.names) == framework
    planned = plan(asked).as_json()
    return {
        "run": RUN,
        "source": "order",
        "order": 7,
        "step": STEP,
        "checkpoint_uri": str(step),
        "inventory_digest": digest(step),
        "exclude_nodes": [],
        "skip_ranges": [],
        "approver": "ada",
        "warning": "",
        "env": {},
        "branch": planned,
        **fields,
    }
