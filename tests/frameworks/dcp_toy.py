# ruff: noqa: T201
"""A loop of one's own with torch.distributed.checkpoint: load CKPT_RESUME_PATH, save below
CKPT_BRANCH_DIR, tell metrics and checkpoints in files."""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import torch
import torch.distributed.checkpoint as dcp
from toy import SAVE_EVERY, Net, batch, breaks_at, dies_after


def told(file: Path, what: dict[str, object]) -> None:
    """One line of JSON."""
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(what) + "\n")


def save(state: dict[str, object], step: int, folder: Path, told_in: Path) -> None:
    """A step, and the event that announces it."""
    place, began = folder / f"step-{step}", time.time()
    dcp.save({**state, "step": step}, checkpoint_id=place)
    files = {path.name: path.stat().st_size for path in place.iterdir()}
    event = {"ts": time.time(), "step": step, "path": str(place), "files": files}
    told(told_in / "checkpoint_events.jsonl", {**event, "save_s": time.time() - began})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tell", type=Path, required=True)
    tell = parser.parse_args().tell
    folder, resume = Path(os.environ["CKPT_BRANCH_DIR"]), os.environ.get("CKPT_RESUME_PATH", "")
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)
    state = {"net": net.state_dict(), "step": 0}
    if resume:
        dcp.load(state, checkpoint_id=resume)
        net.load_state_dict(state["net"])
    first = int(state["step"])
    for name in ("metrics.jsonl", "checkpoint_events.jsonl"):
        (tell / name).write_text("")
    print(f"begins after step {first}", flush=True)
    for step in range(first + 1, dies_after() + 1):
        optimizer.zero_grad()
        loss = net(**batch(step, breaks_at()))["loss"]
        loss.backward()
        optimizer.step()
        told(tell / "metrics.jsonl", {"step": step, "time": time.time(), "loss": loss.item()})
        if step % SAVE_EVERY == 0:
            save({"net": net.state_dict()}, step, folder, tell)
    os._exit(9)


if __name__ == "__main__":
    main()
