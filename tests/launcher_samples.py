"""Launchers of the run "boom" for tests."""

from __future__ import annotations

import sys
from pathlib import Path

from apps.core.clock import now_ns
from apps.rollbacks.launchers import bindings_store
from apps.rollbacks.models import LauncherBinding
from tests.rollback_story import KEY

ROOT = Path(__file__).resolve().parents[1]

ASKING = """#!/bin/bash
#SBATCH --requeue --open-mode=append --output={folder}/{name}.out
export LASTGOOD_URL={url} LASTGOOD_TOKEN={token} LASTGOOD_ORDER_KEY={key}
env=$(cd {root} && {python} -m workers.cli resume-point {run} --any-files \\
      --acknowledge "slurm-$SLURM_JOB_ID") || exit 1
eval "$env"
echo "restart=${{SLURM_RESTART_COUNT:-0}} node=$SLURMD_NODENAME step=$CKPT_RESUME_STEP" \\
     "save=$CKPT_BRANCH_DIR without=$CKPT_EXCLUDE_NODES"
exec sleep 300
"""
"""A start that asks for its resume point, as docs/orders.md says."""

GIVEN = """#!/bin/bash
#SBATCH --open-mode=append --output={folder}/{name}.out
echo "restart=${{SLURM_RESTART_COUNT:-0}} node=$SLURMD_NODENAME step=$CKPT_RESUME_STEP" \\
     "save=$CKPT_BRANCH_DIR key=$SECRET_KEY"
exec sleep 300
"""
"""A start that is given its resume point in the environment."""


def script(folder: Path, name: str, text: str, **more: str) -> Path:
    """A batch script; what its job prints goes to folder/name.out."""
    values = {
        "folder": folder, "name": name, "root": ROOT, "python": sys.executable, "run": KEY, **more,
    }  # fmt: skip
    path = folder / f"{name}.sbatch"
    path.write_text(text.format(**values))
    return path


def bind(kind: str = "slurm", *, automatic: bool = True, sealed: str = "", **config: object) -> int:
    """The launcher of the run "boom"; its number."""
    values = {
        "kind": kind, "config": config, "automatic": automatic, "sealed": sealed,
        "changed_at_ns": now_ns(), "changed_by": "ada",
    }  # fmt: skip
    assert bindings_store.add("", KEY, values)
    return LauncherBinding.objects.get(run_key=KEY).pk
