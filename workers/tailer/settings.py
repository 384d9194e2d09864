"""What an agent may be told: one table for the command line, the environment and a TOML file.

A flag counts before `LASTGOOD_AGENT_<NAME>`, that before the file, that before what is guessed.
"""

from __future__ import annotations

import argparse
import socket
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from apps.core.errors import AppError

PREFIX = "LASTGOOD_AGENT_"
TEXT, PATH, PATHS, NUMBER, SWITCH = "text", "path", "paths", "number", "switch"


@dataclass(frozen=True, slots=True)
class Setting:
    """name: as in TOML; kind: one of the words above; what: its meaning."""

    name: str
    kind: str
    what: str

    @property
    def flag(self) -> str:
        """Its word on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def variable(self) -> str:
        """Its name in the environment; several paths are separated by `:`."""
        return PREFIX + self.name.upper()


SETTINGS: Final = (
    Setting("run", TEXT, "key of the run; without it each file is of the run that its path names"),
    Setting("node", TEXT, "name of this node; else SLURMD_NODENAME, NODE_NAME or the host's name"),
    Setting("url", TEXT, "address of Lastgood"),
    Setting("token_file", PATH, "file with a token of scope ingest"),
    Setting("state", PATH, "folder for spool and offsets, on a local disk"),
    Setting("torchrun", PATHS, "log folder of torchrun (<id>/attempt_K/<local_rank>/stderr.log)"),
    Setting("logs", PATHS, "template of log files: /logs/{run}/{attempt}/rank_{rank}.log"),
    Setting("slurm", PATHS, "Slurm's own pattern (/logs/%x_%j_%t.out), or a folder of its files"),
    Setting("pods", PATHS, "/var/log/pods or a template of files below it"),
    Setting("console", PATHS, "what the launcher printed; of the node's newest start"),
    Setting("wandb", PATHS, "a .wandb file, or a folder with run folders of W&B, or with wandb/"),
    Setting("checkpoints", PATHS, "checkpoint_events.jsonl"),
    Setting("tensorboard", PATHS, "a TensorBoard event file, or a folder above such files"),
    Setting("jsonl", PATHS, "a file with one JSON object of metrics a line"),
    Setting("csv", PATHS, "metrics under a header line, or a folder above metrics.csv files"),
    Setting("trainer_state", PATHS, "trainer_state.json, or the output folder of HF's Trainer"),
    Setting("flight_recorder", PATHS, "what TORCH_NCCL_DEBUG_INFO_TEMP_FILE is, or /x/rank_{rank}"),
    Setting("zone", TEXT, "of stamps without a zone: +01:00, local, Europe/Paris; else UTC"),
    Setting("tasks", TEXT, "what a Slurm task is: rank or node; else as SLURM_NTASKS says"),
    Setting("raw", SWITCH, "send the bytes of log lines: the server reads them, not this node"),
    Setting("resume_step", NUMBER, "the step this start resumed from"),
    Setting("time_shift_ns", NUMBER, "the server adds this to every time"),
    Setting("once", SWITCH, "the files are complete: send what is there and end"),
)
_BY_NAME: Final = {setting.name: setting for setting in SETTINGS}


def parser() -> argparse.ArgumentParser:
    """The command line; what is not given is None."""
    words = argparse.ArgumentParser(
        prog="python -m workers.tailer",
        description="Follows the logs of training runs on one node and sends them to Lastgood.",
    )
    words.add_argument("--config", type=Path, help="TOML file with the settings below")
    words.add_argument(
        "--check", action="store_true", help="show which files would be followed, as what, and end"
    )
    words.add_argument(
        "--health", action="store_true", help="0 if the agent of --state is alive, else 1"
    )
    for setting in SETTINGS:
        meaning = setting.what.replace("%", "%%")
        if setting.kind == SWITCH:
            words.add_argument(setting.flag, action="store_true", default=None, help=meaning)
        elif setting.kind == PATHS:
            words.add_argument(setting.flag, action="append", help=f"{meaning}; may be repeated")
        else:
            words.add_argument(setting.flag, help=meaning)
    return words


def gather(options: argparse.Namespace, environment: Mapping[str, str]) -> dict[str, Any]:
    """The value of each setting that somebody gave. Raises AppError that names the one at fault."""
    given = environment.get(f"{PREFIX}CONFIG")
    path = options.config or (Path(given) if given else None)
    values = _of_file(path) if path is not None else {}
    values |= _of_environment(environment)
    for setting in SETTINGS:
        value = getattr(options, setting.name)
        if value is not None:
            values[setting.name] = _checked(setting, value, setting.flag)
    return values


def guessed_node(environment: Mapping[str, str]) -> str:
    """The node's name where nobody gave it."""
    named = environment.get("SLURMD_NODENAME") or environment.get("NODE_NAME")
    return named or socket.gethostname()


def _of_file(path: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise AppError(f"cannot be read ({error.strerror})", where=str(path)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise AppError(f"is no TOML: {error}", where=str(path)) from error
    return {
        name: _checked(_known(name, str(path)), value, f"{path}: {name}")
        for name, value in found.items()
    }


def _of_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for variable, text in environment.items():
        name = variable.removeprefix(PREFIX).lower()
        if variable.startswith(PREFIX) and name != "config":
            setting = _known(name, variable)
            value = text.split(":") if setting.kind == PATHS else text
            found[name] = _checked(setting, value, variable)
    return found


def _known(name: str, where: str) -> Setting:
    setting = _BY_NAME.get(name)
    if setting is None:
        near = get_close_matches(name, _BY_NAME, 1)
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise AppError(
            f"there is no setting {name!r}",
            where=where,
            hint=f"{meant}known are {', '.join(_BY_NAME)}",
        )
    return setting


def _checked(setting: Setting, value: Any, where: str) -> Any:
    """The value as its kind has it: text, Path, list, int or bool."""
    wrong = AppError(f"is no {setting.kind}: {value!r}", where=where, hint=setting.what)
    if setting.kind == PATHS:
        values = value if isinstance(value, list) else [value]
        if not all(isinstance(one, str) or _is_table(setting, one) for one in values):
            raise wrong
        return values
    if setting.kind == SWITCH:
        return _switch(value, wrong)
    if setting.kind == NUMBER:
        try:
            return int(str(value))
        except ValueError:
            raise wrong from None
    if not isinstance(value, str):
        raise wrong
    return Path(value) if setting.kind == PATH else value


def _switch(value: Any, wrong: AppError) -> bool:
    known = {
        "1": True,
        "true": True,
        "yes": True,
        "0": False,
        "false": False,
        "no": False,
        "": False,
    }
    said = known.get(str(value).lower())
    if said is None:
        raise wrong
    return said


def _is_table(setting: Setting, value: Any) -> bool:
    """`[[logs]]` with a path, and a zone or tasks of its own."""
    if setting.name not in ("logs", "slurm", "pods") or not isinstance(value, dict):
        return False
    unknown = sorted(set(value) - {"path", "zone", "tasks"})
    if unknown:
        raise AppError(
            f"there is no key {unknown[0]!r}",
            where=f"[[{setting.name}]]",
            hint="known are path, zone, tasks",
        )
    return isinstance(value.get("path"), str)
