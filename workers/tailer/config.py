"""What an agent follows, where it sends, and its limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workers.tailer.pathsources import PathSource
    from workers.tailer.templates import Template


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes, times in seconds.

    settle_s: a flight recorder dump that stays as it is for so long is whole. batch_bytes,
    batch_age_s: a batch is closed at either. idle_s: a last line without its end is
    sent after this silence. line_bytes: a longer line is sent in parts. spool_bytes: above it the
    agent stops reading (the files keep the data) until the server has taken some.
    metadata_bytes: a larger checkpoint `.metadata` is not attached. give_up_s: with `once`, the
    longest time without any answer.
    """

    batch_bytes: int = 256 << 10
    batch_age_s: float = 1.0
    poll_s: float = 0.25
    discover_s: float = 1.0
    idle_s: float = 10.0
    line_bytes: int = 1 << 20
    spool_bytes: int = 256 << 20
    metadata_bytes: int = 8 << 20
    settle_s: float = 2.0
    timeout_s: float = 30.0
    retry_first_s: float = 0.5
    retry_longest_s: float = 30.0
    stop_s: float = 8.0
    give_up_s: float = 60.0


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """One agent on one node. run "": that of each file, as its path says (`.wandb`, `logs`).

    torchrun: log folders of torchrun. wandb: files, or folders that will hold them. console:
    what the launcher printed. checkpoints: JSON-lines files of checkpoint events. tensorboard:
    event files, or folders above them. jsonl, csv: files with a row of metrics a line; csv also a
    folder above `metrics.csv` files. trainer_state: the file of Hugging Face's Trainer, or its
    output folder. logs: files that templates find (pathsources.py). flight_recorder:
    templates of dumps (dumps.py). zone: of stamps without one. raw: log lines go as bytes, and
    the server reads them.
    once: the files are complete; send everything and end. time_shift_ns: the server adds it to
    every time in the data (replays, wrong clocks). resume_step: the step this start resumed from.
    """

    run: str
    node: str
    url: str
    token: str = field(repr=False)
    state_dir: Path
    torchrun: tuple[Path, ...] = ()
    wandb: tuple[Path, ...] = ()
    console: tuple[Path, ...] = ()
    checkpoints: tuple[Path, ...] = ()
    tensorboard: tuple[Path, ...] = ()
    jsonl: tuple[Path, ...] = ()
    csv: tuple[Path, ...] = ()
    trainer_state: tuple[Path, ...] = ()
    logs: tuple[PathSource, ...] = ()
    flight_recorder: tuple[Template, ...] = ()
    zone: str = ""
    raw: bool = False
    once: bool = False
    time_shift_ns: int = 0
    resume_step: int | None = None
    limits: Limits = field(default_factory=Limits)
