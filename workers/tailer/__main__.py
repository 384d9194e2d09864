"""`python -m workers.tailer --run KEY --node NAME --url URL --token-file F --state DIR ...`"""

from __future__ import annotations

import argparse
import logging
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from apps.core.errors import AppError
from workers import foreground
from workers.tailer.agent import Agent
from workers.tailer.config import AgentConfig


def parser() -> argparse.ArgumentParser:
    """The command line."""
    words = argparse.ArgumentParser(
        prog="python -m workers.tailer",
        description="Follows the logs of one run on one node and sends them to Lastgood.",
    )
    words.add_argument(
        "--run", default="", help="key of the run; without it each .wandb file is its own run"
    )
    words.add_argument("--node", required=True, help="name of this node")
    words.add_argument("--url", required=True, help="address of Lastgood")
    words.add_argument("--token-file", required=True, type=Path, help="token with scope ingest")
    words.add_argument("--state", required=True, type=Path, help="folder for spool and offsets")
    for name, what in (
        ("torchrun", "log folder of torchrun (<id>/attempt_K/<local_rank>/stderr.log)"),
        ("wandb", "a .wandb file, or a folder with run folders of W&B, also with folders wandb/"),
        ("console", "what the launcher printed"),
        ("checkpoints", "checkpoint_events.jsonl"),
        ("tensorboard", "a TensorBoard event file, or a folder above such files"),
        ("jsonl", "a file with one JSON object of metrics a line"),
        ("csv", "a CSV file of metrics with a header line, or a folder above metrics.csv files"),
        ("trainer-state", "trainer_state.json of Hugging Face, or the Trainer's output folder"),
    ):
        words.add_argument(
            f"--{name}", action="append", default=[], type=Path, help=f"{what}; may be repeated"
        )
    words.add_argument("--once", action="store_true", help="send what is there and end")
    words.add_argument("--resume-step", type=int, help="the step this start resumed from")
    words.add_argument(
        "--time-shift-ns", type=int, default=0, help="the server adds this to every time"
    )
    return words


def config_of(options: argparse.Namespace) -> AgentConfig:
    """The agent that the options describe; AppError if the token cannot be read."""
    named = ("torchrun", "console", "checkpoints", "tensorboard", "jsonl", "csv", "trainer_state")
    if not options.run and any(getattr(options, name) for name in named):
        raise AppError(
            "is missing: only .wandb files say which run they are of",
            where="--run",
            hint="give --run KEY, or --wandb alone",
        )
    try:
        token = options.token_file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise AppError(
            f"cannot be read ({error.strerror})",
            where=f"--token-file {options.token_file}",
            hint="make one with `manage.py token NAME --scope ingest`",
        ) from error
    return AgentConfig(
        run=options.run,
        node=options.node,
        url=options.url,
        token=token,
        state_dir=options.state.absolute(),
        torchrun=_absolute(options.torchrun),
        wandb=_absolute(options.wandb),
        console=_absolute(options.console),
        checkpoints=_absolute(options.checkpoints),
        tensorboard=_absolute(options.tensorboard),
        jsonl=_absolute(options.jsonl),
        csv=_absolute(options.csv),
        trainer_state=_absolute(options.trainer_state),
        once=options.once,
        time_shift_ns=options.time_shift_ns,
        resume_step=options.resume_step,
    )


def _absolute(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Paths are names in the state folder, so they must not depend on the current folder."""
    return tuple(path.absolute() for path in paths)


def main(words: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT; 1 if it cannot."""
    options = parser().parse_args(words)

    def follow(stop: threading.Event) -> int:
        agent = Agent(config_of(options))
        what = f"run {options.run}" if options.run else "W&B runs"
        logging.getLogger(__name__).info("following %s on %s", what, options.node)
        return _ended(agent.run(stop), options)

    return foreground.run(follow)


def _ended(status: Mapping[str, Any], options: argparse.Namespace) -> int:
    """0, or 1 if a one-time transfer leaves something behind."""
    if not options.once:
        return 0
    for problem in status["unreadable_files"]:
        sys.stderr.write(f"{problem}\n")
    if status["dead_letters"]:
        sys.stderr.write(
            f"{status['dead_letters']} batches were refused; see {options.state / 'dead'}\n"
        )
    return 1 if status["dead_letters"] or status["unreadable_files"] else 0


if __name__ == "__main__":
    sys.exit(main())
