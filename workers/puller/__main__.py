"""`python -m workers.puller ENTITY/PROJECT --url URL --token-file F --state DIR ...`"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from apps.core.errors import AppError
from workers import foreground
from workers.puller.loop import Puller, Settings
from workers.puller.memory import Memory
from workers.puller.source import Source
from workers.puller.target import Target


def parser() -> argparse.ArgumentParser:
    """The command line."""
    words = argparse.ArgumentParser(
        prog="python -m workers.puller",
        description="Mirrors the runs of a W&B project into Lastgood, and goes on as they grow.",
    )
    words.add_argument("path", metavar="ENTITY/PROJECT", help="what to mirror; the entity may miss")
    words.add_argument(
        "--source-url",
        default=os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai"),
        help="address of the W&B server (WANDB_BASE_URL)",
    )
    words.add_argument(
        "--source-key-file", type=Path, help="its API key (else the variable WANDB_API_KEY)"
    )
    words.add_argument("--url", required=True, help="address of Lastgood")
    words.add_argument("--token-file", required=True, type=Path, help="token with scope ingest")
    words.add_argument("--state", required=True, type=Path, help="folder for what is remembered")
    words.add_argument("--project", help="project in Lastgood (the same name if not given)")
    words.add_argument("--prefix", default="", help="put before the id of each run")
    words.add_argument("--run", action="append", default=[], help="only this run; may be repeated")
    words.add_argument("--poll-s", type=float, default=15.0, help="seconds between two looks")
    words.add_argument("--page-steps", type=int, default=1_000, help="steps read at once")
    words.add_argument("--once", action="store_true", help="mirror what is there and end")
    words.add_argument(
        "--adopt", action="store_true", help="go on with mirrors that this folder does not know"
    )
    return words


def _secret(path: Path | None, variable: str) -> str:
    if path is None:
        found = os.environ.get(variable, "")
        if not found:
            raise AppError("there is no API key of the source", hint=f"set {variable}")
        return found
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise AppError(f"cannot be read ({error.strerror})", where=str(path)) from error


def main(words: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT; 1 if it cannot, or with --once if something was left out."""
    return foreground.run(partial(_mirror, parser().parse_args(words)))


def _mirror(options: argparse.Namespace, stop: threading.Event) -> int:
    key = _secret(options.source_key_file, "WANDB_API_KEY")
    target = Target(options.url, _secret(options.token_file, ""), stop)
    memory = Memory(options.state.absolute())
    try:
        source = Source(options.source_url, key, options.path, options.page_steps)
        settings = Settings(
            project=options.project or source.project,
            prefix=options.prefix,
            only=tuple(options.run),
            poll_s=options.poll_s,
            adopt=options.adopt,
        )
        logging.getLogger(__name__).info("mirroring %s", source.name_of(""))
        well = Puller(settings, source, target, memory).run(stop, once=options.once)
    finally:
        memory.close()
        target.close()
    return 0 if well or not options.once else 1


if __name__ == "__main__":
    sys.exit(main())
