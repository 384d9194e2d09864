"""Where a process of a W&B run runs: what it says of its machine and its Slurm task. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from apps.ingest.wandb.values import storable

MAX_TEXT: Final = 200
_MAX_WORDS: Final = 100
_MAX_RANKS: Final = 1_000_000
_SECRET: Final = re.compile(r"key|token|secret|passw", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one process. rank, local_rank, world_size: None unless they are sure.

    device: the UUID of its accelerator. labels: what the run's page shows, as "wandb/…".
    """

    node: str | None = None
    rank: int | None = None
    local_rank: int | None = None
    world_size: int | None = None
    device: str | None = None
    labels: Mapping[str, Any] = field(default_factory=dict)


def parse_metadata(content: bytes) -> Facts:
    """The facts of an uploaded `wandb-metadata.json`; none if it is no JSON."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return Facts()
    return facts_of(found) if isinstance(found, dict) else Facts()


def facts_of(environment: Mapping[str, Any]) -> Facts:
    """The facts of `wandb-metadata.json`, or of its copy in the configuration. Never raises.

    Slurm's number of a task is a rank only with one task for each accelerator: with one launcher
    on each node it is the number of the node. So it is taken when the tasks are as many as the
    accelerators of all nodes.
    """
    slurm = environment.get("slurm")
    slurm = slurm if isinstance(slurm, dict) else {}
    node = _text(environment.get("host"))
    count = _whole(environment.get("gpu_count"))
    tasks, nodes = _whole(slurm.get("ntasks")), _whole(slurm.get("nnodes"))
    one_each = bool(count and nodes and tasks == count * nodes)
    rank = _whole(slurm.get("procid")) if one_each else None
    local = _whole(slurm.get("localid")) if one_each else None
    if rank is None or tasks is None or not node or rank >= tasks:
        return Facts(node=node, labels=_labels(environment, slurm, count))
    return Facts(
        node=node,
        rank=rank,
        local_rank=local,
        world_size=tasks,
        device=_uuid(environment.get("gpu_nvidia"), local),
        labels=_labels(environment, slurm, count),
    )


def _labels(
    environment: Mapping[str, Any], slurm: Mapping[str, Any], gpus: int | None
) -> dict[str, Any]:
    git = environment.get("git")
    found = {
        "wandb/commit": _text(git.get("commit")) if isinstance(git, dict) else None,
        "wandb/gpu": _text(environment.get("gpu")),
        "wandb/gpu_count": gpus,
        "wandb/cuda": _text(environment.get("cuda_version")),
        "wandb/python": _text(environment.get("python")),
        "wandb/slurm_job": _text(slurm.get("job_id")),
        "wandb/slurm_restarts": _whole(slurm.get("restart_count")),
        "wandb/args": _arguments(environment.get("args")),
        "wandb/user": _person(environment),
    }
    return {name: value for name, value in found.items() if value not in (None, "")}


def _person(environment: Mapping[str, Any]) -> str | None:
    """Who started the process: their name on the machine, else the address of their account. In a
    container everybody is root."""
    name = _text(environment.get("username"), 200)
    return name if name and name != "root" else _text(environment.get("email"), 200)


def _arguments(args: Any) -> str | None:
    """The command line; what follows a name that sounds like a secret is masked."""
    if not isinstance(args, list):
        return None
    words, masked = list[str](), False
    for word in [str(arg) for arg in args[:_MAX_WORDS]]:
        name, equals, _ = word.partition("=")
        secret = bool(_SECRET.search(name))
        words.append("***" if masked else f"{name}=***" if secret and equals else word)
        masked = secret and not equals and word.startswith("-")
    return _text(" ".join(words), 2_000)


def _uuid(devices: Any, local_rank: int | None) -> str | None:
    known = isinstance(devices, Sequence) and local_rank is not None and local_rank < len(devices)
    device = devices[local_rank] if known else None
    return _text(device.get("uuid")) if isinstance(device, dict) else None


def _text(value: Any, most: int = MAX_TEXT) -> str | None:
    return str(storable(value))[:most] or None if isinstance(value, str) else None


def _whole(value: Any) -> int | None:
    """A whole number from 0; Slurm's come as texts."""
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 8 else None
    return number if number is not None and number < _MAX_RANKS else None
