# ruff: noqa: T201
"""Runs the toys in forks of one process that has loaded the frameworks: loading them takes longer
than the training. Run by the Python of `.venv-frameworks`.

A line of JSON with the arguments of `run` asks for a start, a line with its exit status answers.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import traceback
from pathlib import Path

import torch.distributed.checkpoint  # noqa: F401
from transformers import Trainer, TrainerCallback, TrainingArguments  # noqa: F401

FOLDER = Path(__file__).parent


def run(script: str, arguments: list[str], env: dict[str, str], out: str) -> None:
    """One start in this process, which has been forked for it. out: the file for what it prints."""
    with open(out, "wb") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = [script, *arguments]
    runpy.run_path(str(FOLDER / script), run_name="__main__")


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                run(**json.loads(line))
            except BaseException:  # noqa: BLE001 - the fork must not go on as its parent
                traceback.print_exc()
            os._exit(1)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
