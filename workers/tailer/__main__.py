"""`python -m workers.tailer --run KEY --url URL --token-file F --state DIR --torchrun DIR ...`"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from apps.core.errors import AppError
from workers import foreground
from workers.tailer import check, openfiles, status, templates
from workers.tailer.agent import Agent
from workers.tailer.config import AgentConfig
from workers.tailer.dumps import template_of
from workers.tailer.pathsources import (
    LOGS,
    PODS,
    SLURM,
    TASKS,
    PathSource,
    check_zone,
    tasks_of,
)
from workers.tailer.settings import gather, guessed_node, parser

SLURM_USUAL = ("slurm-%j.out", "slurm-%A_%a.out", "slurm-%j_%t.out", "%j_%t.out", "%j_%t.err")
NAMELESS = ("torchrun", "console", "checkpoints", "tensorboard", "jsonl", "csv", "trainer_state")
"""Sources whose paths do not say which run they are of."""


def config_of(
    options: argparse.Namespace, environment: Mapping[str, str] | None = None
) -> AgentConfig:
    """The agent that flags, environment and file describe; AppError if something is wrong."""
    environment = os.environ if environment is None else environment
    given = gather(options, environment)
    run, zone = given.get("run", ""), given.get("zone", "")
    check_zone(zone, "zone")
    sources = tuple(_path_sources(given, environment))
    dumps = tuple(map(template_of, given.get("flight_recorder", ())))
    if not run:
        named = [source.template for source in sources if source.kind != PODS]
        _check_runs(given, [*named, *dumps])
    return AgentConfig(
        run=run,
        node=given.get("node") or guessed_node(environment),
        url=given.get("url", ""),
        token="" if options.check else _token(given),
        state_dir=Path(given.get("state", "")).absolute(),
        torchrun=_absolute(given.get("torchrun", ())),
        wandb=_absolute(given.get("wandb", ())),
        console=_absolute(given.get("console", ())),
        checkpoints=_absolute(given.get("checkpoints", ())),
        tensorboard=_absolute(given.get("tensorboard", ())),
        jsonl=_absolute(given.get("jsonl", ())),
        csv=_absolute(given.get("csv", ())),
        trainer_state=_absolute(given.get("trainer_state", ())),
        logs=sources,
        flight_recorder=dumps,
        zone=zone,
        raw=given.get("raw", False),
        once=given.get("once", False),
        time_shift_ns=given.get("time_shift_ns", 0),
        resume_step=given.get("resume_step"),
    )


def _check_runs(given: Mapping[str, Any], found: Sequence[templates.Template]) -> None:
    """AppError for files whose paths name no run."""
    nameless = [name for name in NAMELESS if given.get(name)]
    nameless += [template.text for template in found if "run" not in template.names]
    if nameless:
        raise AppError(
            f"is missing: {nameless[0]} does not say which run it is of",
            where="--run",
            hint="give --run KEY, or only .wandb files, pods and templates with {run}",
        )


def _path_sources(given: Mapping[str, Any], environment: Mapping[str, str]) -> Iterable[PathSource]:
    """Files that templates find."""
    for kind in (LOGS, SLURM, PODS):
        for one in given.get(kind, ()):
            said = {"path": one} if isinstance(one, str) else one
            zone = said.get("zone", given.get("zone", ""))
            tasks = said.get("tasks") or given.get("tasks") or tasks_of(environment)
            if tasks not in TASKS:
                raise AppError(f"is no kind of task: {tasks!r}", where="tasks", hint="rank or node")
            check_zone(zone, f"zone of {said['path']}")
            for text in _templates(kind, said["path"]):
                template = templates.parse(text, slurm=kind == SLURM)
                yield PathSource(kind, template, zone, tasks)


def _templates(kind: str, text: str) -> Sequence[str]:
    """What a folder stands for."""
    named = "{" in text or "%" in text or "*" in text
    if kind == SLURM and not named and Path(text).is_dir():
        return [f"{text}/{usual}" for usual in SLURM_USUAL]
    if kind == PODS and not named:
        folder = text.rstrip("/")
        last = templates.CONTAINERS if folder.endswith("containers") else templates.PODS
        return [f"{folder}/{last}"]
    return [text]


def _token(given: Mapping[str, Any]) -> str:
    for name in ("url", "state", "token_file"):
        if not given.get(name):
            raise AppError("is missing", where=f"--{name.replace('_', '-')}")
    try:
        found: str = given["token_file"].read_text(encoding="utf-8").strip()
    except OSError as error:
        raise AppError(
            f"cannot be read ({error.strerror})",
            where=f"--token-file {given['token_file']}",
            hint="make one with `manage.py token NAME --scope ingest`",
        ) from error
    return found


def _absolute(paths: Sequence[str]) -> tuple[Path, ...]:
    """Paths are names in the state folder, so they must not depend on the current folder."""
    return tuple(Path(path).absolute() for path in paths)


def main(words: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT; 1 if it cannot."""
    options = parser().parse_args(words)

    def follow(stop: threading.Event) -> int:
        if options.health:
            return _tell(*status.health(_state_dir(options)))
        config = config_of(options)
        if options.check:
            return _tell(*check.report(config))
        openfiles.FILES.limit = openfiles.allowed()
        agent = Agent(config)
        what = f"run {config.run}" if config.run else "the runs that its files name"
        logging.getLogger(__name__).info("following %s on %s", what, config.node)
        return _ended(agent.run(stop), config)

    return foreground.run(follow)


def _state_dir(options: argparse.Namespace) -> Path:
    found = gather(options, os.environ).get("state")
    if found is None:
        raise AppError("is missing", where="--state")
    return Path(found)


def _tell(lines: Sequence[str], well: bool) -> int:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0 if well else 1


def _ended(said: Mapping[str, Any], config: AgentConfig) -> int:
    """0, or 1 if a one-time transfer leaves something behind."""
    if not config.once:
        return 0
    for problem in said["unreadable_files"]:
        sys.stderr.write(f"{problem}\n")
    if said["dead_letters"]:
        sys.stderr.write(
            f"{said['dead_letters']} batches were refused; see {config.state_dir / 'dead'}\n"
        )
    return 1 if said["dead_letters"] or said["unreadable_files"] else 0


if __name__ == "__main__":
    sys.exit(main())
